"""The composition root: the one place that reads the environment and puts the parts together."""

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from datetime import UTC, timedelta, tzinfo
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from ricordo.access.policy_file import PolicyFile
from ricordo.clock import Clock, system_clock
from ricordo.errors import (
    InvalidValue,
    StorageUnavailable,
    UnknownField,
    needs_extra,
    without_password,
)
from ricordo.files.home import FilesFolder
from ricordo.formation.schedule import FormationPolicy
from ricordo.index.embedders import Embedders
from ricordo.index.rebuild import note_versions
from ricordo.memories.lookup import ThemeCounts
from ricordo.memory import Memory
from ricordo.model import checks
from ricordo.model.reports import BackupReport, RestoreReport
from ricordo.model.scope import Policy
from ricordo.providers.checked_files import checked_files
from ricordo.providers.embedder import Embedder
from ricordo.providers.embedding_choice import EmbedderRegistry, EmbeddingChoice, detect_llamacpp
from ricordo.providers.encryption import SecretBox
from ricordo.recall.ranking import Ranking
from ricordo.recall.service import Recall
from ricordo.settings import SETTINGS_FROM_FILES, Settings
from ricordo.storage.backend import Backend
from ricordo.storage.database import Database
from ricordo.storage.migration import upgrade
from ricordo.storage.sqlite.backend import SqliteBackend
from ricordo.storage.sqlite.connection import ConnectionPlan, DatabaseKey, Use
from ricordo.text.analyser import Analyser
from ricordo.text.tokens import TokenCounter, estimate_tokens
from ricordo.upkeep.schedule import UpkeepPolicy
from ricordo.user_memory.base import Parts, Work
from ricordo.user_memory.maintenance import mirror_of

if TYPE_CHECKING:  # loaded when they are first used: they take longer than a search
    from ricordo.conversation.service import ConversationService
    from ricordo.conversation.summaries import ConversationPolicy
    from ricordo.files.profile import ProfileFiles
    from ricordo.formation.service import Formation
    from ricordo.jobs.runner import Background, JobRunner
    from ricordo.jobs.webhooks import WebhookDeliveries
    from ricordo.metering import MeteredModel
    from ricordo.prompt.service import PromptPolicy, PromptService
    from ricordo.transfer.drafts import FileOpener
    from ricordo.upkeep.service import Upkeep

ENVIRONMENT_PREFIX: Final = "RICORDO_"
_FILE: Final = "_FILE"


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
    for name in sorted(SETTINGS_FROM_FILES - set(given)):
        variable = f"{ENVIRONMENT_PREFIX}{name.upper()}{_FILE}"
        if environment.get(variable):
            if name in from_environment:
                also = variable.removesuffix(_FILE)
                raise InvalidValue(f"setting {name}", f"is in {also} and in {variable}: leave one")
            from_environment[name] = _held_by(variable, Path(environment[variable]), name)
    try:
        return Settings(**{**from_environment, **given})
    except ValidationError as problems:
        first = problems.errors()[0]
        raise InvalidValue(f"setting {first['loc'][0]}", first["msg"]) from None


def _held_by(variable: str, path: Path, name: str) -> str:
    try:
        held = path.expanduser().read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "is no text in UTF-8"
        raise InvalidValue(f"setting {name}", f"{variable}: {path}: {why}") from None
    if not held:
        raise InvalidValue(f"setting {name}", f"{variable}: {path} is empty")
    return held


TEMPORARY: Final = ":memory:"
_DATABASE_FILE: Final = "ricordo.db"
_SQLITE_SCHEME: Final = "sqlite:///"
_POSTGRES_SCHEMES: Final = ("postgresql://", "postgres://", "postgresql+psycopg://")
_ENCRYPTED_SERVER: Final = "have the server's disk encrypted, and connect with sslmode=verify-full"


def open_database(
    settings: Settings, clock: Clock = system_clock
) -> tuple[Database, Callable[[], None]]:
    """The database that the settings name, as it is, and what to do after closing it. Raises
    InvalidValue: an address of an unknown kind; StorageUnavailable: PostgreSQL is asked for, but
    its driver is not installed."""
    backend, clean_up = _backend(settings)
    return _database(backend, settings, clock), clean_up


def file_opener(settings: Settings, clock: Clock = system_clock) -> "FileOpener":
    """What opens SQLite files beside the store, with the same key if it has one."""

    def open_file(path: Path, use: Use) -> Database:
        return _database(_sqlite(path, settings, use), settings, clock)

    return open_file


def database_key(settings: Settings) -> DatabaseKey | None:
    """What the file is encrypted with, by the settings. Raises InvalidValue: it is given twice, is
    no key, or its file cannot be read."""
    given, file = settings.database_key, settings.database_key_file
    if given is not None and file is not None:
        raise InvalidValue("setting database_key_file", "give it or database_key, not both")
    if file is not None:
        return DatabaseKey(_first_line(file.expanduser()))
    return None if given is None else DatabaseKey(given.get_secret_value())


def database_file(settings: Settings) -> Path:
    """The file that the store is in. Raises InvalidValue: it is on a server, or temporary."""
    url = settings.url
    if url is not None and url.startswith(_POSTGRES_SCHEMES):
        raise InvalidValue("db", f"is on a server, not in a file: {_ENCRYPTED_SERVER}")
    if url == TEMPORARY:
        raise InvalidValue("db", "a temporary database is gone before it could be converted")
    return _sqlite_path(url, settings.home)


def _database(backend: Backend, settings: Settings, clock: Clock) -> Database:
    policy = Policy(
        purge_after=timedelta(days=settings.purge_after_days),
        global_until=settings.global_until,
        offer_life=timedelta(days=settings.proposal_days),
    )
    return Database(backend, clock, policy, Analyser(settings.language))


def _backend(settings: Settings) -> tuple[Backend, Callable[[], None]]:
    url = settings.url
    if url is not None and url.startswith(_POSTGRES_SCHEMES):
        if database_key(settings) is not None:
            raise InvalidValue("setting database_key", f"is for SQLite files: {_ENCRYPTED_SERVER}")
        return _postgres(url, settings), _nothing
    if url == TEMPORARY:
        folder = Path(tempfile.mkdtemp(prefix="ricordo-"))
        # Nothing of it has to survive a power cut: it is deleted when it is closed.
        settings = settings.model_copy(update={"synchronous": "OFF"})
        return _sqlite(folder / _DATABASE_FILE, settings), _remover(folder)
    return _sqlite(_sqlite_path(url, settings.home), settings), _nothing


def _sqlite_path(url: str | None, home: Path) -> Path:
    if url is None:
        return home.expanduser() / _DATABASE_FILE
    path = url.removeprefix(_SQLITE_SCHEME)
    if not path or "://" in path:
        shown = without_password(url)
        raise InvalidValue(
            "url", f"{shown!r} is not a file path, sqlite:///PATH, postgresql://… or {TEMPORARY}"
        )
    return Path(path).expanduser().absolute()


def _sqlite(path: Path, settings: Settings, use: Use = Use.STORE) -> SqliteBackend:
    timeout = settings.busy_timeout_seconds
    plan = ConnectionPlan(path, settings.synchronous, timeout, database_key(settings), use)
    return SqliteBackend(plan, settings.pool_size)


def _first_line(path: Path) -> str:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        problem = getattr(error, "strerror", None) or "is not a text file"
        raise InvalidValue("setting database_key_file", f"{path}: {problem}") from None
    if not lines or not lines[0]:
        raise InvalidValue("setting database_key_file", f"{path}: the first line is empty")
    return lines[0]


def _postgres(url: str, settings: Settings) -> Backend:
    try:
        from ricordo.storage.postgres.backend import PostgresBackend
    except ImportError:
        raise StorageUnavailable(needs_extra("PostgreSQL", "postgres")) from None
    return PostgresBackend(
        url, settings.pool_size, settings.busy_timeout_seconds, settings.exact_scan_rows
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


def formation_policy(settings: Settings) -> FormationPolicy:
    """How memories are formed. Raises UnknownField: a sensitive field that there is not;
    InvalidValue: two settings that contradict each other."""
    from ricordo.formation.sensitive import SENSITIVE_FIELDS

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


def upkeep_policy(settings: Settings) -> UpkeepPolicy:
    """How memory is kept clean."""
    return UpkeepPolicy(
        is_automatic=settings.upkeep,
        forget_after=timedelta(days=settings.forget_after_days),
        forget_below=settings.forget_below_importance,
        forget_explicit_below=settings.forget_explicit_below_importance,
        daily_pairs=settings.consolidation_daily_pairs,
        draws_insights=settings.insights and settings.formation,  # both read what was said
        event_life=timedelta(days=settings.event_days),
    )


def prompt_policy(settings: Settings, token_counter: TokenCounter) -> "PromptPolicy":
    """How prompts are built. Raises InvalidValue: a time zone that the system does not know."""
    from ricordo.prompt.service import PromptPolicy

    return PromptPolicy(
        zone=_zone(settings.timezone),
        count=token_counter,
        budget_tokens=settings.context_tokens,
        threshold=settings.context_threshold,
        quotes=settings.context_quotes,
    )


def conversation_policy(settings: Settings) -> "ConversationPolicy":
    """How much of a conversation is shown. Raises InvalidValue: two settings that contradict each
    other, or an unknown time zone."""
    if settings.window_kept_turns >= settings.window_turns:
        raise InvalidValue("setting window_kept_turns", "must be less than window_turns")
    from ricordo.conversation.summaries import ConversationPolicy

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


_SECRET_FILE: Final = "secret.key"  # noqa: S105 - the name of a file


def language_model(database: Database, settings: Settings) -> "MeteredModel | None":
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
    from ricordo.metering import MeteredModel
    from ricordo.providers.chat import ChatModel
    from ricordo.providers.chat_model import ModelChoice

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
    model = ChatModel(
        choice,
        deadline_seconds=settings.model_deadline_seconds,
        answer_tokens=settings.model_answer_tokens,
        thinking_tokens=settings.model_thinking_tokens,
    )
    return MeteredModel(database, model, settings.model_daily_tokens, settings.model_read_chars)


def embedders(database: Database, settings: Settings, given: Embedder | None) -> Embedders:
    """What makes everybody's vectors: what is given, or else what is set. Raises InvalidValue: the
    settings do not fit together."""
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
        InvalidPolicy: the policy file is missing or not valid.
        StorageError: the database cannot be opened, is damaged, or is newer than this ricordo.
    """
    if url is not None:
        settings["url"] = str(url)
    chosen = read_settings(os.environ, settings)
    PolicyFile(chosen.policy_file).current()  # before anything is opened or served without it
    database, clean_up = open_database(chosen, clock)
    try:
        upgrade(database)
        note_versions(database)
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
    checked_files.remember_in(settings.home.expanduser())
    recall = Recall.of(
        database,
        embedders(database, settings, embedder),
        Ranking.parse(
            settings.semantic_weight,
            settings.lexical_weight,
            settings.candidates,
            settings.ranking_off,
            settings.reranked,
            settings.rerank_ms,
        ),
        access,
        cache_bytes=settings.index_cache_mb * 1024 * 1024,
        link_min=settings.link_min,
        relations_per_memory=settings.relations_per_memory,
    )
    parts = _Parts(database, recall, access, settings, token_counter)
    if settings.model_fields_set & _CHECKED_LATER:
        _ = parts.upkeep, parts.prompting
    if settings.run_jobs:
        database.on_job_queued = parts.work.background.wake
        parts.work.background.start()
    return Memory(parts, settings, clean_up)


_CHECKED_LATER: Final = {
    *("sensitive_fields", "judge_min", "redundant_min"),
    *("model_provider", "model_name", "model_base_url", "model_api_key"),
    *("window_turns", "window_kept_turns", "timezone"),
}
"""Settings that are checked by what they are for; where they are given, that is made at once."""


class _Parts(Parts):
    def __init__(
        self,
        database: Database,
        recall: Recall,
        access: PolicyFile,
        settings: Settings,
        token_counter: TokenCounter,
    ) -> None:
        self.database = database
        self.recall = recall
        self.files = files_folder(settings)
        self.access = access
        self.open_file = file_opener(settings, database.clock)
        self.theme_counts = ThemeCounts()
        self._settings = settings
        self._token_counter = token_counter

    def make_formation(self) -> "Formation":
        from ricordo.formation.service import Formation

        policy, model = (
            formation_policy(self._settings),
            language_model(self.database, self._settings),
        )
        return Formation(self.database, self.recall, policy, model)

    def make_upkeep(self) -> "Upkeep":
        from ricordo.upkeep.service import Upkeep

        policy = upkeep_policy(self._settings)
        return Upkeep(self.database, self.recall, self.formation, policy, self._settings.link_min)

    def make_conversation(self) -> "ConversationService":
        from ricordo.conversation.service import ConversationService

        return ConversationService(
            self.database, conversation_policy(self._settings), self.formation
        )

    def make_prompting(self) -> "PromptService":
        from ricordo.files.home import PromptFiles
        from ricordo.prompt.service import PromptService

        policy, files = prompt_policy(self._settings, self._token_counter), PromptFiles(self.files)
        return PromptService(
            self.database,
            self.recall,
            self.conversation,
            files,
            self.access,
            policy,
            self.theme_counts,
        )

    def make_profile_files(self) -> "ProfileFiles":
        from ricordo.files.profile import ProfileFiles

        return ProfileFiles(self.files, self.formation)

    def make_webhooks(self) -> "WebhookDeliveries":
        from ricordo.jobs.webhooks import WebhookDeliveries
        from ricordo.providers.webhook_sender import WebhookSender

        sender = WebhookSender(allow_loopback=self._settings.webhook_loopback)
        return WebhookDeliveries(self.database, self.recall.embedders.secrets, sender)

    def make_work(self) -> Work:
        from ricordo.files.mirror import MirrorFollower
        from ricordo.jobs.handlers import standard_handlers
        from ricordo.jobs.queue import JobQueue
        from ricordo.jobs.runner import JobRunner

        settings = self._settings
        handlers = standard_handlers(
            *(self.database, self.recall, self.formation, self.upkeep, self.conversation),
            self.webhooks,
        )
        follower = MirrorFollower(self.files, partial(mirror_of, self), self.profile_files.follow)

        def between() -> None:
            self.recall.accesses.flush()
            self.upkeep.ensure_planned()
            follower.follow_all()

        queue = JobQueue(self.database, timedelta(seconds=settings.job_lease_seconds))
        runner = JobRunner(queue, handlers, settings.job_run_seconds, between)
        return Work(runner, _background(runner, settings), follower)


def _background(runner: "JobRunner", settings: Settings) -> "Background":
    """Threads of this process or, with a broker, workers elsewhere."""
    if settings.broker_url is None:
        from ricordo.jobs.runner import ThreadRunner

        return ThreadRunner(runner, settings.job_poll_seconds)
    from ricordo.jobs.broker import BrokerWaker

    url = settings.broker_url.get_secret_value()
    poll_seconds = settings.job_poll_seconds
    return BrokerWaker(runner.queue, runner.kinds, url, poll_seconds, runner.maintain)


def files_folder(settings: Settings) -> FilesFolder | None:
    """The folder that is set or else, for the database in the home folder, that folder."""
    top = settings.files
    if top is None and settings.url is None:
        top = settings.home
    return None if top is None else FilesFolder(top.expanduser().absolute(), settings.files_user)


def restore_backup(
    path: str | Path,
    url: str | Path | None = None,
    *,
    replace: bool = False,
    clock: Clock = system_clock,
    **settings: Any,
) -> RestoreReport:
    """Have a store hold what a backup does; see ``ricordo.restore_backup``.

    Raises:
        InvalidInput, InvalidBackup, StoreNotEmpty, AccessDenied, StorageError.
    """
    from ricordo.transfer import restore

    if url is not None:
        settings["url"] = str(url)
    chosen = read_settings(os.environ, settings)
    if chosen.url == TEMPORARY:
        raise InvalidValue("url", "a temporary store would be gone at once; name another")
    database, clean_up = open_database(chosen, clock)
    try:
        return restore.restore_backup(
            database,
            checks.path("path", path),
            file_opener(chosen, clock),
            replace=checks.flag("replace", replace),
        )
    finally:
        database.backend.close()
        clean_up()


def check_backup(path: str | Path, **settings: Any) -> BackupReport:
    """What is in a backup, once it was found sound; see ``ricordo.check_backup``.

    Raises:
        InvalidInput, InvalidBackup, StorageError.
    """
    from ricordo.transfer import backup

    chosen = read_settings(os.environ, settings)
    return backup.check_backup(checks.path("path", path), file_opener(chosen))
