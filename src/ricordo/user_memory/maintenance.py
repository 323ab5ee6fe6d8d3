"""Maintenance of one user: upkeep, activity, embeddings, the mirror, import and export."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ricordo import limits
from ricordo.errors import Conflict, FilesUnavailable, InvalidValue, Occupied, RicordoError
from ricordo.files.home import UserFiles
from ricordo.index import rebuild
from ricordo.index.backfill import count_pending
from ricordo.index.embedders import model_of
from ricordo.index.rebuild import ModelCandidate
from ricordo.memories import lifecycle, replacement
from ricordo.memories.lifecycle import own_item
from ricordo.model import checks
from ricordo.model.activity import ActivityEvent, Counters, DayActivity
from ricordo.model.draft import NewMemory
from ricordo.model.embedding import (
    ChoiceOrigin,
    EmbeddingBackfill,
    EmbeddingChange,
    EmbeddingState,
    EmbeddingStatus,
    EmbeddingTest,
)
from ricordo.model.group import is_person
from ricordo.model.item import Added, Item
from ricordo.model.record import Page
from ricordo.model.reports import (
    ConsolidationReport,
    ImportReport,
    MirrorReport,
    MirrorStatus,
    RoundReport,
)
from ricordo.model.scope import Grant, Scope
from ricordo.model.vocabulary import Event, Source, Status
from ricordo.operations import maintenance as describe
from ricordo.providers.embedder import Embedder
from ricordo.providers.embedding_choice import NONE, effective, test_embedder
from ricordo.storage.access import StoredGrants
from ricordo.storage.activity import counters_of, daily_of, page_of_events
from ricordo.storage.database import WriteTransaction, rehearsing, retried
from ricordo.storage.history import revision_of
from ricordo.storage.items import active_with_key
from ricordo.storage.search_rows import text_hash
from ricordo.user_memory.base import Parts, UserOperations, check_speaks_for_user, implements
from ricordo.user_memory.memories import MemoryOperations

if TYPE_CHECKING:  # loaded when they are first used
    from ricordo.files.mirror import UserMirror
    from ricordo.files.mirror_text import ShownMemory
    from ricordo.transfer.exports import Progress


def _tested(embedder: Embedder | None) -> EmbeddingTest:
    """A try of an embedder; without one there is nothing that could go wrong."""
    if embedder is None:
        return EmbeddingTest(True, NONE, None, None, None, None)
    return test_embedder(embedder)


FILE_ACTOR = "file"
"""The actor in history for edits of MEMORY.md."""


def followed_mirror(parts: Parts, user_id: str) -> "UserMirror":
    """A user's mirror in the folder of the store. Raises FilesUnavailable: there is no such folder;
    InvalidValue: global memories have no files."""
    if parts.files is None:
        raise FilesUnavailable("this store has no folder for files: name one (setting files)")
    return mirror_of(parts, parts.files.of(user_id))


def mirror_of(parts: Parts, files: UserFiles) -> "UserMirror":
    """A user's mirror, which writes as the person who edits the file."""
    from ricordo.files.mirror import UserMirror

    zone = parts.conversation.policy.zone
    return UserMirror(files, parts.database, zone, _FileWrites(parts, files.user_id))


class _FileWrites(MemoryOperations, are_public=False):
    """A user's writes as a mirror needs them: only to what is still as the file showed it."""

    def __init__(self, parts: Parts, user_id: str) -> None:
        super().__init__(parts, Scope(user_id, actor_id=FILE_ACTOR))

    def add_new(self, drafts: Sequence[NewMemory], reason: str) -> Sequence[Added]:
        """Add memories; the result of each, in order."""
        added: list[Added] = []
        for start in range(0, len(drafts), limits.WRITE_BATCH_ITEMS):
            added += self._add_batch(drafts[start : start + limits.WRITE_BATCH_ITEMS], reason)
        return added

    @retried
    def replace_unchanged(
        self, old: "ShownMemory", content: str, theme: str, reason: str
    ) -> Added | None:
        """Supersede a memory, if it still is as it was shown; None where it is not. Raises
        Occupied: another memory of the theme has its key."""
        user_id = self.scope.user_id
        known, near = self.recall.prepare(user_id, [content])
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

    @retried
    def forget_unchanged(self, old: "ShownMemory", reason: str) -> bool:
        """Soft-delete a memory, if it still is as it was shown; whether it was."""
        with self.database.write(self.scope.user_id, touching=[old.id]) as writing:
            if _unchanged(writing, self.scope, old) is None:
                return False
            lifecycle.forget(writing, self.scope, old.id, reason)
            return True


def _unchanged(writing: WriteTransaction, scope: Scope, old: "ShownMemory") -> Item | None:
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
    met = (one for one in active_with_key(*given) if one.project_id == old.project_id)
    if any(not match.expired for match in met):
        raise Occupied(f"another memory of theme {theme!r} has the key {old.key!r}")


class MaintenanceOperations(UserOperations):
    """Maintenance of one user's memory."""

    @implements(describe.upkeep)
    def upkeep(self) -> RoundReport:
        return self.parts.upkeep.run_round(self.scope.user_id)

    @implements(describe.consolidate)
    def consolidate(self, dry_run: bool) -> ConsolidationReport:
        if not is_person(self.scope.user_id):
            raise InvalidValue("user_id", "global memories are not consolidated")
        return self.parts.upkeep.consolidate(self.scope.user_id, dry_run=dry_run)

    @implements(describe.events)
    def events(self, thread: str | None, limit: int, cursor: str | None) -> Page[ActivityEvent]:
        with self.database.read(self.scope.user_id) as view:
            return page_of_events(view.connection, self.scope.user_id, limit, cursor, thread)

    @implements(describe.counters)
    def counters(self, days: int | None) -> Counters:
        user_id = self.scope.user_id
        with self.database.read(user_id) as view:
            total = sum(self.parts.theme_counts.own(view, user_id).values())
            return counters_of(view, user_id, days, total)

    @implements(describe.daily)
    def daily(self, days: int) -> tuple[DayActivity, ...]:
        return daily_of(self.database, self.scope.user_id, days)

    @implements(describe.embedding_status)
    def embedding_status(self) -> EmbeddingStatus:
        with self.database.read(self.scope.user_id) as view:
            return rebuild.read_status(self.recall.embedders, view.connection, self.scope.user_id)

    @implements(describe.embedding_states)
    def embedding_states(self, ids: Sequence[int]) -> tuple[EmbeddingState, ...]:
        with self.database.read(self.scope.user_id) as view:
            return tuple(self._states(view, ids))

    @implements(describe.test_embeddings)
    def test_embeddings(
        self,
        provider: str | None,
        model: str | None,
        base_url: str | None,
        api_key: str | None,
        dimensions: int | None,
    ) -> EmbeddingTest:
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

    @implements(describe.set_embeddings)
    def set_embeddings(
        self,
        provider: str,
        model: str | None,
        base_url: str | None,
        api_key: str | None,
        dimensions: int | None,
        confirm: bool,
    ) -> EmbeddingChange:
        choice = rebuild.read_choice(provider, model, base_url, api_key, dimensions)
        self._refuse_if_decided()
        wanted = rebuild.candidate(self.recall.embedders, choice)
        problem = rebuild.try_out(self.recall.embedders, choice)
        if confirm:
            count = self._change(wanted)
        else:
            with self.database.read(self.scope.user_id) as view:
                count = rebuild.count_missing(view.connection, self.scope.user_id, wanted.model)
        return EmbeddingChange(
            provider=wanted.provider,
            model=None if wanted.model is None else wanted.model.model,
            to_rebuild=count,
            applied=confirm,
            problem=problem,
        )

    @implements(describe.reset_embeddings)
    def reset_embeddings(self, confirm: bool) -> EmbeddingChange:
        return self.set_embeddings(rebuild.STORE_DEFAULT, confirm=confirm)

    @implements(describe.rebuild_embeddings)
    def rebuild_embeddings(self, confirm: bool) -> EmbeddingChange:
        present = model_of(self._present())
        if confirm:
            count = self._rebuild()
        else:
            with self.database.read(self.scope.user_id) as view:
                count = rebuild.count_missing(view.connection, self.scope.user_id, None)
        return EmbeddingChange(
            provider=present.provider,
            model=present.model,
            to_rebuild=count,
            applied=confirm,
            problem=None,
        )

    @implements(describe.backfill_embeddings)
    @retried
    def backfill_embeddings(self) -> EmbeddingBackfill:
        present = model_of(self._present())
        with self.database.write(self.scope.user_id) as writing:
            return rebuild.backfill(writing, present)

    @implements(describe.fill_embeddings)
    def fill_embeddings(self, progress: "Progress | None") -> int:
        from ricordo.transfer.exports import no_progress

        with self.database.read(self.scope.user_id) as view:
            total = count_pending(view.connection, self.scope.user_id)
        made = 0
        report = progress or no_progress

        def tick(count: int) -> None:
            nonlocal made
            made += count
            report(made, max(made, total))

        report(0, total)
        self.recall.filling.fill(self.scope.user_id, tick)
        total = max(made, total)  # another worker may have made the rest
        report(total, total)
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

    @implements(describe.sync_mirror)
    def sync_mirror(self, allow_deletes: bool) -> MirrorReport:
        mirror = followed_mirror(self.parts, self.scope.user_id)
        return mirror.sync(allow_deletes=allow_deletes)

    @implements(describe.mirror_status)
    def mirror_status(self) -> MirrorStatus:
        folder = self.parts.files
        if folder is None or not is_person(self.scope.user_id):
            with self.database.read(self.scope.user_id) as view:
                revision = revision_of(view.connection, self.scope.user_id)
            return MirrorStatus(path=None, on=False, revision=revision)
        return mirror_of(self.parts, folder.of(self.scope.user_id)).status()

    @implements(describe.export_lines)
    def export_lines(self) -> Iterator[str]:
        from ricordo.transfer import exports

        return exports.export_lines(self.database, self.scope.user_id)

    @implements(describe.export)
    def export(self, path: Path) -> int:
        from ricordo.transfer import exports

        return exports.export_file(self.database, self.scope.user_id, path)

    @implements(describe.import_file)
    def import_file(
        self,
        path: Path,
        format: str,
        consented: bool,
        source_user: str | None,
        dry_run: bool,
        progress: "Progress | None",
    ) -> ImportReport:
        from ricordo.transfer import imports
        from ricordo.transfer.exports import no_progress

        check_speaks_for_user(self.scope)
        # An import is the whole user's: what it brings may name any agent or thread.
        whole = Scope(self.scope.user_id, project_id=self.scope.project_id)
        opener, report = self.parts.open_file, progress or no_progress
        asked = None if consented else self.parts.formation
        with rehearsing(dry_run):
            return imports.import_file(
                self.database, opener, whole, path, format, source_user, report, asked
            )

    @implements(describe.grants)
    def grants(self) -> tuple[Grant, ...]:
        return StoredGrants(self.database).of_user(self.scope.user_id)

    @implements(describe.revoke_grant)
    def revoke_grant(self, id: str) -> Grant:
        check_speaks_for_user(self.scope)
        return StoredGrants(self.database).revoke(self.scope.user_id, checks.reference("id", id))
