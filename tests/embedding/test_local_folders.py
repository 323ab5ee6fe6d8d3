"""``local:FOLDER``: any ONNX sentence encoder, or a clear word on what is wrong with it."""

from pathlib import Path

import numpy
import pytest
from onnx import TensorProto

from ricordo.embedding.local import LocalEmbedder
from ricordo.errors import BadEmbedding, EmbedderRefused
from tests.embedding.onnx_models import TABLE, write_graph, write_tokenizer


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


@pytest.mark.parametrize("name", ["model.onnx", "onnx/model.onnx", "other.onnx"])
def test_where_the_graph_may_be(tmp_path: Path, name: str) -> None:
    write_tokenizer(tmp_path)
    write_graph(tmp_path / name)
    assert LocalEmbedder(tmp_path).embed(["tea"]).shape == (1, 3)


def test_width_is_unknown_until_loaded(tmp_path: Path) -> None:
    write_tokenizer(tmp_path)
    write_graph(tmp_path / "model.onnx")
    embedder = LocalEmbedder(tmp_path)
    assert (embedder.width, embedder.embed([]).shape) == (None, (0, 0))


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


def test_the_name_changes_with_the_content(tmp_path: Path) -> None:
    names = []
    for number, output in enumerate(["last_hidden_state", "token_embeddings"]):
        folder = tmp_path / str(number) / "mine"
        folder.mkdir(parents=True)
        write_tokenizer(folder)
        write_graph(folder / "model.onnx", output=output)
        names.append(LocalEmbedder(folder).model)
    assert len(set(names)) == 2
    assert all(name.startswith("mine@") for name in names)


def test_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(EmbedderRefused, match="there is no folder .*nowhere"):
        LocalEmbedder(tmp_path / "nowhere").embed(["tea"])


def test_a_missing_tokenizer(tmp_path: Path) -> None:
    write_graph(tmp_path / "model.onnx")
    with pytest.raises(EmbedderRefused, match=r"no tokenizer\.json"):
        LocalEmbedder(tmp_path).embed(["tea"])


def test_a_missing_graph(tmp_path: Path) -> None:
    write_tokenizer(tmp_path)
    with pytest.raises(EmbedderRefused, match=r"no \.onnx file"):
        LocalEmbedder(tmp_path).embed(["tea"])


def test_several_graphs(tmp_path: Path) -> None:
    write_tokenizer(tmp_path)
    write_graph(tmp_path / "a.onnx")
    write_graph(tmp_path / "b.onnx")
    with pytest.raises(EmbedderRefused, match=r"a\.onnx, b\.onnx"):
        LocalEmbedder(tmp_path).embed(["tea"])


def test_files_that_are_something_else(tmp_path: Path) -> None:
    write_tokenizer(tmp_path)
    (tmp_path / "model.onnx").write_bytes(b"not a graph")
    with pytest.raises(BadEmbedding, match=r"model\.onnx cannot be used"):
        LocalEmbedder(tmp_path).embed(["tea"])
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(BadEmbedding, match=r"tokenizer\.json is not a tokenizer"):
        LocalEmbedder(tmp_path).embed(["tea"])


def test_inputs_that_nobody_can_give(tmp_path: Path) -> None:
    write_tokenizer(tmp_path)
    write_graph(tmp_path / "model.onnx", inputs=("input_ids", "pixels"))
    with pytest.raises(BadEmbedding, match="takes input_ids, pixels; needed: input_ids"):
        LocalEmbedder(tmp_path).embed(["tea"])


def test_a_vector_without_direction(tmp_path: Path) -> None:
    write_tokenizer(tmp_path)
    write_graph(tmp_path / "model.onnx", pooled=True, output="sentence_embedding")
    with pytest.raises(BadEmbedding, match="zeros only"):
        LocalEmbedder(tmp_path).embed(["tea", "nothing"])
