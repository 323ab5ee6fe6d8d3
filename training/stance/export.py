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
from scripts.export_model import read_safetensors
from tokenizers import Tokenizer
from training.reranker.export import build
from training.stance.pairs import BETWEEN, FIRST, NEW_TOKENS, OLD_TOKENS, spoken, written

ENCODER, MADE = "ricordo-multi-int8.onnx", "ricordo-multi-stance.onnx"
MOST_TOKENS = OLD_TOKENS + NEW_TOKENS + 3
MEASURED = 600


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
    exact_graph = build(weights, tables, None, "stance", MOST_TOKENS)
    session = onnxruntime.InferenceSession(exact_graph.SerializeToString())
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
    table = [linked(one, whole) for one in tables]
    made = build(weights, table, largest, "stance", MOST_TOKENS)
    content = made.SerializeToString(deterministic=True)
    (folder / MADE).write_bytes(content)
    session = onnxruntime.InferenceSession(str(folder / MADE))
    close = [session.run(None, given(tokenizer, pair.old, pair.new))[0][0] for pair in pairs]
    alike = np.corrcoef(np.array(exact).ravel(), np.array(close).ravel())[0, 1]
    same = np.mean(np.argmax(exact, 1) == np.argmax(close, 1))
    print(hashlib.sha256(content).hexdigest(), len(content), f"correlation {alike:.4f} same {same}")


if __name__ == "__main__":
    main()
