"""Which embedder somebody wants, who has the say, and the embedders that came of it."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

from ricordo import forks
from ricordo.embedding import choice_checks, local
from ricordo.embedding.breaker import CircuitBreaker
from ricordo.embedding.choice_checks import LOCAL, NONE
from ricordo.embedding.contract import Embedder
from ricordo.embedding.local import LocalEmbedder
from ricordo.embedding.presets import PRESETS, Preset
from ricordo.embedding.remote import RemoteEmbedder, RemoteTarget
from ricordo.embedding.targets import Resolve
from ricordo.endpoints.timing import Timing
from ricordo.errors import InvalidValue
from ricordo.limits import MAX_CACHED_EMBEDDERS

Kept = TypeVar("Kept")


@dataclass(frozen=True)
class EmbeddingChoice:
    """A provider with everything that it needs. Make it with :meth:`parse`."""

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
        """Check what was given, and fill in what the provider is known for.

        Raises:
            InvalidValue: names the field and says what is allowed.
        """
        preset = PRESETS.get(provider)
        if preset is None:
            choice_checks.check_without_endpoint(
                provider,
                from_user,
                model=model,
                base_url=base_url,
                api_key=api_key,
                dimensions=dimensions,
            )
            return cls(provider, from_user=from_user)
        return cls(
            provider,
            model=choice_checks.model(provider, preset, model),
            base_url=choice_checks.base_url(provider, preset, base_url),
            api_key=choice_checks.api_key(provider, preset, api_key),
            dimensions=choice_checks.dimensions(dimensions),
            from_user=from_user,
        )

    @property
    def local_folder(self) -> Path | None:
        """The folder of ``local:FOLDER``; None for the shipped model and everything else."""
        if not self.provider.startswith(choice_checks.LOCAL_FOLDER):
            return None
        return Path(self.provider.removeprefix(choice_checks.LOCAL_FOLDER)).expanduser()


def effective(
    operator: EmbeddingChoice | None,
    detected: EmbeddingChoice | None,
    users_own: EmbeddingChoice | None,
) -> EmbeddingChoice:
    """Who has the say: the operator, or a service found for it; the user; then the shipped model.

    Where the shipped model cannot run (its packages are missing), there is no embedder at all.
    """
    for choice in (operator, detected, users_own):
        if choice is not None:
            return choice
    return EmbeddingChoice(LOCAL if local.is_possible() else NONE)


class EmbedderRegistry:
    """Makes embedders when they are first asked for, and keeps those used last."""

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
        forks.reset_in_child(self)

    def _set_up(self) -> None:
        self._lock = threading.Lock()
        self._embedders: _MostRecent[Embedder] = _MostRecent(MAX_CACHED_EMBEDDERS)
        # Kept for longer than embedders, so that nobody waits again for what is known to be down.
        self._breakers: _MostRecent[CircuitBreaker] = _MostRecent(4 * MAX_CACHED_EMBEDDERS)

    def reset_after_fork(self) -> Any:
        """A child makes its own embedders."""
        inherited = (self._lock, self._embedders, self._breakers)
        self._set_up()
        return inherited

    def get(self, choice: EmbeddingChoice) -> Embedder | None:
        """The embedder of a choice; None when the choice is to have none.

        Raises:
            InvalidValue: the choice asks for vectors that the database cannot hold.
        """
        if choice.provider == NONE:
            return None
        with self._lock:
            embedder, dropped = self._embedders.get(choice, lambda: self._make(choice))
        if dropped is not None:
            dropped.close()
        return embedder

    def close(self) -> None:
        """Let go of all connections."""
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
        # By key too: one user's used-up rate must not shut others out.
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

    def _dimensions(self, choice: EmbeddingChoice, preset: Preset) -> int | None:
        """What to ask for: as chosen, else as much of a shortenable vector as fits."""
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


class _MostRecent(Generic[Kept]):
    """Keeps what was used last, up to a number. Its owner holds a lock around it."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[Hashable, Kept] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], Kept]) -> tuple[Kept, Kept | None]:
        """What is kept under the key, made if need be; and what had to go for it."""
        dropped = None
        if key not in self._kept:
            self._kept[key] = make()
            if len(self._kept) > self._most:
                _, dropped = self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return self._kept[key], dropped

    def clear(self) -> list[Kept]:
        """Forget everything; what it was."""
        everything = list(self._kept.values())
        self._kept.clear()
        return everything
