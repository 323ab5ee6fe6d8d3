"""What an agent is shown: a brief when a session starts, and what matters for a prompt."""

import re
from typing import TYPE_CHECKING, Final

from ricordo.coding_agents import brief as briefs
from ricordo.coding_agents.capture import MAX_MESSAGE_CHARS, clean, thread_of
from ricordo.coding_agents.ingest import Event, Place
from ricordo.coding_agents.staleness import archive_stale

if TYPE_CHECKING:
    from ricordo.memory import Memory

_OWN: Final = re.compile(r"<hook_context>.*?(?:</hook_context>|\Z)\s*", re.DOTALL)
_NO_PROMPTS: Final = ("<task-notification>", "<system-reminder>", "<local-command", "<command-")
"""What an agent gives as a prompt that nobody wrote."""


def at_start(memory: "Memory", place: Place, event: Event) -> str:
    """The brief of a session that starts; nothing where it goes on and has been shown one.

    Raises:
        StorageError: the store cannot be read.
    """
    if event.payload.get("source") == "resume":
        return ""
    return _brief(memory, place, thread_of(event.agent, event.session_id))


def noted(memory: "Memory", place: Place) -> str:
    """The brief of the next session, whichever it is, after what is outdated for good was put
    aside.

    Raises:
        StorageError: the store cannot be read.
    """
    if not place.rules.is_off:
        archive_stale(memory.user(place.user), place.project.id, place.project.root)
    return _brief(memory, place, None)


def _brief(memory: "Memory", place: Place, session: str | None) -> str:
    settings = place.rules.settings
    if place.rules.is_off or not settings.brief:
        return ""
    made = briefs.brief(
        memory.user(place.user),
        place.project.id,
        root=place.project.root,
        session=session,
        budget_tokens=settings.brief_tokens,
    )
    return made.text


def for_prompt(memory: "Memory", place: Place, event: Event, seconds: float) -> str:
    """What is known that matters for a prompt, and was not shown in this session yet; nothing
    where that takes longer than so many seconds."""
    settings = place.rules.settings
    prompt = _OWN.sub("", str(event.payload.get("prompt") or "")).strip()
    if place.rules.is_off or not settings.recall or not prompt or prompt.startswith(_NO_PROMPTS):
        return ""
    shown = briefs.for_prompt(
        memory.user(place.user),
        place.project.id,
        clean(prompt, MAX_MESSAGE_CHARS),
        thread_of(event.agent, event.session_id),
        root=place.project.root,
        budget_tokens=settings.recall_tokens,
        deadline=seconds,
    )
    return shown.text
