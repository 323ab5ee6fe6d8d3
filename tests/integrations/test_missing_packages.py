"""Without the package that an adapter is for, the error says what to install."""

import importlib
import re
import sys

import pytest


@pytest.mark.requirement("integrations.anthropic")
@pytest.mark.requirement("integrations.langchain")
@pytest.mark.requirement("integrations.langgraph-tools")
@pytest.mark.requirement("integrations.openai-agents")
@pytest.mark.requirement("integrations.pydantic-ai")
@pytest.mark.requirement("integrations.frameworks")
@pytest.mark.parametrize(
    ("adapter", "package", "extra"),
    [
        ("anthropic", "anthropic", "anthropic"),
        ("langchain", "langchain_core.tools", "langchain"),
        ("langgraph", "langgraph.checkpoint.base", "langgraph"),
        ("langgraph", "langgraph.prebuilt", "langgraph"),
        ("openai_agents", "agents", "openai-agents"),
        ("pydantic_ai", "pydantic_ai", "pydantic-ai"),
        ("agent_framework", "agent_framework", "agent-framework"),
        ("autogen", "autogen_core", "autogen"),
        ("crewai", "crewai.memory.types", "crewai"),
        ("google_adk", "google.adk.events.event", "google-adk"),
        ("haystack", "haystack", "haystack"),
        ("llama_index", "llama_index.core.base.llms.types", "llama-index"),
    ],
)
def test_the_error_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, adapter: str, package: str, extra: str
) -> None:
    name = f"ricordo.integrations.{adapter}"
    for loaded in [one for one in sys.modules if f"{one}.".startswith(f"{name}.")]:
        monkeypatch.delitem(sys.modules, loaded)
    for missing in [package, *(one for one in sys.modules if one.startswith(f"{package}."))]:
        monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ImportError, match=re.escape(f"pip install 'ricordo[{extra}]'")):
        importlib.import_module(name)
