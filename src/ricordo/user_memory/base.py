"""What every operation of a user shares: the store's parts, the scope, and its categories."""

import contextlib
import inspect
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, Self, TypeVar, cast

from ricordo.access.policy_file import PolicyFile
from ricordo.errors import InvalidValue, OtherProject, PermissionMissing, ThreadNotFound
from ricordo.files.home import FilesFolder
from ricordo.frozen import dataclass
from ricordo.memories.lookup import ThemeCounts, read_states
from ricordo.model.activity import bucket_of
from ricordo.model.embedding import EmbeddingState
from ricordo.model.filters import ItemFilter
from ricordo.model.group import Acting
from ricordo.model.item import Change, Item
from ricordo.model.record import Record
from ricordo.model.scope import Scope
from ricordo.model.thread import Thread
from ricordo.operations.operation import Operation
from ricordo.recall.service import Recall
from ricordo.storage.database import Database, ReadTransaction
from ricordo.storage.threads import find_thread
from ricordo.storage.where import Audience, audience_of

if TYPE_CHECKING:  # loaded when they are first used
    from ricordo.conversation.service import ConversationService
    from ricordo.files.mirror import MirrorFollower
    from ricordo.files.profile import ProfileFiles
    from ricordo.formation.service import Formation
    from ricordo.jobs.runner import Background, JobRunner
    from ricordo.jobs.webhooks import WebhookDeliveries
    from ricordo.prompt.service import PromptService
    from ricordo.transfer.drafts import FileOpener
    from ricordo.upkeep.service import Upkeep

# A scope that is confined to categories reaches what is filed under their themes: ``Audience``,
# ``own_item`` and ``NewMemory.stamped`` see to that. Conversations, the change feed, the profile,
# states of programs and files have no theme, so a confined scope may not use them at all. Each
# description says which of the two it is.
#
# A scope of a project leaves out what the user has in other ones, conversations and the change feed
# as well: the same places see to that. What cannot be cut along projects is refused to it.

P = ParamSpec("P")
R = TypeVar("R")

_QUOTE: Final = "source_context"
_making: Final = threading.RLock()


def implements(
    operation: Operation[P, R],
) -> Callable[[Callable[..., R]], Callable[Concatenate[Any, P], R]]:
    """Make a method of a description: the method is called with clean values, by name.

    A confined scope uses what is open to it within its categories, and sees no quote that says
    more than the memory; it may not use the rest.
    """

    def implement(method: Callable[..., R]) -> Callable[Concatenate[Any, P], R]:
        def run(self: "UserOperations", given: dict[str, Any]) -> R:
            if self.scope.member_id is None:
                found = method(self, **given)
            else:
                found = _as_member(self, operation, lambda: method(self, **given))
            return cast("R", _shown(found)) if self.scope.is_confined else found

        def check(self: "UserOperations") -> None:
            if not operation.within_categories:
                check_confined(self.scope, operation.name)
            if not operation.within_project:
                check_all_projects(self.scope, operation.name)
            if operation.in_group is None:
                check_of_person(self.scope, operation.name)

        return operation.method(run, check)

    return implement


def _as_member(self: "UserOperations", operation: Operation[..., R], run: Callable[[], R]) -> R:
    """What an operation finds in the space of a group, with what the member's role allows."""
    scope, needed = self.scope, operation.in_group
    assert scope.member_id is not None and needed is not None
    acting = Acting(scope.user_id, scope.member_id, needed)
    with self.database.as_member(acting):
        found = run()
    if isinstance(found, Iterator):  # it reads as it is asked
        return cast("R", _each_as_member(self.database, acting, found))
    return found


def _each_as_member(database: Database, acting: Acting, found: Iterator[Any]) -> Iterator[Any]:
    ended = object()
    with contextlib.closing(cast("Any", found)):
        while True:
            with database.as_member(acting):
                one = next(found, ended)
            if one is ended:
                return
            yield one


def check_of_person(scope: Scope, what: str) -> None:
    """Refuse in the space of a group what is about one person.

    Raises:
        InvalidValue: the scope is of a group.
    """
    if scope.group is not None:
        raise InvalidValue(
            "group",
            f"{what} is about one person's memory, and {scope.group!r} is the space of a group:"
            " name no group",
        )


def check_whole(scope: Scope, what: str) -> None:
    """Refuse something that is of one person, and cannot be cut along categories.

    Raises:
        PermissionMissing: the scope is confined.
        InvalidValue: it is of a group.
    """
    check_confined(scope, what)
    check_of_person(scope, what)


def check_confined(scope: Scope, what: str) -> None:
    """Refuse something that cannot be cut along categories.

    Raises:
        PermissionMissing: the scope is confined.
    """
    if scope.categories is not None:
        listed = ", ".join(sorted(scope.categories)) or "none"
        raise PermissionMissing(
            f"{what} is about a user's whole memory; allowed here: the categories {listed}"
        )


def check_all_projects(scope: Scope, what: str) -> None:
    """Refuse something that cannot be cut along projects.

    Raises:
        PermissionMissing: the scope is that of a project.
    """
    if scope.project_id is not None:
        raise PermissionMissing(
            f"{what} is about all of a user's projects; this scope is kept to project"
            f" {scope.project_id!r}: use one without a project"
        )


def check_speaks_for_user(scope: Scope) -> None:
    """Refuse to an agent what only the user can do: decide proposals, say something themselves,
    bring in a file. It may propose.

    Raises:
        PermissionMissing: the scope is that of an agent's key, or of tools.
    """
    if scope.is_agent:
        raise PermissionMissing("this is for the user to decide, not for an agent's key")


def confined(wanted: ItemFilter, scope: Scope) -> ItemFilter:
    """The filter within the categories and the project of a scope.

    Raises:
        CategoryNotAllowed: it asks for a theme that the scope does not reach.
    """
    if scope.project_id is not None:
        wanted = replace(wanted, in_project=scope.project_id)
    if scope.categories is None:
        return wanted
    if wanted.theme is None:
        return replace(wanted, theme=tuple(sorted(scope.categories)))
    scope.check_reaches(wanted.theme)
    return wanted


def _shown(found: Any) -> Any:
    """Copies with quotes that say no more than their memories, also inside pages and history."""
    if isinstance(found, Item):
        if found.ratings:
            found = replace(found, ratings=tuple(one.without_words() for one in found.ratings))
        if found.source_context is None:
            return found
        from ricordo.formation.evidence import quote_for_others  # takes long to load

        quote = quote_for_others(found.content, found.key, found.source_context)
        return replace(found, source_context=quote)
    if isinstance(found, Change):
        before = dict(found.before or {})
        hidden = [name for name in (_QUOTE, "ratings") if before.get(name)]
        return replace(found, before=before | dict.fromkeys(hidden)) if hidden else found
    if isinstance(found, tuple | list):
        return type(found)(map(_shown, found))
    if isinstance(found, Record):
        values = {field.name: getattr(found, field.name) for field in fields(found)}  # type: ignore[arg-type]
        changed = {
            name: shown
            for name, value in values.items()
            if isinstance(value, Record | tuple) and (shown := _shown(value)) != value
        }
        return replace(found, **changed) if changed else found  # type: ignore[type-var]
    return found


class Parts(ABC):
    """What an open store consists of. What a search does not need is loaded when first used."""

    database: Database
    recall: Recall
    files: FilesFolder | None
    """Where prompt files, profiles and mirrors lie; None where there is no folder for them."""
    access: PolicyFile
    open_file: "FileOpener"
    """Opens drafts and backups."""
    theme_counts: ThemeCounts

    @property
    def formation(self) -> "Formation":
        return self._once("formation", self.make_formation)

    @property
    def upkeep(self) -> "Upkeep":
        return self._once("upkeep", self.make_upkeep)

    @property
    def conversation(self) -> "ConversationService":
        return self._once("conversation", self.make_conversation)

    @property
    def prompting(self) -> "PromptService":
        return self._once("prompting", self.make_prompting)

    @property
    def profile_files(self) -> "ProfileFiles":
        return self._once("profile_files", self.make_profile_files)

    @property
    def webhooks(self) -> "WebhookDeliveries":
        return self._once("webhooks", self.make_webhooks)

    @property
    def work(self) -> "Work":
        return self._once("work", self.make_work)

    def _once(self, name: str, make: Callable[[], R]) -> R:
        known: dict[str, Any] = vars(self)
        if name not in known:
            with _making:
                if name not in known:
                    known[name] = make()
        made: R = known[name]
        return made

    def made(self, name: str) -> bool:
        """Whether one of these has been used."""
        return name in vars(self)

    @abstractmethod
    def make_formation(self) -> "Formation": ...

    @abstractmethod
    def make_upkeep(self) -> "Upkeep": ...

    @abstractmethod
    def make_conversation(self) -> "ConversationService": ...

    @abstractmethod
    def make_prompting(self) -> "PromptService": ...

    @abstractmethod
    def make_profile_files(self) -> "ProfileFiles": ...

    @abstractmethod
    def make_webhooks(self) -> "WebhookDeliveries": ...

    @abstractmethod
    def make_work(self) -> "Work": ...


@dataclass(frozen=True, slots=True)
class Work:
    """What goes on without being asked for: jobs, and the mirrors that follow."""

    runner: "JobRunner"
    background: "Background"
    follower: "MirrorFollower"


class UserOperations:
    """Operations of one user. Cheap, holds no connection."""

    def __init_subclass__(cls, *, are_public: bool = True) -> None:
        super().__init_subclass__()
        if not are_public:
            return
        for name, method in vars(cls).items():
            is_public = inspect.isfunction(method) and not name.startswith("_")
            if is_public and not hasattr(method, "operation"):
                raise TypeError(f"{name} has no description: say which with @implements")

    def __init__(self, parts: Parts, scope: Scope) -> None:
        self.parts = parts
        self.database = parts.database
        self.recall = parts.recall
        self._given_scope = scope

    @property
    def scope(self) -> Scope:
        """Who acts, kept to the categories that the policy file allows the agent now.

        Raises:
            InvalidPolicy: the file is missing or not valid.
        """
        given = self._given_scope
        if given.agent_id is None:
            return given
        allowed = self.parts.access.current().allowed(given.agent_id, given.categories)
        return given if allowed == given.categories else replace(given, categories=allowed)

    def narrow(
        self,
        *,
        agent: str | None = None,
        thread: str | None = None,
        run: str | None = None,
        actor: str | None = None,
        role: str | None = None,
        categories: Iterable[str] | str | None = None,
        project: str | None = None,
    ) -> Self:
        """The same user's memory with more of the scope fixed.

        With ``categories`` only what is filed under those themes can be read and written, and what
        is filed under none (conversations, the profile, the change feed) not at all.

        With a ``project`` everything that is written belongs to it, and what belongs to the user's
        other projects is not seen. What belongs to none is seen in all of them.

        Raises:
            ScopeWidened: a part that is already fixed would become another, or a category would
                be added.
        """
        scope = self.scope.narrow(
            agent_id=agent,
            thread_id=thread,
            run_id=run,
            actor_id=actor,
            role=role,
            categories=categories,
            project_id=project,
        )
        return type(self)(self.parts, scope)

    def _audience(self, view: ReadTransaction) -> Audience:
        global_until = self.database.policy.global_until
        scope = self.scope
        return audience_of(
            *(view.connection, scope.user_id, global_until, view.now),
            scope.categories,
            scope.project_id,
        )

    def _sees_thread(self, view: ReadTransaction, thread_id: str) -> bool:
        """Whether this scope may see a conversation, be it of those that there are."""
        if self.scope.project_id is None:
            return True
        found = find_thread(view.connection, self.scope.user_id, thread_id)
        return found is None or self.scope.sees_project(found.project_id)

    def _check_reaches_thread(self, thread_id: str | None) -> None:
        """Refuse a conversation of another project; it need not exist.

        Raises:
            OtherProject: it is of another one.
        """
        if self.scope.project_id is None or thread_id is None:
            return
        with self.database.read(self.scope.user_id) as view:
            if not self._sees_thread(view, thread_id):
                raise OtherProject(thread_id)

    def _thread(self, view: ReadTransaction, thread_id: str) -> Thread:
        """A conversation in reach of this scope.

        Raises:
            ThreadNotFound: there is none.
        """
        found = find_thread(view.connection, self.scope.user_id, thread_id)
        if found is None or not self.scope.sees_project(found.project_id):
            raise ThreadNotFound(thread_id)
        return found

    def _states(self, view: ReadTransaction, ids: Iterable[int]) -> list[EmbeddingState]:
        """How far the vectors of memories are."""
        chosen = self.recall.embedders.chosen(view.connection, self.scope.user_id)
        are_made = chosen.embedder is not None or chosen.problem is not None
        return read_states(view, self._audience(view), ids, are_made=are_made)

    def _count_recall(self, started: float) -> None:
        """Count a recall that was answered by how long it took since ``started``, on the clock of
        ``time.perf_counter``. It is written later, with what else waits to be counted."""
        name = bucket_of((time.perf_counter() - started) * 1_000)
        self.recall.accesses.count(self.scope.user_id, {name: 1}, self.database.clock())
