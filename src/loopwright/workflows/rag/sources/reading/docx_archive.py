"""Whether the archive of a DOCX may be unpacked: its size, its honesty, and no entities."""

from __future__ import annotations

import copy
from zipfile import ZipFile, ZipInfo

from loopwright.workflows.files.source import MEGABYTE, Source

# Below this no ratio is dangerous, and templates compress well.
_HARMLESS_BYTES = 10 * MEGABYTE
_CHUNK_BYTES = 1 << 16
# Parts of a DOCX declare nothing (ECMA-376, part 2, 8.1.4); they may be in UTF-16.
_CODES = ("ascii", "utf-16-le", "utf-16-be")
_DECLARATIONS = tuple(text.encode(code) for text in ("<!DOCTYPE", "<!ENTITY") for code in _CODES)
_LONGEST = max(map(len, _DECLARATIONS))


def check_archive(source: Source, archive: ZipFile, packed_bytes: int) -> None:
    """Refuse an archive that unpacks to too much, to more than it says, or that declares entities.

    Raises:
        DocumentError: If it is refused.
    """
    limits = source.limits
    members = archive.infolist()
    unpacked = sum(member.file_size for member in members)
    if unpacked > limits.unpacked_bytes:
        raise source.error(
            f"unpacks to {unpacked / MEGABYTE:.1f} MB; at most {limits.unpacked_bytes / MEGABYTE:.1f} MB are read, "
            "the limit unpacked_bytes"
        )
    if unpacked > max(_HARMLESS_BYTES, packed_bytes * limits.unpacked_ratio):
        raise source.error(
            f"grows {unpacked / packed_bytes:.0f} times by unpacking; at most {limits.unpacked_ratio} times is read, "
            "the limit unpacked_ratio"
        )
    for member in members:
        _check_member(source, archive, member)


def _check_member(source: Source, archive: ZipFile, member: ZipInfo) -> None:
    # A stream is cut at the size that the directory gives, after it was unpacked; one byte more shows what follows.
    asked = copy.copy(member)
    asked.file_size += 1
    is_xml = member.filename.lower().endswith((".xml", ".rels"))
    size = 0
    tail = b""
    with archive.open(asked) as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            size += len(chunk)
            seen = tail + chunk
            if is_xml and any(declaration in seen for declaration in _DECLARATIONS):
                raise source.error(f"declares XML entities in {member.filename}, which no DOCX may")
            tail = seen[-_LONGEST:]
    if size != member.file_size:
        raise source.error(
            f"its archive says that {member.filename} has {member.file_size} bytes, which is not so; it is damaged"
        )
