"""A CrewAI crew that knows its user and remembers what they wish.

Run it with: python examples/crewai_crew.py
"""

import json
from typing import Any

from crewai import Agent, BaseLLM, Crew, Task
from pydantic import PrivateAttr

import ricordo
from ricordo.integrations.crewai import RicordoMemory


class Scripted(BaseLLM):
    """A model that says what it is given to say."""

    _script: list[str] = PrivateAttr()

    def __init__(self, *script: str) -> None:
        super().__init__(model="scripted")
        self._script = list(script)

    def call(self, *_: Any, **__: Any) -> str:
        """The next answer."""
        return self._script.pop(0)

    def supports_function_calling(self) -> bool:
        """Tools are called in words."""
        return False

    def get_input_tokens_count(self, *_: Any, **__: Any) -> int:
        """Nothing is sent anywhere."""
        return 0


def plan(user: ricordo.UserMemory, text: str, *script: str) -> str:
    """What a crew with this user's memory says."""
    guide = Agent(
        role="travel guide",
        goal="Plan journeys that people wish for",
        backstory="You have been everywhere.",
        llm=Scripted(*script),  # a real one: "gpt-5"
    )
    task = Task(description=text, expected_output="One sentence.", agent=guide)
    crew = Crew(agents=[guide], tasks=[task], memory=RicordoMemory(user))
    return str(crew.kickoff())


WISH = json.dumps({"contents": ["Ana wants to see the northern lights."]})
memory = ricordo.open(":memory:")
ana = memory.user("ana")
print(
    plan(
        ana,
        "Ana says: I have always wanted to see the northern lights.",
        f"Thought: I keep that\nAction: save_to_memory\nAction Input: {WISH}",
        "Thought: done\nFinal Answer: Then Tromsø in January it is.",
    )
)
print(plan(ana, "What does Ana want to see?", "Thought: known\nFinal Answer: The northern lights."))
print(f"remembered of ana: {[item.content for item in ana.list()]}")
memory.close()
