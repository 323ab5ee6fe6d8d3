"""python -m training.stance.export LEARNED FOLDER: the graph that compares two statements.

FOLDER has the sentence encoder, whose word table both read, and receives
``ricordo-multi-stance.onnx``. Weights take seven bits of eight, like those of
``training.reranker.export``; how large activations get is measured with the pairs in ``data``.
"""

import hashlib
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper
from scripts.export_model import read_safetensors
from tokenizers import Tokenizer
from training.reranker.export import CONTRIBUTED, Graph, layer
from training.stance.pairs import BETWEEN, FIRST, NEW_TOKENS, OLD_TOKENS, spoken, written

ENCODER, MADE = "ricordo-multi-int8.onnx", "ricordo-multi-stance.onnx"
MOST_TOKENS = OLD_TOKENS + NEW_TOKENS + 3
MEASURED = 600


def build(
    weights: dict[str, np.ndarray], tables: list[onnx.TensorProto], largest: list | None
) -> onnx.ModelProto:
    graph = Graph(weights, largest)
    rows = graph.op("Gather", tables[0].name, "ids")
    wide = graph.op("Cast", rows, to=TensorProto.FLOAT)
    words = graph.op("Mul", wide, graph.op("Gather", tables[1].name, "ids"))
    zero = graph.const([0], np.int64)
    length = graph.op("Shape", "ids", start=1, end=2)
    places = weights["embeddings.position_embeddings.weight"][:MOST_TOKENS]
    places = graph.op("Slice", graph.const(places), zero, length, zero)
    kinds = graph.const(weights["embeddings.token_type_embeddings.weight"])
    together = graph.op("Add", graph.op("Add", words, places), graph.op("Gather", kinds, "kinds"))
    x = graph.norm("embeddings", together)
    mask = graph.op("Cast", "mask", to=TensorProto.INT32)
    layers = sum(name.endswith("attention.self.query.weight") for name in weights)
    for number in range(layers):
        x = layer(graph, x, f"encoder.layer.{number}", mask)
    first = graph.op("Gather", x, graph.const(0, np.int64), axis=1)
    product = graph.op("MatMul", first, graph.const(weights["stance.weight"].T))
    graph.op("Add", product, graph.const(weights["stance.bias"]), name="stance")
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["pairs", "tokens"])
        for name in ("ids", "mask", "kinds")
    ]
    wanted = ["stance", *(graph.inputs if largest is None else ())]
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in wanted]
    constants = [*tables, *graph.constants]
    made = helper.make_graph(graph.nodes, "ricordo-stance", inputs, outputs, constants)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(CONTRIBUTED, 1)]
    return helper.make_model(made, ir_version=8, opset_imports=opsets, producer_name="ricordo")


def linked(table: onnx.TensorProto, whole: bytes) -> onnx.TensorProto:
    """A table that is read from the encoder's file."""
    made = onnx.TensorProto(name=table.name, data_type=table.data_type, dims=table.dims)
    made.data_location = onnx.TensorProto.EXTERNAL
    start, size = whole.index(table.raw_data), len(table.raw_data)
    for key, value in (("location", ENCODER), ("offset", start), ("length", size)):
        made.external_data.add(key=key, value=str(value))
    return made


def given(tokenizer: Tokenizer, old: str, new: str) -> dict[str, np.ndarray]:
    first, second = (
        tokenizer.encode(text, add_special_tokens=False).ids[:most]
        for text, most in ((old, OLD_TOKENS), (new, NEW_TOKENS))
    )
    ids = [FIRST, *first, BETWEEN, *second, BETWEEN]
    kinds = [0] * (len(first) + 2) + [1] * (len(second) + 1)
    return {
        "ids": np.array([ids]),
        "mask": np.ones((1, len(ids)), np.int64),
        "kinds": np.array([kinds]),
    }


def main() -> None:
    learned, folder = map(Path, sys.argv[1:])
    weights = read_safetensors(learned.read_bytes())
    source = onnx.load(folder / ENCODER).graph
    constants = {one.name: one for one in source.initializer}
    gathered = [node.input[0] for node in source.node if node.op_type == "Gather"][:2]
    tables = []
    for place, name in enumerate(gathered):
        table = onnx.TensorProto()
        table.CopyFrom(constants[name])
        table.name = ("words", "scales")[place]
        tables.append(table)
    session = onnxruntime.InferenceSession(build(weights, tables, None).SerializeToString())
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    pairs = [pair for told in spoken().values() for pair, is_held in told if is_held]
    pairs = [*pairs, *written(is_held=True)][:MEASURED]
    exact, largest = [], None
    for pair in pairs:
        said, *found = session.run(None, given(tokenizer, pair.old, pair.new))
        exact.append(said[0])
        sizes = [np.abs(one[0]).max(0) for one in found]
        largest = sizes if largest is None else list(map(np.maximum, largest, sizes))
    whole = (folder / ENCODER).read_bytes()
    made = build(weights, [linked(table, whole) for table in tables], largest)
    content = made.SerializeToString(deterministic=True)
    (folder / MADE).write_bytes(content)
    session = onnxruntime.InferenceSession(str(folder / MADE))
    close = [session.run(None, given(tokenizer, pair.old, pair.new))[0][0] for pair in pairs]
    alike = np.corrcoef(np.array(exact).ravel(), np.array(close).ravel())[0, 1]
    same = np.mean(np.argmax(exact, 1) == np.argmax(close, 1))
    print(hashlib.sha256(content).hexdigest(), len(content), f"correlation {alike:.4f} same {same}")


if __name__ == "__main__":
    main()
