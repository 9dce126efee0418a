"""From bytes to text, whatever the encoding."""

from __future__ import annotations

import codecs
from collections.abc import Iterable

# The longer marks first: UTF-32 begins like UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# What texts are found in, apart from UTF-8; without this choice short texts are taken for rare encodings.
_CANDIDATES = [
    *("cp1252", "cp874", "gb18030", "big5", "shift_jis", "euc_jp", "euc_kr", "cp1250", "cp1251", "koi8_r", "cp1253"),
    *("cp1254", "cp1255", "cp1256", "cp1258"),
]
_WESTERN = "cp1252"
_SAMPLE_BYTES = 64 * 1024


def encoding_of(head: bytes, lines: Iterable[bytes]) -> str:
    """The encoding of a text.

    A byte order mark decides; else it is UTF-8 if at least as many lines beyond ASCII are valid UTF-8 as are not, so
    that a single broken line does not spoil the others; else charset-normalizer decides from the lines that are not.

    Args:
        head: The first four bytes.
        lines: All lines.

    Returns:
        Its Python name.
    """
    for mark, name in _MARKS:
        if head.startswith(mark):
            return name
    valid = broken = 0
    sample = b""
    for line in lines:
        if line.isascii():
            continue
        try:
            line.decode()
            valid += 1
        except UnicodeDecodeError:
            broken += 1
            if len(sample) < _SAMPLE_BYTES:
                sample += line[:_SAMPLE_BYTES]
    return "utf-8" if valid >= broken else _guess(sample)


def decode(data: bytes) -> str | None:
    """The text of a whole file with single line feeds as line ends; None if it is no text.

    Broken characters become U+FFFD.

    Args:
        data: The file's bytes.
    """
    encoding = encoding_of(data[:4], data.splitlines())
    if b"\x00" in data and not is_wide(encoding):
        return None
    return data.decode(encoding, errors="replace").replace("\r\n", "\n").replace("\r", "\n")


def is_wide(encoding: str) -> bool:
    """Whether each character takes at least two bytes, so that NUL bytes and line ends are not what they seem."""
    return encoding in {"utf-16", "utf-32"}


def _guess(sample: bytes) -> str:
    from charset_normalizer import from_bytes

    matches = from_bytes(sample, cp_isolation=_CANDIDATES)
    best = matches.best()
    if best is None:
        return _WESTERN
    # Short French or German fits Central European just as well, and is far more frequent.
    western = next((match for match in matches if match.encoding == _WESTERN), None)
    if western and best.encoding == "cp1250" and (western.chaos, western.coherence) == (best.chaos, best.coherence):
        return _WESTERN
    return best.encoding
