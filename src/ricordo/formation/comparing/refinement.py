"""Whether a newer statement says more than an older one, or nothing that it does not."""

from ricordo.formation.comparing.opposition import opposed
from ricordo.formation.comparing.statements import Statement, statements_of
from ricordo.text.normalise import canonical


def refines(newer: str, older: str) -> bool:
    """True where the newer statement says all that the older one says, and more."""
    if not _are_comparable(newer, older):
        return False
    before, after = statements_of(older), statements_of(newer)
    adds = _terms(after) > _terms(before) or (
        _terms(after) == _terms(before) and _numbers(after) > _numbers(before)
    )
    return adds and all(any(_contains(large, small) for large in after) for small in before)


def says_nothing_new(newer: str, older: str) -> bool:
    """True where the older statement says all that the newer one says already."""
    if canonical(newer) == canonical(older):
        return True
    if not _are_comparable(newer, older):
        return False
    before, after = statements_of(older), statements_of(newer)
    if _numbers(before) != _numbers(after):
        return False
    return all(any(_contains(large, small) for large in before) for small in after)


def _are_comparable(newer: str, older: str) -> bool:
    said = [statements_of(text) for text in (newer, older)]
    return all(_terms(one) for one in said) and opposed(newer, older) is None


def _contains(large: Statement, small: Statement) -> bool:
    """True where one sentence about the same holds all content words and numbers of another."""
    if (small.is_delicate or large.is_delicate) and not _is_within(small.order, large.order):
        return False
    return (
        small.terms <= large.terms
        and small.numbers <= large.numbers
        and small.subject == large.subject
        and small.is_positive == large.is_positive
        and small.is_taste == large.is_taste
        and small.is_past == large.is_past
    )


def _is_within(small: tuple[str, ...], large: tuple[str, ...]) -> bool:
    """True where all words of one stand in the other in the same order."""
    remaining = iter(large)
    return all(word in remaining for word in small)


def _terms(said: tuple[Statement, ...]) -> frozenset[str]:
    return frozenset(term for one in said for term in one.terms)


def _numbers(said: tuple[Statement, ...]) -> frozenset[str]:
    return frozenset(number for one in said for number in one.numbers)
