"""The quality tools that a text names."""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Iterator, Mapping
from itertools import pairwise

from loopwright.errors import UnknownNameError
from loopwright.workflows.iqa.tools.registry import all_tools, get_tool
from loopwright.workflows.iqa.tools.tool import plain

WELL_KNOWN_METRICS = frozenset(
    "ahiq arniqa bliinds butteraugli ckdn clipiqa cnniqa cornia cwssim dbcnn diivine dists dreamsim fid fsim "
    "fsimc haarpsi hdrvdp hyperiqa ifc ilniqe iwssim liqe lpips maniqa mse msssim mssim musiq nima nlpd nrqm paq2piq "
    "pieapp piqe psnrb psnrhvs qalign rmse srsim ssimulacra ssimulacra2 stlpips topiq uqi vif vifp vmaf vsi "
    "wadiqam".split()
)
"""Published quality metrics, without punctuation: one that is not registered must not pass in silence."""

_NO_METRICS = frozenset(
    "AI AVIF BMP CCTV CMYK CPU DNG DPI DSLR EXIF FR GIF GPS GPU HDR HEIC HEIF ICC IQA ISO JPEG JPEG2000 JPG LED MCQ "
    "MOS NR PDF PNG PPI RAW RGB SDR TIF TIFF USB UHD UV WEBP".split()
)
"""Capitals that people write beside "use" and "with", and that are no tool."""

_TOKEN = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-_+]+[A-Za-z0-9]+)*\+?", re.I)
_NAME = r"([A-Za-z][\w+-]*(?::[A-Za-z][\w+-]*)?)"
_REQUEST = re.compile(rf"\b(?:use|using|run|running|apply|compute|calculate)\s+(?:the\s+|an?\s+)?{_NAME}", re.I)
_WITH = re.compile(rf"\b(?:with|via|by)\s+(?:the\s+)?{_NAME}", re.I)
_MEASURING = re.compile(r"\b(?:rate|score|measure|assess|evaluate|compare|check|test|quality)\b", re.I)


def named_tools(text: str) -> list[str]:
    """The quality tools that a text names, in any case and punctuation, in order.

    Returns:
        Different registered names.

    Raises:
        UnknownNameError: If the text asks for a tool that there is not: a published metric ("LPIPS"), an acronym after
            "use" or "compute", or a misspelt name ("use pnsr").
    """
    named = list(dict.fromkeys(_named(text)))
    _check_requests(text)
    return named


def known_tools(text: str) -> list[str]:
    """As `named_tools`, of a part of a query; what is no tool is told by who reads the whole."""
    try:
        return named_tools(text)
    except UnknownNameError:
        return []


def _named(text: str) -> Iterator[str]:
    tokens = [token[0] for token in _TOKEN.finditer(text)]
    position = 0
    while position < len(tokens):
        tool, length = _tool_at(tokens[position : position + 2])
        if tool is not None:
            yield tool
        position += length


def _tool_at(words: list[str]) -> tuple[str | None, int]:
    """The tool that the first word names, alone or with the second, if any; and how many words were read."""
    registered, single = _registered(), words[0]
    parts = re.split(r"[-_+]", single)
    # The longer name first: "MS-SSIM-based" is not about SSIM.
    joined = [*map("".join, pairwise(parts)), *parts]
    for candidate, length in (("".join(words), len(words)), (single, 1), *((part, 1) for part in joined)):
        name = plain(candidate)
        if name in registered:
            return registered[name], length
        if name in WELL_KNOWN_METRICS:
            return get_tool(" ".join(words[:length])).name, length
    return None, 1


def _check_requests(text: str) -> None:
    """Refuse what is asked for as a tool and is none."""
    registered = _registered()
    patterns = (_REQUEST, _WITH) if _MEASURING.search(text) else (_REQUEST,)
    for name in (match[1] for pattern in patterns for match in pattern.finditer(text)):
        word = plain(name)
        known = any(part in registered for part in (word, *map(plain, re.split(r"[-_+]", name))))
        if known or name.upper() in _NO_METRICS:
            continue
        shouting = text == text.upper()
        acronym = len(word) >= 3 and sum(letter.isupper() for letter in name) >= 2 and not shouting
        if acronym or any(_misspelt(word, tool) for tool in registered):
            raise UnknownNameError("tool", name, [tool.name for tool in all_tools()])


@functools.cache
def _registered() -> Mapping[str, str]:
    return {plain(tool.name): tool.name for tool in all_tools()}


def _misspelt(word: str, tool: str) -> bool:
    """Whether a word is a tool's name with letters swapped, doubled or missing."""
    if abs(len(word) - len(tool)) > 1 or len(tool) < 4:
        return False
    return sorted(word) == sorted(tool) or difflib.SequenceMatcher(None, word, tool).ratio() > 0.8
