"""The files of a local model: found, checked, and given a name."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ricordo.errors import BadEmbedding, EmbedderRefused
from ricordo.limits import MAX_LOCAL_FILE_BYTES

SHIPPED_FOLDER: Final = Path(__file__).parent / "ricordo_minilm"
SHIPPED_GRAPH: Final = "ricordo-minilm-int8.onnx"
SHIPPED_NAME: Final = "ricordo-minilm"
SHIPPED_WIDTH: Final = 384
SHIPPED_SHA256: Final = {
    SHIPPED_GRAPH: "e4050eb48f9e1fdfcd32ed094e368149b72968bef86b9a81960c21115acb8fbb",
    "tokenizer.json": "32d70b45ea2679485328eafb8a5a94dcc9fbaadaf0c92b7ca06fe5684a4b8389",
}
_DIGEST_CHARS: Final = 8
_PREFERRED_GRAPHS: Final = ("model.onnx", "onnx/model.onnx")


@dataclass(frozen=True)
class ModelFiles:
    """A folder that holds what is needed to run a model."""

    graph: Path
    tokenizer: Path
    is_shipped: bool

    def identity(self) -> str:
        """A name that changes when the model does.

        Raises:
            EmbedderRefused: a file cannot be read.
        """
        if self.is_shipped:
            return f"{SHIPPED_NAME}@{SHIPPED_SHA256[SHIPPED_GRAPH][:_DIGEST_CHARS]}"
        digest = hashlib.sha256()
        for path in (self.graph, *self._weights_beside(), self.tokenizer):
            digest.update(_sha256(path))
        folder = self.tokenizer.parent.resolve()
        return f"{folder.name}@{digest.hexdigest()[:_DIGEST_CHARS]}"

    def read_checked(self, path: Path) -> bytes:
        """The content of one of the files; of the shipped model only as it was released.

        Raises:
            BadEmbedding: a shipped file was changed.
            EmbedderRefused: the file cannot be read.
        """
        content = _read(path)
        expected = SHIPPED_SHA256[path.name] if self.is_shipped else None
        if expected is not None and hashlib.sha256(content).hexdigest() != expected:
            raise BadEmbedding(
                f"{path} is not the file that ricordo was released with (its SHA-256 differs);"
                " install the package again"
            )
        return content

    def _weights_beside(self) -> list[Path]:
        """Large graphs keep their weights in files of their own."""
        return sorted(
            path
            for path in self.graph.parent.glob(f"{self.graph.name}*data*")
            if path != self.graph and path.is_file()
        )


def shipped_in(folder: Path) -> ModelFiles:
    """A copy of the model inside this package, held to the same sums."""
    return ModelFiles(folder / SHIPPED_GRAPH, folder / "tokenizer.json", is_shipped=True)


SHIPPED: Final = shipped_in(SHIPPED_FOLDER)


def in_folder(folder: Path) -> ModelFiles:
    """Another model: ``tokenizer.json`` and one ONNX file.

    Raises:
        EmbedderRefused: the folder, or one of the two, is not there.
    """
    if not folder.is_dir():
        raise EmbedderRefused(f"local model: there is no folder {folder}")
    tokenizer = folder / "tokenizer.json"
    if not tokenizer.is_file():
        raise EmbedderRefused(f"local model: there is no tokenizer.json in {folder}")
    return ModelFiles(_graph_in(folder), tokenizer, is_shipped=False)


def _graph_in(folder: Path) -> Path:
    for name in _PREFERRED_GRAPHS:
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


def _sha256(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").digest()
    except OSError as error:
        raise EmbedderRefused(f"local model: cannot read {path}: {error.strerror}") from None
