"""The choice of an embedding provider: presets, settings, detection and a self-test."""

import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Generic, Self, TypeVar

from ricordo import fork_safety
from ricordo.errors import EmbeddingError, InvalidInput, InvalidValue, RicordoError
from ricordo.frozen import dataclass, field
from ricordo.limits import MAX_CACHED_EMBEDDERS, MAX_EMBEDDED_CHARS, MAX_VECTOR_WIDTH
from ricordo.model.embedding import EmbeddingTest
from ricordo.providers import endpoint, local_embedder
from ricordo.providers.address_guard import Resolve
from ricordo.providers.circuit_breaker import CircuitBreaker
from ricordo.providers.embedder import Embedder
from ricordo.providers.endpoint import Endpoint, EndpointError
from ricordo.providers.http_client import Call, ModelClient
from ricordo.providers.local_embedder import LocalEmbedder
from ricordo.providers.remote_embedder import (
    RemoteEmbedder,
    RemoteTarget,
    read_vectors,
    request_body,
)
from ricordo.providers.timing import Deadline, Monotonic, Timing

LOCAL: Final = "local"
LOCAL_FOLDER: Final = "local:"
NONE: Final = "none"
# Present in /props of every version.
_MARKS: Final = ("default_generation_settings", "total_slots", "model_path", "build_info")
_MAX_PROBE_BYTES: Final = 4 * 1024 * 1024
_DEADLINE_SECONDS: Final = 15.0
_SAMPLES: Final = ("Prefers tea over coffee.", "The train to the coast leaves at nine.")


@dataclass(frozen=True)
class EmbeddingPreset:
    base_url: str | None
    default_model: str | None
    needs_key: bool
    max_batch_texts: int
    max_text_chars: int = MAX_EMBEDDED_CHARS
    dimensions_field: str = "dimensions"
    widths: Mapping[str, int] = field(default_factory=dict)
    shortens: frozenset[str] = frozenset()
    """Models trained so that a shorter vector can be requested."""


PRESETS: Final[Mapping[str, EmbeddingPreset]] = MappingProxyType(
    {
        "llamacpp": EmbeddingPreset(
            base_url="http://127.0.0.1:8080/v1",
            default_model=None,  # whatever it was started with
            needs_key=False,
            max_batch_texts=32,
            max_text_chars=2_000,  # one text must fit its physical batch, 512 tokens by default
        ),
        "ollama": EmbeddingPreset(
            base_url="http://127.0.0.1:11434/v1",
            default_model="nomic-embed-text",
            needs_key=False,
            max_batch_texts=32,
            widths={"nomic-embed-text": 768, "mxbai-embed-large": 1024, "all-minilm": 384},
        ),
        "openai": EmbeddingPreset(
            base_url="https://api.openai.com/v1",
            default_model="text-embedding-3-small",
            needs_key=True,
            max_batch_texts=128,
            widths={
                "text-embedding-3-small": 1536,
                "text-embedding-3-large": 3072,
                "text-embedding-ada-002": 1536,
            },
            shortens=frozenset({"text-embedding-3-small", "text-embedding-3-large"}),
        ),
        "mistral": EmbeddingPreset(
            base_url="https://api.mistral.ai/v1",
            default_model="mistral-embed",
            needs_key=True,
            max_batch_texts=64,
            dimensions_field="output_dimension",
            widths={"mistral-embed": 1024},
        ),
        "gemini": EmbeddingPreset(
            base_url="https://generativelanguage.googleapis.com/v1beta/openai",
            default_model="gemini-embedding-001",
            needs_key=True,
            max_batch_texts=64,
            widths={"gemini-embedding-001": 3072},
            shortens=frozenset({"gemini-embedding-001"}),
        ),
        "custom_http": EmbeddingPreset(
            base_url=None, default_model=None, needs_key=False, max_batch_texts=32
        ),
    }
)

PROVIDERS: Final = (LOCAL, *PRESETS, NONE)


def check_without_endpoint(provider: str, from_user: bool, **options: object) -> None:
    """Check a provider that has no endpoint, and so takes no options."""
    is_folder = provider.startswith(LOCAL_FOLDER) and provider != LOCAL_FOLDER
    if is_folder and from_user:
        raise InvalidValue("provider", "only the operator may name a model folder; use 'local'")
    if not is_folder and provider not in (LOCAL, NONE):
        allowed = ", ".join(PROVIDERS) + ("" if from_user else ", local:FOLDER")
        raise InvalidValue("provider", f"{provider[:60]!r} is not one of: {allowed}")
    for name, value in options.items():
        if value is not None:
            raise InvalidValue(name, f"is not used by {provider!r}; leave it out")


Cached = TypeVar("Cached")


@dataclass(frozen=True)
class EmbeddingChoice:
    """A provider with its settings. Create it with :meth:`parse`."""

    provider: str
    model: str | None = None
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    dimensions: int | None = None
    from_user: bool = False

    @classmethod
    def parse(
        cls,
        provider: str,
        *,
        model: str | None = None,
        base_url: str | None = None,
        api_key: str | None = None,
        dimensions: int | None = None,
        from_user: bool = False,
    ) -> Self:
        """Check the settings, and fill in the provider's defaults. Raises InvalidValue."""
        preset = PRESETS.get(provider)
        if preset is None:
            check_without_endpoint(
                provider,
                from_user,
                model=model,
                base_url=base_url,
                api_key=api_key,
                dimensions=dimensions,
            )
            return cls(provider, from_user=from_user)
        if model is None and provider == "llamacpp":
            raise InvalidValue("model", "llamacpp needs the id that its /v1/models lists")
        choice = cls(
            provider,
            model=endpoint.checked_model(provider, model, preset.default_model),
            base_url=endpoint.checked_base_url(
                provider, base_url, preset.base_url, path="/embeddings"
            ),
            api_key=endpoint.checked_api_key(provider, api_key, is_needed=preset.needs_key),
            dimensions=dimensions,
            from_user=from_user,
        )
        is_width = type(dimensions) is int and 1 <= dimensions <= MAX_VECTOR_WIDTH
        if dimensions is not None and not is_width:
            problem = f"expected a whole number from 1 to {MAX_VECTOR_WIDTH}"
            raise InvalidValue("dimensions", problem)
        return choice

    @property
    def local_folder(self) -> Path | None:
        """The folder of ``local:FOLDER``; None for the shipped model and everything else."""
        if not self.provider.startswith(LOCAL_FOLDER):
            return None
        return Path(self.provider.removeprefix(LOCAL_FOLDER)).expanduser()


def effective(
    operator: EmbeddingChoice | None,
    detected: EmbeddingChoice | None,
    users_own: EmbeddingChoice | None,
) -> EmbeddingChoice:
    """The choice in effect: the operator's or a detected service, the user's, then the shipped
    model.

    Without the packages of the shipped model there is no embedder at all.
    """
    for choice in (operator, detected, users_own):
        if choice is not None:
            return choice
    return EmbeddingChoice(LOCAL if local_embedder.is_possible() else NONE)


class EmbedderRegistry:
    """Creates embedders on first use; the least recently used are evicted."""

    def __init__(
        self,
        *,
        threads: int,
        max_width: int,
        allow_private: bool,
        timing: Timing | None = None,
        resolve: Resolve | None = None,
    ) -> None:
        """``allow_private`` lets users' settings point into our own network."""
        self._threads = threads
        self._max_width = max_width
        self._allow_private = allow_private
        self._timing = timing or Timing()
        self._resolve = resolve
        self._set_up()
        fork_safety.reset_in_child(self)

    def _set_up(self) -> None:
        self._lock = threading.Lock()
        self._embedders: _LruCache[Embedder] = _LruCache(MAX_CACHED_EMBEDDERS)
        # Kept longer than embedders, so that nobody waits again for an endpoint known to be down.
        self._breakers: _LruCache[CircuitBreaker] = _LruCache(4 * MAX_CACHED_EMBEDDERS)

    def reset_after_fork(self) -> Any:
        """A child creates its own embedders."""
        inherited = (self._lock, self._embedders, self._breakers)
        self._set_up()
        return inherited

    def get(self, choice: EmbeddingChoice) -> Embedder | None:
        """The embedder of a choice; None for the choice of none. Raises InvalidValue."""
        if choice.provider == NONE:
            return None
        with self._lock:
            embedder, dropped = self._embedders.get(choice, lambda: self._make(choice))
        if dropped is not None:
            dropped.close()
        return embedder

    def close(self) -> None:
        with self._lock:
            embedders = self._embedders.clear()
        for embedder in embedders:
            embedder.close()

    def _make(self, choice: EmbeddingChoice) -> Embedder:
        preset = PRESETS.get(choice.provider)
        if preset is None or choice.model is None or choice.base_url is None:
            return LocalEmbedder(
                choice.local_folder, self._threads, monotonic=self._timing.monotonic
            )
        target = RemoteTarget(
            provider=choice.provider,
            model=choice.model,
            base_url=choice.base_url,
            api_key=choice.api_key,
            dimensions=self._dimensions(choice, preset),
            dimensions_field=preset.dimensions_field,
            known_width=preset.widths.get(choice.model),
            max_batch_texts=preset.max_batch_texts,
            max_text_chars=preset.max_text_chars,
            guarded=choice.from_user and not self._allow_private,
            names_address=choice.from_user,
        )
        # By key too: one user's exhausted rate limit must not lock others out.
        place = (choice.base_url, choice.model, choice.api_key)
        breaker, _ = self._breakers.get(
            place, lambda: CircuitBreaker(monotonic=self._timing.monotonic)
        )
        return RemoteEmbedder(
            target,
            max_width=self._max_width,
            breaker=breaker,
            timing=self._timing,
            resolve=self._resolve,
        )

    def _dimensions(self, choice: EmbeddingChoice, preset: EmbeddingPreset) -> int | None:
        """The width to request: as chosen, or as much of a shortenable vector as fits."""
        if choice.dimensions is not None:
            if choice.dimensions > self._max_width:
                raise InvalidValue(
                    "dimensions",
                    f"{choice.dimensions}; the database takes at most {self._max_width}",
                )
            return choice.dimensions
        width = preset.widths.get(choice.model or "", 0)
        too_wide = width > self._max_width and choice.model in preset.shortens
        return self._max_width if too_wide else None


class _LruCache(Generic[Cached]):
    """An LRU cache. Its owner locks around it."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._entries: OrderedDict[Hashable, Cached] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], Cached]) -> tuple[Cached, Cached | None]:
        """The entry, made if necessary, and the evicted one."""
        dropped = None
        if key not in self._entries:
            self._entries[key] = make()
            if len(self._entries) > self._most:
                _, dropped = self._entries.popitem(last=False)
        self._entries.move_to_end(key)
        return self._entries[key], dropped

    def clear(self) -> list[Cached]:
        """Remove and return all entries."""
        everything = list(self._entries.values())
        self._entries.clear()
        return everything


def detect_llamacpp(url: str, timeout_seconds: float = 0.3) -> EmbeddingChoice | None:
    """The choice of the llama.cpp server at an operator's address; None when there is none.

    Three short requests: is it llama.cpp (``/props``), which model (``/v1/models``), and does it
    embed a word. Never raises; a slow server counts as absent.
    """
    root = url.rstrip("/").removesuffix("/v1")
    client = ModelClient(Endpoint("llamacpp", root), max_bytes=_MAX_PROBE_BYTES)

    def answer(method: str, path: str, body: bytes | None = None) -> bytes:
        call = Call(Deadline(timeout_seconds, time.monotonic), retries_left=0)
        return client.request(method, path, body, call)

    try:
        props = json.loads(answer("GET", "/props"))
        if not isinstance(props, dict) or not any(mark in props for mark in _MARKS):
            return None
        match json.loads(answer("GET", "/v1/models")):
            case {"data": [{"id": str(model)}, *_]}:
                choice = EmbeddingChoice.parse("llamacpp", model=model, base_url=f"{root}/v1")
                read_vectors(
                    answer("POST", "/v1/embeddings", request_body(model, ["hello"], {})), 1
                )
                return choice
    except (EndpointError, RicordoError, ValueError, RecursionError):
        pass
    finally:
        client.close()
    return None


def test_embedder(
    embedder: Embedder,
    *,
    deadline_seconds: float = _DEADLINE_SECONDS,
    monotonic: Monotonic = time.monotonic,
) -> EmbeddingTest:
    """Embed two short texts; the latency is that of the second call, after loading."""
    try:
        vectors = embedder.embed(_SAMPLES, deadline_seconds=deadline_seconds)
        begun = monotonic()
        embedder.embed(_SAMPLES[:1], deadline_seconds=deadline_seconds)
        latency_ms = (monotonic() - begun) * 1_000
        name = embedder.model
    except (EmbeddingError, InvalidInput) as error:
        problem = " ".join(str(error).split())
        return EmbeddingTest(False, embedder.provider, _name(embedder), None, None, problem)
    return EmbeddingTest(True, embedder.provider, name, vectors.shape[1], latency_ms, None)


def _name(embedder: Embedder) -> str | None:
    try:
        return embedder.model
    except EmbeddingError:  # of a local model whose files are missing
        return None
