"""python -m training.reranker.export read SHIPPED.onnx OUT.npz
python -m training.reranker.export write LEARNED.pt SHIPPED.onnx CONVERSATIONS.jsonl TOKENIZER OUT

``read`` finds the weights of a graph again; ``write`` makes one of the trained cross-encoder, with
8-bit weights; the embeddings stay as they are. Activations are quantised at run time, one scale for
a run; few inputs are much larger than the rest, so each is divided by how large it gets
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
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer

HEADS, WIDTH, MOST_TOKENS = 12, 384, 160
CONTRIBUTED = "com.microsoft"
STRENGTH = 0.75
LEVELS = 63
CALIBRATED = 400  # turns
PRODUCTS = (
    ("attention.self.query", "attention.self.key", "attention.self.value"),
    ("attention.output.dense",),
    ("intermediate.dense",),
    ("output.dense",),
)


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


def word_table(weights: dict[str, np.ndarray]) -> list[onnx.TensorProto]:
    """Words in eight bits, and a scale for each."""
    table = weights["embeddings.word_embeddings.weight"]
    scale = np.abs(table).max(1, keepdims=True) / 127
    return [
        numpy_helper.from_array(np.rint(table / scale).astype(np.int8), "words"),
        numpy_helper.from_array(scale.astype(np.float32), "scales"),
    ]


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


def recovered(graph: onnx.GraphProto) -> dict[str, np.ndarray]:
    """The weights of a graph that was made here, up to what their bits could not hold."""
    known = {one.name: numpy_helper.to_array(one).astype(np.float32) for one in graph.initializer}
    gathered = [node.input[0] for node in graph.node if node.op_type == "Gather"]
    sliced = next(node for node in graph.node if node.op_type == "Slice")
    normed, *norms = (node for node in graph.node if node.op_type == "LayerNormalization")
    found = {
        "embeddings.word_embeddings.weight": known[gathered[0]] * known[gathered[1]],
        "embeddings.token_type_embeddings.weight": known[gathered[2]],
        "embeddings.position_embeddings.weight": known[sliced.input[0]],
        "embeddings.LayerNorm.weight": known[normed.input[1]],
        "embeddings.LayerNorm.bias": known[normed.input[2]],
    }
    for place, node in enumerate(norms):
        part = ("attention.output", "output")[place % 2]
        name = f"encoder.layer.{place // 2}.{part}.LayerNorm"
        found |= {f"{name}.weight": known[node.input[1]], f"{name}.bias": known[node.input[2]]}
    divided, products = {}, 0
    for node in graph.node:
        if node.op_type == "Mul" and node.input[1] in known:
            divided[node.output[0]] = known[node.input[1]]
        elif node.op_type == "DynamicQuantizeMatMul":
            weight = known[node.input[1]] * known[node.input[2]]
            weight = (weight * divided[node.input[0]][:, None]).T
            parts = PRODUCTS[products % len(PRODUCTS)]
            for part, one, bias in zip(
                parts,
                np.split(weight, len(parts)),
                np.split(known[node.input[4]], len(parts)),
                strict=True,
            ):
                name = f"encoder.layer.{products // len(PRODUCTS)}.{part}"
                found |= {f"{name}.weight": one, f"{name}.bias": bias}
            products += 1
        elif node.op_type == "MatMul":
            found["head.weight"] = known[node.input[1]].T
        elif node.output[0] in ("said", "head"):
            found["head.bias"] = known[node.input[1]]
    return found


def read(shipped: Path, out: Path) -> None:
    found = recovered(onnx.load(shipped).graph)
    np.savez(out, **{name: one.astype(np.float16) for name, one in found.items()})


def write(source: Path, shipped: Path, conversations: Path, vocabulary: Path, out: Path) -> None:
    import torch

    old = onnx.load(shipped)
    learned = {
        name.removeprefix("bert."): value.float().numpy()
        for name, value in torch.load(source).items()
    }
    weights = recovered(old.graph) | learned
    table = word_table(weights)
    exact = build(weights, table, None, "head", MOST_TOKENS)
    session = onnxruntime.InferenceSession(exact.SerializeToString())
    tokenizer = Tokenizer.from_file(str(vocabulary))
    lines = conversations.read_text(encoding="utf-8").splitlines()
    turns = [turn for line in lines for turn in json.loads(line)["turns"]][:CALIBRATED]
    largest: list | None = None
    for (_, _, before), (_, who, said) in pairwise(turns):
        _, *found = session.run(None, pair(tokenizer, before, f"{who}: {said}"))
        sizes = [np.abs(one[0]).max(0) for one in found]
        largest = sizes if largest is None else list(map(np.maximum, largest, sizes))
    made = build(weights, table, largest, "head", MOST_TOKENS)
    out.write_bytes(made.SerializeToString(deterministic=True))
    whole = onnxruntime.InferenceSession(str(out))
    close = []
    for (_, _, before), (_, who, said) in list(pairwise(turns))[::4]:
        given = pair(tokenizer, before, f"{who}: {said}")
        close.append([one.run(["head"], given)[0][0, 0] for one in (session, whole)])
    print(out.stat().st_size, "correlation", np.corrcoef(np.array(close).T)[0, 1])


if __name__ == "__main__":
    action, *paths = sys.argv[1:]
    {"read": read, "write": write}[action](*map(Path, paths))
