"""The asynchronous face: the same methods, each run in a bounded pool of threads.

Nothing is written twice: every method here is made from its synchronous namesake, with the same
parameters and the same errors. A test compares the two.
"""

import asyncio
import contextvars
import functools
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar

from ricordo import fork_safety
from ricordo.errors import StorageClosed
from ricordo.memory import Memory
from ricordo.user_memory import UserMemory

P = ParamSpec("P")
T = TypeVar("T")
Face = TypeVar("Face")


class _Pool:
    """The threads that synchronous work runs in; a forked child gets its own."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._closed = False
        self._executor = self._new_executor()
        fork_safety.reset_in_child(self)

    def _new_executor(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self._threads, thread_name_prefix="ricordo")

    def reset_after_fork(self) -> ThreadPoolExecutor:
        """Threads do not survive a fork."""
        inherited, self._executor = self._executor, self._new_executor()
        return inherited

    async def run(self, work: Callable[[], T]) -> T:
        """Do the work in a thread. Raises StorageClosed: the pool was closed."""
        if self._closed:
            raise StorageClosed("this AsyncMemory was closed")
        # The thread knows what the caller knows, such as the request that it is for.
        known = contextvars.copy_context()
        return await asyncio.get_running_loop().run_in_executor(self._executor, known.run, work)

    def close(self) -> None:
        """Take no more work."""
        self._closed = True
        self._executor.shutdown(wait=False)


class _Face:
    """A synchronous object and the pool that its methods run in."""

    def __init__(self, inner: Any, pool: _Pool) -> None:
        self._inner = inner
        self._pool = pool


def _offloaded(
    method: Callable[Concatenate[Face, P], T],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """A method that runs its synchronous namesake in the pool."""

    @functools.wraps(method)
    async def call(self: _Face, /, *args: P.args, **kwargs: P.kwargs) -> T:
        work = functools.partial(method, self._inner, *args, **kwargs)
        return await self._pool.run(work)

    return call


async def in_pool(face: _Face, work: Callable[[Any], T]) -> T:
    """Do some work with the synchronous object behind a face, in the pool of that face. Raises
    StorageClosed: the pool was closed."""
    return await face._pool.run(functools.partial(work, face._inner))


class AsyncUserMemory(_Face):
    """One user's memory for asynchronous programs; see ``UserMemory``."""

    _inner: UserMemory

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """An operation whose description says itself what it does."""
            if name.startswith("_"):
                raise AttributeError(name)
            method = getattr(self._inner, name)
            return lambda *args, **given: self._pool.run(functools.partial(method, *args, **given))

    add = _offloaded(UserMemory.add)
    add_many = _offloaded(UserMemory.add_many)
    merge = _offloaded(UserMemory.merge)
    get = _offloaded(UserMemory.get)
    get_many = _offloaded(UserMemory.get_many)
    list = _offloaded(UserMemory.list)
    search = _offloaded(UserMemory.search)
    search_turns = _offloaded(UserMemory.search_turns)
    query = _offloaded(UserMemory.query)
    related = _offloaded(UserMemory.related)
    relation_graph = _offloaded(UserMemory.relation_graph)
    history = _offloaded(UserMemory.history)
    lineage = _offloaded(UserMemory.lineage)
    themes = _offloaded(UserMemory.themes)
    projects = _offloaded(UserMemory.projects)
    changes = _offloaded(UserMemory.changes)
    revision = _offloaded(UserMemory.revision)
    archive = _offloaded(UserMemory.archive)
    restore = _offloaded(UserMemory.restore)
    forget = _offloaded(UserMemory.forget)
    pin = _offloaded(UserMemory.pin)
    verify = _offloaded(UserMemory.verify)
    rate = _offloaded(UserMemory.rate)
    undo = _offloaded(UserMemory.undo)
    purge = _offloaded(UserMemory.purge)
    describe_theme = _offloaded(UserMemory.describe_theme)
    link = _offloaded(UserMemory.link)
    unlink = _offloaded(UserMemory.unlink)
    links = _offloaded(UserMemory.links)
    links_of = _offloaded(UserMemory.links_of)
    block_sender = _offloaded(UserMemory.block_sender)
    unblock_sender = _offloaded(UserMemory.unblock_sender)
    blocked_senders = _offloaded(UserMemory.blocked_senders)
    observe = _offloaded(UserMemory.observe)
    threads = _offloaded(UserMemory.threads)
    thread = _offloaded(UserMemory.thread)
    turns = _offloaded(UserMemory.turns)
    redact = _offloaded(UserMemory.redact)
    source_turn = _offloaded(UserMemory.source_turn)
    formed_turns = _offloaded(UserMemory.formed_turns)
    window = _offloaded(UserMemory.window)
    compact = _offloaded(UserMemory.compact)
    resume = _offloaded(UserMemory.resume)
    day_log = _offloaded(UserMemory.day_log)
    context = _offloaded(UserMemory.context)
    feedback = _offloaded(UserMemory.feedback)
    form = _offloaded(UserMemory.form)
    summary = _offloaded(UserMemory.summary)
    audit = _offloaded(UserMemory.audit)
    proposals = _offloaded(UserMemory.proposals)
    approve = _offloaded(UserMemory.approve)
    reject = _offloaded(UserMemory.reject)
    user_profile = _offloaded(UserMemory.user_profile)
    update_user_profile = _offloaded(UserMemory.update_user_profile)
    webhooks = _offloaded(UserMemory.webhooks)
    webhook = _offloaded(UserMemory.webhook)
    create_webhook = _offloaded(UserMemory.create_webhook)
    update_webhook = _offloaded(UserMemory.update_webhook)
    rotate_webhook_secret = _offloaded(UserMemory.rotate_webhook_secret)
    test_webhook = _offloaded(UserMemory.test_webhook)
    webhook_deliveries = _offloaded(UserMemory.webhook_deliveries)
    delete_webhook = _offloaded(UserMemory.delete_webhook)
    grants = _offloaded(UserMemory.grants)
    revoke_grant = _offloaded(UserMemory.revoke_grant)
    groups = _offloaded(UserMemory.groups)
    members = _offloaded(UserMemory.members)
    set_member = _offloaded(UserMemory.set_member)
    remove_member = _offloaded(UserMemory.remove_member)
    upkeep = _offloaded(UserMemory.upkeep)
    consolidate = _offloaded(UserMemory.consolidate)
    save_checkpoint = _offloaded(UserMemory.save_checkpoint)
    load_checkpoint = _offloaded(UserMemory.load_checkpoint)
    checkpoints = _offloaded(UserMemory.checkpoints)
    delete_checkpoint = _offloaded(UserMemory.delete_checkpoint)
    sync_mirror = _offloaded(UserMemory.sync_mirror)
    mirror_status = _offloaded(UserMemory.mirror_status)
    events = _offloaded(UserMemory.events)
    counters = _offloaded(UserMemory.counters)
    daily = _offloaded(UserMemory.daily)
    embedding_status = _offloaded(UserMemory.embedding_status)
    embedding_states = _offloaded(UserMemory.embedding_states)
    test_embeddings = _offloaded(UserMemory.test_embeddings)
    set_embeddings = _offloaded(UserMemory.set_embeddings)
    reset_embeddings = _offloaded(UserMemory.reset_embeddings)
    rebuild_embeddings = _offloaded(UserMemory.rebuild_embeddings)
    backfill_embeddings = _offloaded(UserMemory.backfill_embeddings)
    fill_embeddings = _offloaded(UserMemory.fill_embeddings)
    export = _offloaded(UserMemory.export)
    import_file = _offloaded(UserMemory.import_file)

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
    ) -> "AsyncUserMemory":
        """The same user's memory with more of the scope fixed; see ``UserMemory.narrow``."""
        narrowed = self._inner.narrow(
            agent=agent,
            thread=thread,
            run=run,
            actor=actor,
            role=role,
            categories=categories,
            project=project,
        )
        return AsyncUserMemory(narrowed, self._pool)


class AsyncMemory(_Face):
    """An open store for asynchronous programs; see ``Memory``. Made by ``ricordo.open_async``."""

    _inner: Memory

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory, _Pool(memory.settings.async_threads))

    users = _offloaded(Memory.users)
    list = _offloaded(Memory.list)
    erase_user = _offloaded(Memory.erase_user)
    create_group = _offloaded(Memory.create_group)
    groups = _offloaded(Memory.groups)
    delete_group = _offloaded(Memory.delete_group)
    members = _offloaded(Memory.members)
    set_member = _offloaded(Memory.set_member)
    remove_member = _offloaded(Memory.remove_member)
    purge = _offloaded(Memory.purge)
    export = _offloaded(Memory.export)
    import_file = _offloaded(Memory.import_file)
    backup = _offloaded(Memory.backup)
    reindex = _offloaded(Memory.reindex)
    counters = _offloaded(Memory.counters)
    daily = _offloaded(Memory.daily)
    test_model = _offloaded(Memory.test_model)
    jobs = _offloaded(Memory.jobs)
    job_stats = _offloaded(Memory.job_stats)
    retry_job = _offloaded(Memory.retry_job)
    cancel_job = _offloaded(Memory.cancel_job)
    run_jobs = _offloaded(Memory.run_jobs)
    webhooks = _offloaded(Memory.webhooks)
    webhook = _offloaded(Memory.webhook)
    create_webhook = _offloaded(Memory.create_webhook)
    update_webhook = _offloaded(Memory.update_webhook)
    rotate_webhook_secret = _offloaded(Memory.rotate_webhook_secret)
    test_webhook = _offloaded(Memory.test_webhook)
    webhook_deliveries = _offloaded(Memory.webhook_deliveries)
    delete_webhook = _offloaded(Memory.delete_webhook)
    create_key = _offloaded(Memory.create_key)
    keys = _offloaded(Memory.keys)
    key = _offloaded(Memory.key)
    revoke_key = _offloaded(Memory.revoke_key)
    authenticate = _offloaded(Memory.authenticate)
    has_keys = _offloaded(Memory.has_keys)

    def user(
        self,
        user_id: str,
        *,
        agent: str | None = None,
        thread: str | None = None,
        run: str | None = None,
        actor: str | None = None,
        role: str | None = None,
        categories: Iterable[str] | str | None = None,
        project: str | None = None,
        group: str | None = None,
    ) -> AsyncUserMemory:
        """One user's memory; see ``Memory.user``."""
        inner = self._inner.user(
            user_id,
            agent=agent,
            thread=thread,
            run=run,
            actor=actor,
            role=role,
            categories=categories,
            project=project,
            group=group,
        )
        return AsyncUserMemory(inner, self._pool)

    def global_memories(self, *, actor: str | None = None) -> AsyncUserMemory:
        """The memories that every user sees who has few of their own."""
        return AsyncUserMemory(self._inner.global_memories(actor=actor), self._pool)

    async def close(self) -> None:
        """Finish the job at hand and give back every connection and thread."""
        await asyncio.to_thread(self._inner.close)
        self._pool.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()
