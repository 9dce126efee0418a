"""The quality tools that a text names."""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

from loopwright.errors import UnknownNameError
from loopwright.workflows.iqa.tools.deep.catalogue import PREFIX
from loopwright.workflows.iqa.tools.deep.finding import find_tool, hint, spelt_out
from loopwright.workflows.iqa.tools.registry import all_tools, get_tool
from loopwright.workflows.iqa.tools.tool import plain

WELL_KNOWN_METRICS = frozenset(
    "ahiq arniqa bliinds butteraugli ckdn clipiqa cnniqa cornia cwssim dbcnn diivine dists dreamsim fid fsim "
    "fsimc haarpsi hdrvdp hyperiqa ifc ilniqe iwssim liqe lpips maniqa mse msssim mssim musiq nima nlpd nrqm paq2piq "
    "pieapp psnrb psnrhvs qalign rmse srsim ssimulacra ssimulacra2 stlpips topiq uqi vif vifp vmaf vsi "
    "wadiqam".split()
)
"""Published quality metrics, without punctuation: one that is not registered must not pass in silence."""

_ORDINARY_WORDS = frozenset("entropy mad pi tres unique".split())
"""Metrics of pyiqa that small letters do not name: "with unique colours"."""

_NO_METRICS = frozenset(
    "AI AVIF BMP CCTV CMYK CPU DNG DPI DSLR EXIF FR GIF GPS GPU HDR HEIC HEIF ICC IQA ISO JPEG JPEG2000 JPG LED MCQ "
    "MOS NR PDF PNG PPI RAW RGB SDR TIF TIFF USB UHD UV WEBP".split()
)
"""Capitals that people write beside "use" and "with", and that are no tool."""

_TOKEN = re.compile(rf"{PREFIX}[A-Za-z][\w+-]*|[A-Za-z][A-Za-z0-9]*(?:[-_+]+[A-Za-z0-9]+)*\+?", re.I)
_NAME = r"([A-Za-z][\w+-]*(?::[A-Za-z][\w+-]*)?)"
_REQUEST = re.compile(rf"\b(?:use|using|run|running|apply|compute|calculate)\s+(?:the\s+|an?\s+)?{_NAME}", re.I)
_WITH = re.compile(rf"\b(?:with|via|by)\s+(?:the\s+)?{_NAME}", re.I)
_MEASURING = re.compile(r"\b(?:rate|score|measure|assess|evaluate|compare|check|test|quality)\b", re.I)


class _Mention(NamedTuple):
    """A place in a text that names a tool."""

    start: int
    end: int
    tool: str


def named_tools(text: str) -> list[str]:
    """The quality tools that a text names, in any case and punctuation, in order.

    Where pyiqa is installed, its metrics are among them: written as ``pyiqa:NAME``, or by a name that nothing embedded
    has and that is a well-known one, is spelt as pyiqa spells it, or is asked for ("use qualiclip").

    Args:
        text: Any text, for example a query without its answer options.

    Returns:
        Different registered names.

    Raises:
        UnknownNameError: If the text asks for a tool that there is not: a published metric ("LPIPS"), an acronym after
            "use" or "compute", or a misspelt name ("use pnsr").
    """
    return list(dict.fromkeys(mention.tool for mention in _mentions(text)))


def _mentions(text: str) -> list[_Mention]:
    """All places that name a tool, those that are only known by a request for them last."""
    named = list(_named_by_words(text))
    return [*named, *_requests(text, {mention.start for mention in named})]


def _named_by_words(text: str) -> Iterator[_Mention]:
    """The tools that single words name, in order."""
    tokens = list(_TOKEN.finditer(text))
    position = 0
    while position < len(tokens):
        tool, length = _tool_at([token[0] for token in tokens[position : position + 2]])
        if tool is not None:
            yield _Mention(tokens[position].start(), tokens[position + length - 1].end(), tool)
        position += length


def _tool_at(words: list[str]) -> tuple[str | None, int]:
    """The tool that the first word names, alone or with the second, if any; and how many words were read."""
    registered, single = _registered(), words[0]
    if plain(single) not in registered and (spelt := spelt_out(single)):
        return spelt.name, 1
    if single.lower().startswith(PREFIX):
        return get_tool(single).name, 1
    parts = re.split(r"[-_+]", single)
    # The longer name first: "MS-SSIM-based" is not about SSIM.
    joined = [*map("".join, pairwise(parts)), *parts]
    for candidate, length in (("".join(words), len(words)), (single, 1), *((part, 1) for part in joined)):
        name = plain(candidate)
        if name in registered:
            return registered[name], length
        if name in WELL_KNOWN_METRICS:
            written = " ".join(words[:length])
            return (find_tool(written) or find_tool(candidate) or get_tool(written)).name, length
    return None, 1


def _requests(text: str, read: set[int]) -> Iterator[_Mention]:
    """The metrics of pyiqa that a text asks for by a name that alone says little.

    Args:
        text: The text.
        read: Where words begin that name a tool anyway.

    Raises:
        UnknownNameError: If it asks for what seems to be a tool and is none.
    """
    registered = _registered()
    shouting = text == text.upper()
    patterns = (_REQUEST, _WITH) if _MEASURING.search(text) else (_REQUEST,)
    for pattern in patterns:
        for match in pattern.finditer(text):
            name, word = match[1], plain(match[1])
            known = match.start(1) in read or any(part in registered for part in (word, *_parts(name)))
            if known or name.upper() in _NO_METRICS:
                continue
            acronym = len(word) >= 3 and sum(letter.isupper() for letter in name) >= 2 and not shouting
            deep = find_tool(name) if acronym or word not in _ORDINARY_WORDS else None
            if deep is not None:
                yield _Mention(match.start(1), match.end(1), deep.name)
            elif acronym or any(_misspelt(word, tool) for tool in registered):
                raise UnknownNameError("tool", name, [tool.name for tool in all_tools()], hint=hint(name))


@functools.cache
def _registered() -> Mapping[str, str]:
    return {plain(tool.name): tool.name for tool in all_tools()}


def _parts(name: str) -> list[str]:
    return [plain(part) for part in re.split(r"[-_+]", name)]


def _misspelt(word: str, tool: str) -> bool:
    """Whether a word is a tool's name with letters swapped, doubled or missing."""
    if abs(len(word) - len(tool)) > 1 or len(tool) < 4:
        return False
    return sorted(word) == sorted(tool) or difflib.SequenceMatcher(None, word, tool).ratio() > 0.8
