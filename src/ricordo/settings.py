"""Everything that can be set, with its default. ``wiring`` fills it from the environment."""

from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from ricordo.limits import (
    DEFAULT_ANSWER_TOKENS,
    DEFAULT_CONTEXT_TOKENS,
    DEFAULT_READ_CHARS,
    DEFAULT_THINKING_TOKENS,
    MAX_ANSWER_TOKENS,
    MAX_CANDIDATES,
    MAX_CONTEXT_TOKENS,
    MAX_RECALLED_TURNS,
    MAX_TRANSCRIPT_CHARS,
    MAX_VECTOR_WIDTH,
    MIN_CONTEXT_TOKENS,
)


class StoreSettings(BaseModel):
    """How a store is opened."""

    model_config = ConfigDict(defer_build=True)  # only all settings together are ever made

    home: Path = Field(
        default=Path("~/.ricordo"), description="Folder of the database and all other files."
    )
    url: str | None = Field(
        default=None,
        description="Database: a file path, sqlite:///PATH, postgresql://…, or :memory: for a"
        " temporary one. Default: ricordo.db in the home folder.",
    )
    database_key: SecretStr | None = Field(
        default=None,
        description="Passphrase that the SQLite file is encrypted with (ricordo[encrypted])."
        " Default: it is not encrypted.",
    )
    database_key_file: Path | None = Field(
        default=None,
        description="File whose first line is that passphrase, instead of database_key.",
    )
    synchronous: Literal["FULL", "NORMAL"] = Field(
        default="FULL",
        description="SQLite durability: FULL survives a power cut, NORMAL is faster. A temporary"
        " store survives neither.",
    )
    busy_timeout_seconds: float = Field(
        default=30.0, gt=0, le=3_600, description="How long to wait for a lock or a connection."
    )
    pool_size: int = Field(
        default=8, ge=1, le=200, description="Reading (SQLite) or all (PostgreSQL) connections."
    )
    async_threads: int = Field(
        default=8,
        ge=1,
        le=200,
        description="Threads that serve an AsyncMemory.",
    )
    global_until: int = Field(
        default=5,
        ge=0,
        le=1_000,
        description="Users with fewer active memories than this also see the global ones.",
    )
    purge_after_days: float = Field(
        default=30.0, ge=0, le=36_500, description="Days from soft delete until removal for good."
    )
    run_jobs: bool = Field(
        default=True,
        description="See to background jobs: in threads of this process or, with broker_url, by"
        " waking Celery workers.",
    )
    broker_url: SecretStr | None = Field(
        default=None,
        description="Where Celery workers are woken: redis://… or amqp://… (RabbitMQ).",
    )
    job_run_seconds: float = Field(
        default=300.0,
        ge=1,
        le=86_400,
        description="How long a job that works in steps goes on before others get their turn.",
    )
    job_lease_seconds: float = Field(
        default=60.0, gt=0, le=86_400, description="How long a silent worker keeps its job."
    )
    job_poll_seconds: float = Field(
        default=5.0, gt=0, le=3_600, description="How often to look for other processes' jobs."
    )
    language: str = Field(
        default="auto",
        description="Language whose word forms search puts together: auto (each text by its own),"
        " a Snowball language, vietnamese, or none.",
    )
    embedding_provider: str | None = Field(
        default=None,
        description="Who makes everybody's vectors: local, local:FOLDER, llamacpp, ollama, openai,"
        " mistral, gemini, custom_http or none. Default: each user's own choice, else local.",
    )
    embedding_model: str | None = Field(
        default=None, description="Model of that provider; default: the provider's usual one."
    )
    embedding_base_url: str | None = Field(
        default=None, description="Address of that provider, up to before /embeddings."
    )
    embedding_api_key: SecretStr | None = Field(default=None, description="Key of that provider.")
    embedding_dimensions: int | None = Field(
        default=None, ge=1, le=MAX_VECTOR_WIDTH, description="Width to ask that provider for."
    )
    llamacpp_url: str | None = Field(
        default=None,
        description="A llama.cpp server to use when it is there and makes embeddings, unless"
        " embedding_provider says otherwise.",
    )
    embedding_threads: int = Field(
        default=0, ge=0, le=256, description="Threads of the local model; 0: as many as cores."
    )
    embedding_deadline_seconds: float = Field(
        default=2.0, gt=0, le=60, description="How long a search waits for the question's vector."
    )
    vector_width: int = Field(
        default=1_024,
        ge=1,
        le=MAX_VECTOR_WIDTH,
        description="Widest vector that is stored; wider ones are refused.",
    )
    allow_private_embedding_targets: bool = Field(
        default=False,
        description="Let users' own settings name addresses inside this network.",
    )
    webhook_loopback: bool = Field(
        default=False,
        description="Let webhooks also go to this machine, as http://127.0.0.1:8000/….",
    )
    secret_key: SecretStr | None = Field(
        default=None,
        description="Key that seals users' API keys and the secrets of webhooks, 32 bytes in"
        " URL-safe base64. Default: one kept in secret.key in the home folder.",
    )
    semantic_weight: float = Field(
        default=0.7, ge=0, le=1, description="How much nearness by meaning counts in a search."
    )
    lexical_weight: float = Field(
        default=0.3, ge=0, le=1, description="How much matching words count in a search."
    )
    candidates: int = Field(
        default=50, ge=10, le=MAX_CANDIDATES, description="Best of each signal that are ranked."
    )
    ranking_off: str = Field(
        default="",
        description="Parts of the ranking to leave out, with commas: semantic, lexical, names,"
        " aliases, window, actor, date, thread, role, recency, importance, confidence, relations,"
        " fuzzy, exact, learned, ratings.",
    )
    reranked: int = Field(
        default=24,
        ge=0,
        le=50,
        description="How many of the best results a second model reads again at most, together"
        " with the question; 0: none. While more searches are under way than there are cores,"
        " nothing is read again.",
    )
    rerank_ms: int = Field(
        default=60,
        ge=1,
        le=60_000,
        description="Milliseconds for that reading, twice as many in other languages than English;"
        " in a prompt half of them for memories, half for turns. What is not read by then stays"
        " behind.",
    )
    link_min: float = Field(
        default=0.6, ge=0, le=1, description="Least similarity at which two memories are related."
    )
    relations_per_memory: int = Field(
        default=3, ge=0, le=50, description="How many relations a new memory gets at most; 0: none."
    )
    index_cache_mb: int = Field(
        default=512,
        ge=0,
        le=1_000_000,
        description="Memory for the search indexes of the users who search. A user whose index is"
        " larger is searched in the database; with 0 everybody is.",
    )
    exact_scan_rows: int = Field(
        default=50_000,
        ge=0,
        description="PostgreSQL: up to so many vectors of a user are compared one by one; beyond"
        " that the HNSW index is used.",
    )
    policy_file: Path | None = Field(
        default=None,
        description="YAML file with categories and agents' allowlists. Default: no restriction.",
    )
    model_provider: str | None = Field(
        default=None,
        description="Language model that reads conversations: openai, mistral, gemini, ollama,"
        " llamacpp or custom_http. Default: none; rules do the reading.",
    )
    model_name: str | None = Field(
        default=None, description="Model of that provider; default: the provider's usual one."
    )
    model_base_url: str | None = Field(
        default=None, description="Address of that provider, up to before /chat/completions."
    )
    model_api_key: SecretStr | None = Field(default=None, description="Key of that provider.")
    model_deadline_seconds: float = Field(
        default=60.0, gt=0, le=3_600, description="How long one question to the model may take."
    )
    model_answer_tokens: int = Field(
        default=DEFAULT_ANSWER_TOKENS,
        ge=100,
        le=MAX_ANSWER_TOKENS,
        description="Tokens that one answer of the model may have, without its thinking.",
    )
    model_thinking_tokens: int = Field(
        default=DEFAULT_THINKING_TOKENS,
        ge=0,
        le=MAX_ANSWER_TOKENS,
        description="Tokens on top of that for a model that thinks before it answers.",
    )
    model_read_chars: int = Field(
        default=DEFAULT_READ_CHARS,
        ge=500,
        le=MAX_TRANSCRIPT_CHARS,
        description="Characters of a conversation that the model reads at once, with up to half as"
        " many before them as context. Set it lower where the model's context is small.",
    )
    model_daily_tokens: int = Field(
        default=200_000,
        ge=0,
        description="Tokens that the model may use per user and day, failed calls included."
        " At the limit work waits for the next day (UTC).",
    )
    formation: bool = Field(
        default=True, description="Form memories from observed conversations in the background."
    )
    formation_delay_seconds: float = Field(
        default=10.0,
        ge=0,
        le=86_400,
        description="Silence after which a conversation is formed.",
    )
    formation_stale_minutes: float = Field(
        default=30.0,
        gt=0,
        le=10_080,
        description="Silence after which a sweep forms what was left unformed for any reason.",
    )
    formation_daily_writes: int = Field(
        default=100,
        ge=1,
        le=10_000,
        description="Memories that formation writes per user and day; the rest waits.",
    )
    sensitive_fields: str = Field(
        default="preferred_name,pronouns,city,language,health,faith,sexuality,politics,money,"
        "identifiers",
        description="What is not stored without the user's consent, with commas; may be empty.",
    )
    proposal_days: float = Field(
        default=7.0, gt=0, le=365, description="Days until a proposal that nobody decides expires."
    )
    corroborating_signals: int = Field(
        default=2,
        ge=1,
        le=10,
        description="How often a wish about tone or a goal must be said before it is stored.",
    )
    redundant_min: float = Field(
        default=0.95,
        ge=0,
        le=1,
        description="Similarity from which a statement that contradicts nothing is known already.",
    )
    judge_min: float = Field(
        default=0.5,
        ge=0,
        le=1,
        description="Similarity from which two memories are held against each other.",
    )
    upkeep: bool = Field(
        default=True, description="Keep every user's memory clean by a daily round in background."
    )
    forget_after_days: float = Field(
        default=60.0,
        ge=1,
        le=36_500,
        description="Days without being recalled after which what matters little is forgotten.",
    )
    forget_below_importance: int = Field(
        default=3, ge=1, le=6, description="What matters less than this may be forgotten; 1: none."
    )
    forget_explicit_below_importance: int = Field(
        default=2,
        ge=1,
        le=6,
        description="The same for what was put there on purpose: source user_explicit, import or"
        " file.",
    )
    consolidation_daily_pairs: int = Field(
        default=50,
        ge=0,
        le=10_000,
        description="Pairs of memories that consolidation looks at per user and day; 0: none.",
    )
    insights: bool = Field(
        default=True,
        description="Let the language model draw a few observations a day from recent activity,"
        " where formation is on.",
    )
    timezone: str = Field(
        default="UTC",
        description="Time zone of dates in prompts and of the days of the log, such as"
        " Europe/Rome.",
    )
    context_tokens: int = Field(
        default=DEFAULT_CONTEXT_TOKENS,
        ge=MIN_CONTEXT_TOKENS,
        le=MAX_CONTEXT_TOKENS,
        description="Tokens of a whole request to a model, its answer included.",
    )
    context_threshold: float = Field(
        default=0.15,
        ge=0,
        le=1,
        description="How sure a memory must be to be an answer for a prompt to show it.",
    )
    context_quotes: int = Field(
        default=10,
        ge=0,
        le=MAX_RECALLED_TURNS,
        description="How many things said earlier a prompt shows beside memories; 0: none.",
    )
    window_turns: int = Field(
        default=20,
        ge=2,
        le=1_000,
        description="Turns of a conversation at which the oldest are put into a summary.",
    )
    window_kept_turns: int = Field(
        default=5, ge=1, le=999, description="Latest turns that then stay as they are."
    )
    files: Path | None = Field(
        default=None,
        description="Folder of prompts/ and memory/. Default: the home folder for the database in"
        " it; none for any other database.",
    )
    files_user: str = Field(
        default="me",
        description="Whose profile and memories lie at the top of that folder; those of others are"
        " under people/.",
    )
    event_days: float = Field(
        default=30.0, gt=0, le=36_500, description="Days until events are trimmed."
    )


class ServiceSettings(BaseModel):
    """How ``ricordo serve`` runs."""

    model_config = ConfigDict(defer_build=True)  # only all settings together are ever made

    host: str = Field(
        default="127.0.0.1",
        description="Address that the service listens on. Any but a loopback one needs keys.",
    )
    port: int = Field(
        default=8377, ge=0, le=65_535, description="Port of the service; 0: any that is free."
    )
    require_keys: bool | None = Field(
        default=None,
        description="Let in only who has a key. Default: unless the service listens on a loopback"
        " address and has no public_url. Set it where a proxy is in front of a service on a"
        " loopback address.",
    )
    workers: int = Field(
        default=1,
        ge=1,
        le=64,
        description="Processes that answer requests at one address, each with threads, caches,"
        " connections and limits of its own. More than one needs a system with fork.",
    )
    rate_limit_per_minute: int = Field(
        default=6_000,
        ge=0,
        le=1_000_000,
        description="Requests that one key may make per minute and worker; 0: any number. So many"
        " without a good key are refused from one address.",
    )
    max_connections: int = Field(
        default=1_000,
        ge=1,
        le=100_000,
        description="Connections at once; fewer where the system allows too few open files. Beyond"
        " that one which waits for its caller gives way, or else the new one is refused.",
    )
    max_connections_per_address: int = Field(
        default=200,
        ge=0,
        le=100_000,
        description="Connections at once from one address (IPv6: one /64 network); 0: any number."
        " Loopback addresses have no such limit.",
    )
    max_request_line_bytes: int = Field(
        default=65_535,
        ge=1_024,
        le=65_535,
        description="Bytes of the address of a request, with its query; more is refused with 414.",
    )
    max_header_bytes: int = Field(
        default=65_536,
        ge=1_024,
        le=1_048_576,
        description="Bytes of all headers of a request, trailers included; more is refused with"
        " 431.",
    )
    max_headers: int = Field(
        default=100,
        ge=10,
        le=1_000,
        description="Headers of a request, trailers included; more are refused with 431.",
    )
    header_seconds: float = Field(
        default=20.0,
        gt=0,
        le=3_600,
        description="How long a caller may take to send the headers of a request.",
    )
    body_seconds: float = Field(
        default=30.0,
        gt=0,
        le=3_600,
        description="How long a caller may take to send a body, beside what min_bytes_per_second"
        " gives it.",
    )
    answer_seconds: float = Field(
        default=60.0,
        gt=0,
        le=3_600,
        description="How long a caller may take too little of an answer that waits for it. A"
        " stream in which nothing waits may be silent for any time.",
    )
    min_bytes_per_second: int = Field(
        default=1_000,
        ge=1,
        le=1_000_000_000,
        description="How fast a caller must send a body, and take an answer.",
    )
    keep_alive_seconds: float = Field(
        default=30.0,
        gt=0,
        le=3_600,
        description="How long a connection stays open between two requests.",
    )
    service_threads: int = Field(
        default=8,
        ge=1,
        le=200,
        description="Threads that serve requests; more of them than pool_size mostly wait for each"
        " other, and a sign of life (/healthz) for them.",
    )
    cors_origins: str = Field(
        default="",
        description="Web pages that may call the service from a browser, with commas, such as"
        " https://chat.example.org. Default: none.",
    )
    trusted_proxies: str = Field(
        default="",
        description="Addresses or networks of proxies in front, with commas, such as 127.0.0.1 or"
        " 10.0.0.0/8. Only what comes from them may say by X-Forwarded-For and X-Forwarded-Proto"
        " whom it comes from. Default: none.",
    )
    shutdown_seconds: float = Field(
        default=30.0,
        ge=0,
        le=3_600,
        description="How long requests and jobs under way may take to finish when it stops.",
    )
    upstream_url: str | None = Field(
        default=None,
        description="OpenAI-compatible endpoint behind /v1/chat/completions and /v1/responses,"
        " up to before /chat/completions. Default: no chat proxy.",
    )
    upstream_api_key: SecretStr | None = Field(
        default=None,
        description="Key of that endpoint. Default: the caller's own, where no keys are required.",
    )
    anthropic_url: str | None = Field(
        default=None,
        description="Anthropic-compatible endpoint behind /v1/messages, up to before /v1/messages.",
    )
    anthropic_api_key: SecretStr | None = Field(
        default=None,
        description="Key of that endpoint. Default: the caller's own, where no keys are required.",
    )
    upstream_timeout_seconds: float = Field(
        default=600.0,
        gt=0,
        le=86_400,
        description="How long those endpoints may stay silent before the proxy gives up.",
    )
    proxy_modes: str = Field(
        default="recall,summary",
        description="What of memory the proxy adds to a request, with commas: tools, recall,"
        " summary.",
    )
    proxy_persona: bool = Field(
        default=False,
        description="Whether the proxy also adds SOUL.md and RULES.md to every user's requests."
        " Default: no, the application says who the assistant is.",
    )
    proxy_user_file: bool = Field(
        default=False,
        description="Whether the proxy also adds a user's USER.md to their requests. Default: no.",
    )
    proxy_recognise_prompts: bool = Field(
        default=True,
        description="Whether the proxy recognises what chat applications write themselves: requests"
        " for titles, tags and the like pass without memory, and of a template with documents only"
        " the user's own words are recorded.",
    )
    mcp_tools: str = Field(
        default="standard",
        description="Sets of tools that MCP offers where neither the address of /mcp nor an option"
        " of ricordo mcp names any, with commas: standard, single, query, profile.",
    )
    public_url: str | None = Field(
        default=None,
        description="Address that others reach the service at, such as https://memory.example.org."
        " With it, programs can ask users for access to /mcp by OAuth 2.1. Default: only keys.",
    )
    oauth_issuer: str | None = Field(
        default=None,
        description="Authorisation server whose tokens /mcp takes, instead of signing in on the"
        " page of the service, such as https://login.example.org.",
    )
    oauth_jwks_url: str | None = Field(
        default=None,
        description="Where that server publishes its keys. Default: where its metadata says.",
    )
    oauth_audience: str | None = Field(
        default=None,
        description="What its tokens must be for. Default: public_url with /mcp.",
    )
    oauth_user_claim: str = Field(
        default="sub",
        min_length=1,
        max_length=200,
        description="The claim of its tokens that names the user.",
    )
    page: bool = Field(
        default=True,
        description="Show the web page: / and all under /ui.",
    )
    page_session_hours: int = Field(
        default=24,
        ge=1,
        le=720,
        description="How long somebody who signed in to the web page stays so.",
    )
    log_format: Literal["json", "text"] | None = Field(
        default=None,
        description="How the service writes its log: json, or text for people. Default: text on a"
        " terminal, else json.",
    )
    traces_url: str | None = Field(
        default=None,
        description="Where OpenTelemetry traces go, such as http://127.0.0.1:4318/v1/traces."
        " Default: nowhere.",
    )


class Settings(ServiceSettings, StoreSettings):
    """All settings. Each is also an environment variable: ``RICORDO_`` + NAME."""

    model_config = ConfigDict(frozen=True, extra="forbid")


SETTINGS_FROM_FILES: Final = frozenset(
    name
    for name, field in Settings.model_fields.items()
    if (name == "url" or field.annotation == (SecretStr | None))
    and f"{name}_file" not in Settings.model_fields
)
"""What may be a password or hold one: each may also be in a file, which the variable with ``_FILE``
at its end names, as secrets of containers are."""
