"""python -m training.gate.export STUDENT FOLDER: the files that the package ships.

The weights of matrix products are 8-bit numbers with a scale for each output (dynamic
quantisation), those of the embeddings 8-bit numbers with a scale for each token.
"""

import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic
from training.gate.lines import LABELS
from training.gate.student import Student, make_tokenizer


class _Shipped(torch.nn.Module):
    """The chances of the labels for each token."""

    def __init__(self, student: Student) -> None:
        super().__init__()
        self.student = student

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return self.student(ids, mask)[0].softmax(-1)


def export(kept: dict, folder: Path) -> None:
    student = Student(**kept["sizes"])
    student.load_state_dict(
        {name: value.float() for name, value in kept["state"].items()}, strict=False
    )
    student.eval()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        whole, small = Path(scratch) / "whole.onnx", Path(scratch) / "small.onnx"
        ids = torch.ones(2, 12, dtype=torch.long)
        torch.onnx.export(
            _Shipped(student),
            (ids, ids),
            str(whole),
            input_names=["ids", "mask"],
            output_names=["chances"],
            dynamic_axes={
                "ids": {0: "rows", 1: "length"},
                "mask": {0: "rows", 1: "length"},
                "chances": {0: "rows", 1: "length"},
            },
            opset_version=17,
            dynamo=False,
        )
        quantize_dynamic(
            whole,
            small,
            weight_type=QuantType.QInt8,
            per_channel=True,
            reduce_range=True,
            op_types_to_quantize=["MatMul", "Gemm"],
        )
        model = onnx.load(small)
    _shrink_embeddings(model)
    onnx.checker.check_model(model)
    onnx.save(model, folder / "gate.onnx")
    make_tokenizer(kept["vocabulary"]).save(str(folder / "tokenizer.json"), pretty=False)
    (folder / "labels.json").write_text(json.dumps(LABELS), encoding="utf-8")


def _shrink_embeddings(model: onnx.ModelProto) -> None:
    """Replace the table of embeddings by 8-bit numbers and scales."""
    graph = model.graph
    table = next(one for one in graph.initializer if one.name.endswith("embed.weight"))
    gather = next(node for node in graph.node if table.name in node.input)
    rows = numpy_helper.to_array(table)
    scale = np.maximum(np.abs(rows).max(1, keepdims=True), 1e-8) / 127
    numbers = np.round(rows / scale).astype(np.int8)
    graph.initializer.remove(table)
    graph.initializer.extend(
        [
            numpy_helper.from_array(numbers, "embed.numbers"),
            numpy_helper.from_array(scale.astype(np.float32), "embed.scales"),
        ]
    )
    place = list(graph.node).index(gather)
    ids, out = gather.input[1], gather.output[0]
    graph.node.remove(gather)
    for number, node in enumerate(
        (
            helper.make_node("Gather", ["embed.numbers", ids], ["embed.picked"], axis=0),
            helper.make_node("Cast", ["embed.picked"], ["embed.float"], to=TensorProto.FLOAT),
            helper.make_node("Gather", ["embed.scales", ids], ["embed.scale"], axis=0),
            helper.make_node("Mul", ["embed.float", "embed.scale"], [out]),
        )
    ):
        graph.node.insert(place + number, node)


if __name__ == "__main__":
    export(torch.load(sys.argv[1], weights_only=False), Path(sys.argv[2]))
