"""What can be set of the service: where it listens, whom it lets in, what models are behind it."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr


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
        " address. Set it where a proxy stands before a service on a loopback address.",
    )
    rate_limit_per_minute: int = Field(
        default=6_000,
        ge=0,
        le=1_000_000,
        description="Requests that one key may make per minute and server; 0: any number. So many"
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
        description="OpenAI-compatible endpoint behind /v1/chat/completions, up to before"
        " /chat/completions. Default: no chat proxy.",
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
    mcp_tools: str = Field(
        default="standard",
        description="Sets of tools that MCP offers where neither the address of /mcp nor an option"
        " of ricordo mcp names any, with commas: standard, single, query, profile.",
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
