"""Make the graph for processors with VNNI: python scripts/dynamic_model.py FOLDER CONVERSATIONS

FOLDER has ``ricordo-multi-int8.onnx`` and ``tokenizer.json`` and receives
``ricordo-multi-vnni.onnx``; CONVERSATIONS, ``training/ranker/data/friends.jsonl``, shows how large
values get.

The same weights, multiplied another way: whole columns of 8-bit weights with one scale for all
activations of a run (``DynamicQuantizeMatMul``), which takes VNNI half of the time. Few inputs are
much larger than the rest and would spoil that one scale, so each is divided by how large it gets
and its weights are multiplied by it. The second product of the wide layer keeps its blocks in the
first half of the layers, where that does not suffice. The word table is read from the first file.
"""

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from tokenizers import Tokenizer

CONTRIBUTED = "com.microsoft"
SHIPPED, MADE = "ricordo-multi-int8.onnx", "ricordo-multi-vnni.onnx"
PRODUCTS = 4  # of a layer: attention's inputs and output, the wide layer's two
SMOOTHED = (0, 2)
KEPT_LAYERS = 3
STRENGTH = 0.75  # of the smoothing; .65 to .85 do as well
MEASURED = 8  # conversations
TABLE = 10_000_000  # bytes; only the word table is larger


def main() -> None:
    folder, conversations = map(Path, sys.argv[1:])
    source = onnx.load(str(folder / SHIPPED))
    lines = conversations.read_text(encoding="utf-8").splitlines()[:MEASURED]
    turns = [turn for line in lines for turn in json.loads(line)["turns"]]
    largest = activations(source, folder, [text for _, _, text in turns])
    content = dynamic(source, largest, (folder / SHIPPED).read_bytes())
    (folder / MADE).write_bytes(content)
    onnx.checker.check_model(str(folder / MADE))
    print(hashlib.sha256(content).hexdigest(), len(content), MADE)


def products(model: onnx.ModelProto) -> list[onnx.NodeProto]:
    return [node for node in model.graph.node if node.op_type == "MatMulNBits"]


def activations(source: onnx.ModelProto, folder: Path, texts: list[str]) -> list[np.ndarray]:
    """How large each input of each product gets."""
    watched = onnx.ModelProto()
    watched.CopyFrom(source)
    names = [node.input[0] for node in products(source)]
    for name in names:
        watched.graph.output.append(
            helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None)
        )
    session = onnxruntime.InferenceSession(watched.SerializeToString())
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    largest: list[Any] = [0.0] * len(names)
    for text in texts:
        ids = np.array([tokenizer.encode(text).ids], np.int64)
        found = session.run(names, {"input_ids": ids, "attention_mask": np.ones_like(ids)})
        largest = [
            np.maximum(old, np.abs(new[0]).max(0)) for old, new in zip(largest, found, strict=True)
        ]
    return largest


def dynamic(source: onnx.ModelProto, largest: list[np.ndarray], whole: bytes) -> bytes:
    constants = {entry.name: entry for entry in source.graph.initializer}
    numbers = {node.name: number for number, node in enumerate(products(source))}
    nodes: list[onnx.NodeProto] = []
    dropped: set[str] = set()
    made: list[onnx.TensorProto] = []

    def const(name: str, value: np.ndarray) -> str:
        made.append(numpy_helper.from_array(value, name))
        return name

    for node in source.graph.node:
        number = numbers.get(node.name)
        if number is None or (number % PRODUCTS == 3 and number < KEPT_LAYERS * PRODUCTS):
            nodes.append(node)
            continue
        dropped.update(node.input[1:3])
        packed, scales = (numpy_helper.to_array(constants[name]) for name in node.input[1:3])
        # [out, blocks, block] of whole numbers around 128 become [in, out]
        weight = ((packed.astype(np.float32) - 128) * scales[..., None]).reshape(len(packed), -1).T
        entry = node.input[0]
        if number % PRODUCTS in SMOOTHED:
            size = np.maximum(largest[number], 1e-3) ** STRENGTH
            size /= np.maximum(np.abs(weight).max(1), 1e-3) ** (1 - STRENGTH)
            size /= np.exp(np.log(size).mean())
            divided = const(f"{node.name}_by", (1 / size).astype(np.float32))
            nodes.append(helper.make_node("Mul", [entry, divided], [f"{node.name}_in"]))
            entry, weight = f"{node.name}_in", weight * size[:, None]
        scale = (np.abs(weight).max(0) / 127).astype(np.float32)
        parts = [
            const(f"{node.name}_w", np.rint(weight / scale).astype(np.int8)),
            const(f"{node.name}_s", scale),
            const(f"{node.name}_z", np.zeros(len(scale), np.int8)),
        ]
        nodes.append(
            helper.make_node(
                "DynamicQuantizeMatMul",
                [entry, *parts, node.input[5]],
                list(node.output),
                domain=CONTRIBUTED,
            )
        )
    kept = [
        in_the_first_file(entry, whole) if len(entry.raw_data) > TABLE else entry
        for entry in source.graph.initializer
        if entry.name not in dropped
    ]
    del source.graph.node[:], source.graph.initializer[:]
    source.graph.node.extend(nodes)
    source.graph.initializer.extend([*kept, *made])
    return source.SerializeToString(deterministic=True)


def in_the_first_file(table: onnx.TensorProto, whole: bytes) -> onnx.TensorProto:
    start, size = whole.index(table.raw_data), len(table.raw_data)
    linked = onnx.TensorProto(name=table.name, data_type=table.data_type, dims=table.dims)
    linked.data_location = onnx.TensorProto.EXTERNAL
    for key, value in (("location", SHIPPED), ("offset", start), ("length", size)):
        linked.external_data.add(key=key, value=str(value))
    return linked


if __name__ == "__main__":
    main()
