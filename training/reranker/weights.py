"""python -m training.reranker.weights FOLDER OUT.safetensors

What the shipped reader has learned, from its graph of 8 bits: what it goes on learning from.
"""

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper
from training.multilingual.weights import written
from training.reranker.export import MADE

DENSE = (
    *("attention.self.query", "attention.self.key", "attention.self.value"),
    *("attention.output.dense", "intermediate.dense", "output.dense"),
)


def recovered(graph: onnx.GraphProto) -> dict[str, np.ndarray]:
    known = {
        one.name: numpy_helper.to_array(one)
        for one in graph.initializer
        if one.data_location != onnx.TensorProto.EXTERNAL
    }

    def constants(kind: str) -> list[list[np.ndarray]]:
        nodes = (node for node in graph.node if node.op_type == kind)
        return [[known[name] for name in node.input if name in known] for node in nodes]

    found: dict[str, np.ndarray] = {}
    (places,), (kinds,) = (one for one in constants("Gather") if one and one[0].ndim == 2)
    found["embeddings.position_embeddings.weight"] = places
    found["embeddings.token_type_embeddings.weight"] = kinds
    for at, (weight, bias) in enumerate(constants("LayerNormalization")):
        part = ("output", "attention.output")[at % 2]
        name = f"encoder.layer.{(at - 1) // 2}.{part}" if at else "embeddings"
        found |= {f"{name}.LayerNorm.weight": weight, f"{name}.LayerNorm.bias": bias}
    shrunk = {node.output[0]: known[node.input[1]] for node in graph.node if small(node, known)}
    source = {node.output[0]: node.input[0] for node in graph.node if node.op_type == "Gather"}
    products = [node for node in graph.node if node.op_type == "DynamicQuantizeMatMul"]
    for at, node in enumerate(products):
        rows, weight, scale, _, bias = node.input
        size = shrunk[rows] if rows in shrunk else shrunk[source[rows]]
        name = f"encoder.layer.{at // len(DENSE)}.{DENSE[at % len(DENSE)]}"
        found[f"{name}.weight"] = (known[weight] * known[scale] * size[:, None]).T
        found[f"{name}.bias"] = known[bias]
    ((head,),) = constants("MatMul")
    found["head.weight"] = head.T
    found["head.bias"] = constants("Add")[-1][0]
    return found


def small(node: onnx.NodeProto, known: dict[str, np.ndarray]) -> bool:
    return node.op_type == "Mul" and node.input[1] in known


def main() -> None:
    folder, out = map(Path, sys.argv[1:])
    graph = onnx.load(folder / MADE, load_external_data=False).graph
    written(recovered(graph), out)


if __name__ == "__main__":
    main()
