"""Telling clients of resources that change, whichever process changed them.

While somebody listens, the store is asked every other second whether the revision of the user, or
of a group of theirs, has moved. If so, what they listen to is read as they may read it, and
compared with what it was: nobody hears of a change that they could not see.
"""

import contextlib
import hashlib
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator
from types import SimpleNamespace
from typing import Any, Final

import anyio
from anyio import CancelScope
from anyio.abc import TaskGroup

from ricordo.errors import (
    AccessDenied,
    Conflict,
    InvalidInput,
    InvalidValue,
    NotFound,
    RicordoError,
    in_log,
)
from ricordo.frozen import dataclass
from ricordo.limits import MAX_MCP_SUBSCRIPTIONS, MAX_URL_CHARS
from ricordo.mcp import resources
from ricordo.mcp.session import Binding, Threads
from ricordo.model.group import Acting
from ricordo.model.vocabulary import GroupRole
from ricordo.storage.history import revision_of
from ricordo.storage.where import audience_of
from ricordo.user_memory import UserMemory

WATCH_SECONDS: Final = 2.0
LIST: Final = None
"""In place of an address: which resources there are."""

Tell = Callable[[str | None], Awaitable[None]]
"""Tells a client that a resource has changed, or the list of them."""

_log = logging.getLogger(__name__)


class Watched:
    """What a client listens to, as it last was. For one thread at a time."""

    def __init__(self, bound: Binding) -> None:
        self._bound = bound
        self._state = _state_of(bound.user)
        self._seen: dict[str | None, str] = {}

    def add(self, address: str | None) -> None:
        """Listen to a resource, or to the list of them. Raises InvalidValue: it is no address of
        ours, or there are too many."""
        if address is not LIST and not is_ours(address):
            raise InvalidValue("uri", f"allowed: {resources.SCHEME}…, as the list has them")
        if address not in self._seen and len(self._seen) >= MAX_MCP_SUBSCRIPTIONS:
            raise InvalidValue("uri", f"one client listens to {MAX_MCP_SUBSCRIPTIONS} at most")
        self._seen[address] = self._digest(address)

    def remove(self, address: str | None) -> None:
        self._seen.pop(address, None)

    def changed(self) -> list[str | None]:
        """What has changed since it was last asked for. Raises AccessDenied: the client may not
        listen any more."""
        self._bound.check()
        state = _state_of(self._bound.user)
        if state == self._state:
            return []
        found = []
        for address, before in list(self._seen.items()):  # others may be added meanwhile
            now = self._digest(address)
            if now != before and address in self._seen:
                self._seen[address] = now
                found.append(address)
        self._state = state
        return found

    def _digest(self, address: str | None) -> str:
        try:
            read = self._list() if address is LIST else self._text(address)
        except (NotFound, AccessDenied, InvalidInput):  # it is not there for them
            read = ""
        return hashlib.sha256(read.encode("utf-8", "replace")).hexdigest()

    def _text(self, address: str) -> str:
        found = resources.read_resource(self._bound, SimpleNamespace(uri=address))
        text: str = found["contents"][0]["text"]
        return text

    def _list(self) -> str:
        """Themes with their counts and the newest memories: no memory comes or goes unnoticed."""
        user = self._bound.user
        counts = [(theme.slug, theme.active_count) for theme in user.themes()]
        return repr((counts, [(item.user_id, item.id) for item in user.list()]))


def is_ours(address: str) -> bool:
    return address.startswith(resources.SCHEME) and len(address) <= MAX_URL_CHARS


def _state_of(user: UserMemory) -> tuple[tuple[str, int], ...]:
    """The revisions of all whose memories the user sees; of single ones that others share, the
    user's own."""
    scope, database = user.scope, user.database
    acting = None
    if scope.member_id is not None:
        acting = Acting(scope.user_id, scope.member_id, GroupRole.READ)
    with database.as_member(acting), database.read(scope.user_id) as view:
        least = database.policy.global_until
        audience = audience_of(view.connection, scope.user_id, least, view.now)
        return tuple((owner, revision_of(view.connection, owner)) for owner in audience.owners)


async def follow(watched: Watched, threads: Threads, tell: Tell, seconds: float) -> None:
    """Tell of changes until the client may not hear of them any more."""
    while True:
        await anyio.sleep(seconds)
        try:
            changed = await threads.do(watched.changed)
        except AccessDenied:
            return
        except RicordoError as problem:  # the store cannot answer now; it is asked again
            _log.warning("changes are told later: %s", in_log(problem))
            continue
        for address in changed:
            await tell(address)


class Streams:
    """The streams that are open in this process: so many at most, and ended when it stops."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: set[CancelScope] = set()

    @contextlib.contextmanager
    def opened(self) -> Iterator[CancelScope]:
        """Room for one stream; what runs in the scope is cancelled at the end. Raises Conflict:
        there are too many."""
        if len(self._open) >= self._most:
            raise Conflict(f"{self._most} clients listen, the most allowed: try again later")
        scope = CancelScope()
        self._open.add(scope)
        try:
            yield scope
        finally:
            self._open.discard(scope)

    def end(self) -> None:
        for scope in list(self._open):
            scope.cancel()


@dataclass(frozen=True, slots=True)
class Lifetime:
    """What a server has while it runs. Without a ``follower``, connections are not kept: each
    request may come to another process."""

    threads: Threads
    follower: "Follower | None"


class Follower:
    """What a client of one connection subscribed to, in versions of the protocol before
    2026-07-28."""

    def __init__(self, threads: Threads, tasks: TaskGroup, seconds: float) -> None:
        self._threads = threads
        self._tasks = tasks
        self._seconds = seconds
        self._watched: Watched | None = None
        self._starting = anyio.Lock()

    async def add(self, bound: Callable[[], Binding], session: Any, address: str | None) -> None:
        """Tell the client of the session when a resource, or the list of them, changes. Raises
        RicordoError: it cannot be listened to."""

        def begin() -> Watched:
            watched = self._watched or Watched(bound())
            watched.add(address)
            return watched

        async with self._starting:
            watched = await self._threads.do(begin)
            if self._watched is None:
                self._watched = watched
                tell = _teller(session)
                self._tasks.start_soon(follow, watched, self._threads, tell, self._seconds)

    async def remove(self, address: str) -> None:
        async with self._starting:
            if self._watched is not None:
                self._watched.remove(address)


def _teller(session: Any) -> Tell:
    async def tell(address: str | None) -> None:
        if address is LIST:
            await session.send_resource_list_changed()
        else:
            await session.send_resource_updated(address)

    return tell


def watching(bound: Binding, addresses: Iterable[str], *, with_list: bool) -> Watched:
    """What a stream is about. Raises InvalidValue: it is too much."""
    watched = Watched(bound)
    if with_list:
        watched.add(LIST)
    for address in addresses:
        watched.add(address)
    return watched
