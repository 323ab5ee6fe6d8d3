"""Opening a store: every part is made here, and handed what it needs."""

import os
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from ricordo.access.policy_file import PolicyFile
from ricordo.clock import Clock, system_clock
from ricordo.conversation.service import ConversationService
from ricordo.files.folder import FilesFolder
from ricordo.files.mirror import MirrorFollower
from ricordo.files.profile import ProfileFiles
from ricordo.files.prompt_files import PromptFiles
from ricordo.formation.service import Formation
from ricordo.index.rebuild import note_analyser
from ricordo.jobs.broker import BrokerWaker
from ricordo.jobs.handlers import standard_handlers
from ricordo.jobs.queue import JobQueue
from ricordo.jobs.runner import Background, JobRunner, ThreadRunner
from ricordo.memory import Memory
from ricordo.prompt.service import PromptService
from ricordo.providers.embedder import Embedder
from ricordo.recall.ranking import Ranking
from ricordo.recall.service import Recall
from ricordo.settings import Settings
from ricordo.storage.database import Database
from ricordo.storage.migrations.upgrade import upgrade
from ricordo.text.tokens import TokenCounter, estimate_tokens
from ricordo.upkeep.service import Upkeep
from ricordo.user_memory.base import Parts
from ricordo.user_memory.maintenance import mirror_of
from ricordo.wiring.databases import file_opener, open_database
from ricordo.wiring.environment import read_settings
from ricordo.wiring.policies import (
    conversation_policy,
    formation_policy,
    prompt_policy,
    upkeep_policy,
)
from ricordo.wiring.providers import embedders, language_model


def open_memory(
    url: str | Path | None = None,
    *,
    clock: Clock = system_clock,
    embedder: Embedder | None = None,
    token_counter: TokenCounter = estimate_tokens,
    **settings: Any,
) -> Memory:
    """Open a store, making or upgrading it when needed.

    Settings given here win over the environment (``RICORDO_…``), which wins over the defaults.
    An ``embedder`` of one's own (see ``ricordo.providers.embedder``) makes everybody's vectors. A
    ``token_counter`` of one's own says what a text costs in a prompt, instead of an estimate.

    Raises:
        UnknownField, InvalidValue: a setting that does not exist, or a value that is not allowed.
        StorageError: the database cannot be opened, is damaged, or is newer than this ricordo.
    """
    if url is not None:
        settings["url"] = str(url)
    chosen = read_settings(os.environ, settings)
    database, clean_up = open_database(chosen, clock)
    try:
        upgrade(database)
        note_analyser(database)
        return _assemble(database, chosen, embedder, token_counter, clean_up)
    except BaseException:
        database.backend.close()
        clean_up()
        raise


def _assemble(
    database: Database,
    settings: Settings,
    embedder: Embedder | None,
    token_counter: TokenCounter,
    clean_up: Callable[[], None],
) -> Memory:
    access = PolicyFile(settings.policy_file)
    recall = Recall.of(
        database,
        embedders(database, settings, embedder),
        Ranking.parse(
            settings.semantic_weight,
            settings.lexical_weight,
            settings.candidates,
            settings.ranking_off,
        ),
        access,
        cache_bytes=settings.index_cache_mb * 1024 * 1024,
        link_min=settings.link_min,
        relations_per_memory=settings.relations_per_memory,
    )
    formation = Formation(
        database, recall, formation_policy(settings), language_model(database, settings)
    )
    queue = JobQueue(database, timedelta(seconds=settings.job_lease_seconds))
    upkeep = Upkeep(database, recall, formation, upkeep_policy(settings), settings.link_min)
    conversation = ConversationService(database, conversation_policy(settings), formation)
    handlers = standard_handlers(database, recall, formation, upkeep, conversation)
    files = files_folder(settings)
    prompts = prompt_policy(settings, token_counter)
    prompting = PromptService(database, recall, conversation, PromptFiles(files), access, prompts)
    profile_files = ProfileFiles(files, formation)
    parts = Parts(
        database,
        recall,
        formation,
        upkeep,
        conversation,
        files,
        prompting,
        profile_files,
        access,
    )
    follower = MirrorFollower(files, partial(mirror_of, parts), profile_files.follow)

    def between() -> None:
        recall.accesses.flush()
        upkeep.ensure_planned()
        follower.follow_all()

    runner = JobRunner(queue, handlers, settings.job_run_seconds, between)
    background = _background(runner, settings)
    if settings.run_jobs:
        database.on_job_queued = background.wake
        background.start()
    open_file = file_opener(settings, database.clock)
    return Memory(parts, settings, runner, background, follower, open_file, clean_up)


def _background(runner: JobRunner, settings: Settings) -> Background:
    """Threads of this process or, with a broker, workers elsewhere."""
    if settings.broker_url is None:
        return ThreadRunner(runner, settings.job_poll_seconds)
    url = settings.broker_url.get_secret_value()
    poll_seconds = settings.job_poll_seconds
    return BrokerWaker(runner.queue, runner.kinds, url, poll_seconds, runner.keep_house)


def files_folder(settings: Settings) -> FilesFolder | None:
    """The folder that is set or else, for the database in the home folder, that folder."""
    top = settings.files
    if top is None and settings.url is None:
        top = settings.home
    return None if top is None else FilesFolder(top.expanduser().absolute(), settings.files_user)
