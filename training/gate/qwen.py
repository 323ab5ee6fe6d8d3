"""Qwen2.5-Coder-1.5B-Instruct out of its GGUF file, as weights to train from.

``pack`` (here, with the ``gguf`` package) writes the quantised tensors into pieces that travel;
``load`` (on the machine with the GPU) turns the pieces into a model.
"""

import json
import math
import sys
from pathlib import Path
from typing import Any

PIECE = 60 * 2**20
CONFIG = {
    "hidden_size": 1536,
    "intermediate_size": 8960,
    "num_hidden_layers": 28,
    "num_attention_heads": 12,
    "num_key_value_heads": 2,
    "vocab_size": 151936,
    "rms_norm_eps": 1e-6,
    "rope_theta": 1_000_000.0,
    "tie_word_embeddings": True,
    "max_position_embeddings": 4096,
}
_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|"
    r"\s*[\r\n]+|\s+(?!\S)|\s+"
)
_NAMES = {
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
}


def tokenizer(vocab: dict[str, int], merges: list[tuple[str, str]]) -> Any:
    """A byte-level BPE that splits as Qwen's does, of all or of a part of its merges."""
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

    made = Tokenizer(models.BPE(vocab=vocab, merges=merges, fuse_unk=False))
    made.normalizer = normalizers.NFC()
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_SPLIT), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    made.decoder = decoders.ByteLevel()
    return made


def pack(source: Path, folder: Path) -> None:
    """Write ``index.json``, ``tokens.json`` and pieces of 60 MiB.

    The embeddings are the output layer's, which the file holds in finer steps.
    """
    from gguf import GGUFReader

    reader = GGUFReader(source)
    fields = reader.fields

    def strings(name: str) -> list[str]:
        return [bytes(fields[name].parts[place]).decode() for place in fields[name].data]

    folder.mkdir(parents=True, exist_ok=True)
    merges = [merge.split(" ") for merge in strings("tokenizer.ggml.merges")]
    (folder / "tokens.json").write_text(
        json.dumps({"tokens": strings("tokenizer.ggml.tokens"), "merges": merges})
    )
    index, data = [], bytearray()
    for tensor in reader.tensors:
        if tensor.name == "token_embd.weight":
            continue
        raw = tensor.data.tobytes()
        shape = [int(size) for size in reversed(tensor.shape)]
        index.append([tensor.name, tensor.tensor_type.name, shape, len(data), len(raw)])
        data += raw
    (folder / "index.json").write_text(json.dumps(index))
    for number in range(math.ceil(len(data) / PIECE)):
        (folder / f"piece{number:02}.bin").write_bytes(data[number * PIECE : (number + 1) * PIECE])


def state_name(name: str) -> str:
    """The name of a tensor in transformers."""
    if name == "output.weight":
        return "model.embed_tokens.weight"
    if name == "output_norm.weight":
        return "model.norm.weight"
    _, layer, part, kind = name.split(".")
    return f"model.layers.{layer}.{_NAMES[part]}.{kind}"


def dequantised(kind: str, raw: Any, shape: list[int]) -> Any:
    """A tensor of 32-bit floats from its blocks."""
    import torch

    if kind == "F32":
        return raw.view(torch.float32).reshape(shape).clone()
    if kind == "Q4_K":
        blocks = raw.reshape(-1, 144)
        scale = blocks[:, 0:2].contiguous().view(torch.float16).float()
        least = blocks[:, 2:4].contiguous().view(torch.float16).float()
        packed = blocks[:, 4:16]
        low, mid, high = packed[:, 0:4], packed[:, 4:8], packed[:, 8:12]
        scales = torch.cat([low & 63, (high & 15) | ((low >> 6) << 4)], 1).float()
        leasts = torch.cat([mid & 63, (high >> 4) | ((mid >> 6) << 4)], 1).float()
        quants = blocks[:, 16:].reshape(-1, 4, 1, 32)
        values = torch.cat([quants & 15, quants >> 4], 2).reshape(-1, 8, 32).float()
        whole = (scale * scales)[:, :, None] * values - (least * leasts)[:, :, None]
        return whole.reshape(shape)
    assert kind == "Q6_K"
    blocks = raw.reshape(-1, 210)
    low = blocks[:, :128].reshape(-1, 2, 1, 64)
    high = blocks[:, 128:192].reshape(-1, 2, 1, 32)
    scales = blocks[:, 192:208].contiguous().view(torch.int8).float()
    scale = blocks[:, 208:210].contiguous().view(torch.float16).float()
    lower = torch.cat([low & 15, low >> 4], 2).reshape(-1, 8, 32)
    upper = torch.cat([(high >> shift) & 3 for shift in (0, 2, 4, 6)], 2).reshape(-1, 8, 32)
    values = ((lower | (upper << 4)).to(torch.int16) - 32).float().reshape(-1, 16, 16)
    return ((scale * scales)[:, :, None] * values).reshape(shape)


def load(folder: Path, device: str) -> tuple[Any, Any]:
    """The model in 32-bit floats, and its tokenizer."""
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    data = b"".join(path.read_bytes() for path in sorted(folder.glob("piece*.bin")))
    state = {}
    for name, kind, shape, start, length in json.loads((folder / "index.json").read_text()):
        raw = torch.frombuffer(bytearray(data[start : start + length]), dtype=torch.uint8)
        state[state_name(name)] = dequantised(kind, raw.to(device), shape)
    state["lm_head.weight"] = state["model.embed_tokens.weight"]
    with torch.device(device):
        model = Qwen2ForCausalLM(Qwen2Config(**CONFIG))
    model.load_state_dict(state)
    model.tie_weights()
    tokens = json.loads((folder / "tokens.json").read_text())
    vocab = {token: place for place, token in enumerate(tokens["tokens"])}
    return model, tokenizer(vocab, [tuple(merge) for merge in tokens["merges"]])


if __name__ == "__main__":
    pack(Path(sys.argv[1]), Path(sys.argv[2]))
