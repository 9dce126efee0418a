"""A chat model of 100 kB with random weights, written here: llama.cpp itself runs on it, and no file is needed.

What it says means nothing. What the runtime does with it is real: the grammar, the stream, the counts, the cancelling.
"""

import struct
from pathlib import Path
from typing import Any

import numpy as np

WIDTH, LAYERS, HEADS, HIDDEN, CONTEXT = 32, 1, 2, 64, 2048
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "<|im_start|>assistant\n"
)
_UINT32, _FLOAT32, _STRING, _ARRAY, _INT32 = 4, 6, 8, 9, 5


def write_tiny_chat(path: Path) -> Path:
    """Write the model as a GGUF file: a llama of one layer whose tokens are the bytes."""
    tokens = ["<unk>", "<|im_start|>", "<|im_end|>", *(f"<0x{byte:02X}>" for byte in range(256))]
    kinds = [2, 3, 3, *[6] * 256]  # unknown, control, control, byte
    fields: list[tuple[str, int, Any]] = [
        ("general.architecture", _STRING, "llama"),
        ("general.name", _STRING, "tiny"),
        ("llama.context_length", _UINT32, CONTEXT),
        ("llama.embedding_length", _UINT32, WIDTH),
        ("llama.block_count", _UINT32, LAYERS),
        ("llama.feed_forward_length", _UINT32, HIDDEN),
        ("llama.attention.head_count", _UINT32, HEADS),
        ("llama.attention.layer_norm_rms_epsilon", _FLOAT32, 1e-5),
        ("tokenizer.ggml.model", _STRING, "llama"),
        ("tokenizer.ggml.tokens", _ARRAY, (_STRING, tokens)),
        ("tokenizer.ggml.scores", _ARRAY, (_FLOAT32, [0.0] * len(tokens))),
        ("tokenizer.ggml.token_type", _ARRAY, (_INT32, kinds)),
        ("tokenizer.ggml.bos_token_id", _UINT32, 1),
        ("tokenizer.ggml.eos_token_id", _UINT32, 2),
        ("tokenizer.chat_template", _STRING, TEMPLATE),
    ]
    shapes = {
        "token_embd.weight": (len(tokens), WIDTH),
        "output_norm.weight": (WIDTH,),
        "output.weight": (len(tokens), WIDTH),
    }
    for layer in range(LAYERS):
        block = {name: (WIDTH, WIDTH) for name in ("attn_q", "attn_k", "attn_v", "attn_output")}
        block |= {"attn_norm": (WIDTH,), "ffn_norm": (WIDTH,), "ffn_down": (WIDTH, HIDDEN)}
        block |= {"ffn_gate": (HIDDEN, WIDTH), "ffn_up": (HIDDEN, WIDTH)}
        shapes |= {f"blk.{layer}.{name}.weight": shape for name, shape in block.items()}
    random = np.random.default_rng(7)
    head, data = b"", b""
    for name, shape in shapes.items():
        values = np.ones(shape) if len(shape) == 1 else random.normal(size=shape)
        head += _text(name) + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *reversed(shape))
        head += struct.pack("<IQ", 0, len(data))
        data += _padded(values.astype("<f4").tobytes())
    start = b"GGUF" + struct.pack("<IQQ", 3, len(shapes), len(fields))
    start += b"".join(_text(name) + struct.pack("<I", kind) + _value(kind, value) for name, kind, value in fields)
    path.write_bytes(_padded(start + head) + data)
    return path


def _text(value: str) -> bytes:
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def _value(kind: int, value: Any) -> bytes:
    if kind == _STRING:
        return _text(value)
    if kind == _ARRAY:
        inner, items = value
        return struct.pack("<IQ", inner, len(items)) + b"".join(_value(inner, item) for item in items)
    return struct.pack({_UINT32: "<I", _INT32: "<i", _FLOAT32: "<f"}[kind], value)


def _padded(raw: bytes) -> bytes:
    return raw + b"\0" * (-len(raw) % 32)
