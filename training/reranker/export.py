"""python -m training.reranker.export LEARNED FOLDER: the graph that reads a question with a line.

FOLDER has the sentence encoder, whose word table the graph reads, and receives
``ricordo-multi-reader.onnx``. Weights have eight bits. Activations are quantised at run time, one
scale for a run; few inputs are much larger than the rest, so each is divided by how large it gets
in conversations of many languages, and its weights are multiplied by it. Weights take seven bits
of the eight: on processors without VNNI sums of two products would overflow otherwise.
"""

import hashlib
import json
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from scripts.export_model import read_safetensors
from tokenizers import Tokenizer

from ricordo.providers.pair_model import packed

ENCODER, MADE = "ricordo-multi-int8.onnx", "ricordo-multi-reader.onnx"
OF_HEAD, WIDTH = 32, 384
QUESTION_TOKENS, LINE_TOKENS = 32, 84
MOST_TOKENS = QUESTION_TOKENS + LINE_TOKENS + 3
CONTRIBUTED = "com.microsoft"
FLAT = ("ids", "places", "kinds", "cells")
STRENGTH = 0.75
LEVELS = 63
CALIBRATED = 60  # lines of a language
FIRST, BETWEEN = 101, 102
DATA = Path(__file__).parents[1] / "ranker" / "data"
TRANSLATED = Path(__file__).parent / "data" / "translated"

Given = dict[str, np.ndarray]
Bend = tuple[str, str]  # what stands between the products of a layer: operation, domain
GELU, RELU = ("Gelu", CONTRIBUTED), ("Relu", "")


class Graph:
    """Nodes and constants. With ``largest``, how large inputs get, products are quantised."""

    def __init__(
        self, weights: dict[str, np.ndarray], largest: list[np.ndarray] | None, bends: Bend
    ) -> None:
        self.weights, self.largest, self.bends = weights, largest, bends
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.inputs: list[str] = []

    def const(self, value: object, kind: object = np.float32) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value).astype(kind), name))
        return name

    def op(self, kind: str, *inputs: str, domain: str = "", name: str = "", **more: object) -> str:
        output = name or f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [output], domain=domain, **more))
        return output

    def dense(self, x: str, *layers: str, first_of: str = "") -> list[str]:
        """The same rows through each layer; through the first only those of ``first_of``."""
        if self.largest is not None:
            shrunk, parts = self.quantised(layers)
            x = self.op("Mul", x, self.const(shrunk))
        self.inputs.append(x)
        found = []
        for number, name in enumerate(layers):
            rows = self.op("Gather", x, first_of) if first_of and not number else x
            if self.largest is None:
                weight, bias = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
                product = self.op("MatMul", rows, self.const(weight.T))
                found.append(self.op("Add", product, self.const(bias)))
                continue
            weight, scale, bias = parts[number]
            given = (
                self.const(weight, np.int8),
                self.const(scale),
                self.const(np.zeros(len(scale)), np.int8),
                self.const(bias),
            )
            found.append(self.op("DynamicQuantizeMatMul", rows, *given, domain=CONTRIBUTED))
        return found

    def quantised(self, layers: tuple[str, ...]) -> tuple[np.ndarray, list[tuple]]:
        """What their input is multiplied by; weights in eight bits, scales and biases."""
        weights = [self.weights[f"{name}.weight"].T for name in layers]
        together = np.concatenate(weights, 1)
        size = np.maximum(self.largest[len(self.inputs)], 1e-3) ** STRENGTH
        size /= np.maximum(np.abs(together).max(1), 1e-3) ** (1 - STRENGTH)
        size /= np.exp(np.log(size).mean())
        parts = []
        for name, weight in zip(layers, weights, strict=True):
            whole = weight * size[:, None]
            scale = np.abs(whole).max(0) / LEVELS
            parts.append((np.rint(whole / scale), scale, self.weights[f"{name}.bias"]))
        return 1 / size, parts

    def norm(self, layer: str, *inputs: str) -> str:
        parts = [
            self.const(self.weights[f"{layer}.LayerNorm.{part}"]) for part in ("weight", "bias")
        ]
        total = inputs[0] if len(inputs) == 1 else self.op("Add", *inputs)  # faster than fused
        return self.op("LayerNormalization", total, *parts, epsilon=1e-12)


def layer(graph: Graph, x: str, name: str, firsts: str) -> str:
    """``firsts``: in the last layer, of which only the first token of each pair is read on."""
    parts = (f"{name}.attention.self.{part}" for part in ("query", "key", "value"))
    heads = len(graph.weights[f"{name}.attention.self.query.bias"]) // OF_HEAD
    query, *others = graph.dense(x, *parts, first_of=firsts)
    padded = [graph.op("Gather", each, "rows") for each in others]
    if firsts:
        query = graph.op("Unsqueeze", query, graph.const([1], np.int64))
        x = graph.op("Gather", x, firsts)
    else:
        query = graph.op("Gather", query, "rows")
    parts = (query, *padded, "", "mask")
    seen = graph.op("MultiHeadAttention", *parts, domain=CONTRIBUTED, num_heads=heads)
    seen = graph.op("Reshape", seen, graph.const([-1, heads * OF_HEAD], np.int64))
    if not firsts:
        seen = graph.op("Gather", seen, "cells")
    (seen,) = graph.dense(seen, f"{name}.attention.output.dense")
    x = graph.norm(f"{name}.attention.output", seen, x)
    (wide,) = graph.dense(x, f"{name}.intermediate.dense")
    kind, domain = graph.bends
    (narrow,) = graph.dense(graph.op(kind, wide, domain=domain), f"{name}.output.dense")
    return graph.norm(f"{name}.output", narrow, x)


def build(
    graph: Graph, table: list[onnx.TensorProto], head: str, most_tokens: int
) -> onnx.ModelProto:
    """Two texts read together; what ``head`` says of them has its name.

    The tokens of all pairs stand in one row, without padding (``ids``, ``places``, ``kinds``). Only
    where they look at each other each pair has a row of its own: ``rows`` has their numbers, and
    ``cells`` where each then stands.
    """
    weights = graph.weights
    wide = graph.op("Cast", graph.op("Gather", table[0].name, "ids"), to=TensorProto.FLOAT)
    words = graph.op("Mul", wide, graph.op("Gather", table[1].name, "ids"))
    places = weights["embeddings.position_embeddings.weight"][:most_tokens]
    kinds = weights["embeddings.token_type_embeddings.weight"]
    placed = graph.op("Add", words, graph.op("Gather", graph.const(places), "places"))
    together = graph.op("Add", placed, graph.op("Gather", graph.const(kinds), "kinds"))
    x = graph.norm("embeddings", together)
    firsts = graph.op("Gather", "rows", graph.const(0, np.int64), axis=1)
    layers = sum(name.endswith("attention.output.LayerNorm.weight") for name in weights)
    for number in range(layers):
        x = layer(graph, x, f"encoder.layer.{number}", firsts if number == layers - 1 else "")
    product = graph.op("MatMul", x, graph.const(weights[f"{head}.weight"].T))
    graph.op("Add", product, graph.const(weights[f"{head}.bias"]), name=head)
    inputs = [
        *(helper.make_tensor_value_info(name, TensorProto.INT64, ["tokens"]) for name in FLAT),
        helper.make_tensor_value_info("rows", TensorProto.INT64, ["pairs", "longest"]),
        helper.make_tensor_value_info("mask", TensorProto.INT32, ["pairs", "longest"]),
    ]
    wanted = [head, *(graph.inputs if graph.largest is None else ())]
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in wanted]
    constants = [*table, *graph.constants]
    made = helper.make_graph(graph.nodes, f"ricordo-{head}", inputs, outputs, constants)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(CONTRIBUTED, 1)]
    return helper.make_model(made, ir_version=8, opset_imports=opsets, producer_name="ricordo")


def tables(encoder: onnx.GraphProto) -> list[onnx.TensorProto]:
    """Words of the encoder in eight bits, and a scale for each."""
    constants = {one.name: one for one in encoder.initializer}
    gathered = [node.input[0] for node in encoder.node if node.op_type == "Gather"][:2]
    found = []
    for name, constant in zip(("words", "scales"), gathered, strict=True):
        table = onnx.TensorProto()
        table.CopyFrom(constants[constant])
        table.name = name
        found.append(table)
    return found


def linked(table: onnx.TensorProto, whole: bytes) -> onnx.TensorProto:
    """A table that is read from the encoder's file."""
    made = onnx.TensorProto(name=table.name, data_type=table.data_type, dims=table.dims)
    made.data_location = onnx.TensorProto.EXTERNAL
    start, size = whole.index(table.raw_data), len(table.raw_data)
    for key, value in (("location", ENCODER), ("offset", start), ("length", size)):
        made.external_data.add(key=key, value=str(value))
    return made


def pair(tokenizer: Tokenizer, one: tuple[str, int], other: tuple[str, int]) -> Given:
    """What a graph is given for two texts, each with the most tokens of it."""
    first, second = (
        tokenizer.encode(text, add_special_tokens=False).ids[:most] for text, most in (one, other)
    )
    return packed([([FIRST, *first, BETWEEN], [*second, BETWEEN])])


def export(
    learned: Path, folder: Path, head: str, made: str, most: int, given: list[Given], bends: Bend
):
    """Write the graph; what it says of the given texts, exactly and in eight bits."""
    weights = read_safetensors(learned.read_bytes())
    table = tables(onnx.load(folder / ENCODER).graph)
    whole_graph = build(Graph(weights, None, bends), table, head, most)
    session = onnxruntime.InferenceSession(whole_graph.SerializeToString())
    exact, largest = [], None
    for one in given:
        said, *found = session.run(None, one)
        exact.append(said[0])
        sizes = [np.abs(each).max(0) for each in found]
        largest = sizes if largest is None else list(map(np.maximum, largest, sizes))
    whole = (folder / ENCODER).read_bytes()
    table = [linked(each, whole) for each in table]
    content = build(Graph(weights, largest, bends), table, head, most)
    content = content.SerializeToString(deterministic=True)
    (folder / made).write_bytes(content)
    session = onnxruntime.InferenceSession(str(folder / made))
    close = np.array([session.run(None, one)[0][0] for one in given])
    alike = np.corrcoef(np.array(exact).ravel(), close.ravel())[0, 1]
    print(hashlib.sha256(content).hexdigest(), len(content), f"correlation {alike:.4f}")
    return np.array(exact), close


def asked(tokenizer: Tokenizer) -> Iterator[Given]:
    """Some lines of each language, and the ones before them as questions."""
    english = [turn[2] for turn in json.loads((DATA / "friends.jsonl").open().readline())["turns"]]
    files = sorted(TRANSLATED.glob("*.jsonl"))
    for lines in (english, *(json.loads(file.open().readline())["lines"] for file in files)):
        for before, said in pairwise(lines[:CALIBRATED]):
            yield pair(tokenizer, (before, QUESTION_TOKENS), (said, LINE_TOKENS))


def main() -> None:
    learned, folder = map(Path, sys.argv[1:])
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    export(learned, folder, "head", MADE, MOST_TOKENS, list(asked(tokenizer)), RELU)


if __name__ == "__main__":
    main()
