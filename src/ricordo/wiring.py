"""The composition root: the one place that reads the environment and puts the parts together."""

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from datetime import UTC, timedelta, tzinfo
from functools import partial
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from ricordo.access.reloading import PolicyFile
from ricordo.clock import Clock, system_clock
from ricordo.conversation.policy import ConversationPolicy
from ricordo.conversation.service import ConversationService
from ricordo.embedding.choice import EmbedderRegistry, EmbeddingChoice
from ricordo.embedding.contract import Embedder
from ricordo.embedding.detect import detect_llamacpp
from ricordo.embedding.secrets import SecretBox
from ricordo.errors import InvalidValue, StorageUnavailable, UnknownField
from ricordo.files.folder import FilesFolder
from ricordo.files.following import MirrorFollower
from ricordo.files.profile_following import ProfileFiles
from ricordo.files.prompt_files import PromptFiles
from ricordo.formation.consent.sensitive import SENSITIVE_FIELDS
from ricordo.formation.forming import Formation
from ricordo.formation.policy import FormationPolicy
from ricordo.indexing.embedders import Embedders
from ricordo.indexing.reindexing import note_analyser
from ricordo.jobs.background import Background
from ricordo.jobs.handlers import standard_handlers
from ricordo.jobs.queue import JobQueue
from ricordo.jobs.running import JobRunner
from ricordo.jobs.threads import ThreadRunner
from ricordo.jobs.waking import BrokerWaker
from ricordo.llm.chat import ChatModel
from ricordo.llm.choice import ModelChoice
from ricordo.memory import Memory
from ricordo.metering import MeteredModel
from ricordo.model.policy import Policy
from ricordo.prompt.service import Prompting, PromptPolicy
from ricordo.recall.ranking import Ranking
from ricordo.recall.service import Recall
from ricordo.settings import Settings
from ricordo.storage.backend import Backend
from ricordo.storage.database import Database
from ricordo.storage.migrations.upgrade import upgrade
from ricordo.storage.sqlite.backend import SqliteBackend
from ricordo.storage.sqlite.connecting import ConnectionPlan
from ricordo.text.analyser import Analyser
from ricordo.text.tokens import TokenCounter, estimate_tokens
from ricordo.upkeep.policy import UpkeepPolicy
from ricordo.upkeep.service import Upkeep
from ricordo.user_memory.bound import Parts
from ricordo.user_memory.mirroring import mirror_of

ENVIRONMENT_PREFIX: Final = "RICORDO_"
TEMPORARY: Final = ":memory:"
_DATABASE_FILE: Final = "ricordo.db"
_SECRET_FILE: Final = "secret.key"  # noqa: S105 - the name of a file
_SQLITE_SCHEME: Final = "sqlite:///"
_POSTGRES_SCHEMES: Final = ("postgresql://", "postgres://", "postgresql+psycopg://")


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
    An ``embedder`` of one's own (see ``ricordo.embedding.contract``) makes everybody's vectors. A
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


def read_settings(environment: Mapping[str, str], given: Mapping[str, Any]) -> Settings:
    """The settings from the environment, overridden by those given.

    Raises:
        UnknownField: a given setting does not exist.
        InvalidValue: a value is not allowed; the message names it.
    """
    names = set(Settings.model_fields)
    unknown = set(given) - names
    if unknown:
        raise UnknownField("setting", unknown, names)
    from_environment = {
        name: environment[ENVIRONMENT_PREFIX + name.upper()]
        for name in names
        if environment.get(ENVIRONMENT_PREFIX + name.upper())
    }
    try:
        return Settings(**{**from_environment, **given})
    except ValidationError as problems:
        first = problems.errors()[0]
        raise InvalidValue(f"setting {first['loc'][0]}", first["msg"]) from None


def open_database(
    settings: Settings, clock: Clock = system_clock
) -> tuple[Database, Callable[[], None]]:
    """The database that the settings name, as it is, and what to do after closing it.

    Raises:
        InvalidValue: an address of an unknown kind.
        StorageUnavailable: PostgreSQL is asked for, but its driver is not installed.
    """
    backend, clean_up = _backend(settings)
    policy = Policy(timedelta(days=settings.purge_after_days), settings.global_until)
    return Database(backend, clock, policy, Analyser(settings.language)), clean_up


def _backend(settings: Settings) -> tuple[Backend, Callable[[], None]]:
    url = settings.url
    if url is not None and url.startswith(_POSTGRES_SCHEMES):
        return _postgres(url, settings), _nothing
    if url == TEMPORARY:
        folder = Path(tempfile.mkdtemp(prefix="ricordo-"))
        return _sqlite(folder / _DATABASE_FILE, settings), _remover(folder)
    return _sqlite(_sqlite_path(url, settings.home), settings), _nothing


def _sqlite_path(url: str | None, home: Path) -> Path:
    if url is None:
        return home.expanduser() / _DATABASE_FILE
    path = url.removeprefix(_SQLITE_SCHEME)
    if not path or "://" in path:
        raise InvalidValue(
            "url", f"{url!r} is not a file path, sqlite:///PATH, postgresql://… or {TEMPORARY}"
        )
    return Path(path).expanduser().absolute()


def _sqlite(path: Path, settings: Settings) -> SqliteBackend:
    plan = ConnectionPlan(path, settings.synchronous, settings.busy_timeout_seconds)
    return SqliteBackend(plan, settings.pool_size)


def _postgres(url: str, settings: Settings) -> Backend:
    try:
        from ricordo.storage.postgres.backend import PostgresBackend
    except ImportError:
        raise StorageUnavailable(
            "PostgreSQL needs its driver: pip install 'ricordo[postgres]'"
        ) from None
    return PostgresBackend(
        url, settings.pool_size, settings.busy_timeout_seconds, settings.exact_scan_rows
    )


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
        _embedders(database, settings, embedder),
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
    formation = Formation(database, recall, _formation_policy(settings), _model(database, settings))
    queue = JobQueue(database, timedelta(seconds=settings.job_lease_seconds))
    upkeep = Upkeep(database, recall, formation, _upkeep_policy(settings), settings.link_min)
    conversation = ConversationService(database, _conversation_policy(settings), formation)
    handlers = standard_handlers(database, recall, formation, upkeep, conversation)
    files = files_folder(settings)
    prompts = _prompt_policy(settings, token_counter)
    prompting = Prompting(database, recall, conversation, PromptFiles(files), access, prompts)
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
    return Memory(parts, settings, runner, background, follower, clean_up)


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


def _formation_policy(settings: Settings) -> FormationPolicy:
    named = frozenset(name.strip() for name in settings.sensitive_fields.split(",") if name.strip())
    unknown = named - set(SENSITIVE_FIELDS)
    if unknown:
        raise UnknownField("sensitive field", unknown, SENSITIVE_FIELDS)
    if settings.judge_min > settings.redundant_min:
        raise InvalidValue("setting judge_min", "must not be more than redundant_min")
    return FormationPolicy(
        is_automatic=settings.formation,
        delay=timedelta(seconds=settings.formation_delay_seconds),
        stale_after=timedelta(minutes=settings.formation_stale_minutes),
        daily_writes=settings.formation_daily_writes,
        sensitive_fields=named,
        proposal_life=timedelta(days=settings.proposal_days),
        corroborating_signals=settings.corroborating_signals,
        redundant_min=settings.redundant_min,
        judge_min=settings.judge_min,
    )


def _upkeep_policy(settings: Settings) -> UpkeepPolicy:
    return UpkeepPolicy(
        is_automatic=settings.upkeep,
        forget_after=timedelta(days=settings.forget_after_days),
        forget_below=settings.forget_below_importance,
        forget_explicit_below=settings.forget_explicit_below_importance,
        daily_pairs=settings.consolidation_daily_pairs,
        draws_insights=settings.insights and settings.formation,  # both read what was said
        event_life=timedelta(days=settings.event_days),
    )


def _prompt_policy(settings: Settings, token_counter: TokenCounter) -> PromptPolicy:
    return PromptPolicy(
        zone=_zone(settings.timezone),
        count=token_counter,
        budget_tokens=settings.context_tokens,
        threshold=settings.context_threshold,
        quotes=settings.context_quotes,
    )


def _conversation_policy(settings: Settings) -> ConversationPolicy:
    if settings.window_kept_turns >= settings.window_turns:
        raise InvalidValue("setting window_kept_turns", "must be less than window_turns")
    return ConversationPolicy(
        window_turns=settings.window_turns,
        kept_turns=settings.window_kept_turns,
        zone=_zone(settings.timezone),
    )


def _zone(name: str) -> tzinfo:
    if name == "UTC":
        return UTC
    from zoneinfo import ZoneInfo  # seldom needed

    try:
        return ZoneInfo(name)
    except (KeyError, OSError, ValueError):  # not known, a folder, or no name at all
        problem = f"{name!r:.60} is not a time zone that this system knows, such as Europe/Rome"
        raise InvalidValue("setting timezone", problem) from None


def _model(database: Database, settings: Settings) -> MeteredModel | None:
    """The language model that the operator has set, if any."""
    if settings.model_provider is None:
        unused = {
            "model_name": settings.model_name,
            "model_base_url": settings.model_base_url,
            "model_api_key": settings.model_api_key,
        }
        for name, value in unused.items():
            if value is not None:
                raise InvalidValue(f"setting {name}", "needs model_provider, too")
        return None
    key = settings.model_api_key
    try:
        choice = ModelChoice.parse(
            settings.model_provider,
            model=settings.model_name,
            base_url=settings.model_base_url,
            api_key=None if key is None else key.get_secret_value(),
        )
    except InvalidValue as problem:
        name = "name" if problem.field == "model" else problem.field
        raise InvalidValue(f"setting model_{name}", problem.problem) from None
    model = ChatModel(choice, deadline_seconds=settings.model_deadline_seconds)
    return MeteredModel(database, model, settings.model_daily_tokens)


def _embedders(database: Database, settings: Settings, given: Embedder | None) -> Embedders:
    registry = EmbedderRegistry(
        threads=settings.embedding_threads,
        max_width=settings.vector_width,
        allow_private=settings.allow_private_embedding_targets,
    )
    key = settings.secret_key
    secrets = SecretBox(
        settings.home.expanduser() / _SECRET_FILE,
        None if key is None else key.get_secret_value(),
    )
    deadline_seconds = settings.embedding_deadline_seconds
    operator = _operator_choice(settings)
    return Embedders(database, registry, secrets, operator, given, deadline_seconds)


def _operator_choice(settings: Settings) -> EmbeddingChoice | None:
    """What the operator wants for everybody; a llama.cpp server that is there counts as that."""
    if settings.embedding_provider is None:
        unused = {
            "embedding_model": settings.embedding_model,
            "embedding_base_url": settings.embedding_base_url,
            "embedding_api_key": settings.embedding_api_key,
            "embedding_dimensions": settings.embedding_dimensions,
        }
        for name, value in unused.items():
            if value is not None:
                raise InvalidValue(f"setting {name}", "needs embedding_provider, too")
        return None if settings.llamacpp_url is None else detect_llamacpp(settings.llamacpp_url)
    key = settings.embedding_api_key
    return EmbeddingChoice.parse(
        settings.embedding_provider,
        model=settings.embedding_model,
        base_url=settings.embedding_base_url,
        api_key=None if key is None else key.get_secret_value(),
        dimensions=settings.embedding_dimensions,
    )


def _remover(folder: Path) -> Callable[[], None]:
    """Removes a temporary store: when it is closed, or else when the process that made it ends."""
    maker = os.getpid()

    def remove() -> None:
        if os.getpid() == maker:  # a forked child must not take it from its parent
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return remove


def _nothing() -> None:
    pass
