"""How a model should use the tools of each set, for a system prompt."""

from collections.abc import Iterable, Sequence
from typing import Final

from ricordo.model.item import Theme
from ricordo.prompt.fence import STANDARD_GUIDE, guide

_HEADING: Final = "## Memory\nYou have a long-term memory of this user, kept by tools.\n"
_SINGLE: Final = """\
- memory with action "search" before answering anything that earlier conversations may settle; \
"*" gives the newest.
- action "save" keeps what will matter later: one fact, wish or instruction at a time; with a key \
it replaces what had that key; expires_days for what holds only for a while.
- action "forget" only when the user asks or something is clearly wrong."""
_QUERY: Final = """\
- memory_query asks one question and gets a few bullets. Ask once, when the task depends on what \
is known of the user; not at every turn."""
_PROFILE: Final = """\
- memory_search before answering anything that earlier conversations may settle.
- memory_store keeps one thing under a short name, and replaces what had that name.
- update_user_profile for what every conversation should begin with: name, city, language, tone. \
What is sensitive waits for consent; do not treat it as known before.
- memory_forget only when the user asks or something is clearly wrong."""
_HONEST: Final = "- Say when you are not sure. Do not invent memories."
_GUIDE_OF: Final = {"single": _SINGLE, "query": _QUERY, "profile": _PROFILE}


def guide_for(sets: Sequence[str], themes: Iterable[Theme]) -> str:
    """The guide to the tools of some sets, with the user's themes; never content of memories."""
    known = tuple(themes)
    if tuple(sets) == ("standard",):
        return guide(known)
    parts = [_GUIDE_OF[name] for name in sets if name in _GUIDE_OF]
    head = STANDARD_GUIDE if "standard" in sets else f"{_HEADING}{parts.pop(0)}\n{_HONEST}"
    more = "memory_list_themes" if "standard" in sets else None
    return guide(known, "\n".join([head, *parts]), more)
