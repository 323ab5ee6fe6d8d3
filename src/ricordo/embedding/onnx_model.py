"""A sentence encoder in ONNX form: tokens in, one vector per text out."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy
import numpy.typing

from ricordo.embedding.contract import Vectors
from ricordo.embedding.model_files import SHIPPED_WIDTH, ModelFiles
from ricordo.embedding.runtime import load_onnxruntime
from ricordo.embedding.vectors import unit_rows
from ricordo.errors import BadEmbedding, EmbedderUnavailable
from ricordo.limits import DEFAULT_LOCAL_TOKENS, MAX_LOCAL_TOKENS

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_IDS: Final = "input_ids"
_MASK: Final = "attention_mask"
_KINDS: Final = "token_type_ids"
_SENTENCE: Final = "sentence_embedding"
_INTEGERS: Final = {"tensor(int64)": numpy.int64, "tensor(int32)": numpy.int32}
_ONLY_ERRORS: Final = 3

Session = Any  # onnxruntime has no type information
Tokens = Sequence[int]
Integers = numpy.typing.NDArray[numpy.signedinteger[Any]]


class OnnxModel:
    """A loaded model. Any number of threads may use it at once."""

    def __init__(self, files: ModelFiles, threads: int) -> None:
        self._path = files.graph
        self._tokenizer = _load_tokenizer(files)
        self._session = _load_session(files, threads)
        self._inputs = _known_inputs(self._session, files.graph)
        self._output, self.width = _usable_output(self._session, files.graph)
        if files.is_shipped:
            self.width = SHIPPED_WIDTH

    def tokens(self, text: str) -> Tokens:
        """The text as the model reads it, cut to what it can read.

        One text at a time: the tokenizer's batches use threads that would not survive a fork.
        """
        ids: Tokens = self._tokenizer.encode(text).ids
        return ids

    def vectors(self, batch: Sequence[Tokens]) -> Vectors:
        """One row of length one per text.

        Raises:
            BadEmbedding: the graph fails, or its output is of no use.
        """
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
    content = files.read_checked(files.tokenizer)
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


def _load_session(files: ModelFiles, threads: int) -> Session:
    # The very bytes that were checked; other graphs by path, as their weights may lie beside them.
    source = files.read_checked(files.graph) if files.is_shipped else str(files.graph)
    onnxruntime = load_onnxruntime()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = _ONLY_ERRORS
    options.intra_op_num_threads = min(threads, _cores())
    # Its threads would go round in circles between two steps of a text, waiting for the next, and
    # so take twice the time of a core for each text, from whatever else there is to be done.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
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
    """Its name, and its width when the graph says so."""
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


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):  # what a container or taskset allows, where it is known
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)[:300]
