"""Tiny models for tests: each word has a vector, a text has their mean."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

WORDS = ("[UNK]", "tea", "coffee", "rain", "[PAD]", "nothing")
TABLE = numpy.array(
    [[0, 0, 1], [1, 0, 0], [0.8, 0.6, 0], [0, 0, 2], [9, 9, 9], [0, 0, 0]], numpy.float32
)


def write_tokenizer(folder: Path, **settings: object) -> None:
    """Words between spaces; the given settings replace those of a plain tokenizer."""
    tokenizer = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "WordLevel",
            "vocab": {word: place for place, word in enumerate(WORDS)},
            "unk_token": "[UNK]",
        },
        **settings,
    }
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")


def write_graph(
    path: Path,
    *,
    inputs: Sequence[str] = ("input_ids", "attention_mask"),
    output: str = "last_hidden_state",
    pooled: bool = False,
    integers: int = TensorProto.INT64,
) -> None:
    """A graph that looks words up; ``pooled`` sums them over the mask itself."""
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["rows" if pooled else output])]
    shape: list[int | str] = ["texts", "tokens", 3]
    if pooled:
        nodes += [
            helper.make_node("Cast", ["attention_mask"], ["numbers"], to=TensorProto.FLOAT),
            helper.make_node("Unsqueeze", ["numbers", "one"], ["weights"]),
            helper.make_node("MatMul", ["weights", "rows"], ["summed"]),
            helper.make_node("Squeeze", ["summed", "one"], [output]),
        ]
        shape = ["texts", 3]
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(name, integers, ["texts", "tokens"]) for name in inputs],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)],
        [
            numpy_helper.from_array(TABLE, "table"),
            numpy_helper.from_array(numpy.array([1]), "one"),
        ],
    )
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, path)
