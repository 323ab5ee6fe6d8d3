"""How good is what was stored? A pure scorer over labelled snippets.

Precision asks of everything stored whether it should have been; recall asks of everything
expected whether it is there. Both are counted over memories, not over snippets, so that one
talkative snippet weighs what it stores.
"""

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tests.formation.quality.snippets import Fact, Snippet


@dataclass(frozen=True)
class Stored:
    """What a former made of a snippet: a memory that it wrote or proposed."""

    content: str
    type: str
    explicit: bool
    sensitive: str | None


@dataclass(frozen=True)
class Judgement:
    """One snippet's result.

    ``leaked`` are the stored contents with a word that may never be stored (they are in ``wrong``
    too). ``misflagged`` names the facts that were found but would have been treated wrongly by
    the consent step, because ``explicit`` or ``sensitive`` is not as labelled.
    """

    snippet_id: str
    language: str
    right: tuple[str, ...]
    wrong: tuple[str, ...]
    leaked: tuple[str, ...]
    found: tuple[str, ...]
    missed: tuple[str, ...]
    misflagged: tuple[str, ...]


@dataclass(frozen=True)
class Figures:
    """Many results together. The lists pair the id of a snippet with what went wrong there."""

    precision: float
    recall: float
    stored: int
    right: int
    expected: int
    found: int
    wrong: list[tuple[str, str]]
    missed: list[tuple[str, str]]
    leaked: list[tuple[str, str]]
    misflagged: list[tuple[str, str]]


def judge(snippet: Snippet, stored: Sequence[Stored]) -> Judgement:
    """Compare what was stored with the labels.

    A memory says one thing: each stored content answers for one fact at most, and each fact is
    answered once, so a second content for the same fact is a duplicate and counts as wrong.
    """
    facts = (*snippet.facts, *snippet.optional)
    leaked = {n for n, one in enumerate(stored) if _has_any(one.content, snippet.never)}
    fitting = [
        [n for n, one in enumerate(stored) if n not in leaked and _fits(fact, one)]
        for fact in facts
    ]
    answers = _pair(fitting)
    used = set(answers.values())
    expected = range(len(snippet.facts))
    return Judgement(
        snippet_id=snippet.id,
        language=snippet.language,
        right=tuple(one.content for n, one in enumerate(stored) if n in used),
        wrong=tuple(one.content for n, one in enumerate(stored) if n not in used),
        leaked=tuple(stored[n].content for n in sorted(leaked)),
        found=tuple(facts[number].what for number in expected if number in answers),
        missed=tuple(facts[number].what for number in expected if number not in answers),
        misflagged=tuple(
            facts[number].what
            for number in sorted(answers)
            if not _same_consent(facts[number], stored[answers[number]])
        ),
    )


def total(judgements: Iterable[Judgement]) -> Figures:
    """All results in one. Where nothing was stored, or expected, the share is 1: no mistake."""
    results = list(judgements)
    right = sum(len(one.right) for one in results)
    found = sum(len(one.found) for one in results)
    wrong = [(one.snippet_id, content) for one in results for content in one.wrong]
    missed = [(one.snippet_id, what) for one in results for what in one.missed]
    return Figures(
        precision=_share(right, right + len(wrong)),
        recall=_share(found, found + len(missed)),
        stored=right + len(wrong),
        right=right,
        expected=found + len(missed),
        found=found,
        wrong=wrong,
        missed=missed,
        leaked=[(one.snippet_id, content) for one in results for content in one.leaked],
        misflagged=[(one.snippet_id, what) for one in results for what in one.misflagged],
    )


def by_language(judgements: Iterable[Judgement]) -> dict[str, Figures]:
    """The figures of each language."""
    groups: defaultdict[str, list[Judgement]] = defaultdict(list)
    for one in judgements:
        groups[one.language].append(one)
    return {name: total(groups[name]) for name in sorted(groups)}


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


def _fits(fact: Fact, stored: Stored) -> bool:
    content = _comparable(stored.content)
    return (
        stored.type in fact.types
        and all(_comparable(word) in content for word in fact.must_contain)
        and not _has_any(stored.content, fact.must_not_contain)
    )


def _has_any(content: str, words: Iterable[str]) -> bool:
    comparable = _comparable(content)
    return any(_comparable(word) in comparable for word in words)


def _comparable(text: str) -> str:
    """Case does not count, diacritics do, however they are encoded."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def _same_consent(fact: Fact, stored: Stored) -> bool:
    return fact.explicit == stored.explicit and fact.sensitive == stored.sensitive


def _pair(fitting: Sequence[Sequence[int]]) -> dict[int, int]:
    """Fact number to content number, as many pairs as there can be, earlier facts first.

    A fact that finds its contents taken asks their facts to move to another one (augmenting
    paths), so the order in which contents were stored does not change the result, and optional
    facts, which come last, never take a content from an expected one.
    """
    taken: dict[int, int] = {}

    def find(fact: int, asked: set[int]) -> bool:
        for content in fitting[fact]:
            if content in asked:
                continue
            asked.add(content)
            if content not in taken or find(taken[content], asked):
                taken[content] = fact
                return True
        return False

    for fact in range(len(fitting)):
        find(fact, set())
    return {fact: content for content, fact in taken.items()}
