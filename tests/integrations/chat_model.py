"""A chat model of LangChain that talks to an OpenAI-compatible server with OpenAI's own client."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, convert_to_openai_messages
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from openai import OpenAI


class ServedChatModel(BaseChatModel):
    """What a package for a provider has at its core: messages and tools out, a message in."""

    base_url: str

    @property
    def _llm_type(self) -> str:
        return "served"

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        sent: Any = convert_to_openai_messages(messages)
        with OpenAI(base_url=self.base_url, api_key="none", max_retries=0) as client:
            answer = client.chat.completions.create(model="test-model", messages=sent, **kwargs)
        said: Any = answer.choices[0].message
        calls = [
            {"name": one.function.name, "args": json.loads(one.function.arguments), "id": one.id}
            for one in said.tool_calls or []
        ]
        message = AIMessage(said.content or "", tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=message)])
