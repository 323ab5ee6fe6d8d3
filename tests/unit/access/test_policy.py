"""Who may read which categories."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.access.policy import ALL_CATEGORIES, AccessPolicy
from ricordo.errors import AccessDenied, CategoryNotAllowed, InvalidValue

pytestmark = pytest.mark.requirement("recall.allowlists")

POLICY = AccessPolicy(
    allowlists={
        "planner": frozenset({"goals", "tasks"}),
        "supervisor": frozenset({ALL_CATEGORIES}),
        "muted": frozenset(),
    },
)

slugs = st.sampled_from(["goals", "tasks", "tone", "diary", "general"])
agents = st.sampled_from(["planner", "stylist", "default", "*"])
listings = st.dictionaries(agents, st.frozensets(slugs | st.just(ALL_CATEGORIES)))
requests = st.lists(slugs, max_size=4)


@given(listings, st.sampled_from(["planner", "stylist", "stranger", "default", "*"]), requests)
def test_no_answer_is_wider_than_the_list(
    allowlists: dict[str, frozenset[str]], agent: str, asked: list[str]
) -> None:
    policy = AccessPolicy(allowlists=allowlists)
    rule = allowlists.get(agent, allowlists.get("*", allowlists.get("default", frozenset())))
    try:
        answer = policy.check(agent, asked)
    except CategoryNotAllowed:
        assert ALL_CATEGORIES not in rule
        assert not rule or set(asked) - rule
        return
    if ALL_CATEGORIES in rule:
        assert answer == (tuple(dict.fromkeys(asked)) or None)
    else:
        assert answer
        assert set(answer) <= rule
        assert set(answer) == (set(asked) or rule)


@given(listings, requests)
def test_the_owner_may_read_everything(
    allowlists: dict[str, frozenset[str]], asked: list[str]
) -> None:
    policy = AccessPolicy(allowlists=allowlists)
    assert policy.allowed(None) is None
    assert policy.check(None, asked) == (tuple(dict.fromkeys(asked)) or None)


def test_without_a_policy_everything_is_allowed_and_with_an_empty_one_nothing() -> None:
    policy = AccessPolicy.open()
    assert policy.allowed("anyone") is None
    assert policy.check("anyone", []) is None
    assert policy.check("anyone", ["diary"]) == ("diary",)
    with pytest.raises(CategoryNotAllowed):
        AccessPolicy().check("planner", [])


def test_one_refused_category_refuses_the_request() -> None:
    with pytest.raises(CategoryNotAllowed) as refusal:
        POLICY.check("planner", ["tasks", "tone"])
    assert isinstance(refusal.value, AccessDenied)
    assert (refusal.value.refused, refusal.value.allowed) == (["tone"], ["goals", "tasks"])
    assert str(refusal.value) == (
        "agent 'planner' may not read 'tone'; categories allowed: goals, tasks"
    )


@pytest.mark.parametrize("agent", ["stranger", "muted", "Planner", "default", "*"])
def test_an_agent_without_categories_reads_nothing(agent: str) -> None:
    for asked in ([], ["tasks"]):
        with pytest.raises(CategoryNotAllowed, match="categories allowed: none"):
            POLICY.check(agent, asked)


def test_names_mean_what_they_mean_in_every_filter() -> None:
    assert POLICY.check("planner", ["Tasks", " GOALS ", "tasks"]) == ("tasks", "goals")
    assert POLICY.check("planner", "Tasks") == ("tasks",)


@pytest.mark.parametrize(
    "asked", ["", [""], ["!!!"], ["*"], [7], ["x" * 65], ["a\x00"], ["a"] * 101]
)
def test_what_cannot_be_a_category_is_refused(asked: list[str]) -> None:
    for agent in ("planner", "supervisor", None):
        with pytest.raises(InvalidValue, match="categories|theme"):
            POLICY.check(agent, asked)


@pytest.mark.parametrize("agent", ["", " ", " planner", "plan\nner", "x" * 201, 7])
def test_what_cannot_be_an_agent_is_refused_and_never_the_owner(agent: str) -> None:
    for policy in (POLICY, AccessPolicy.open()):
        with pytest.raises(InvalidValue, match="agent"):
            policy.check(agent, ["tasks"])


def test_a_policy_cannot_be_changed_after_it_was_made() -> None:
    lists = {"planner": frozenset({"tasks"})}
    policy = AccessPolicy(allowlists=lists)
    lists["planner"] = frozenset({ALL_CATEGORIES})
    assert policy.allowed("planner") == {"tasks"}
    with pytest.raises(TypeError):
        policy.allowlists["planner"] = frozenset()  # type: ignore[index]


@pytest.mark.requirement("access.categories")
def test_a_key_reaches_what_both_the_policy_and_it_allow() -> None:
    assert POLICY.allowed(None, None) is None
    assert POLICY.allowed("supervisor", frozenset(("tone",))) == {"tone"}
    assert POLICY.allowed("planner", None) == {"tasks", "goals"}
    assert POLICY.allowed("planner", frozenset(("tasks", "tone"))) == {"tasks"}
    assert POLICY.allowed("planner", frozenset(("tone",))) == set()
    assert POLICY.allowed("stranger", frozenset(("tone",))) == set()


@pytest.mark.requirement("access.categories")
def test_a_request_reads_within_its_scope_and_the_allowlist() -> None:
    within = frozenset({"tasks", "tone"})
    assert POLICY.check("planner", [], within=within) == ("tasks",)
    assert POLICY.check("supervisor", [], within=within) == ("tasks", "tone")
    assert POLICY.check(None, [], within=within) == ("tasks", "tone")
    for asker, asked in (("planner", "goals"), ("planner", "tone"), (None, "goals")):
        with pytest.raises(CategoryNotAllowed):
            POLICY.check(asker, [asked], within=within)
    with pytest.raises(CategoryNotAllowed) as refusal:
        POLICY.check(None, [], within=frozenset(), user="ana")
    assert refusal.value.agent == "ana"
