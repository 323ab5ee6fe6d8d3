"""One user's memory: every operation that belongs to a user, bound to one scope.

Each method checks what it is given, opens one transaction and delegates to the room that has the
rule. Nothing here depends on which database is underneath.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any, Self

from ricordo import limits
from ricordo.errors import InvalidValue, NotOwner, ThemeNotFound, ThreadNotFound
from ricordo.memories import adding, changing, expiring, reading, replacing, sharing
from ricordo.model import checks
from ricordo.model.draft import NewMemory, theme_slug
from ricordo.model.filters import ItemFilter, Sort
from ricordo.model.history import Change, Changes
from ricordo.model.item import Added, Item
from ricordo.model.page import Page
from ricordo.model.receipt import ImportReport
from ricordo.model.scope import Scope
from ricordo.model.theme import Theme
from ricordo.model.thread import Thread, Turn
from ricordo.model.vocabulary import ContextPolicy, Event, MemoryType, Source
from ricordo.settings import Settings
from ricordo.storage import threads as thread_rows
from ricordo.storage.audiences import audience_of
from ricordo.storage.database import Database, Reading, retried
from ricordo.storage.history import changes_since, revision_of
from ricordo.storage.links import viewers_of
from ricordo.storage.themes import change_theme
from ricordo.storage.where import Audience
from ricordo.transfer import exporting, importing
from ricordo.transfer.progress import Progress, no_progress

When = datetime | date | str


class UserMemory:
    """What one user remembers. Made by ``Memory.user``; cheap, holds no connection."""

    def __init__(self, database: Database, settings: Settings, scope: Scope) -> None:
        self.database = database
        self.scope = scope
        self._settings = settings

    def narrow(
        self,
        *,
        agent: str | None = None,
        thread: str | None = None,
        run: str | None = None,
        actor: str | None = None,
        role: str | None = None,
    ) -> Self:
        """The same user's memory with more of the scope fixed.

        Raises:
            ScopeWidened: a part that is already fixed would become another.
        """
        scope = self.scope.narrow(
            agent_id=agent, thread_id=thread, run_id=run, actor_id=actor, role=role
        )
        return type(self)(self.database, self._settings, scope)

    # -- adding ----------------------------------------------------------------------------

    def add(
        self,
        content: str,
        *,
        theme: str | None = None,
        type: MemoryType | str | None = None,
        key: str | None = None,
        tags: Iterable[str] | None = None,
        source: Source | str | None = None,
        source_context: str | None = None,
        thread_id: str | None = None,
        message_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        actor_id: str | None = None,
        role: str | None = None,
        confidence: int | None = None,
        importance: int | None = None,
        pinned: bool | None = None,
        valid_from: When | None = None,
        valid_to: When | None = None,
        expires_at: When | None = None,
        created_at: When | None = None,
        supersedes: int | None = None,
        reason: str | None = None,
    ) -> Added:
        """Remember something.

        The same text in the same theme is not written twice. With a ``key``, what had that key is
        updated. With ``supersedes``, the memory of that id is closed and kept as history, and what
        is not given (theme, type, key, tags, importance, pin) is taken from it.

        Raises:
            InvalidValue: a value is not allowed; the message says what is.
            MemoryNotFound, NotOwner, IllegalTransition: about the memory to supersede.
            ScopeWidened: it names another agent, thread, run, actor or role than the scope.
        """
        given = {name: value for name, value in locals().items() if name not in _NOT_OF_THE_DRAFT}
        draft = NewMemory.parse(given)
        why = _reason(reason)
        if supersedes is None:
            return self._add_batch([draft], why)[0]
        return self._replace([checks.memory_id(supersedes)], draft, Event.SUPERSEDE, why)

    def add_many(
        self, memories: Iterable[NewMemory | Mapping[str, Any] | str], *, reason: str | None = None
    ) -> tuple[Added, ...]:
        """Remember many things, one transaction per batch; what became of each, in order.

        Every value is checked before anything is written. What can only be told beside what is
        stored (a keyed statement that begins before the one it updates) stops its own batch.

        Raises:
            InvalidValue, UnknownField: one of them is not allowed; nothing of its batch is stored.
            ScopeWidened: one names another agent, thread, run, actor or role than the scope.
        """
        listed = checks.entries("memories", memories, limits.MAX_BULK_ITEMS)
        drafts = [NewMemory.parse(given).stamped(self.scope) for given in listed]
        for draft in drafts:
            adding.check_times(draft, self.database.clock())
        why = _reason(reason)
        added: list[Added] = []
        for start in range(0, len(drafts), limits.WRITE_BATCH_ITEMS):
            added += self._add_batch(drafts[start : start + limits.WRITE_BATCH_ITEMS], why)
        return tuple(added)

    def merge(
        self,
        ids: Iterable[int],
        content: str | NewMemory | Mapping[str, Any],
        *,
        reason: str | None = None,
    ) -> Added:
        """Put one memory in the place of several, which are kept as history.

        What is not given is taken from them where they agree; tags are put together.

        Raises:
            InvalidValue: fewer than two memories, or too many.
            MemoryNotFound, NotOwner, IllegalTransition: about the memories to merge.
        """
        listed = checks.entries("ids", ids, limits.MAX_MERGED_ITEMS)
        sources = list(dict.fromkeys(checks.memory_id(item_id) for item_id in listed))
        if len(sources) < 2:
            raise InvalidValue(
                "ids", f"only {len(sources)}; allowed: 2 to {limits.MAX_MERGED_ITEMS} memories"
            )
        return self._replace(sources, NewMemory.parse(content), Event.MERGE, _reason(reason))

    # -- reading ---------------------------------------------------------------------------

    def get(self, id: int, *, include_deleted: bool = False) -> Item:
        """One memory.

        Raises:
            MemoryNotFound: there is none, it has expired, or it is another user's.
        """
        item_id = checks.memory_id(id)
        also_deleted = checks.flag("include_deleted", include_deleted)
        with self.database.read() as view:
            return reading.read_item(
                view, self._audience(view), item_id, include_deleted=also_deleted
            )

    def list(
        self,
        /,
        *,
        sort: str = "created_at",
        order: str = "desc",
        limit: int = limits.DEFAULT_PAGE_ITEMS,
        cursor: str | None = None,
        **filters: Any,
    ) -> Page[Item]:
        """A page of memories, newest first unless sorted otherwise.

        The filters are the fields of ``ItemFilter``, e.g. ``theme="work"``, ``contains="tea"``,
        ``status="any"``. Unknown ones are refused.

        Raises:
            UnknownField, InvalidValue: a filter does not exist or has a value that is not allowed.
            InvalidCursor: the cursor is from a list in another order.
        """
        wanted = ItemFilter.parse(filters)
        ordered = Sort.parse(sort, order)
        size = checks.integer("limit", limit, 1, limits.MAX_PAGE_ITEMS)
        with self.database.read() as view:
            return reading.read_page(view, self._audience(view), wanted, ordered, size, cursor)

    def history(self, id: int, *, limit: int = limits.DEFAULT_CHANGES) -> tuple[Change, ...]:
        """What happened to a memory, oldest first; also for one that was purged.

        Raises:
            MemoryNotFound: this user never had to do with such a memory.
        """
        item_id = checks.memory_id(id)
        size = checks.integer("limit", limit, 1, limits.MAX_CHANGES)
        with self.database.read() as view:
            user_id = self.scope.user_id
            return tuple(reading.read_history(view, self._audience(view), user_id, item_id, size))

    def themes(self) -> tuple[Theme, ...]:
        """The headings with the number of active memories under each, most used first."""
        with self.database.read() as view:
            return tuple(reading.read_themes(view, self._audience(view), self.scope.user_id))

    def changes(self, since: int = 0, *, limit: int = limits.DEFAULT_CHANGES) -> Changes:
        """What happened after a revision, oldest first."""
        after = checks.integer("since", since, 0, limits.MAX_ID)
        size = checks.integer("limit", limit, 1, limits.MAX_CHANGES)
        with self.database.read() as view:
            return changes_since(view.connection, self.scope.user_id, after, size)

    def revision(self) -> int:
        """Where this user's change feed stands: it grows by one with each change of a memory."""
        with self.database.read() as view:
            return revision_of(view.connection, self.scope.user_id)

    # -- changing --------------------------------------------------------------------------

    @retried
    def archive(self, id: int, *, reason: str | None = None) -> Item:
        """Put a memory aside: kept, and out of reads unless asked for.

        Raises:
            MemoryNotFound, NotOwner, IllegalTransition.
        """
        item_id, why = checks.memory_id(id), _reason(reason)
        with self.database.write(self.scope.user_id, touching=[item_id]) as writing:
            return changing.archive(writing, self.scope, item_id, why)

    @retried
    def restore(self, id: int, *, reason: str | None = None) -> Item:
        """Bring back an archived or forgotten memory.

        Raises:
            Occupied: its key or text was taken by another active memory.
            MemoryNotFound, NotOwner, IllegalTransition.
        """
        item_id, why = checks.memory_id(id), _reason(reason)
        with self.database.write(self.scope.user_id, touching=[item_id]) as writing:
            return changing.restore(writing, self.scope, item_id, why)

    @retried
    def forget(
        self,
        id: int | None = None,
        *,
        key: str | None = None,
        theme: str | None = None,
        reason: str | None = None,
    ) -> tuple[Item, ...]:
        """Soft-delete a memory by id, or what has a key (in one theme, or in all).

        It is gone from every read, can be restored for a while, and is then removed for good.

        Raises:
            InvalidValue: neither or both of id and key, or a theme without a key.
            MemoryNotFound, NotOwner, IllegalTransition.
        """
        if (id is None) == (key is None) or (theme is not None and key is None):
            raise InvalidValue("forget", "give either an id, or a key with an optional theme")
        why = _reason(reason)
        wanted_key = None if key is None else checks.text("key", key, limits.MAX_KEY_CHARS)
        slug = None if theme is None else theme_slug(theme)
        item_id = None if id is None else checks.memory_id(id)
        touching = [] if item_id is None else [item_id]
        with self.database.write(self.scope.user_id, touching=touching) as writing:
            if item_id is not None:
                return (changing.forget(writing, self.scope, item_id, why),)
            assert wanted_key is not None
            return tuple(changing.forget_key(writing, self.scope, wanted_key, slug, why))

    @retried
    def pin(self, id: int, pinned: bool = True) -> Item:
        """Mark a memory as one to keep, or take the mark away.

        Raises:
            MemoryNotFound, NotOwner, IllegalTransition.
        """
        item_id, wanted = checks.memory_id(id), checks.flag("pinned", pinned)
        with self.database.write(self.scope.user_id, touching=[item_id]) as writing:
            return changing.pin(writing, self.scope, item_id, wanted)

    @retried
    def verify(self, id: int) -> Item:
        """Note that a memory was found to be still true.

        Raises:
            MemoryNotFound, NotOwner, IllegalTransition.
        """
        item_id = checks.memory_id(id)
        with self.database.write(self.scope.user_id, touching=[item_id]) as writing:
            return changing.verify(writing, self.scope, item_id)

    @retried
    def undo(self, id: int, *, reason: str | None = None) -> Item:
        """Bring a superseded or merged memory back, or take back the last update of a keyed one.

        A replacement is undone by naming either side of it; the memory that came back is returned.

        Raises:
            NothingToUndo: nothing of the kind happened to it.
            Occupied: its key or text was taken by another active memory.
            MemoryNotFound, NotOwner, IllegalTransition.
        """
        item_id, why = checks.memory_id(id), _reason(reason)
        with self.database.write(self.scope.user_id, touching=[item_id]) as writing:
            return replacing.undo(writing, self.scope, item_id, why)

    def purge(self, *, before_time: bool = False) -> int:
        """Remove forgotten memories for good whose time has come; how many there were.

        ``before_time`` removes every forgotten memory at once. History keeps that they existed.
        """
        everything = checks.flag("before_time", before_time)
        total = 0
        while purged := self._purge_batch(everything):
            total += purged
        return total

    @retried
    def describe_theme(
        self,
        theme: str,
        *,
        display_name: str | None = None,
        description: str | None = None,
        context: ContextPolicy | str | None = None,
        rag_length: int | None = None,
    ) -> Theme:
        """Change a theme's name, description and context policy.

        Raises:
            ThemeNotFound: this user has no such theme.
        """
        slug = theme_slug(theme)
        values = _theme_values(display_name, description, context, rag_length)
        with self.database.write(self.scope.user_id) as writing:
            changed = {**values, "updated_at": writing.now}
            if not change_theme(writing.connection, self.scope.user_id, slug, changed):
                raise ThemeNotFound(slug)
        return next(found for found in self.themes() if found.slug == slug)

    # -- sharing ---------------------------------------------------------------------------

    @retried
    def link(self, id: int, with_user: str) -> Item:
        """Let another user see a memory.

        Raises:
            InvalidValue: with oneself, or too many links.
            MemoryNotFound, NotOwner, IllegalTransition.
        """
        item_id, viewer = checks.memory_id(id), checks.user_id(with_user)
        with self.database.write(self.scope.user_id, touching=[item_id]) as writing:
            return sharing.link(writing, self.scope, item_id, viewer)

    @retried
    def unlink(self, id: int, with_user: str | None = None) -> None:
        """Take a shared memory out of one user's sight; a viewer does it for themselves.

        Raises:
            MemoryNotFound: no such memory or link.
            NotOwner, InvalidValue.
        """
        item_id = checks.memory_id(id)
        viewer = None if with_user is None else checks.user_id(with_user)
        with self.database.write(self.scope.user_id, touching=[item_id]) as writing:
            sharing.unlink(writing, self.scope, item_id, viewer)

    def links(self, id: int) -> tuple[str, ...]:
        """The users whom a memory of this user is shared with.

        Raises:
            MemoryNotFound, NotOwner.
        """
        item_id = checks.memory_id(id)
        with self.database.read() as view:
            item = reading.read_item(view, self._audience(view), item_id)
            if item.user_id != self.scope.user_id:
                raise NotOwner(
                    f"memory {item.id} is shared with you; only its owner sees with whom"
                )
            return tuple(viewers_of(view.connection, item.user_id, item.id))

    # -- conversations ---------------------------------------------------------------------

    def threads(
        self, *, limit: int = limits.DEFAULT_PAGE_ITEMS, cursor: str | None = None
    ) -> Page[Thread]:
        """This user's conversations, the latest first.

        Raises:
            InvalidCursor: the cursor was not given out by this call.
        """
        size = checks.integer("limit", limit, 1, limits.MAX_PAGE_ITEMS)
        with self.database.read() as view:
            return thread_rows.page_of_threads(view.connection, self.scope.user_id, size, cursor)

    def turns(
        self,
        thread_id: str,
        *,
        limit: int = limits.DEFAULT_PAGE_ITEMS,
        cursor: str | None = None,
    ) -> Page[Turn]:
        """What was said in a conversation, in order.

        Raises:
            ThreadNotFound: this user has no such conversation.
            InvalidCursor: the cursor was not given out by this call.
        """
        wanted = checks.reference("thread_id", thread_id)
        size = checks.integer("limit", limit, 1, limits.MAX_PAGE_ITEMS)
        user_id = self.scope.user_id
        with self.database.read() as view:
            if thread_rows.find_thread(view.connection, user_id, wanted) is None:
                raise ThreadNotFound(wanted)
            return thread_rows.page_of_turns(view.connection, user_id, wanted, size, cursor)

    # -- files -----------------------------------------------------------------------------

    def export_lines(self) -> Iterator[str]:
        """Everything of this user's as JSON Lines, from one consistent state.

        Raises:
            UserNotFound: nothing is stored for this user.
        """
        return exporting.export_lines(self.database, [self.scope.user_id])

    def export(self, path: str | Path) -> int:
        """Write everything of this user's to a JSON Lines file; the number of lines.

        The file appears whole or not at all.

        Raises:
            UserNotFound: nothing is stored for this user.
        """
        return exporting.export_file(self.database, [self.scope.user_id], checks.path("path", path))

    def import_file(
        self, path: str | Path, *, format: str = "auto", progress: Progress = no_progress
    ) -> ImportReport:
        """Bring in a ricordo export, or what another system exported.

        Formats: ``auto ricordo mem0 chatgpt claude keyvalue markdown``. The whole file is checked
        before anything is written. Bringing in the same file again changes nothing.

        Raises:
            ImportFailed: the file cannot be read as what it should be; the message says where.
        """
        # An import is the whole user's: what it brings may name any agent or thread.
        whole = Scope(self.scope.user_id)
        return importing.import_file(
            self.database, whole, checks.path("path", path), format, progress
        )

    # -- inside ----------------------------------------------------------------------------

    def _audience(self, view: Reading) -> Audience:
        global_until = self.database.policy.global_until
        return audience_of(view.connection, self.scope.user_id, global_until, view.now)

    @retried
    def _add_batch(self, drafts: Sequence[NewMemory], reason: str | None) -> Sequence[Added]:
        with self.database.write(self.scope.user_id) as writing:
            return adding.add_all(writing, self.scope, drafts, reason)

    @retried
    def _purge_batch(self, before_time: bool) -> int:
        with self.database.write(self.scope.user_id) as writing:
            expiring.expire_due(writing)
            return expiring.purge_due(writing, before_time=before_time)

    @retried
    def _replace(
        self, old_ids: Sequence[int], draft: NewMemory, event: Event, reason: str | None
    ) -> Added:
        with self.database.write(self.scope.user_id, touching=old_ids) as writing:
            return replacing.replace_with(writing, self.scope, old_ids, draft, event, reason)


_NOT_OF_THE_DRAFT = frozenset({"self", "supersedes", "reason"})


def _reason(given: str | None) -> str | None:
    return checks.optional_text("reason", given, limits.MAX_REASON_CHARS)


def _theme_values(
    display_name: str | None,
    description: str | None,
    context: ContextPolicy | str | None,
    rag_length: int | None,
) -> dict[str, Any]:
    values: dict[str, Any] = {}
    if display_name is not None:
        values["display_name"] = checks.text("display_name", display_name, limits.MAX_THEME_CHARS)
    if description is not None:
        maximum = limits.MAX_THEME_DESCRIPTION_CHARS
        values["description"] = checks.optional_text("description", description, maximum)
    if context is not None:
        values["context"] = checks.choice("context", context, ContextPolicy).value
    if rag_length is not None:
        values["rag_length"] = checks.integer("rag_length", rag_length, 1, limits.MAX_RAG_LENGTH)
    if not values:
        raise InvalidValue(
            "theme", "say what to change: display_name, description, context or rag_length"
        )
    return values
