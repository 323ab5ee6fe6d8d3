"""The shipped model: right, the same for everyone, quiet, and not lost in a fork."""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ricordo.embedding import local, model_files
from ricordo.embedding.local import LocalEmbedder
from ricordo.embedding.onnx_model import OnnxModel
from ricordo.errors import BadEmbedding, EmbedderRefused, EmbedderUnavailable

TEXTS = [
    "Ana moved to the coast in spring.",
    "tea",
    "What did Ben say about the broken bicycle that he wanted to repair last week?",
    "The meeting was moved to Thursday. " * 60,
    "日本語のテキスト",
    "🙂",
]


def cosines(one: numpy.ndarray, other: numpy.ndarray) -> numpy.ndarray:
    return (one * other).sum(axis=1)


@pytest.mark.requirement("embeddings.local")
def test_what_it_says_of_itself() -> None:
    embedder = LocalEmbedder()
    assert (embedder.provider, embedder.model) == ("local", "ricordo-minilm@e4050eb4")
    assert (embedder.is_local, embedder.width) == (True, 384)


@pytest.mark.requirement("embeddings.local")
def test_one_finite_row_of_length_one_per_text() -> None:
    rows = LocalEmbedder().embed(TEXTS)
    assert (rows.shape, rows.dtype) == ((len(TEXTS), 384), numpy.float32)
    numpy.testing.assert_allclose(numpy.linalg.norm(rows, axis=1), 1.0, atol=1e-6)


@pytest.mark.requirement("embeddings.local")
def test_no_texts_no_rows() -> None:
    rows = LocalEmbedder().embed([])
    assert (rows.shape, rows.dtype) == ((0, 384), numpy.float32)


@pytest.mark.requirement("embeddings.local")
def test_what_means_the_same_is_near() -> None:
    asked, answer, other = LocalEmbedder().embed(
        ["Where does Ana live now?", "Ana moved to a flat by the sea.", "The oven is too hot."]
    )
    assert asked @ answer > asked @ other + 0.2


def test_neighbours_in_a_batch_hardly_matter() -> None:
    embedder = LocalEmbedder()
    alone = numpy.concatenate([embedder.embed([text]) for text in TEXTS])
    crowd = [f"Some other text, number {number}, of no interest." for number in range(70)]
    together = embedder.embed([*crowd[:35], *TEXTS, *crowd[35:]])[35 : 35 + len(TEXTS)]
    assert cosines(alone, together).min() >= 0.998


def test_order_is_kept_across_batches_of_like_length() -> None:
    texts = [f"{'word ' * (number % 23)}number {number}" for number in range(100)]
    rows = LocalEmbedder().embed(texts)
    for place in (0, 17, 63, 99):
        (single,) = LocalEmbedder().embed([texts[place]])
        assert numpy.argmax(rows @ single) == place


def test_a_hundred_threads_get_what_one_gets() -> None:
    embedder = LocalEmbedder()
    texts = [f"Note {number}: the garden gate is {'red' * (number % 7)}." for number in range(100)]
    serial = [embedder.embed([text])[0] for text in texts]
    with ThreadPoolExecutor(max_workers=100) as threads:
        parallel = list(threads.map(lambda text: embedder.embed([text])[0], texts))
    numpy.testing.assert_allclose(parallel, serial, atol=1e-5)


def test_one_model_in_memory_for_all_of_one_kind() -> None:
    files = model_files.SHIPPED
    LocalEmbedder(threads=1).embed(["a"])
    first = local._models.loaded(files, 1)
    LocalEmbedder(threads=1).embed(["b"])
    assert local._models.loaded(files, 1) is first is not None


@settings(max_examples=40, deadline=None)
@given(st.text(st.characters(codec=None), max_size=200))
def test_every_text_has_a_vector(text: str) -> None:
    (row,) = LocalEmbedder().embed([text])
    assert numpy.isfinite(row).all()


def test_long_texts_are_cut_not_refused() -> None:
    beginning = "Ana likes the old harbour. " * 60
    long, longer = LocalEmbedder().embed([beginning, beginning + "unrelated ending " * 9_000])
    assert long @ longer > 0.999


def test_a_deadline_is_looked_at_between_batches() -> None:
    moments = iter([0.0, 0.0, 0.5, 1.5])
    embedder = LocalEmbedder(monotonic=lambda: next(moments))
    with pytest.raises(EmbedderUnavailable, match="64 of 96 texts"):
        embedder.embed(["text"] * 96, deadline_seconds=1.0)


@pytest.mark.parametrize("name", sorted(model_files.SHIPPED_SHA256))
def test_a_changed_file_is_named_and_not_used(tmp_path: Path, name: str) -> None:
    copy = tmp_path / "model"
    shutil.copytree(model_files.SHIPPED_FOLDER, copy)
    content = bytearray((copy / name).read_bytes())
    content[len(content) // 2] ^= 1
    (copy / name).write_bytes(content)
    with pytest.raises(BadEmbedding, match=f"{name} is not the file .* SHA-256"):
        OnnxModel(model_files.shipped_in(copy), threads=1)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(EmbedderRefused, match=r"cannot read .*tokenizer\.json"):
        OnnxModel(model_files.shipped_in(tmp_path), threads=1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_embeds_and_ends() -> None:
    """In a process of its own, for the test runner has threads that do not survive a fork."""
    program = (
        "import os, sys\n"
        "from ricordo.embedding.local import LocalEmbedder\n"
        "embedder = LocalEmbedder(threads=2)\n"
        "before = embedder.embed(['hello'])\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    sys.exit(0 if abs(before - embedder.embed(['hello'])).max() < 1e-5 else 1)\n"
        "_, status = os.waitpid(child, 0)\n"
        "after = embedder.embed(['hello'])\n"
        "print(os.waitstatus_to_exitcode(status), abs(before - after).max() < 1e-5)\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, timeout=120
    )
    assert (done.stdout.split(), done.stderr) == (["0", "True"], "")


def test_nothing_is_reported_to_anybody(tmp_path: Path) -> None:
    """onnxruntime's reports would leave a device id and a database in the home folder."""
    unset = ("CI", "ORT_DISABLE_TELEMETRY", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    program = "from ricordo.embedding.local import LocalEmbedder; LocalEmbedder().embed(['hello'])"
    subprocess.run(
        [sys.executable, "-c", program], check=True, env={**environment, "HOME": str(tmp_path)}
    )
    assert list(tmp_path.rglob("*")) == []


def test_heavy_packages_are_loaded_late() -> None:
    program = (
        "import sys, ricordo\n"
        "import ricordo.embedding.local, ricordo.embedding.remote, ricordo.embedding.choice\n"
        "import ricordo.embedding.detect, ricordo.embedding.checkup\n"
        "print({'onnxruntime', 'tokenizers', 'httpx2'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"
