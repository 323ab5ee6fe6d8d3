"""What a chat client says of the memories that an earlier answer was shown."""

import logging
import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from ricordo import limits
from ricordo.errors import InvalidValue, RicordoError, in_log
from ricordo.model.vocabulary import Verdict
from ricordo.user_memory import UserMemory

_log = logging.getLogger(__name__)

RATE_HEADER: Final = "x-ricordo-rate"
"""Of a request: verdicts, each with ids of memories."""
RATED_HEADER: Final = "x-ricordo-rated"
"""Of an answer: the memories among them that were rated."""
_NAME: Final = "X-Ricordo-Rate"
_ONE: Final = re.compile(r"([a-z]+)((?: [0-9]{1,19})+)")
_EXPECTED: Final = "expected verdicts with ids, such as: used 12 15, wrong 17; the verdicts are: "


class NamedRating(NamedTuple):
    verdict: Verdict
    item_id: int


def ratings_named(headers: Mapping[str, str]) -> tuple[NamedRating, ...]:
    """The ratings that a request brings, in order.

    Raises:
        InvalidValue: the header is malformed, or names too many.
    """
    said = [value for name, value in headers.items() if name.lower() == RATE_HEADER]
    found = []
    for part in ",".join(said).split(","):
        words = " ".join(part.split())
        if not words:
            continue
        match = _ONE.fullmatch(words)
        if match is None or match[1] not in list(Verdict):
            raise InvalidValue(_NAME, _EXPECTED + ", ".join(Verdict))
        found += [NamedRating(Verdict(match[1]), int(number)) for number in match[2].split()]
    if len(found) > limits.MAX_RECALLED_MEMORIES:
        most = limits.MAX_RECALLED_MEMORIES
        raise InvalidValue(_NAME, f"{len(found)} memories; allowed: at most {most}")
    return tuple(found)


def rate_all(memory: UserMemory, ratings: Sequence[NamedRating]) -> list[int]:
    """Rate what there is of them; the chat goes on without the rest. The ids that were rated."""
    done = []
    for one in ratings:
        try:
            memory.rate(one.item_id, one.verdict)
        except RicordoError as error:
            _log.info("a memory is not rated: %s", in_log(error))
        else:
            done.append(one.item_id)
    return done
