"""The shipped model, and ``local:FOLDER``: right, quiet, not lost in a fork; and what is wrong."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto

from ricordo.errors import BadEmbedding, EmbedderRefused, EmbedderUnavailable
from ricordo.limits import LOCAL_RUNS_PER_CORE
from ricordo.providers import checked_files, local_embedder
from ricordo.providers.checked_files import CheckedFiles
from ricordo.providers.local_embedder import Integers, LocalEmbedder, OnnxModel
from ricordo.providers.timing import Deadline
from tests.embedding.onnx_models import TABLE, write_graph, write_tokenizer

TEXTS = [
    "Ana moved to the coast in spring.",
    "tea",
    "What did Ben say about the broken bicycle that he wanted to repair last week?",
    "The meeting was moved to Thursday. " * 60,
    "日本語のテキスト",
    "🙂",
]


@pytest.mark.smoke
@pytest.mark.requirement("embeddings.local")
def test_one_row_of_length_one_per_text() -> None:
    embedder = LocalEmbedder()
    assert (embedder.provider, embedder.model) == ("local", "ricordo-multi@11b2660f")
    assert (embedder.is_local, embedder.width) == (True, 384)
    for texts in (TEXTS, []):
        rows = embedder.embed(texts)
        assert (rows.shape, rows.dtype) == ((len(texts), 384), numpy.float32)
        numpy.testing.assert_allclose(numpy.linalg.norm(rows, axis=1), 1.0, atol=1e-6)


@pytest.mark.requirement("embeddings.local")
def test_what_means_the_same_is_near() -> None:
    beginning = "Ana likes the old harbour. " * 60
    texts = ["Where does Ana live now?", "Ana moved to a flat by the sea.", "The oven is too hot."]
    asked, answer, other = LocalEmbedder().embed(texts)
    assert asked @ answer > asked @ other + 0.2
    long, longer = LocalEmbedder().embed([beginning, beginning + "unrelated ending " * 9_000])
    assert long @ longer > 0.999  # it is cut, not refused


@pytest.mark.slow
def test_neighbours_in_a_batch_hardly_matter() -> None:
    embedder = LocalEmbedder()
    alone = numpy.concatenate([embedder.embed([text]) for text in TEXTS])
    crowd = [f"{'word ' * (number % 23)}number {number}" for number in range(70)]
    together = embedder.embed([*crowd[:35], *TEXTS, *crowd[35:]])
    assert (alone * together[35 : 35 + len(TEXTS)]).sum(axis=1).min() >= 0.99
    for place in (0, 17, 34):  # in order, across batches of like length
        assert numpy.argmax(together @ embedder.embed([crowd[place]])[0]) == place


def test_many_threads_get_what_one_gets() -> None:
    embedder = LocalEmbedder()
    texts = [f"Note {number}: the garden gate is {'red' * (number % 7)}." for number in range(24)]
    serial = [embedder.embed([text])[0] for text in texts]
    with ThreadPoolExecutor(max_workers=24) as threads:
        parallel = list(threads.map(lambda text: embedder.embed([text])[0], texts))
    numpy.testing.assert_allclose(parallel, serial, atol=1e-5)


@given(st.text(st.characters(codec=None), max_size=200))
def test_every_text_has_a_vector(text: str) -> None:
    (row,) = LocalEmbedder().embed([text])
    assert numpy.isfinite(row).all()


@pytest.mark.skipif(
    not local_embedder._has_vnni(), reason="without VNNI its sums overflow, and it is not used"
)
def test_the_graph_for_faster_processors_gives_the_same_vectors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = []
    for is_faster in (False, True):
        monkeypatch.setattr(local_embedder, "_has_vnni", lambda faster=is_faster: faster)
        model = OnnxModel(local_embedder.SHIPPED, threads=1)
        texts = ("Where does Carolina live?", "My sister moved to Turin in May.")
        found.append(numpy.concatenate([model.vectors([model.tokens(text)]) for text in texts]))
    assert (found[0] * found[1]).sum(axis=1) == pytest.approx([1, 1], abs=0.02)
    assert (found[0] != found[1]).any()


def test_a_deadline_is_looked_at_between_batches() -> None:
    moments = iter([0.0, 0.0, 0.0, 0.5, 0.5, 1.5])
    embedder = LocalEmbedder(monotonic=lambda: next(moments))
    with pytest.raises(EmbedderUnavailable, match="64 of 96 texts"):
        embedder.embed(["text"] * 96, deadline_seconds=1.0)


def test_a_question_does_not_wait_for_a_busy_model_longer_than_its_deadline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(local_embedder, "usable_cores", lambda: 1)
    go_on, inside = threading.Event(), threading.Semaphore(0)

    class Slow(OnnxModel):
        def _run(self, ids: Integers, mask: Integers) -> Any:
            inside.release()
            go_on.wait(60)
            return super()._run(ids, mask)

    model = Slow(local_embedder.SHIPPED, threads=1)
    words = [model.tokens("tea")]
    with ThreadPoolExecutor(LOCAL_RUNS_PER_CORE) as pool:
        others = [pool.submit(model.vectors, words) for _ in range(LOCAL_RUNS_PER_CORE)]
        try:
            for _ in others:
                assert inside.acquire(timeout=60)
            with pytest.raises(EmbedderUnavailable, match=r"busy with other texts until 0\.01 s"):
                model.vectors(words, Deadline(0.01, time.monotonic))
        finally:
            go_on.set()
        rows = [one.result() for one in others]
    assert (rows[0] == model.vectors(words)).all()


def test_a_missing_or_changed_file_is_named_and_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_embedder, "_has_vnni", lambda: True)  # reads every file
    with pytest.raises(EmbedderRefused, match=r"cannot read .*tokenizer\.json"):
        OnnxModel(local_embedder.shipped_in(tmp_path), threads=1)
    copy = tmp_path / "model"
    shutil.copytree(local_embedder.SHIPPED_FOLDER, copy)
    files = local_embedder.shipped_in(copy)
    for name in local_embedder.SHIPPED_SHA256:
        whole = (copy / name).read_bytes()
        half = len(whole) // 2
        (copy / name).write_bytes(whole[:half] + bytes([whole[half] ^ 1]) + whole[half + 1 :])
        with pytest.raises(BadEmbedding, match=f"{name} is not the file .* SHA-256"):
            if name in ("ricordo-multi-stance.onnx", "ricordo-multi-reader.onnx"):
                files.check(copy / name)
            OnnxModel(files, threads=1)
        (copy / name).write_bytes(whole)


def test_the_sums_that_the_package_tells_are_those_that_are_checked() -> None:
    told = (local_embedder.SHIPPED_FOLDER / "README.md").read_text(encoding="utf-8")
    found = dict(re.findall(r"^\| `([\w.-]+)` \|.*`([0-9a-f]{64})` \|$", told, re.MULTILINE))
    assert found == local_embedder.SHIPPED_SHA256


def test_a_sum_is_computed_again_where_anything_about_a_file_differs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, file = tmp_path / "home", tmp_path / "model.onnx"
    home.mkdir()
    file.write_bytes(b"weights")
    whole = hashlib.sha256(b"weights").hexdigest()
    monkeypatch.setattr(checked_files, "_SETTLED_SECONDS", -60.0)  # as if it was long ago

    def opened() -> CheckedFiles:
        checked = CheckedFiles()
        checked.remember_in(home)
        return checked

    assert opened().sha256(file) == whole
    (note,) = home.iterdir()
    assert note.stat().st_mode & 0o077 == 0
    kept = note.read_text()
    note.write_text(kept.replace(whole, "0" * 64))
    assert opened().sha256(file) == "0" * 64  # it is the note that is believed,
    note.chmod(0o620)
    assert opened().sha256(file) == whole  # unless others may write it,
    for unsound in ("", "[1]", "{", '{"a": 1}'):
        note.unlink()
        note.write_text(unsound)
        assert opened().sha256(file) == whole
    times = file.stat()
    file.write_bytes(b"WEIGHTS")  # or the file was written, whatever its time is set to
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert opened().sha256(file) == hashlib.sha256(b"WEIGHTS").hexdigest()


def test_a_file_that_was_just_written_is_not_remembered(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"weights")
    checked = CheckedFiles()
    checked.remember_in(tmp_path)
    checked.sha256(tmp_path / "model.onnx")
    assert [one.name for one in tmp_path.iterdir()] == ["model.onnx"]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_embeds_and_ends() -> None:
    """In a process of its own, for the test runner has threads that do not survive a fork."""
    program = (
        "import os, sys\n"
        "from ricordo.providers.local_embedder import LocalEmbedder\n"
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


@pytest.mark.slow
def test_nothing_is_reported_to_anybody(tmp_path: Path) -> None:
    """onnxruntime's reports would leave a device id and a database in the home folder."""
    unset = ("CI", "ORT_DISABLE_TELEMETRY", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    program = (
        "from ricordo.providers.local_embedder import LocalEmbedder; LocalEmbedder().embed(['hi'])"
    )
    subprocess.run(
        [sys.executable, "-c", program], check=True, env={**environment, "HOME": str(tmp_path)}
    )
    assert list(tmp_path.rglob("*")) == []


def test_heavy_packages_are_loaded_late() -> None:
    program = (
        "import sys, ricordo\n"
        "import ricordo.providers.local_embedder, ricordo.providers.remote_embedder\n"
        "import ricordo.providers.embedding_choice\n"
        "print({'onnxruntime', 'tokenizers', 'httpx2'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"


def unit(*words: int) -> numpy.ndarray:
    summed = TABLE[list(words)].sum(axis=0)
    return summed / numpy.linalg.norm(summed)


@pytest.mark.parametrize(
    "graph",
    [
        {"output": "last_hidden_state"},
        {"output": "token_embeddings", "inputs": ("input_ids", "attention_mask", "token_type_ids")},
        {"output": "last_hidden_state", "integers": TensorProto.INT32},
        {"output": "sentence_embedding", "pooled": True},
        {"output": "anything", "pooled": True},
        {"output": "last_hidden_state", "inputs": ("input_ids",)},
    ],
)
def test_graphs_of_every_usual_shape(tmp_path: Path, graph: dict[str, object]) -> None:
    write_tokenizer(tmp_path)
    write_graph(tmp_path / "model.onnx", **graph)  # type: ignore[arg-type]
    embedder = LocalEmbedder(tmp_path, threads=1)
    rows = embedder.embed(["tea coffee", "tea", "rain rain tea"])
    numpy.testing.assert_allclose(rows, [unit(1, 2), unit(1), unit(3, 3, 1)], atol=1e-6)
    assert (embedder.width, embedder.provider, embedder.is_local) == (3, "local", True)


def test_where_the_graph_may_be_and_that_the_name_tells_its_content(tmp_path: Path) -> None:
    names = []
    for number, (name, output) in enumerate(
        [
            ("model.onnx", "last_hidden_state"),
            ("onnx/model.onnx", "token_embeddings"),
            ("other.onnx", "last_hidden_state"),
        ]
    ):
        folder = tmp_path / str(number) / "mine"
        folder.mkdir(parents=True)
        write_tokenizer(folder)
        write_graph(folder / name, output=output)
        embedder = LocalEmbedder(folder)
        assert (embedder.width, embedder.embed([]).shape) == (None, (0, 0))  # until it is loaded
        assert embedder.embed(["tea"]).shape == (1, 3)
        names.append(embedder.model)
    assert names[0] == names[2] != names[1]
    assert all(name.startswith("mine@") for name in names)


def test_a_tokenizers_padding_does_not_count(tmp_path: Path) -> None:
    padding = {
        "strategy": {"Fixed": 8},
        "direction": "Right",
        "pad_to_multiple_of": None,
        "pad_id": 4,
        "pad_type_id": 0,
        "pad_token": "[PAD]",
    }
    write_tokenizer(tmp_path, padding=padding)
    write_graph(tmp_path / "model.onnx")
    numpy.testing.assert_allclose(LocalEmbedder(tmp_path).embed(["tea"]), [unit(1)], atol=1e-6)


@pytest.mark.parametrize(("own", "read"), [(None, 256), (5, 5), (100_000, 512)])
def test_texts_are_cut_to_what_the_tokenizer_says_within_bounds(
    tmp_path: Path, own: int | None, read: int
) -> None:
    cut = {"direction": "Right", "max_length": own, "strategy": "LongestFirst", "stride": 0}
    write_tokenizer(tmp_path, truncation=None if own is None else cut)
    write_graph(tmp_path / "model.onnx")
    (row,) = LocalEmbedder(tmp_path).embed(["tea " * read + "rain " * 200])
    numpy.testing.assert_allclose(row, unit(1), atol=1e-6)
    (row,) = LocalEmbedder(tmp_path).embed(["tea " * (read - 1) + "rain " * 200])
    assert row[2] > 0


def test_what_is_wrong_with_a_folder_is_said(tmp_path: Path) -> None:
    def problem(kind: type[Exception], match: str, *texts: str) -> None:
        with pytest.raises(kind, match=match):
            LocalEmbedder(tmp_path / "mine").embed(texts or ["tea"])

    folder = tmp_path / "mine"
    problem(EmbedderRefused, "there is no folder .*mine")
    folder.mkdir()
    write_tokenizer(folder)
    problem(EmbedderRefused, r"no \.onnx file")
    write_graph(folder / "a.onnx")
    write_graph(folder / "b.onnx")
    problem(EmbedderRefused, r"a\.onnx, b\.onnx")
    (folder / "model.onnx").write_bytes(b"not a graph")
    problem(BadEmbedding, r"model\.onnx cannot be used")
    (folder / "tokenizer.json").write_text("{}")
    problem(BadEmbedding, r"tokenizer\.json is not a tokenizer")
    (folder / "tokenizer.json").unlink()
    problem(EmbedderRefused, r"no tokenizer\.json")
    write_tokenizer(folder)
    write_graph(folder / "model.onnx", inputs=("input_ids", "pixels"))
    problem(BadEmbedding, "takes input_ids, pixels; needed: input_ids")
    write_graph(folder / "model.onnx", pooled=True, output="sentence_embedding")
    problem(BadEmbedding, "zeros only", "tea", "nothing")
