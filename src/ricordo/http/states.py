"""The entity tags of memories: how callers name the state in which they saw one.

A tag has two parts. The first is when the memory was changed last, which is another time after
every change; a write with ``If-Match`` goes by it. The second is of all that is shown, counts of
recalls included; a read with ``If-None-Match`` goes by both.
"""

import hashlib
import json
import re
from datetime import UTC, datetime, timedelta
from typing import Final

from ricordo.errors import InvalidValue
from ricordo.http.answers import ANY, tag
from ricordo.http.problems import PreconditionFailed
from ricordo.model.item import Item

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_STEP: Final = timedelta(microseconds=1)
_DIGEST_CHARS: Final = 16
_TAG: Final = re.compile(rf'(?:W/)?"(-?\d{{1,18}})-[0-9a-f]{{{_DIGEST_CHARS}}}"')


def tag_of(item: Item) -> str:
    """The entity tag of a memory as it is shown."""
    shown = json.dumps(item.to_dict(), sort_keys=True).encode()
    digest = hashlib.sha256(shown).hexdigest()[:_DIGEST_CHARS]
    return tag((item.updated_at - _EPOCH) // _STEP, digest)


def expected_by(if_match: str | None) -> datetime | None:
    """When the memory that ``If-Match`` names was changed last; None where any state will do.

    Raises:
        PreconditionFailed: no state of a memory has this tag.
        InvalidValue: it names several.
    """
    if if_match is None or if_match.strip() == ANY:
        return None
    if "," in if_match:
        raise InvalidValue("If-Match", "takes one ETag, or *")
    named = _TAG.fullmatch(if_match.strip())
    try:
        if named is not None:
            return _EPOCH + int(named[1]) * _STEP
    except OverflowError:
        pass
    raise PreconditionFailed("no memory is in the state that If-Match names; read it again")
