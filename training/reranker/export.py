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

ENCODER, MADE = "ricordo-multi-int8.onnx", "ricordo-multi-reader.onnx"
HEADS, WIDTH = 12, 384
QUESTION_TOKENS, LINE_TOKENS = 32, 84
MOST_TOKENS = QUESTION_TOKENS + LINE_TOKENS + 3
CONTRIBUTED = "com.microsoft"
STRENGTH = 0.75
LEVELS = 63
CALIBRATED = 60  # lines of a language
FIRST, BETWEEN = 101, 102
DATA = Path(__file__).parents[1] / "ranker" / "data"
TRANSLATED = Path(__file__).parent / "data" / "translated"

Given = dict[str, np.ndarray]


class Graph:
    """Nodes and constants. With ``largest``, how large inputs get, products are quantised."""

    def __init__(self, weights: dict[str, np.ndarray], largest: list[np.ndarray] | None) -> None:
        self.weights, self.largest = weights, largest
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

    def dense(self, x: str, *layers: str) -> str:
        weight, bias = (
            np.concatenate([self.weights[f"{name}.{part}"] for name in layers])
            for part in ("weight", "bias")
        )
        weight = weight.T
        if self.largest is None:
            self.inputs.append(x)
            return self.op("Add", self.op("MatMul", x, self.const(weight)), self.const(bias))
        size = np.maximum(self.largest[len(self.inputs)], 1e-3) ** STRENGTH
        size /= np.maximum(np.abs(weight).max(1), 1e-3) ** (1 - STRENGTH)
        size /= np.exp(np.log(size).mean())
        self.inputs.append(x)
        x = self.op("Mul", x, self.const(1 / size))
        weight = weight * size[:, None]
        scale = np.abs(weight).max(0) / LEVELS
        parts = (
            self.const(np.rint(weight / scale), np.int8),
            self.const(scale),
            self.const(np.zeros(len(scale)), np.int8),
            self.const(bias),
        )
        return self.op("DynamicQuantizeMatMul", x, *parts, domain=CONTRIBUTED)

    def norm(self, layer: str, *inputs: str) -> str:
        parts = [
            self.const(self.weights[f"{layer}.LayerNorm.{part}"]) for part in ("weight", "bias")
        ]
        total = inputs[0] if len(inputs) == 1 else self.op("Add", *inputs)  # faster than fused
        return self.op("LayerNormalization", total, *parts, epsilon=1e-12)


def layer(graph: Graph, x: str, name: str, mask: str) -> str:
    parts = (f"{name}.attention.self.{part}" for part in ("query", "key", "value"))
    together = graph.dense(x, *parts)
    split = [f"{name}_{place}" for place in range(3)]
    thirds = graph.const([WIDTH] * 3, np.int64)
    graph.nodes.append(helper.make_node("Split", [together, thirds], split, axis=-1))
    seen = graph.op("MultiHeadAttention", *split, "", mask, domain=CONTRIBUTED, num_heads=HEADS)
    x = graph.norm(
        f"{name}.attention.output", graph.dense(seen, f"{name}.attention.output.dense"), x
    )
    wide = graph.op("Gelu", graph.dense(x, f"{name}.intermediate.dense"), domain=CONTRIBUTED)
    return graph.norm(f"{name}.output", graph.dense(wide, f"{name}.output.dense"), x)


def build(
    weights: dict[str, np.ndarray],
    table: list[onnx.TensorProto],
    largest: list[np.ndarray] | None,
    head: str,
    most_tokens: int,
) -> onnx.ModelProto:
    """Two texts read together; what ``head`` says of them has its name."""
    graph = Graph(weights, largest)
    wide = graph.op("Cast", graph.op("Gather", table[0].name, "ids"), to=TensorProto.FLOAT)
    words = graph.op("Mul", wide, graph.op("Gather", table[1].name, "ids"))
    zero = graph.const([0], np.int64)
    length = graph.op("Shape", "ids", start=1, end=2)
    places = weights["embeddings.position_embeddings.weight"][:most_tokens]
    places = graph.op("Slice", graph.const(places), zero, length, zero)
    kinds = graph.const(weights["embeddings.token_type_embeddings.weight"])
    together = graph.op("Add", graph.op("Add", words, places), graph.op("Gather", kinds, "kinds"))
    x = graph.norm("embeddings", together)
    mask = graph.op("Cast", "mask", to=TensorProto.INT32)
    for number in range(sum(name.endswith("attention.self.query.weight") for name in weights)):
        x = layer(graph, x, f"encoder.layer.{number}", mask)
    first = graph.op("Gather", x, graph.const(0, np.int64), axis=1)
    product = graph.op("MatMul", first, graph.const(weights[f"{head}.weight"].T))
    graph.op("Add", product, graph.const(weights[f"{head}.bias"]), name=head)
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["pairs", "tokens"])
        for name in ("ids", "mask", "kinds")
    ]
    wanted = [head, *(graph.inputs if largest is None else ())]
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
    ids = [FIRST, *first, BETWEEN, *second, BETWEEN]
    kinds = [0] * (len(first) + 2) + [1] * (len(second) + 1)
    return {
        "ids": np.array([ids]),
        "mask": np.ones((1, len(ids)), np.int64),
        "kinds": np.array([kinds]),
    }


def export(learned: Path, folder: Path, head: str, made: str, most: int, given: list[Given]):
    """Write the graph; what it says of the given texts, exactly and in eight bits."""
    weights = read_safetensors(learned.read_bytes())
    table = tables(onnx.load(folder / ENCODER).graph)
    whole_graph = build(weights, table, None, head, most)
    session = onnxruntime.InferenceSession(whole_graph.SerializeToString())
    exact, largest = [], None
    for one in given:
        said, *found = session.run(None, one)
        exact.append(said[0])
        sizes = [np.abs(each[0]).max(0) for each in found]
        largest = sizes if largest is None else list(map(np.maximum, largest, sizes))
    whole = (folder / ENCODER).read_bytes()
    table = [linked(each, whole) for each in table]
    content = build(weights, table, largest, head, most).SerializeToString(deterministic=True)
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
    export(learned, folder, "head", MADE, MOST_TOKENS, list(asked(tokenizer)))


if __name__ == "__main__":
    main()
