"""The policy file: what it can say, and where each mistake is."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ricordo.access.policy import AccessPolicy, CategoryRule
from ricordo.access.policy_file import parse_policy, read_policy
from ricordo.errors import InvalidInput, InvalidPolicy
from ricordo.limits import MAX_FILTER_VALUES, MAX_POLICY_FILE_BYTES, MAX_RAG_LENGTH
from ricordo.model.vocabulary import ContextPolicy

NAME = Path("policy.yaml")
EXAMPLE = """\
categories:
  profile: {context: all}
  Tasks:
  event:
    display_name: Events
    description: What happened, and when.
    context: rag
    rag_length: 30
allowlists:
  supervisor: ["*"]
  planner: [tasks, event]
  default: [profile]
"""


def load_policy(path: Path) -> AccessPolicy:
    return parse_policy(path, read_policy(path))


def parsed(text: str) -> AccessPolicy:
    return parse_policy(NAME, text.encode())


def refusal(text: str) -> InvalidPolicy:
    with pytest.raises(InvalidPolicy) as refused:
        parsed(text)
    return refused.value


GROUPED = """\
categories:
  system:
    - name: Person
      context: all
    - name: journal
      rag_length: 12
    - errands
  custom:
allowlists:
  secretary: [person, errands, travel]
  diarist: [journal]
"""


@pytest.mark.requirement("recall.allowlists")
def test_categories_in_groups_of_lists() -> None:
    policy = parsed(GROUPED)
    assert policy.categories == {
        "person": CategoryRule("person", context=ContextPolicy.ALL),
        "journal": CategoryRule("journal", rag_length=12),
        "errands": CategoryRule("errands"),
    }
    assert policy.allowed("secretary") == {"person", "errands", "travel"}  # one is not described
    assert policy.allowed("diarist") == {"journal"}
    assert policy.allowed("stranger") == frozenset()


@pytest.mark.requirement("recall.allowlists")
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("categories:\n  own:\n    - name: a\nallowlists: {}", "categories has no key 'own'"),
        ("categories:\n  system:\n    - context: all\nallowlists: {}", "a category needs a name"),
        ("categories:\n  system: [a]\n  custom: [A]\nallowlists: {}", "already on line 2"),
        ("categories:\n  - name: a\n    speed: 9\nallowlists: {}", "has no key 'speed'"),
        ("categories:\n  - name: a\nallowlists:\n  x: [b]", "'b' is not among categories"),
        ("categories:\n  a:\n    name: b\nallowlists: {}", "has no key 'name'"),
    ],
)
def test_what_is_wrong_in_such_lists(text: str, problem: str) -> None:
    assert problem in str(refusal(text))


@pytest.mark.requirement("recall.allowlists")
def test_a_whole_policy(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(EXAMPLE, encoding="utf-8")
    policy = load_policy(path)
    assert policy.categories == {
        "profile": CategoryRule("profile", context=ContextPolicy.ALL),
        "tasks": CategoryRule("tasks"),
        "event": CategoryRule("event", "Events", "What happened, and when.", ContextPolicy.RAG, 30),
    }
    assert policy.allowed("supervisor") is None
    assert policy.allowed("planner") == {"tasks", "event"}
    assert policy.allowed("stranger") == {"profile"}


@pytest.mark.requirement("recall.allowlists")
def test_categories_can_be_a_list_or_left_out() -> None:
    listed = parsed("categories: [Tasks, Recent Activity]\nallowlists: {planner: [TASKS]}\n")
    assert list(listed.categories) == ["tasks", "recent-activity"]
    assert listed.allowed("planner") == {"tasks"}
    assert parsed('allowlists: {"*": ["*"]}').allowed("anyone") is None
    assert parsed("allowlists: {}").allowed("planner") == frozenset()


def test_a_byte_order_mark_and_windows_lines_do_not_matter() -> None:
    raw = b"\xef\xbb\xbf" + EXAMPLE.replace("\n", "\r\n").encode()
    assert parse_policy(NAME, raw) == parsed(EXAMPLE)


LISTS = "allowlists: {}\n"


@pytest.mark.parametrize(
    ("text", "line", "column", "problem"),
    [
        ("", 1, 1, "the file is empty"),
        ("- a\n", 1, 1, "expected a mapping of categories, allowlists, sharing, got a list"),
        ("hello", 1, 1, "expected a mapping of categories, allowlists, sharing, got 'hello'"),
        ("categories: [a]\n", 1, 1, "allowlists is missing"),
        (LISTS + "allowlist: {}\n", 2, 1, "no key 'allowlist'; allowed: categories, allowlists"),
        (LISTS + "allowlists: {}\n", 2, 1, "key 'allowlists' is already on line 1"),
        (LISTS + "? [a]\n: b\n", 2, 3, "no key a list"),
        (LISTS + "<<: {}\n", 2, 1, "no key '<<'"),
        ("allowlists:\n", 1, 12, "allowlists: expected a mapping of agents"),
        (LISTS + "categories:\n", 2, 12, "expected a list or a mapping, got nothing"),
        (LISTS + "categories:\n- a\n- A\n", 4, 3, "category 'a' is already on line 3"),
        (LISTS + "categories: ['!!!']\n", 2, 14, "'!!!' has no letters or digits"),
        (LISTS + "categories: ['']\n", 2, 14, "category: must not be empty"),
        (LISTS + f"categories: [{'a' * 65}]\n", 2, 14, "65 characters; allowed: at most 64"),
        (LISTS + "categories: ['*']\n", 2, 14, "has no letters or digits"),
        (LISTS + "categories:\n  a: {}\n  A: {}\n", 4, 3, "category 'a' is already on line 3"),
        (EXAMPLE + "  7: []\n", 13, 3, "agent: expected text, got '7'"),
        (LISTS + "categories: [no]\n", 2, 14, "'no', a value that YAML does not take for text"),
        (LISTS + "categories: {a: all}\n", 2, 17, "category 'a': expected a mapping"),
        (LISTS + "categories: {a: {name: b}}\n", 2, 18, "category 'a' has no key 'name'; allowed:"),
        (LISTS + "categories: {a: {context: some}}\n", 2, 27, "'some' is not one of: all, rag"),
        (LISTS + "categories: {a: {display_name: ' '}}\n", 2, 32, "display_name: must not be"),
        (LISTS + "categories: {a: {description: [b]}}\n", 2, 31, "description: expected text"),
        (LISTS + 'categories: {a: {description: "\\0"}}\n', 2, 31, "NUL"),
        (LISTS + 'categories: {a: {description: "\\uD800"}}\n', 2, 31, "Unicode"),
        (
            LISTS + "categories: {a: {context: all, rag_length: 3}}\n",
            2,
            44,
            "only with context: rag",
        ),
        (LISTS + "sharing: [ana]\n", 2, 10, "sharing: expected a mapping of groups, pairs"),
        (LISTS + "sharing: {users: []}\n", 2, 11, "sharing has no key 'users'; allowed:"),
        (LISTS + "sharing: {groups: [a]}\n", 2, 19, "groups: expected a mapping of names"),
        (LISTS + "sharing: {groups: {a: b}}\n", 2, 23, "group 'a': expected a list of users"),
        (LISTS + "sharing: {groups: {a: [b, b]}}\n", 2, 27, "user 'b' is already on line 2"),
        (LISTS + 'sharing: {groups: {a: ["*"]}}\n', 2, 24, "reserved for global memories"),
        (LISTS + "sharing: {pairs: {a: b}}\n", 2, 18, "pairs: expected a list of pairs"),
        (LISTS + "sharing: {pairs: [{from: a}]}\n", 2, 19, "a pair has a from and a to"),
        (LISTS + "sharing: {pairs: [{from: a, to: 7}]}\n", 2, 33, "user: expected text, got"),
        (EXAMPLE + "  Planner: [profile, diary]\n", 13, 22, "category 'diary' is not among"),
        (EXAMPLE + "  planner: []\n", 13, 3, "agent 'planner' is already on line 11"),
        (EXAMPLE + '  "*": []\n', 13, 3, "agent '*' is already on line 12"),
        (EXAMPLE + "  other: [tasks, Tasks]\n", 13, 18, "category 'tasks' is already on line 13"),
        (EXAMPLE + "  other: tasks\n", 13, 10, "expected a list of categories, got 'tasks'"),
        (EXAMPLE + "  other:\n", 13, 9, "got nothing; write [] to allow none"),
        (EXAMPLE + "  other: [*]\n", 13, 12, 'write "*" in quotes'),
        (EXAMPLE + "  other: [*tasks]\n", 13, 11, "aliases are not allowed"),
        (EXAMPLE + "  other: &x [tasks]\n", 13, 10, "anchors are not allowed"),
        (EXAMPLE + "  other: !!set {tasks}\n", 13, 10, "tags are not allowed"),
        (EXAMPLE + "  ' x': []\n", 13, 3, "agent: must not be empty or have space"),
        (EXAMPLE + "---\nallowlists: {}\n", 13, 1, "another document"),
        (EXAMPLE + "  a: [\n", 14, 1, "not valid YAML"),
        (EXAMPLE + "  a: \x07\n", 13, 6, "U+0007 is not allowed"),
        (EXAMPLE + '  "\\UFFFFFFFF": []\n', 13, 6, "not valid YAML"),
        (f"%YAML {'9' * 5000}.1\n---\n", 1, 7, "not valid YAML"),
        ("? " * 20_000, 1, 17, "nested too deeply"),
        ("[" * 20_000, 1, 9, "nested too deeply; allowed: 8 levels"),
        ("a: &a [x]\nb: &b [*a, *a]\nc: [*b, *b]\n", 1, 4, "anchors are not allowed"),
    ],
)
def test_each_mistake_has_its_place(text: str, line: int, column: int, problem: str) -> None:
    refused = refusal(text)
    assert problem in str(refused)
    assert (refused.line, refused.column) == (line, column)
    assert str(refused).startswith(f"policy.yaml, line {line}, column {column}: ")
    assert isinstance(refused, InvalidInput)


def test_a_length_is_a_plain_number_in_its_range() -> None:
    wrong = ["0", "-1", "010", "0x10", "1_0", "1:30", "1.0", "ten", "'30'", "", "true", "[3]"]
    for written in [*wrong, str(MAX_RAG_LENGTH + 1), "9" * 5000]:
        refused = refusal(f"{LISTS}categories:\n  a:\n    rag_length: {written}\n")
        assert f"is not a whole number from 1 to {MAX_RAG_LENGTH}" in str(refused)
        assert ("rag_length" in str(refused), refused.line) == (True, 4)
    for length in (1, MAX_RAG_LENGTH):
        policy = parsed(f"{LISTS}categories: {{a: {{rag_length: {length}}}}}\n")
        assert policy.categories["a"].rag_length == length


def test_an_allowlist_fits_into_one_filter() -> None:
    names = [f"c{number}" for number in range(MAX_FILTER_VALUES + 1)]
    written = {"categories": names, "allowlists": {"all": names[1:], "more": names[:]}}
    assert "101 categories; allowed: at most 100" in str(refusal(yaml.safe_dump(written)))
    del written["allowlists"]["more"]  # type: ignore[attr-defined]
    answer = parsed(yaml.safe_dump(written)).check("all", [])
    assert answer is not None
    assert len(answer) == MAX_FILTER_VALUES


def test_a_long_choice_is_cut_short() -> None:
    written = {"categories": [f"c{number}" for number in range(500)], "allowlists": {"a": ["x"]}}
    assert "and 481 more" in str(refusal(yaml.safe_dump(written)))


def test_text_in_another_encoding_is_refused_with_its_place() -> None:
    with pytest.raises(InvalidPolicy, match="line 2, column 4: not text in UTF-8"):
        parse_policy(NAME, "é: 1\naä ".encode() + b"\xff: 2\n")
    with pytest.raises(InvalidPolicy, match="line 1, column 1: not text in UTF-8"):
        parse_policy(NAME, EXAMPLE.encode("utf-16"))


def test_what_is_no_readable_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidPolicy, match="missing.yaml: cannot be read .No such file"):
        load_policy(tmp_path / "missing.yaml")
    with pytest.raises(InvalidPolicy, match="is not a file"):
        load_policy(tmp_path)
    with pytest.raises(InvalidPolicy, match="cannot be read"):
        load_policy(Path("a\x00b"))
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(InvalidPolicy, match="is not a file"):  # and is not waited for
            load_policy(tmp_path / "pipe")


def test_a_file_has_a_largest_size(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    room = MAX_POLICY_FILE_BYTES - len(EXAMPLE)
    path.write_text(EXAMPLE + "#" * room, encoding="utf-8")
    assert load_policy(path) == parsed(EXAMPLE)
    path.write_text(EXAMPLE + "#" * (room + 1), encoding="utf-8")
    with pytest.raises(InvalidPolicy, match=f"larger than {MAX_POLICY_FILE_BYTES} bytes"):
        load_policy(path)


def test_the_yaml_library_is_loaded_only_for_a_file() -> None:
    code = "import ricordo.access.policy_file, sys; print('yaml' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_policy_that_is_cut_off_never_allows_more() -> None:
    whole = parsed(EXAMPLE)
    for cut in range(len(EXAMPLE)):
        try:
            policy = parsed(EXAMPLE[:cut])
        except InvalidPolicy:
            continue
        for agent in ("supervisor", "planner", "stranger"):
            allowed, most = policy.allowed(agent), whole.allowed(agent)
            assert most is None or (allowed is not None and allowed <= most)


words = st.text("abcde", min_size=1, max_size=4)


@given(st.data())
def test_an_agent_may_read_what_its_list_says_and_no_more(data: st.DataObject) -> None:
    categories = data.draw(st.lists(words, unique=True, max_size=5))
    entries = st.sampled_from([*categories, "*"])
    agents = words | st.sampled_from(["*", "default"])
    lists = data.draw(st.dictionaries(agents, st.lists(entries, unique=True, max_size=4)))
    written = yaml.safe_dump({"categories": categories, "allowlists": lists})
    if {"*", "default"} <= lists.keys():
        assert "agent '*' is already on line" in str(refusal(written))
        return
    policy = parsed(written)
    fallback = lists.get("*", lists.get("default", []))
    for agent in {*lists, "stranger"}:
        listed = set(lists.get(agent, fallback))
        assert policy.allowed(agent) == (None if "*" in listed else listed)
