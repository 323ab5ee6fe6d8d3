"""Vectors computed in this process, with the shipped model or another one."""

import importlib.util
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy

from ricordo import forks
from ricordo.embedding import model_files
from ricordo.embedding.batches import fitted
from ricordo.embedding.contract import Vectors
from ricordo.embedding.model_files import ModelFiles
from ricordo.embedding.onnx_model import OnnxModel
from ricordo.embedding.vectors import no_rows
from ricordo.endpoints.timing import Deadline, Monotonic
from ricordo.errors import EmbedderUnavailable
from ricordo.limits import LOCAL_BATCH_TEXTS, MAX_EMBEDDED_CHARS


def is_possible() -> bool:
    """Whether the packages that local models need are installed."""
    return all(importlib.util.find_spec(name) for name in ("onnxruntime", "tokenizers"))


class _LoadedModels:
    """Every model of this process, loaded when first used and then shared."""

    def __init__(self) -> None:
        self._set_up()
        forks.reset_in_child(self)

    def _set_up(self) -> None:
        self._lock = threading.Lock()
        self._models: dict[tuple[ModelFiles, int], OnnxModel] = {}
        self._names: dict[ModelFiles, str] = {}

    def reset_after_fork(self) -> Any:
        """The threads of a loaded model are gone in a child, so it loads its own."""
        inherited = (self._lock, self._models)
        names = self._names
        self._set_up()
        self._names = names
        return inherited

    def get(self, files: ModelFiles, threads: int) -> OnnxModel:
        """The model, loading it when nobody has; a failed load is tried again next time."""
        loaded = self._models.get((files, threads))
        if loaded is None:
            with self._lock:
                loaded = self._models.get((files, threads))
                if loaded is None:
                    loaded = self._models[files, threads] = OnnxModel(files, threads)
        return loaded

    def loaded(self, files: ModelFiles, threads: int) -> OnnxModel | None:
        """The model, if it is loaded."""
        return self._models.get((files, threads))

    def name(self, files: ModelFiles) -> str:
        """The model's identity; large files are read once only."""
        known = self._names.get(files)
        if known is None:
            known = self._names[files] = files.identity()
        return known


_models = _LoadedModels()


class LocalEmbedder:
    """Runs an ONNX model. Cheap to make: files are read with the first text."""

    provider = "local"
    is_local = True

    def __init__(
        self,
        folder: Path | None = None,
        threads: int = 0,
        *,
        monotonic: Monotonic = time.monotonic,
    ) -> None:
        """``folder`` None is the shipped model; ``threads`` 0 lets onnxruntime choose."""
        self._folder = folder
        self._threads = threads
        self._monotonic = monotonic

    def __repr__(self) -> str:
        return f"LocalEmbedder(folder={self._folder!r}, threads={self._threads})"

    @property
    def model(self) -> str:
        """The model's name and the beginning of its digest.

        Raises:
            EmbedderRefused: the model's files are not there.
        """
        return _models.name(self._files())

    @property
    def width(self) -> int | None:
        """How many numbers a vector has; of other models known once they are loaded."""
        if self._folder is None:
            return model_files.SHIPPED_WIDTH
        loaded = _models.loaded(self._files(), self._threads)
        return None if loaded is None else loaded.width

    def embed(self, texts: Sequence[str], *, deadline_seconds: float | None = None) -> Vectors:
        """One row of length one per text; see the contract for errors."""
        if not texts:
            return no_rows(self.width)
        deadline = Deadline(deadline_seconds, self._monotonic)
        model = _models.get(self._files(), self._threads)
        tokens = [model.tokens(fitted(text, MAX_EMBEDDED_CHARS)) for text in texts]
        # Texts of like length share a batch, so that little is spent on padding.
        order = sorted(range(len(texts)), key=lambda place: len(tokens[place]))
        parts = []
        for start in range(0, len(order), LOCAL_BATCH_TEXTS):
            if deadline.has_passed:
                raise EmbedderUnavailable(
                    f"local model: {start} of {len(texts)} texts were done when"
                    f" {deadline.seconds} s were over"
                )
            parts.append(
                model.vectors([tokens[at] for at in order[start : start + LOCAL_BATCH_TEXTS]])
            )
        rows = numpy.empty((len(texts), parts[0].shape[1]), dtype=numpy.float32)
        rows[order] = numpy.concatenate(parts)
        return rows

    def close(self) -> None:
        """Nothing to do: the model is shared, and stays loaded for the next."""

    def _files(self) -> ModelFiles:
        if self._folder is None:
            return model_files.SHIPPED
        return model_files.in_folder(self._folder)
