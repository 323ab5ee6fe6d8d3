"""Embeddings from a local ONNX model."""

import functools
import hashlib
import importlib
import importlib.util
import os
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

import numpy
import numpy.typing

from ricordo import fork_safety
from ricordo.errors import BadEmbedding, EmbedderRefused, EmbedderUnavailable
from ricordo.frozen import dataclass
from ricordo.limits import (
    DEFAULT_LOCAL_TOKENS,
    LOCAL_BATCH_TEXTS,
    LOCAL_RUNS_PER_CORE,
    MAX_EMBEDDED_CHARS,
    MAX_LOCAL_FILE_BYTES,
    MAX_LOCAL_TOKENS,
)
from ricordo.providers.checked_files import checked_files
from ricordo.providers.embedder import Vectors, fitted, no_rows, unit_rows
from ricordo.providers.timing import Deadline, Monotonic

if TYPE_CHECKING:
    from tokenizers import Tokenizer

SHIPPED_FOLDER: Final = Path(__file__).parent / "ricordo_multi"
SHIPPED_GRAPH: Final = "ricordo-multi-int8.onnx"
SHIPPED_FASTER_GRAPH: Final = "ricordo-multi-vnni.onnx"
"""The same weights for processors with VNNI; its word table is in the first file."""
SHIPPED_STANCE_GRAPH: Final = "ricordo-multi-stance.onnx"
"""Compares two statements, with the same word table."""
SHIPPED_READER_GRAPH: Final = "ricordo-multi-reader.onnx"
"""Reads a question with a line, with the same word table."""
SHIPPED_NAME: Final = "ricordo-multi"
SHIPPED_WIDTH: Final = 384
SHIPPED_SHA256: Final = {
    SHIPPED_GRAPH: "11b2660fe84020fe8fedbe61dac06392d3b0999a451f675aef20e2133be7c6d2",
    SHIPPED_FASTER_GRAPH: "848d0f0b3e16e266a5bffaa3e7750cbd2a0bdc8d35b5614615d943346b307ec8",
    SHIPPED_STANCE_GRAPH: "4c0ad01fa1e22ecd9982ae00890ea31a459c89df2b56522c172e0a758e676ffa",
    SHIPPED_READER_GRAPH: "fc1baa82ebe8b5f3e0880214819500af03cf05a7020d232cb6c867ebb98f1f4f",
    "tokenizer.json": "43abef7e373b13a3eb3f751ee235a42e5504779150399008b697f45a4e9938db",
}
_DIGEST_CHARS: Final = 8

_IDS: Final = "input_ids"
_MASK: Final = "attention_mask"
_KINDS: Final = "token_type_ids"
_SENTENCE: Final = "sentence_embedding"
_INTEGERS: Final = {"tensor(int64)": numpy.int64, "tensor(int32)": numpy.int32}
_ONLY_ERRORS: Final = 3
NEVER: Final = Deadline(None, time.monotonic)


@dataclass(frozen=True)
class ModelFiles:
    graph: Path
    tokenizer: Path
    is_shipped: bool

    def identity(self) -> str:
        """A name that changes when the model does. Raises EmbedderRefused."""
        if self.is_shipped:
            return f"{SHIPPED_NAME}@{SHIPPED_SHA256[SHIPPED_GRAPH][:_DIGEST_CHARS]}"
        weights = sorted(  # of large graphs, in files of their own
            path
            for path in self.graph.parent.glob(f"{self.graph.name}*data*")
            if path != self.graph and path.is_file()
        )
        digest = hashlib.sha256()
        for path in (self.graph, *weights, self.tokenizer):
            digest.update(bytes.fromhex(_sha256(path)))
        folder = self.tokenizer.parent.resolve()
        return f"{folder.name}@{digest.hexdigest()[:_DIGEST_CHARS]}"

    def check(self, path: Path) -> None:
        """Verify the checksum of a file, where the model is the shipped one. Raises BadEmbedding: a
        shipped file was changed; EmbedderRefused: the file cannot be read."""
        if self.is_shipped and _sha256(path) != SHIPPED_SHA256[path.name]:
            raise BadEmbedding(
                f"{path} is not the file that ricordo was released with (its SHA-256 differs);"
                " install the package again"
            )


def shipped_in(folder: Path) -> ModelFiles:
    """A copy of the shipped model, with the same checksums."""
    return ModelFiles(folder / SHIPPED_GRAPH, folder / "tokenizer.json", is_shipped=True)


SHIPPED: Final = shipped_in(SHIPPED_FOLDER)


def in_folder(folder: Path) -> ModelFiles:
    """Another model: ``tokenizer.json`` and one ONNX file. Raises EmbedderRefused."""
    if not folder.is_dir():
        raise EmbedderRefused(f"local model: there is no folder {folder}")
    tokenizer = folder / "tokenizer.json"
    if not tokenizer.is_file():
        raise EmbedderRefused(f"local model: there is no tokenizer.json in {folder}")
    return ModelFiles(_graph_in(folder), tokenizer, is_shipped=False)


def _graph_in(folder: Path) -> Path:
    for name in ("model.onnx", "onnx/model.onnx"):
        if (folder / name).is_file():
            return folder / name
    found = sorted(folder.glob("*.onnx"))
    if not found:
        raise EmbedderRefused(f"local model: there is no .onnx file in {folder}")
    if len(found) > 1:
        names = ", ".join(path.name for path in found)
        raise EmbedderRefused(
            f"local model: {folder} has several .onnx files ({names}); name one model.onnx"
        )
    return found[0]


def _read(path: Path) -> bytes:
    try:
        size = path.stat().st_size
        if size > MAX_LOCAL_FILE_BYTES:
            raise EmbedderRefused(
                f"local model: {path} has {size} bytes; allowed: at most {MAX_LOCAL_FILE_BYTES}"
            )
        return path.read_bytes()
    except OSError as error:
        raise EmbedderRefused(f"local model: cannot read {path}: {error.strerror}") from None


def _sha256(path: Path) -> str:
    try:
        return checked_files.sha256(path)
    except OSError as error:
        raise EmbedderRefused(f"local model: cannot read {path}: {error.strerror}") from None


def load_onnxruntime() -> ModuleType:
    """Import onnxruntime with its telemetry off.

    Released builds report their use by default (on Windows through the system, since 1.29 also on
    Linux and macOS). Set before the first import, the variable prevents uploads, a device id on
    disk, and a thread that a fork would lose. Raises EmbedderUnavailable: it is not installed, or
    does not run here.
    """
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    try:
        onnxruntime = importlib.import_module("onnxruntime")  # it has no type information
    except ImportError as error:
        raise EmbedderUnavailable(f"local model: onnxruntime cannot be loaded: {error}") from None
    onnxruntime.disable_telemetry_events()  # Windows; and where it was imported before
    return onnxruntime


Session = Any  # onnxruntime has no type information
Tokens = Sequence[int]
Integers = numpy.typing.NDArray[numpy.signedinteger[Any]]


class OnnxModel:
    """A loaded model. Thread-safe."""

    def __init__(self, files: ModelFiles, threads: int) -> None:
        self._path = files.graph
        self.tokenizer = _load_tokenizer(files)
        self._session = _load_session(files, threads)
        self._inputs = _known_inputs(self._session, files.graph)
        self._output, self.width = _usable_output(self._session, files.graph)
        if files.is_shipped:
            self.width = SHIPPED_WIDTH
        # More at once would only slow each other down. Whoever has a deadline does without.
        self._runs = threading.BoundedSemaphore(LOCAL_RUNS_PER_CORE * usable_cores())

    def tokens(self, text: str) -> Tokens:
        """The token ids, truncated to the model's limit.

        One text at a time: the tokenizer's batches use threads that would not survive a fork.
        """
        ids: Tokens = self.tokenizer.encode(text).ids
        return ids

    def vectors(self, batch: Sequence[Tokens], deadline: Deadline = NEVER) -> Vectors:
        """One unit row per text. Raises BadEmbedding: the model's output is not usable;
        EmbedderUnavailable: others kept it busy until the deadline."""
        if not self._runs.acquire(timeout=deadline.remaining(threading.TIMEOUT_MAX)):
            raise EmbedderUnavailable(
                f"local model: it was busy with other texts until {deadline.seconds} s were over"
            )
        try:
            return self._vectors(batch)
        finally:
            self._runs.release()

    def _vectors(self, batch: Sequence[Tokens]) -> Vectors:
        longest = max(len(ids) for ids in batch)
        ids = numpy.zeros((len(batch), longest), numpy.int64)
        mask = numpy.zeros((len(batch), longest), numpy.int64)
        for row, entry in enumerate(batch):
            ids[row, : len(entry)] = entry
            mask[row, : len(entry)] = 1
        rows = self._pooled(self._run(ids, mask), mask)
        self.width = rows.shape[1]
        return unit_rows(rows, f"local model {self._path.name}")

    def _run(self, ids: Integers, mask: Integers) -> numpy.typing.NDArray[Any]:
        values = {_IDS: ids, _MASK: mask, _KINDS: numpy.zeros_like(ids)}
        feed = {name: values[name].astype(kind) for name, kind in self._inputs.items()}
        try:
            (output,) = self._session.run([self._output], feed)
        except Exception as error:  # noqa: BLE001 - onnxruntime has no public error class
            raise BadEmbedding(f"local model {self._path} failed: {_first_line(error)}") from None
        return numpy.asarray(output)

    def _pooled(
        self, output: numpy.typing.NDArray[Any], mask: Integers
    ) -> numpy.typing.NDArray[Any]:
        if output.ndim == 3 and output.shape[:2] == mask.shape:
            weights = mask[:, :, None].astype(numpy.float32)
            summed = (output.astype(numpy.float32) * weights).sum(axis=1)
            output = summed / numpy.maximum(weights.sum(axis=1), 1.0)
        if output.ndim != 2 or output.shape[0] != mask.shape[0] or not output.shape[1]:
            raise BadEmbedding(
                f"local model {self._path}: output {self._output} has shape {output.shape},"
                f" not one vector for each of {mask.shape[0]} texts"
            )
        return output


def _load_tokenizer(files: ModelFiles) -> "Tokenizer":
    files.check(files.tokenizer)
    content = _read(files.tokenizer)
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise EmbedderUnavailable(f"local model: tokenizers cannot be loaded: {error}") from None
    try:
        tokenizer: Tokenizer = Tokenizer.from_buffer(content)
    except Exception as error:  # noqa: BLE001 - tokenizers raises bare Exception
        raise BadEmbedding(
            f"local model: {files.tokenizer} is not a tokenizer: {_first_line(error)}"
        ) from None
    own = (tokenizer.truncation or {}).get("max_length", DEFAULT_LOCAL_TOKENS)
    tokenizer.enable_truncation(max_length=min(own, MAX_LOCAL_TOKENS))
    tokenizer.no_padding()  # texts are padded to the longest of their batch only
    return tokenizer


def session_of(source: bytes | str, threads: int) -> Session:
    """A graph, ready to run. Raises EmbedderUnavailable, and whatever onnxruntime does."""
    onnxruntime = load_onnxruntime()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = _ONLY_ERRORS
    options.intra_op_num_threads = min(threads, usable_cores())
    # Spinning threads would double the CPU time of each text.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def _load_session(files: ModelFiles, threads: int) -> Session:
    graph = files.graph
    files.check(graph)
    if files.is_shipped and _has_vnni():
        graph = graph.with_name(SHIPPED_FASTER_GRAPH)
        files.check(graph)
    try:
        return session_of(str(graph), threads)  # by path: large weights are mapped, not copied
    except EmbedderUnavailable:
        raise
    except Exception as error:  # noqa: BLE001 - onnxruntime has no public error class
        raise BadEmbedding(
            f"local model: {files.graph} cannot be used: {_first_line(error)}"
        ) from None


def _known_inputs(session: Session, path: Path) -> dict[str, type[Any]]:
    kinds = {entry.name: _INTEGERS.get(entry.type) for entry in session.get_inputs()}
    known = {name: kind for name, kind in kinds.items() if kind and name in (_IDS, _MASK, _KINDS)}
    if _IDS not in known or known.keys() != kinds.keys():
        raise BadEmbedding(
            f"local model: {path} takes {', '.join(sorted(kinds))};"
            f" needed: {_IDS}, {_MASK} and at most {_KINDS}, all whole numbers"
        )
    return known


def _usable_output(session: Session, path: Path) -> tuple[str, int | None]:
    """Its name, and its width if the graph declares it."""
    shapes = {entry.name: list(entry.shape or []) for entry in session.get_outputs()}
    by_tokens = [name for name, shape in shapes.items() if len(shape) == 3]
    by_text = [name for name, shape in shapes.items() if len(shape) == 2]
    if _SENTENCE in shapes:
        chosen = _SENTENCE
    elif by_tokens:
        chosen = by_tokens[0]
    elif len(by_text) == 1:
        chosen = by_text[0]
    else:
        raise BadEmbedding(
            f"local model: {path} gives {', '.join(sorted(shapes))};"
            f" needed: {_SENTENCE} [texts, width] or token embeddings [texts, tokens, width]"
        )
    width = shapes[chosen][-1] if shapes[chosen] else None
    return chosen, width if isinstance(width, int) else None


@functools.cache
def _has_vnni() -> bool:
    """Whether the processor multiplies 8-bit numbers fast, and exactly; elsewhere sums overflow."""
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as lines:
            flags = next((line for line in lines if line.startswith("flags")), "")
    except OSError:  # not Linux
        return False
    return not {"avx512_vnni", "avx_vnni"}.isdisjoint(flags.split())


def usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):  # what a container or taskset allows, where known
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)[:300]


def is_possible() -> bool:
    """Whether the packages for local models are installed."""
    return all(importlib.util.find_spec(name) for name in ("onnxruntime", "tokenizers"))


class _LoadedModels:
    """All models of this process, loaded on first use and shared."""

    def __init__(self) -> None:
        self._set_up()
        fork_safety.reset_in_child(self)

    def _set_up(self) -> None:
        self._lock = threading.Lock()
        self.all: dict[tuple[ModelFiles, int], OnnxModel] = {}
        self._names: dict[ModelFiles, str] = {}

    def reset_after_fork(self) -> Any:
        """The threads of a loaded model are gone in a child, so it loads its own."""
        inherited = (self._lock, self.all)
        names = self._names
        self._set_up()
        self._names = names
        return inherited

    def get(self, files: ModelFiles, threads: int) -> OnnxModel:
        """The model, loaded if necessary; a failed load is retried next time."""
        loaded = self.all.get((files, threads))
        if loaded is None:
            with self._lock:
                loaded = self.all.get((files, threads))
                if loaded is None:
                    loaded = self.all[files, threads] = OnnxModel(files, threads)
        return loaded

    def loaded(self, files: ModelFiles, threads: int) -> OnnxModel | None:
        return self.all.get((files, threads))

    def name(self, files: ModelFiles) -> str:
        """The model's identity; large files are read only once."""
        known = self._names.get(files)
        if known is None:
            known = self._names[files] = files.identity()
        return known


_models = _LoadedModels()


def shipped_tokenizer() -> "Tokenizer":
    """That of the shipped model where it is loaded, else one of its own."""
    loaded = (model for (files, _), model in list(_models.all.items()) if files == SHIPPED)
    found = next(loaded, None)
    return _load_tokenizer(SHIPPED) if found is None else found.tokenizer


class LocalEmbedder:
    """Runs an ONNX model. Cheap to make: files are read with the first text."""

    provider = "local"
    is_local = True

    def __init__(
        self, folder: Path | None = None, threads: int = 0, *, monotonic: Monotonic = time.monotonic
    ) -> None:
        """``folder`` None is the shipped model; ``threads`` 0 lets onnxruntime choose."""
        self._folder = folder
        self._threads = threads
        self._monotonic = monotonic

    def __repr__(self) -> str:
        return f"LocalEmbedder(folder={self._folder!r}, threads={self._threads})"

    @property
    def model(self) -> str:
        """The model's name and the beginning of its digest. Raises EmbedderRefused."""
        return _models.name(self._files())

    @property
    def width(self) -> int | None:
        """The width of a vector; of other models known once they are loaded."""
        if self._folder is None:
            return SHIPPED_WIDTH
        loaded = _models.loaded(self._files(), self._threads)
        return None if loaded is None else loaded.width

    def embed(self, texts: Sequence[str], *, deadline_seconds: float | None = None) -> Vectors:
        """One unit row per text; see :class:`Embedder` for errors."""
        if not texts:
            return no_rows(self.width)
        deadline = Deadline(deadline_seconds, self._monotonic)
        model = _models.get(self._files(), self._threads)
        tokens = [model.tokens(fitted(text, MAX_EMBEDDED_CHARS)) for text in texts]
        # Texts of similar length share a batch, to save padding.
        order = sorted(range(len(texts)), key=lambda place: len(tokens[place]))
        parts = []
        for start in range(0, len(order), LOCAL_BATCH_TEXTS):
            if deadline.has_passed:
                raise EmbedderUnavailable(
                    f"local model: {start} of {len(texts)} texts were done when"
                    f" {deadline.seconds} s were over"
                )
            parts.append(
                model.vectors(
                    [tokens[at] for at in order[start : start + LOCAL_BATCH_TEXTS]], deadline
                )
            )
        rows = numpy.empty((len(texts), parts[0].shape[1]), dtype=numpy.float32)
        rows[order] = numpy.concatenate(parts)
        return rows

    def close(self) -> None:
        """Nothing to do: the model is shared, and stays loaded."""

    def _files(self) -> ModelFiles:
        return SHIPPED if self._folder is None else in_folder(self._folder)
