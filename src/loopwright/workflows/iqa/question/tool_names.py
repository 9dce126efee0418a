"""The quality tools that a text names."""

import re
from itertools import pairwise

from loopwright.config import shipped
from loopwright.errors import UnknownNameError
from loopwright.workflows.iqa.question.vocabulary import misspelt
from loopwright.workflows.iqa.tools.registry import all_tools, get_tool, plain

WELL_KNOWN_METRICS = frozenset(shipped("loopwright.workflows.iqa", "data/names.yaml")["metrics"].split())
"""Published quality metrics, without punctuation: one that is not registered must not pass in silence."""

_REGISTERED = {plain(tool.name): tool.name for tool in all_tools()}
_TOKEN = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-_+]+[A-Za-z0-9]+)*\+?", re.I)


def named_tools(text: str) -> list[str]:
    """The quality tools that a text names, in any case and punctuation, by registered name, once each, in order.

    Raises:
        UnknownNameError: If the text names a published metric that there is not ("LPIPS"), or misspells one ("pnsr").
    """
    tokens = [token[0] for token in _TOKEN.finditer(text)]
    found: list[str] = []
    position = 0
    while position < len(tokens):
        tool, length = _tool_at(tokens[position : position + 2])
        if tool is not None:
            found.append(tool)
        position += length
    return list(dict.fromkeys(found))


def known_tools(text: str) -> list[str]:
    """As `named_tools`, of a part of a query; what is no tool is told by who reads the whole."""
    try:
        return named_tools(text)
    except UnknownNameError:
        return []


def _tool_at(words: list[str]) -> tuple[str | None, int]:
    """The tool that the first word names, alone or with the second, if any; and how many words were read."""
    single = words[0]
    parts = re.split(r"[-_+]", single)
    # The longer name first: "MS-SSIM-based" is not about SSIM.
    joined = [*map("".join, pairwise(parts)), *parts]
    for candidate, length in (("".join(words), len(words)), (single, 1), *((part, 1) for part in joined)):
        name = plain(candidate)
        if name in _REGISTERED:
            return _REGISTERED[name], length
        # Letters swapped, or in a long name doubled or lost; "vision" is no VSI.
        misspelt_one = any(len(tool) > 3 and misspelt(name, tool, whole=True) for tool in _REGISTERED)
        if name in WELL_KNOWN_METRICS or misspelt_one:
            return get_tool(" ".join(words[:length])).name, length
    return None, 1
