"""How a status of vectors is told."""

from typing import Any

import pytest

from ricordo.model.embedding import ChoiceOrigin, EmbeddingStatus
from ricordo.web.embedding_progress import EmbeddingProgress

pytestmark = pytest.mark.requirement("page.rebuild")


def told(**values: Any) -> EmbeddingProgress:
    usual: dict[str, Any] = {
        "provider": "custom_http",
        "model": "m",
        "origin": ChoiceOrigin.USER,
        "dimensions": 3,
        "memories": 10,
        "turns": 0,
        "ready": 0,
        "pending": 0,
        "stale": 0,
        "error": 0,
        "last_error": None,
        "problem": None,
    }
    return EmbeddingProgress.of(EmbeddingStatus(**{**usual, **values}))


@pytest.mark.parametrize(
    ("values", "phase", "moves", "can_be_retried"),
    [
        ({}, "empty", False, False),
        ({"ready": 10}, "ready", False, False),
        ({"ready": 4, "pending": 6}, "working", True, False),
        ({"ready": 4, "pending": 6, "last_error": "down"}, "waiting", True, True),
        ({"ready": 4, "pending": 5, "error": 1, "last_error": "odd"}, "working", True, True),
        ({"ready": 9, "error": 1, "last_error": "odd"}, "failed", False, True),
        ({"model": None, "provider": "none", "pending": 10}, "off", False, False),
        ({"model": None, "pending": 10, "problem": "no key"}, "unusable", False, False),
    ],
)
def test_phases(values: dict[str, Any], phase: str, moves: bool, can_be_retried: bool) -> None:
    progress = told(**values)
    assert (progress.phase, progress.is_moving) == (phase, moves)
    assert progress.can_be_retried is can_be_retried
    assert progress.sentence


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        ("EmbedderUnavailable: http://x is down", "http://x is down"),
        ("custom_http: it is down", "custom_http: it is down"),
        ("down", "down"),
    ],
)
def test_errors_are_told_without_our_names_for_them(stored: str, shown: str) -> None:
    assert told(pending=1, last_error=stored).error == shown


def test_what_was_seen() -> None:
    first, same = told(ready=1, pending=9), told(ready=1, pending=9)
    later, stuck = told(ready=2, pending=8), told(ready=2, pending=8, last_error="down")
    assert first.seen == same.seen
    assert len({first.seen, later.seen, stuck.seen}) == 3
    assert not later.is_new_phase(first.seen)
    assert stuck.is_new_phase(later.seen)
