"""python -m training.reranker.export WEIGHTS.pt CONVERSATIONS.jsonl TOKENIZER OUT.onnx

The trained cross-encoder as a graph with 8-bit weights. Activations are quantised at run time, one
scale for a run; few inputs are much larger than the rest, so each is divided by how large it gets
in CONVERSATIONS and its weights are multiplied by it. Weights take seven bits of the eight: on
processors without VNNI sums of two products would overflow otherwise.
"""

import json
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer

HEADS, WIDTH, MOST_TOKENS = 12, 384, 160
CONTRIBUTED = "com.microsoft"
STRENGTH = 0.75
LEVELS = 63
CALIBRATED = 400  # turns


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
        if len(inputs) == 2:
            kind = "SkipLayerNormalization"
            return self.op(kind, *inputs, *parts, domain=CONTRIBUTED, epsilon=1e-12)
        return self.op("LayerNormalization", *inputs, *parts, epsilon=1e-12)


def build(weights: dict[str, np.ndarray], largest: list[np.ndarray] | None) -> onnx.ModelProto:
    graph = Graph(weights, largest)
    table = weights["embeddings.word_embeddings.weight"]
    scale = np.abs(table).max(1, keepdims=True) / 127
    rows = graph.op("Gather", graph.const(np.rint(table / scale), np.int8), "ids")
    wide = graph.op("Cast", rows, to=TensorProto.FLOAT)
    words = graph.op("Mul", wide, graph.op("Gather", graph.const(scale), "ids"))
    zero = graph.const([0], np.int64)
    length = graph.op("Shape", "ids", start=1, end=2)
    places = weights["embeddings.position_embeddings.weight"][:MOST_TOKENS]
    places = graph.op("Slice", graph.const(places), zero, length, zero)
    kinds = graph.op(
        "Gather", graph.const(weights["embeddings.token_type_embeddings.weight"]), "kinds"
    )
    x = graph.norm("embeddings", graph.op("Add", graph.op("Add", words, places), kinds))
    mask = graph.op("Cast", "mask", to=TensorProto.INT32)
    thirds = graph.const([WIDTH] * 3, np.int64)
    layers = sum(name.endswith("attention.self.query.weight") for name in weights)
    for number in range(layers):
        layer = f"encoder.layer.{number}"
        together = graph.dense(
            x, *(f"{layer}.attention.self.{part}" for part in ("query", "key", "value"))
        )
        split = [f"{layer}_{place}" for place in range(3)]
        graph.nodes.append(helper.make_node("Split", [together, thirds], split, axis=-1))
        seen = graph.op("MultiHeadAttention", *split, "", mask, domain=CONTRIBUTED, num_heads=HEADS)
        attended = graph.dense(seen, f"{layer}.attention.output.dense")
        x = graph.norm(f"{layer}.attention.output", attended, x)
        wide = graph.op("Gelu", graph.dense(x, f"{layer}.intermediate.dense"), domain=CONTRIBUTED)
        x = graph.norm(f"{layer}.output", graph.dense(wide, f"{layer}.output.dense"), x)
    first = graph.op("Gather", x, graph.const(0, np.int64), axis=1)

    def head(part: str) -> tuple[str, str]:
        product = graph.op("MatMul", first, graph.const(weights[f"{part}.weight"].T))
        return product, graph.const(weights[f"{part}.bias"])

    graph.op("Squeeze", graph.op("Add", *head("head")), graph.const([1], np.int64), name="scores")
    graph.op("Softmax", graph.op("Add", *head("stance")), axis=-1, name="stances")
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["pairs", "tokens"])
        for name in ("ids", "mask", "kinds")
    ]
    outputs = [
        helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["pairs"]),
        helper.make_tensor_value_info("stances", TensorProto.FLOAT, ["pairs", 4]),
    ]
    if largest is None:
        outputs += [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in graph.inputs
        ]
    made = helper.make_graph(graph.nodes, "ricordo-reranker", inputs, outputs, graph.constants)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(CONTRIBUTED, 1)]
    return helper.make_model(made, ir_version=8, opset_imports=opsets, producer_name="ricordo")


def pair(tokenizer: Tokenizer, question: str, line: str) -> dict[str, np.ndarray]:
    first = tokenizer.encode(question, add_special_tokens=False).ids[:32]
    second = tokenizer.encode(line, add_special_tokens=False).ids[:64]
    ids = [101, *first, 102, *second, 102]
    kinds = [0] * (len(first) + 2) + [1] * (len(second) + 1)
    return {
        "ids": np.array([ids]),
        "mask": np.ones((1, len(ids)), np.int64),
        "kinds": np.array([kinds]),
    }


def main() -> None:
    source, conversations, vocabulary, out = map(Path, sys.argv[1:])
    weights = {
        name.removeprefix("bert."): value.float().numpy()
        for name, value in torch.load(source).items()
    }
    session = onnxruntime.InferenceSession(build(weights, None).SerializeToString())
    tokenizer = Tokenizer.from_file(str(vocabulary))
    lines = conversations.read_text(encoding="utf-8").splitlines()
    turns = [turn for line in lines for turn in json.loads(line)["turns"]][:CALIBRATED]
    largest: list | None = None
    for (_, _, before), (_, who, said) in pairwise(turns):
        _, _, *found = session.run(None, pair(tokenizer, before, f"{who}: {said}"))
        sizes = [np.abs(one[0]).max(0) for one in found]
        largest = sizes if largest is None else list(map(np.maximum, largest, sizes))
    out.write_bytes(build(weights, largest).SerializeToString(deterministic=True))
    whole = onnxruntime.InferenceSession(str(out))
    close = [
        [each.run(["scores"], given)[0][0] for each in (session, whole)]
        for (_, _, one), (_, who, two) in list(pairwise(turns))[::4]
        for given in [pair(tokenizer, one, f"{who}: {two}")]
    ]
    print(out.stat().st_size, "correlation", np.corrcoef(np.array(close).T)[0, 1])


if __name__ == "__main__":
    main()
