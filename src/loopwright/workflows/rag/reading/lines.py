"""The lines of a file, one after the other, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from io import BufferedReader, TextIOWrapper

from loopwright.workflows.rag.reading.encodings import encoding_of, is_wide
from loopwright.workflows.rag.reading.source import Source

_HEAD_BYTES = 64 * 1024


def text_lines(source: Source, *, guess: bool) -> Iterator[tuple[int, str]]:
    """The lines of a text file with their numbers from 1; what is too long or wrongly encoded is told and left out.

    Args:
        source: The file.
        guess: Whether it may be in an encoding that only its content shows; else it is UTF-8 without a byte order mark.

    Returns:
        Number and line, with its line end.

    Raises:
        DocumentError: If the file is empty, too large, or no text.
    """
    source.check_size(source.limits.streamed_bytes)
    encoding = _encoding(source, guess)
    with source.path.open("rb") as file:
        # Only a wide encoding needs decoding before lines can be told apart; else a broken line spoils only itself.
        wide = is_wide(encoding)
        lines = TextIOWrapper(file, encoding=encoding, errors="replace") if wide else file
        for number, line in _bounded(lines, source):
            try:
                yield number, line if isinstance(line, str) else line.decode(encoding)
            except UnicodeDecodeError as error:
                source.left_out(source.error(f"is not valid {encoding}: {error.reason}", key=str(number)))


def _encoding(source: Source, guess: bool) -> str:
    """The encoding, from a first pass over the whole file in pieces where it must be guessed."""
    with source.path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
        if not head:
            raise source.error("is empty")
        file.seek(0)
        lines = iter(lambda: file.readline(source.limits.record_bytes), b"") if guess else ()
        encoding = encoding_of(head[:4], lines)
    if b"\x00" in head and not is_wide(encoding):
        raise source.error("is not text: it has NUL bytes; check what kind of file it is")
    return encoding


def _bounded(file: BufferedReader | TextIOWrapper, source: Source) -> Iterator[tuple[int, bytes | str]]:
    most = source.limits.record_bytes
    number = 0
    while line := file.readline(most):
        number += 1
        if len(line) < most or _is_whole(line):
            yield number, line
            continue
        source.left_out(
            source.error(f"the line has more than {most} bytes, the limit record_bytes; split it", key=str(number))
        )
        while (rest := file.readline(most)) and not _is_whole(rest):
            pass


def _is_whole(line: bytes | str) -> bool:
    return line[-1:] in {"\n", b"\n"}
