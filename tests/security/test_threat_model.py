"""The page about security names tests and modules that are there, for every claim."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "operations" / "security.md").read_text(encoding="utf-8")
NAMED = re.findall(r"`((?:tests|src|requirements)/[\w/.-]+)(?:::(\w+))?`", PAGE)

pytestmark = pytest.mark.requirement("security.threat-model")


def test_what_holds_a_claim_is_there() -> None:
    for file, test in NAMED:
        text = (ROOT / file).read_text(encoding="utf-8")
        assert not test or re.search(rf"def {test}\(", text), (file, test)


def test_every_claim_is_held_by_something() -> None:
    claims = [
        line
        for part in PAGE.split("| Claim | Held by |")[1:]
        for line in part.split("\n\n")[0].splitlines()[2:]
    ]
    assert len(claims) > 30
    for claim in claims:
        assert re.search(r"`(tests|src)/", claim.rsplit("|", 2)[1]), claim


def test_the_policy_is_where_people_look_for_it() -> None:
    policy = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    assert "docs/operations/security.md" in policy
    assert "Supported versions" in policy
