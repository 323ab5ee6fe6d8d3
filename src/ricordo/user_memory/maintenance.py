"""Maintenance of one user: upkeep, activity, embeddings, the mirror, import and export."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from ricordo import limits
from ricordo.errors import Conflict, FilesUnavailable, InvalidValue, Occupied, RicordoError
from ricordo.files.folder import UserFiles
from ricordo.files.mirror import UserMirror
from ricordo.files.mirror_text import ShownMemory
from ricordo.formation.activity import counters_of, daily_of
from ricordo.index import rebuild
from ricordo.index.backfill import count_pending
from ricordo.index.embedders import model_of
from ricordo.index.rebuild import ModelCandidate
from ricordo.memories import lifecycle, replacement
from ricordo.memories.lifecycle import own_item
from ricordo.memories.lookup import read_states
from ricordo.model import checks
from ricordo.model.activity import ActivityEvent, Counters, DayActivity
from ricordo.model.draft import NewMemory
from ricordo.model.embedding import (
    ChoiceOrigin,
    EmbeddingBackfill,
    EmbeddingChange,
    EmbeddingState,
    EmbeddingStatus,
)
from ricordo.model.item import Added, Item
from ricordo.model.record import Page
from ricordo.model.reports import (
    ConsolidationReport,
    ImportReport,
    MirrorReport,
    MirrorStatus,
    RoundReport,
)
from ricordo.model.scope import Scope
from ricordo.model.vocabulary import GLOBAL_OWNER, Event, Source, Status
from ricordo.providers.embedder import Embedder
from ricordo.providers.embedding_choice import NONE, EmbeddingTest, effective, test_embedder
from ricordo.storage.activity import page_of_events
from ricordo.storage.database import WriteTransaction, retried
from ricordo.storage.history import revision_of
from ricordo.storage.items import active_with_key
from ricordo.storage.search_rows import text_hash
from ricordo.transfer import exports, imports
from ricordo.transfer.exports import Progress, no_progress
from ricordo.user_memory.base import Parts, UserOperations, whole_memory, within_categories
from ricordo.user_memory.memories import MemoryOperations


def _tested(embedder: Embedder | None) -> EmbeddingTest:
    """A try of an embedder; without one there is nothing that could go wrong."""
    if embedder is None:
        return EmbeddingTest(True, NONE, None, None, None, None)
    return test_embedder(embedder)


FILE_ACTOR = "file"
"""The actor in history for edits of MEMORY.md."""


def followed_mirror(parts: Parts, user_id: str) -> UserMirror:
    """A user's mirror in the folder of the store.

    Raises:
        FilesUnavailable: there is no such folder.
        InvalidValue: global memories have no files.
    """
    if parts.files is None:
        raise FilesUnavailable("this store has no folder for files: name one (setting files)")
    return mirror_of(parts, parts.files.of(user_id))


def mirror_of(parts: Parts, files: UserFiles) -> UserMirror:
    """A user's mirror, which writes as the person who edits the file."""
    zone = parts.conversation.policy.zone
    return UserMirror(files, parts.database, zone, _FileWrites(parts, files.user_id))


class _FileWrites(MemoryOperations):
    """A user's writes as a mirror needs them: only to what is still as the file showed it."""

    def __init__(self, parts: Parts, user_id: str) -> None:
        super().__init__(parts, Scope(user_id, actor_id=FILE_ACTOR))

    @whole_memory
    def add_new(self, drafts: Sequence[NewMemory], reason: str) -> Sequence[Added]:
        """Add memories; the result of each, in order."""
        added: list[Added] = []
        for start in range(0, len(drafts), limits.WRITE_BATCH_ITEMS):
            added += self._add_batch(drafts[start : start + limits.WRITE_BATCH_ITEMS], reason)
        return added

    @whole_memory
    @retried
    def replace_unchanged(
        self, old: ShownMemory, content: str, theme: str, reason: str
    ) -> Added | None:
        """Supersede a memory, if it still is as it was shown; None where it is not.

        Raises:
            Occupied: another memory of the theme has its key.
        """
        known, near = self._look_up([content])
        user_id = self.scope.user_id
        with self.database.write(user_id, touching=[old.id], known=known) as writing:
            present = _unchanged(writing, self.scope, old)
            if present is None:
                return None
            _check_key_is_free(writing, present, theme)
            draft = _successor(writing, present, content, theme)
            added = replacement.replace_with(
                writing, self.scope, [old.id], draft, Event.SUPERSEDE, reason
            )
            self.recall.relating.note(writing, [(added.id, text_hash(content))], known, near)
            return added

    @whole_memory
    @retried
    def forget_unchanged(self, old: ShownMemory, reason: str) -> bool:
        """Soft-delete a memory, if it still is as it was shown; whether it was."""
        with self.database.write(self.scope.user_id, touching=[old.id]) as writing:
            if _unchanged(writing, self.scope, old) is None:
                return False
            lifecycle.forget(writing, self.scope, old.id, reason)
            return True


def _unchanged(writing: WriteTransaction, scope: Scope, old: ShownMemory) -> Item | None:
    try:
        present = own_item(writing, scope, old.id)
    except RicordoError:  # purged, or erased with its user
        return None
    same = (present.theme, present.content) == (old.theme, old.content)
    return present if same and present.status is Status.ACTIVE else None


def _successor(writing: WriteTransaction, old: Item, content: str, theme: str) -> NewMemory:
    """What takes the place of a memory; the file shows nothing of its times, so they stay."""
    draft = NewMemory(content=content, theme=theme, source=Source.FILE, expires_at=old.expires_at)
    if old.valid_from > writing.now or content == old.content:
        draft = replace(draft, valid_from=old.valid_from, valid_to=old.valid_to)
    elif old.valid_to is not None and old.valid_to > writing.now:
        draft = replace(draft, valid_to=old.valid_to)
    return draft


def _check_key_is_free(writing: WriteTransaction, old: Item, theme: str) -> None:
    if old.key is None or theme == old.theme:
        return
    given = (writing.connection, writing.user_id, {theme}, {old.key}, writing.now)
    if any(not match.expired for match in active_with_key(*given)):
        raise Occupied(f"another memory of theme {theme!r} has the key {old.key!r}")


class MaintenanceOperations(UserOperations):
    """Maintenance of one user's memory."""

    @whole_memory
    def upkeep(self) -> RoundReport:
        """Do this user's round of upkeep now: forget what is not used, trim, ask for vectors.

        What takes longer (consolidation, insights, relations) is queued for a job. The round that
        comes by itself every day does the same.
        """
        return self.parts.upkeep.run_round(self.scope.user_id)

    @whole_memory
    def consolidate(self, *, dry_run: bool = False) -> ConsolidationReport:
        """Merge what says the same, replace what is outdated, link what belongs together.

        Each pair of memories is looked at once in 14 days, and so many a day
        (``consolidation_daily_pairs``). ``dry_run`` says what would be done without a language
        model, and does nothing. Anything that was done can be undone (:meth:`undo`).

        Raises:
            InvalidValue: global memories are not consolidated.
            LanguageModelError: the model could not answer; what was decided without it is done.
        """
        tries = checks.flag("dry_run", dry_run)
        if self.scope.user_id == GLOBAL_OWNER:
            raise InvalidValue("user_id", "global memories are not consolidated")
        return self.parts.upkeep.consolidate(self.scope.user_id, dry_run=tries)

    @whole_memory
    def events(
        self, *, limit: int = limits.DEFAULT_PAGE_ITEMS, cursor: str | None = None
    ) -> Page[ActivityEvent]:
        """The steps of background work for this user, the latest first.

        Raises:
            InvalidCursor: the cursor was not given out by this call.
        """
        size = checks.integer("limit", limit, 1, limits.MAX_PAGE_ITEMS)
        with self.database.read(self.scope.user_id) as view:
            return page_of_events(view.connection, self.scope.user_id, size, cursor)

    @whole_memory
    def counters(self, *, days: int | None = None) -> Counters:
        """How many memories this user has and how often things happened.

        ``days`` counts only the last ones, today included.
        """
        wanted = checks.optional_integer("days", days, 1, limits.MAX_RECENCY_DAYS)
        return counters_of(self.database, self.scope.user_id, wanted)

    @whole_memory
    def daily(self, *, days: int = limits.DEFAULT_DAILY_DAYS) -> tuple[DayActivity, ...]:
        """What happened on each of the last days (UTC): every one of them, today last.

        It counts this user's own memories. Recalls are written with some delay: those of the last
        minute may still be missing.

        Raises:
            InvalidValue: so many days are not allowed.
        """
        wanted = checks.integer("days", days, 1, limits.MAX_DAILY_DAYS)
        return daily_of(self.database, self.scope.user_id, wanted)

    @whole_memory
    def embedding_status(self) -> EmbeddingStatus:
        """Where the vectors are made, who decided that, and how far it has come."""
        with self.database.read(self.scope.user_id) as view:
            return rebuild.read_status(self.recall.embedders, view.connection, self.scope.user_id)

    @within_categories
    def embedding_states(self, ids: Iterable[int]) -> tuple[EmbeddingState, ...]:
        """How far the vector of each of these memories has come, in the order of the ids.

        What does not exist or is another user's is left out, and what has no vector where none are
        made. Of memories that others share, only
        the state is shown, not where their owner has vectors made.

        Raises:
            InvalidValue: something that is no id, or too many.
        """
        listed = checks.entries("ids", ids, limits.MAX_PAGE_ITEMS)
        wanted = [checks.memory_id(item_id) for item_id in listed]
        with self.database.read(self.scope.user_id) as view:
            chosen = self.recall.embedders.chosen(view.connection, self.scope.user_id)
            are_made = chosen.embedder is not None or chosen.problem is not None
            return tuple(read_states(view, self._audience(view), wanted, are_made=are_made))

    @whole_memory
    def test_embeddings(
        self,
        provider: str | None = None,
        *,
        model: str | None = None,
        base_url: str | None = None,
        api_key: str | None = None,
        dimensions: int | None = None,
    ) -> EmbeddingTest:
        """Call the endpoint and say how wide and how fast it answers, or what is wrong.

        Without arguments the present provider is tried, otherwise the one that is named. Nothing
        is stored.

        Raises:
            InvalidValue: a value is not allowed; the message says what is.
        """
        if provider is None:
            for name, value in {
                "model": model,
                "base_url": base_url,
                "api_key": api_key,
                "dimensions": dimensions,
            }.items():
                if value is not None:
                    raise InvalidValue(name, "needs a provider, too")
            return self._test_present()
        choice = rebuild.read_choice(provider, model, base_url, api_key, dimensions)
        wanted = choice or effective(None, None, None)
        return _tested(self.recall.embedders.for_choice(wanted))

    @whole_memory
    def set_embeddings(
        self,
        provider: str,
        *,
        model: str | None = None,
        base_url: str | None = None,
        api_key: str | None = None,
        dimensions: int | None = None,
        confirm: bool = False,
    ) -> EmbeddingChange:
        """Choose where this user's vectors are made, in place of the store's way.

        Without ``confirm`` nothing is changed, and the answer says how many vectors would have to
        be computed again and whether the endpoint answers. With it, the choice holds at once;
        vectors of another model are dropped, and a job computes them again. The key is stored
        encrypted and never shown again, so it has to be given with every change. ``default`` goes
        back to the store's way.

        Raises:
            InvalidValue: a value is not allowed; the message says what is.
            TargetRefused: the address is inside the operator's network.
            Conflict: the operator has chosen for everybody.
            EmbedderRefused: the key cannot be encrypted, because its secret key cannot be read.
        """
        choice = rebuild.read_choice(provider, model, base_url, api_key, dimensions)
        confirmed = checks.flag("confirm", confirm)
        self._refuse_if_decided()
        wanted = rebuild.candidate(self.recall.embedders, choice)
        problem = rebuild.try_out(self.recall.embedders, choice)
        if confirmed:
            count = self._change(wanted)
        else:
            with self.database.read(self.scope.user_id) as view:
                count = rebuild.count_missing(view.connection, self.scope.user_id, wanted.model)
        return EmbeddingChange(
            provider=wanted.provider,
            model=None if wanted.model is None else wanted.model.model,
            to_rebuild=count,
            applied=confirmed,
            problem=problem,
        )

    @whole_memory
    def reset_embeddings(self, *, confirm: bool = False) -> EmbeddingChange:
        """Go back to the store's way of making vectors; see :meth:`set_embeddings`.

        Raises:
            Conflict: the operator has chosen for everybody.
        """
        return self.set_embeddings(rebuild.STORE_DEFAULT, confirm=confirm)

    @whole_memory
    def rebuild_embeddings(self, *, confirm: bool = False) -> EmbeddingChange:
        """Compute all vectors again with the present model.

        Without ``confirm`` nothing is changed, and the answer says how many they are.

        Raises:
            Conflict: nothing makes vectors here.
            EmbeddingError, InvalidInput: the present settings cannot be used.
        """
        confirmed = checks.flag("confirm", confirm)
        present = model_of(self._present())
        if confirmed:
            count = self._rebuild()
        else:
            with self.database.read(self.scope.user_id) as view:
                count = rebuild.count_missing(view.connection, self.scope.user_id, None)
        return EmbeddingChange(
            provider=present.provider,
            model=present.model,
            to_rebuild=count,
            applied=confirmed,
            problem=None,
        )

    @whole_memory
    @retried
    def backfill_embeddings(self) -> EmbeddingBackfill:
        """Ask again for vectors that were given up or are of another model; a job makes them.

        Raises:
            Conflict: nothing makes vectors here.
            EmbeddingError, InvalidInput: the present settings cannot be used.
        """
        present = model_of(self._present())
        with self.database.write(self.scope.user_id) as writing:
            return rebuild.backfill(writing, present)

    @whole_memory
    def fill_embeddings(self, *, progress: Progress = no_progress) -> int:
        """Make the vectors that wait now, in this thread; how many were made.

        ``progress`` is called with the number done and the total. It can be stopped anywhere
        and goes on with the next call, or with the job that does the same.

        Raises:
            EmbeddingError, InvalidInput: the embedder does not do it; what was made is kept.
        """
        with self.database.read(self.scope.user_id) as view:
            total = count_pending(view.connection, self.scope.user_id)
        made = 0

        def tick(count: int) -> None:
            nonlocal made
            made += count
            progress(made, max(made, total))

        progress(0, total)
        self.recall.filling.fill(self.scope.user_id, tick)
        total = max(made, total)  # another worker may have made the rest
        progress(total, total)
        return made

    def _present(self) -> Embedder:
        with self.database.read(self.scope.user_id) as view:
            embedder = self.recall.embedders.embedder_of(view.connection, self.scope.user_id)
        if embedder is None:
            raise Conflict("nothing makes vectors here: the embedding provider is 'none'")
        return embedder

    def _test_present(self) -> EmbeddingTest:
        with self.database.read(self.scope.user_id) as view:
            chosen = self.recall.embedders.chosen(view.connection, self.scope.user_id)
            if chosen.problem is not None:
                status = rebuild.read_status(
                    self.recall.embedders, view.connection, self.scope.user_id
                )
                return EmbeddingTest(False, status.provider, None, None, None, chosen.problem)
        return _tested(chosen.embedder)

    def _refuse_if_decided(self) -> None:
        with self.database.read(self.scope.user_id) as view:
            origin = rebuild.origin_of(self.recall.embedders, view.connection, self.scope.user_id)
        if origin is ChoiceOrigin.OPERATOR:
            raise Conflict(
                "the operator has chosen the embedding provider for everybody;"
                " a choice of one's own would have no effect"
            )

    def _change(self, wanted: ModelCandidate) -> int:
        key = None if wanted.choice is None else wanted.choice.api_key
        sealed = None if key is None else self.recall.embedders.secrets.seal(key)
        return self._store(wanted, sealed)

    @retried
    def _store(self, wanted: ModelCandidate, sealed_key: str | None) -> int:
        with self.database.write(self.scope.user_id) as writing:
            return rebuild.change_choice(writing, wanted, sealed_key)

    @retried
    def _rebuild(self) -> int:
        with self.database.write(self.scope.user_id) as writing:
            return rebuild.rebuild_all(writing)

    @whole_memory
    def sync_mirror(self, *, allow_deletes: bool = False) -> MirrorReport:
        """Apply the edits of MEMORY.md, then rewrite it and the daily logs.

        The first time switches the mirror on. ``allow_deletes`` also takes over a file that has
        lost many of its lines, or its end.

        Raises:
            FilesUnavailable: there is no folder for files, or one cannot be written.
            InvalidValue: global memories have no files.
        """
        allowed = checks.flag("allow_deletes", allow_deletes)
        return followed_mirror(self.parts, self.scope.user_id).sync(allow_deletes=allowed)

    @whole_memory
    def mirror_status(self) -> MirrorStatus:
        """Whether there is a mirror, how far it is, and what its last problems were."""
        folder = self.parts.files
        if folder is None or self.scope.user_id == GLOBAL_OWNER:
            with self.database.read(self.scope.user_id) as view:
                revision = revision_of(view.connection, self.scope.user_id)
            return MirrorStatus(path=None, on=False, revision=revision)
        return mirror_of(self.parts, folder.of(self.scope.user_id)).status()

    @whole_memory
    def export_lines(self) -> Iterator[str]:
        """Everything of this user's as JSON Lines, from one consistent state.

        Raises:
            UserNotFound: nothing is stored for this user.
        """
        return exports.export_lines(self.database, self.scope.user_id)

    @whole_memory
    def export(self, path: str | Path) -> int:
        """Write everything of this user's to a JSON Lines file; the number of lines.

        The file appears whole or not at all.

        Raises:
            UserNotFound: nothing is stored for this user.
        """
        return exports.export_file(self.database, self.scope.user_id, checks.path("path", path))

    @whole_memory
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
        given = checks.path("path", path)
        opener = self.parts.open_file
        return imports.import_file(self.database, opener, whole, given, format, progress)
