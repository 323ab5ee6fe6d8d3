"""The set ``profile``: facts by name, and what is said of the user in every prompt."""

from typing import Any, Final

from ricordo import limits
from ricordo.errors import InvalidValue
from ricordo.model import checks
from ricordo.model.profile import FieldOutcome, FieldUpdate
from ricordo.model.vocabulary import Source
from ricordo.tools import showing, writes
from ricordo.tools.standard import SEARCH
from ricordo.tools.tool import Answer, Arguments, Tool, integer, record, text
from ricordo.user_memory import UserMemory

_MEANING: Final = {
    FieldOutcome.PROPOSED: "waits for the user's consent; do not treat it as known",
    FieldOutcome.WAITING: "is kept once the user says it again",
    FieldOutcome.REFUSED: "was turned down by the user before; do not ask again",
}


def _store(user: UserMemory, given: Arguments) -> Answer:
    key = checks.text("key", given["key"], limits.MAX_KEY_CHARS)
    value = checks.text("value", given["value"], limits.MAX_CONTENT_CHARS)
    theme = given.get("theme")
    text = _sentence(key, value)
    return writes.stored(user, content=text, key=key, theme=theme, source=Source.CONVERSATION)


def _sentence(key: str, value: str) -> str:
    """A value that is understood, and found, without its key."""
    words = " ".join(key.replace("_", " ").replace("-", " ").split())
    if not words or words.casefold() in value.casefold():
        return value
    return f"{words[0].upper()}{words[1:]}: {value}"


def _forget(user: UserMemory, given: Arguments) -> Answer:
    if "key" not in given and "id" not in given:
        raise InvalidValue("key", "is missing; give the key, or the id, of what to forget")
    asked = dict(given)
    gone = user.forget(asked.pop("id", None), **asked)
    return showing.forgotten(gone, user.database.clock())


def _update(user: UserMemory, given: Arguments) -> Answer:
    # What could not be followed in USER.md is for the person who wrote it, not for a model.
    return {"fields": [_field(one) for one in user.update_user_profile(given["fields"]).fields]}


def _field(done: FieldUpdate) -> dict[str, Any]:
    shown = {"field": done.key, "outcome": done.outcome.value}
    meaning = _MEANING.get(done.outcome)
    return shown if meaning is None else {**shown, "note": meaning}


STORE: Final = Tool(
    name="memory_store",
    title="Remember by name",
    description=(
        "Keep one thing about the user under a short name; what had that name before is replaced,"
        " and kept as history. Use it for things that have one value at a time."
    ),
    parameters=(
        text("key", "Short name, such as favourite_drink.", required=True),
        text("value", "What to remember.", required=True),
        text("theme", "Where to file it, such as work; default general."),
    ),
    destructive=True,  # of what it replaces only the history is left
    idempotent=True,
    run=_store,
)

FORGET: Final = Tool(
    name="memory_forget",
    title="Forget",
    description=(
        "Forget something, by its name or id. Only when the user asks for it, or when it is clearly"
        " wrong. A person can bring it back for some days."
    ),
    parameters=(
        text("key", "The name that it was stored under."),
        integer("id", "Its id, instead of a name.", 1),
        text("theme", "With a name: only in this theme."),
    ),
    destructive=True,
    run=_forget,
)

UPDATE_PROFILE: Final = Tool(
    name="update_user_profile",
    title="Update the profile",
    description=(
        "Set short fields about the user that every conversation should begin with, such as name,"
        " city, language or tone. What is sensitive waits for their consent: the answer says so."
    ),
    parameters=(
        record(
            "fields",
            "Field names with their new values; null removes a field.",
            values={"type": ["string", "null"]},
            required=True,
        ),
    ),
    destructive=True,
    run=_update,
)

PROFILE: Final = (STORE, SEARCH, FORGET, UPDATE_PROFILE)
