"""Without the package that an adapter is for, the error says what to install."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("adapter", "package", "extra"),
    [
        pytest.param(*names, marks=pytest.mark.requirement(f"integrations.{names[2]}"))
        for names in (
            ("anthropic", "anthropic", "anthropic"),
            ("langchain", "langchain_core.tools", "langchain"),
            ("openai_agents", "agents", "openai-agents"),
            ("pydantic_ai", "pydantic_ai", "pydantic-ai"),
        )
    ]
    + [
        pytest.param(
            "langgraph",
            "langgraph.prebuilt",
            "langgraph",
            marks=pytest.mark.requirement("integrations.langgraph-tools"),
        )
    ],
)
def test_the_error_names_the_extra(adapter: str, package: str, extra: str) -> None:
    script = (
        f"import sys; sys.modules[{package!r}] = None\n"
        f"try:\n    import ricordo.integrations.{adapter}\n"
        "except ImportError as problem:\n    print(problem)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert f"pip install 'ricordo[{extra}]'" in done.stdout
