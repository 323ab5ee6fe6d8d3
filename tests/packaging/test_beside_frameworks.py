"""ricordo beside agent frameworks: what they get alone, they get with it. Needs a package index."""

import re
import subprocess

import pytest

from tests.support.building import Distribution, found_uv

pytestmark = [
    pytest.mark.slow,
    pytest.mark.requirement("packaging.beside-others"),
    pytest.mark.timeout(900),  # it fetches the metadata of hundreds of packages
]

FRAMEWORKS = (
    *("autogen-ext", "crewai", "google-adk", "langchain-mcp-adapters", "litellm", "llama-index"),
    *("open-webui", "strands-agents"),
)


def resolved(*requirements: str) -> dict[str, str]:
    """The version of each package that satisfies all of them."""
    uv = found_uv()
    done = subprocess.run(
        [uv, "pip", "compile", "--quiet", "--no-header", "--no-annotate", "-"],
        input="\n".join(requirements),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return dict(re.findall(r"^([\w.-]+)==(\S+)", done.stdout, re.MULTILINE))


@pytest.mark.parametrize("extras", ["", "[server,mcp]"])
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_framework_keeps_its_version(
    distribution: Distribution, framework: str, extras: str
) -> None:
    alone = resolved(framework)
    together = resolved(framework, f"ricordo{extras} @ {distribution.wheel.as_uri()}")
    assert together[framework] == alone[framework]
