"""The mirror of a user's memories in files, for whoever does not want to wait for it."""

from collections.abc import Sequence
from dataclasses import replace

from ricordo import limits
from ricordo.errors import FilesUnavailable, Occupied, RicordoError
from ricordo.files.folder import UserFiles
from ricordo.files.mirror import UserMirror
from ricordo.files.mirror_text import ShownMemory
from ricordo.memories import lifecycle, replacement
from ricordo.memories.lifecycle import own_item
from ricordo.model import checks
from ricordo.model.draft import NewMemory
from ricordo.model.item import Added, Item
from ricordo.model.reports import MirrorReport, MirrorStatus
from ricordo.model.scope import Scope
from ricordo.model.vocabulary import GLOBAL_OWNER, Event, Source, Status
from ricordo.storage.database import retried
from ricordo.storage.history import revision_of
from ricordo.storage.items import active_with_key
from ricordo.storage.search_rows import text_hash
from ricordo.storage.transaction import WriteTransaction
from ricordo.user_memory.adding import Adding
from ricordo.user_memory.bound import Bound, Parts

FILE_ACTOR = "file"
"""How history names whoever edits MEMORY.md."""


class Mirroring(Bound):
    """Operations on the mirror."""

    def sync_mirror(self, *, allow_deletes: bool = False) -> MirrorReport:
        """Take over what was edited in MEMORY.md, and write it and the daily logs anew.

        The first time switches the mirror on. ``allow_deletes`` also takes over a file that has
        lost many of its lines, or its end.

        Raises:
            FilesUnavailable: there is no folder for files, or one cannot be written.
            InvalidValue: global memories have no files.
        """
        allowed = checks.flag("allow_deletes", allow_deletes)
        return followed_mirror(self.parts, self.scope.user_id).sync(allow_deletes=allowed)

    def mirror_status(self) -> MirrorStatus:
        """Whether there is a mirror, how far it is, and what its last problems were."""
        folder = self.parts.files
        if folder is None or self.scope.user_id == GLOBAL_OWNER:
            with self.database.read(self.scope.user_id) as view:
                revision = revision_of(view.connection, self.scope.user_id)
            return MirrorStatus(path=None, on=False, revision=revision)
        return mirror_of(self.parts, folder.of(self.scope.user_id)).status()


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


class _FileWrites(Adding):
    """A user's writes as a mirror needs them: only to what is still as the file showed it."""

    def __init__(self, parts: Parts, user_id: str) -> None:
        super().__init__(parts, Scope(user_id, actor_id=FILE_ACTOR))

    def add_new(self, drafts: Sequence[NewMemory], reason: str) -> Sequence[Added]:
        """Remember things; what became of each, in order."""
        added: list[Added] = []
        for start in range(0, len(drafts), limits.WRITE_BATCH_ITEMS):
            added += self._add_batch(drafts[start : start + limits.WRITE_BATCH_ITEMS], reason)
        return added

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
