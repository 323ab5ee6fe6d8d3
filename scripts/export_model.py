"""Build the shipped embedding model: python scripts/export_model.py WEIGHTS TOKENIZER OUTPUT_FOLDER

WEIGHTS and TOKENIZER are what ``training/multilingual`` has made of ricordo-multi.
OUTPUT_FOLDER receives ``ricordo-multi-int8.onnx`` and ``tokenizer.json``; their SHA-256 are
printed. The graph is written node by node: numpy and onnx are enough, and the bytes do not depend
on the machine.

* Every dense layer is ``MatMulNBits``: 8-bit weights with a scale per 128 input channels,
  activations quantised at run time per row and block. Texts of a batch do not share a scale, so
  a text's vector hardly depends on its neighbours, and x86 kernels without VNNI do not saturate,
  as those of the usual ``MatMulInteger`` do.
* The word table is int8 with a scale per word; attention, layer norms, pooling and the scaling
  to length one stay float32.
"""

import argparse
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WEIGHTS_SHA256 = "f9cf7bc2cc05273a23fd95fe0dd0ab223a86f73b7f993a3a338a2806e517c483"
LAYERS, HEADS, WIDTH, MAX_TOKENS, BLOCK = 6, 12, 384, 256, 128
CONTRIBUTED = "com.microsoft"  # onnxruntime's own operators, in every build of it

Weights = dict[str, np.ndarray]


def main() -> None:
    """Read the arguments, build the model, write the files."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("weights", type=Path, help="the trained weights, safetensors")
    arguments.add_argument("tokenizer", type=Path, help="the tokenizer.json")
    arguments.add_argument("output", type=Path, help="folder for the two files")
    given = arguments.parse_args()
    weights = given.weights.read_bytes()
    if hashlib.sha256(weights).hexdigest() != WEIGHTS_SHA256:
        raise SystemExit(f"{given.weights} is not the expected ricordo-multi")
    model = build(read_safetensors(weights))
    onnx.checker.check_model(model)
    results = {
        "ricordo-multi-int8.onnx": model.SerializeToString(deterministic=True),
        "tokenizer.json": tokenizer_settings(given.tokenizer.read_bytes()),
    }
    given.output.mkdir(parents=True, exist_ok=True)
    for name, content in results.items():
        (given.output / name).write_bytes(content)
        print(hashlib.sha256(content).hexdigest(), len(content), name)


def read_safetensors(raw: bytes) -> Weights:
    """Eight bytes of header length, a JSON header, then the tensors: all that is needed of it."""
    start = 8 + int.from_bytes(raw[:8], "little")
    tensors = {}
    for name, entry in json.loads(raw[8:start]).items():
        if entry.get("dtype") == "F16":
            begin, end = (start + offset for offset in entry["data_offsets"])
            values = np.frombuffer(raw[begin:end], "<f2").astype(np.float32)
            tensors[name] = values.reshape(entry["shape"])
    return tensors


def tokenizer_settings(raw: bytes) -> bytes:
    """The tokenizer, cutting at the model's length; the caller pads to the longest of a batch."""
    settings = json.loads(raw)
    settings["padding"] = None
    settings["truncation"] = {
        "direction": "Right",
        "max_length": MAX_TOKENS,
        "strategy": "LongestFirst",
        "stride": 0,
    }
    return json.dumps(settings, ensure_ascii=False, separators=(",", ":")).encode()


class Graph:
    """Nodes and constants, in the order in which they were asked for."""

    def __init__(self, weights: Weights) -> None:
        self.weights = weights
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def const(self, value: Any, dtype: Any = np.float32) -> str:
        """A constant; its name."""
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value).astype(dtype), name))
        return name

    def ops(self, kind: str, *inputs: str, outputs: int, **attributes: Any) -> list[str]:
        """A node with several outputs; their names."""
        names = [f"{kind}_{len(self.nodes)}_{place}" for place in range(outputs)]
        return self._add(kind, inputs, names, attributes)

    def op(self, kind: str, *inputs: str, name: str = "", **attributes: Any) -> str:
        """A node with one output; its name."""
        names = [name or f"{kind}_{len(self.nodes)}_0"]
        return self._add(kind, inputs, names, attributes)[0]

    def _add(
        self, kind: str, inputs: tuple[str, ...], names: list[str], attributes: dict[str, Any]
    ) -> list[str]:
        domain = attributes.pop("domain", "")
        self.nodes.append(
            helper.make_node(kind, inputs, names, name=names[0], domain=domain, **attributes)
        )
        return names

    def words(self, table: np.ndarray, ids: str) -> str:
        """Rows of the word table, kept as int8 with a scale each."""
        scale = np.abs(table).max(axis=1, keepdims=True) / np.float32(127)
        rows = self.op("Gather", self.const(np.rint(table / scale), np.int8), ids)
        wide = self.op("Cast", rows, to=TensorProto.FLOAT)
        return self.op("Mul", wide, self.op("Gather", self.const(scale), ids))

    def dense(self, x: str, *layers: str) -> str:
        """``x @ W.T + b``; several layers are laid side by side into one product."""
        weight, bias = (
            np.concatenate([self.weights[f"{name}.{part}"] for name in layers])
            for part in ("weight", "bias")
        )
        blocks = weight.reshape(len(weight), -1, BLOCK)  # [out, in] becomes [out, blocks, block]
        scale = np.abs(blocks).max(axis=2, keepdims=True) / np.float32(127)
        packed = self.const(np.rint(blocks / scale) + 128, np.uint8)  # 128 stands for zero
        return self.op(
            "MatMulNBits",
            *(x, packed, self.const(scale[..., 0]), "", "", self.const(bias)),
            domain=CONTRIBUTED,
            K=weight.shape[1],
            N=len(weight),
            bits=8,
            block_size=BLOCK,
            accuracy_level=4,
        )

    def norm(self, layer: str, *inputs: str) -> str:
        """Layer normalisation; of the sum when there are two inputs."""
        gain, bias = (
            self.const(self.weights[f"{layer}.LayerNorm.{part}"]) for part in ("weight", "bias")
        )
        total = inputs[0] if len(inputs) == 1 else self.op("Add", *inputs)  # faster than fused
        return self.op("LayerNormalization", total, gain, bias, epsilon=1e-12)


def build(weights: Weights) -> onnx.ModelProto:
    """The whole model."""
    graph = Graph(weights)
    zero, one, thirds = (graph.const(value, np.int64) for value in ([0], [1], [WIDTH] * 3))
    x = embeddings(graph, zero)
    mask = graph.op("Cast", "attention_mask", to=TensorProto.INT32)
    for number in range(LAYERS):
        x = encoder_layer(graph, f"encoder.layer.{number}", x, mask, thirds)
    # Mean over the real tokens, then length one: the sum has the same direction, so it does.
    tokens = graph.op("Unsqueeze", graph.op("Cast", "attention_mask", to=TensorProto.FLOAT), one)
    total = graph.op("Squeeze", graph.op("MatMul", tokens, x), one)
    graph.op("LpNormalization", total, name="sentence_embedding", axis=-1, p=2)
    return as_model(graph)


def embeddings(graph: Graph, zero: str) -> str:
    """Words plus places plus the one kind of token."""
    word, position, token_type = (
        graph.weights[f"embeddings.{kind}_embeddings.weight"]
        for kind in ("word", "position", "token_type")
    )
    table = graph.const(position + token_type[0], np.float16)
    places = graph.op("Cast", table, to=TensorProto.FLOAT)
    length = graph.op("Shape", "input_ids", start=1, end=2)
    places = graph.op("Slice", places, zero, length, zero)
    return graph.norm("embeddings", graph.op("Add", graph.words(word, "input_ids"), places))


def encoder_layer(graph: Graph, layer: str, x: str, mask: str, thirds: str) -> str:
    """Attention and the wide layer, each added to what came in."""
    parts = (f"{layer}.attention.self.{part}" for part in ("query", "key", "value"))
    split = graph.ops("Split", graph.dense(x, *parts), thirds, outputs=3, axis=-1)
    seen = graph.op("MultiHeadAttention", *split, "", mask, domain=CONTRIBUTED, num_heads=HEADS)
    attended = graph.dense(seen, f"{layer}.attention.output.dense")
    x = graph.norm(f"{layer}.attention.output", attended, x)
    inner = graph.dense(x, f"{layer}.intermediate.dense")
    wide = graph.op("FastGelu", inner, domain=CONTRIBUTED)
    return graph.norm(f"{layer}.output", graph.dense(wide, f"{layer}.output.dense"), x)


def as_model(graph: Graph) -> onnx.ModelProto:
    """The graph with its inputs, its output and where it comes from."""
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "sequence"])
        for name in ("input_ids", "attention_mask")
    ]
    outputs = [
        helper.make_tensor_value_info("sentence_embedding", TensorProto.FLOAT, ["batch", WIDTH])
    ]
    made = helper.make_graph(graph.nodes, "ricordo-multi", inputs, outputs, graph.constants)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(CONTRIBUTED, 1)]
    model = helper.make_model(made, ir_version=8, opset_imports=opsets, producer_name="ricordo")
    helper.set_model_props(
        model,
        {
            "license": "Apache-2.0",
            "source": "sentence-transformers/all-MiniLM-L6-v2",
            "source_sha256": WEIGHTS_SHA256,
            "max_tokens": str(MAX_TOKENS),
        },
    )
    return model


if __name__ == "__main__":
    main()
