"""From bytes to text, whatever the encoding: whole files, and lines in bounded memory."""

import codecs
import re
from collections.abc import Iterable, Iterator

from loopwright.workflows.files.source import Source

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
_LATIN = [_WESTERN, "cp1250", "cp1254", "cp1258"]
_FEW = 0.4
_PRINTABLE = 0.95
_SAMPLE_BYTES = 64 * 1024


def text_of(source: Source, data: bytes) -> str:
    """The text of a whole file with single line feeds as line ends; broken characters become U+FFFD.

    Raises:
        DocumentError: If it is no text.
    """
    encoding = _encoding(source, data, data.splitlines())
    return data.decode(encoding, errors="replace").replace("\r\n", "\n").replace("\r", "\n")


def text_lines(source: Source) -> Iterator[tuple[int, str]]:
    """The lines of a text file, with their ends, and their numbers from 1; one that is too long is told and left out.

    Raises:
        DocumentError: If the file is empty, or no text.
    """
    most = source.limits.record_bytes
    with source.path.open("rb") as raw:
        if not (head := raw.read(_SAMPLE_BYTES)):
            raise source.error("is empty")
        raw.seek(0)
        encoding = _encoding(source, head, iter(lambda: raw.readline(most), b""))
    with source.path.open(encoding=encoding, errors="replace", newline="") as file:
        number = 0
        while line := file.readline(most):
            number += 1
            if len(line) < most or line.endswith("\n"):
                yield number, line
                continue
            problem = f"the line has more than {most} characters, the limit record_bytes; split it"
            source.left_out(source.error(problem, key=str(number)))
            while (rest := file.readline(most)) and not rest.endswith("\n"):
                pass


def _encoding(source: Source, head: bytes, lines: Iterable[bytes]) -> str:
    """A byte order mark decides; else UTF-8 if at least as many lines beyond ASCII are so as are not; else a guess."""
    has_nul = b"\x00" in head
    for mark, name in _MARKS:
        if head.startswith(mark):
            # With two bytes or more for a character, NUL bytes are not what they seem.
            if has_nul and name == "utf-8-sig":
                break
            return name
    for high, low, name in ((head[1::2], head[::2], "utf-16-le"), (head[::2], head[1::2], "utf-16-be")):
        if len(head) > 15 and high.count(0) > len(high) / 2 and 0 not in low:
            text = head.decode(name, errors="ignore")
            if sum(each.isprintable() or each.isspace() for each in text) > _PRINTABLE * len(text):  # else numbers
                return name
    if has_nul:
        raise source.error("is not text: it has NUL bytes; check what kind of file it is")
    sample, valid, broken = b"", 0, 0
    for line in lines:
        try:
            valid += not line.isascii() and bool(line.decode())
        except UnicodeDecodeError:
            broken += 1
            sample += line[:_SAMPLE_BYTES] if len(sample) < _SAMPLE_BYTES else b""
    return "utf-8" if valid >= broken else _guess(sample)


def _guess(sample: bytes) -> str:
    from charset_normalizer import from_bytes

    # Words of other scripts are runs of such bytes, or of some that are no Western letters and any other in turn; a
    # pound sign or an accent would pass for half a Chinese character.
    runs = b"".join(re.findall(rb"[\x80-\xff]{3,}|(?:[\x80-\xbf][\x40-\xff]){2,}", sample))
    beyond, within = (sum(byte > 127 for byte in each) for each in (sample, runs))
    latin = beyond < _FEW * len(sample) and within < beyond / 2
    matches = from_bytes(sample, cp_isolation=_LATIN if latin else _CANDIDATES)
    best = matches.best()
    # Pounds and yen, elsewhere Ł and Ą; what has these has ł, ą or ż too.
    if best is None or (latin and re.search(rb"[\xa3\xa5]\d", sample) and not re.search(rb"[\xb3\xb9\xbf]", sample)):
        return _WESTERN
    # Short French or German fits Central European just as well, and is far more frequent.
    western = next((match for match in matches if match.encoding == _WESTERN), None)
    if western and best.encoding == "cp1250" and (western.chaos, western.coherence) == (best.chaos, best.coherence):
        return _WESTERN
    return best.encoding
