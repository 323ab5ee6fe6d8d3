"""The narrative of a user: a summary of their memories in one text.

With a model it is a portrait; without one, or when the model fails, a template puts it together
from the memories. It is renewed after formation, and deleted when a memory is forgotten, because it
may mention that memory.
"""

import logging
from collections.abc import Sequence
from datetime import datetime
from typing import Final

import sqlalchemy as sa

from ricordo import limits
from ricordo.errors import BadAnswer, ModelRefused, in_log
from ricordo.formation import resources
from ricordo.metering import MeteredModel
from ricordo.model.item import Item
from ricordo.model.profile import Summary
from ricordo.model.vocabulary import GENERAL_THEME, MemoryType, Status
from ricordo.providers.chat_model import Message
from ricordo.storage.database import Database, ReadTransaction, WriteTransaction, retried
from ricordo.storage.history import revision_of
from ricordo.storage.items import foremost_items, has_ended
from ricordo.storage.sql import Condition
from ricordo.storage.tables import items
from ricordo.storage.users import drop_summary, find_summary, put_summary
from ricordo.storage.where import not_expired

TEMPLATE: Final = "template"
LEFT_OUT: Final = frozenset({MemoryType.PROCEDURE, MemoryType.INSIGHT, MemoryType.SUMMARY})
"""Types of memories that a narrative leaves out."""

_ENDS: Final = tuple(".!?…。！？:;")

_log = logging.getLogger(__name__)


def current_summary(database: Database, user_id: str) -> Summary | None:
    """The narrative of a user; None if nothing is known.

    A narrative made by the template is renewed if the memories have changed; any is renewed if a
    memory has ended that it may mention.
    """
    with database.read(user_id) as view:
        revision = revision_of(view.connection, user_id)
        stored = find_summary(view.connection, user_id)
        if (
            stored is not None
            and (stored["revision"] == revision or stored["made_by"] != TEMPLATE)
            and not has_ended(view.connection, user_id, stored["updated_at"], view.now)
        ):
            return Summary(
                content=stored["content"],
                revision=stored["revision"],
                made_by=stored["made_by"],
                updated_at=stored["updated_at"],
                is_current=stored["revision"] == revision,
            )
        text = template_text(_known(view, user_id))
        if not text:
            return None
        return Summary(
            content=text, revision=revision, made_by=TEMPLATE, updated_at=view.now, is_current=True
        )


def renew_summary(database: Database, model: MeteredModel | None, user_id: str) -> None:
    """Write the narrative of a user again.

    Raises:
        BudgetExhausted: the day's tokens are used up.
        ModelUnavailable: the model is down; try again.
    """
    with database.read(user_id) as view:
        revision = revision_of(view.connection, user_id)
        known = _known(view, user_id)
    made_by = TEMPLATE
    content = template_text(known)
    if model is not None and known:
        try:
            content = _portrait(model, user_id, known)
            made_by = model.name
        except (BadAnswer, ModelRefused) as problem:  # a retry would not help
            _log.warning("the summary is made by the template: %s", in_log(problem))
    _store(database, user_id, known, content, revision, made_by)


def template_text(known: Sequence[Item]) -> str:
    by_theme: dict[str, list[str]] = {}
    room = limits.MAX_SUMMARY_CHARS
    for item in known:
        # With a full stop, so that it does not run into the next one.
        sentence = item.content if item.content[-1:] in _ENDS else f"{item.content}."
        cost = len(sentence) + 1 + (0 if item.theme in by_theme else len(item.theme) + 3)
        if cost > room:
            continue
        room -= cost
        by_theme.setdefault(item.theme, []).append(sentence)
    if known and not by_theme:  # none fits in full
        return f"{known[0].content[: limits.MAX_SUMMARY_CHARS - 1]}…"
    paragraphs = []
    for theme, contents in by_theme.items():
        title = theme.replace("-", " ").replace("_", " ").capitalize()
        heading = "" if theme == GENERAL_THEME else f"{title}: "
        paragraphs.append(heading + " ".join(contents))
    return "\n".join(paragraphs)


@retried
def _store(
    database: Database,
    user_id: str,
    sources: Sequence[Item],
    content: str,
    revision: int,
    made_by: str,
) -> None:
    """Store a narrative, unless one of its memories was forgotten in the meantime."""
    with database.write(user_id) as writing:
        present = find_summary(writing.connection, user_id)
        if present is not None and present["revision"] > revision:
            return  # a newer one is stored already
        ids = items.c.id.in_([item.id for item in sources])
        valid = sa.select(items.c.id).where(ids, _current(writing.user_id, writing.now))
        if len(writing.connection.execute(valid).all()) < len(sources):
            known = _known(writing, user_id)
            content, revision, made_by = template_text(known), writing.revision, TEMPLATE
        if content:
            put_summary(writing, content, revision, made_by)
        else:
            drop_summary(writing.connection, user_id)


def _portrait(model: MeteredModel, user_id: str, known: Sequence[Item]) -> str:
    lines: list[str] = []
    room = limits.MAX_SUMMARY_NOTES_CHARS
    for item in known:
        line = f"- [{item.theme}] {' '.join(item.content.split())}"
        if len(line) < room:
            lines.append(line)
            room -= len(line) + 1
    prompt = resources.render(
        resources.SUMMARISE, most=limits.MAX_SUMMARY_CHARS, notes="\n".join(lines)
    )
    reply = model.reply(user_id, [Message("user", prompt)])
    return reply.strip()[: limits.MAX_SUMMARY_CHARS]


def _known(view: ReadTransaction | WriteTransaction, user_id: str) -> list[Item]:
    kept = items.c.type.not_in([kind.value for kind in LEFT_OUT])
    where = _current(user_id, view.now) & kept
    return foremost_items(view.connection, where, limits.MAX_SUMMARISED_ITEMS)


def _current(user_id: str, now: datetime) -> Condition:
    """What is so in all projects: the narrative is about the person, and shown in each of them."""
    return (
        (items.c.user_id == user_id)
        & (items.c.status == Status.ACTIVE.value)
        & items.c.project_id.is_(None)
        & not_expired(now)
    )
