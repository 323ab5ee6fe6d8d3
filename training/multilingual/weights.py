"""python -m training.multilingual.weights SHIPPED.onnx OUT.safetensors

The weights of the sentence encoder in 16 bits, from its graph of 8 bits: what other models that
read its word table begin with.
"""

import json
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper
from scripts.export_model import BLOCK, WIDTH

PLACES = 512
PRODUCTS = (
    ("attention.self.query", "attention.self.key", "attention.self.value"),
    ("attention.output.dense",),
    ("intermediate.dense",),
    ("output.dense",),
)


def recovered(graph: onnx.GraphProto) -> dict[str, np.ndarray]:
    known = {one.name: numpy_helper.to_array(one) for one in graph.initializer}

    def nodes(kind: str) -> list[onnx.NodeProto]:
        return [node for node in graph.node if node.op_type == kind]

    words, scales = (known[node.input[0]].astype(np.float32) for node in nodes("Gather")[:2])
    casts = (node.input[0] for node in nodes("Cast"))
    places = known[next(name for name in casts if name in known)]
    found = {
        "embeddings.word_embeddings.weight": words * scales,
        "embeddings.position_embeddings.weight": np.resize(places, (PLACES, WIDTH)),
        "embeddings.token_type_embeddings.weight": np.zeros((2, WIDTH)),
    }
    first, *others = nodes("LayerNormalization")
    parts = ("attention.output", "output")
    norms = [(f"encoder.layer.{at // 2}.{parts[at % 2]}", one) for at, one in enumerate(others)]
    for name, node in (("embeddings", first), *norms):
        for part, constant in zip(("weight", "bias"), node.input[1:], strict=True):
            found[f"{name}.LayerNorm.{part}"] = known[constant]
    for at, node in enumerate(nodes("MatMulNBits")):
        packed, scale, bias = (known[node.input[place]] for place in (1, 2, 5))
        size = len(bias)
        blocks = packed.reshape(size, -1, BLOCK).astype(np.float32) - 128
        weight = (blocks * scale.reshape(size, -1, 1)).reshape(size, -1)
        names = PRODUCTS[at % len(PRODUCTS)]
        for name, one, shift in zip(
            names, np.split(weight, len(names)), np.split(bias, len(names)), strict=True
        ):
            whole = f"encoder.layer.{at // len(PRODUCTS)}.{name}"
            found |= {f"{whole}.weight": one, f"{whole}.bias": shift}
    return found


def written(weights: dict[str, np.ndarray], out: Path) -> None:
    header, content = {}, bytearray()
    for name, value in weights.items():
        start = len(content)
        content += value.astype("<f2").tobytes()
        header[name] = {
            "dtype": "F16",
            "shape": list(value.shape),
            "data_offsets": [start, len(content)],
        }
    told = json.dumps(header).encode()
    out.write_bytes(len(told).to_bytes(8, "little") + told + content)


def main() -> None:
    shipped, out = map(Path, sys.argv[1:])
    written(recovered(onnx.load(shipped).graph), out)


if __name__ == "__main__":
    main()
