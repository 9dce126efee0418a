"""The distortions and the tools that a text names."""

from __future__ import annotations

import difflib
import re
from itertools import pairwise

from loopwright.errors import UnknownNameError
from loopwright.workflows.iqa.distortions import ALIASES, Distortion, known_distortions, parse_distortion
from loopwright.workflows.iqa.tools.registry import all_tools, get_tool

QUESTION_WORDS: dict[str, str] = {
    **dict.fromkeys(("in focus", "focused", "focussed", "miss focus", "missed focus", "miss the focus"), "blurs"),
    **dict.fromkeys(("soft", "softer", "softness", "unsharp", "blurrier"), "blurs"),
    **{f"{need} {what}": "blurs" for need in ("need", "needs") for what in ("sharpening", "more sharpening")},
    **dict.fromkeys(("noisier", "grainier"), "noise"),
    **dict.fromkeys(("darker", "dim"), "underexposure"),
    **dict.fromkeys(("brighter", "blown"), "overexposure"),
    **dict.fromkeys(("crisp", "sharper"), "sharpness"),
    "sharper than": "oversharpening",
    "washed out": "low contrast",
    "blocky": "jpeg",
    "shaky": "motion blur",
}
"""Words of questions that ask about a distortion and are no name of it: a photograph in focus is free of blur."""

WELL_KNOWN_METRICS = frozenset(
    "ahiq arniqa bliinds butteraugli ckdn clipiqa cnniqa cornia cwssim dbcnn diivine dists dreamsim fid fsim "
    "fsimc haarpsi hdrvdp hyperiqa ifc ilniqe iwssim liqe lpips maniqa mse msssim mssim musiq nima nlpd nrqm paq2piq "
    "pieapp psnrb psnrhvs qalign rmse srsim ssimulacra ssimulacra2 stlpips topiq uqi vif vifp vmaf vsi "
    "wadiqam".split()
)
"""Published quality metrics, without punctuation: one that is not registered must not pass in silence."""

_NO_METRICS = frozenset(
    "AI AVIF BMP CCTV CMYK CPU DNG DPI DSLR EXIF FR GIF GPS GPU HDR HEIC HEIF ICC IQA ISO JPEG JPEG2000 JPG LED MCQ "
    "MOS NR PDF PNG PPI RAW RGB SDR TIF TIFF USB UHD UV WEBP".split()
)
"""Capitals that people write beside "use" and "with", and that are no tool."""

_PLACES = r"(?= (?:areas?|regions?|parts?|zones?|corners?|tones?|spots?|background|clothes))"
_FORMAT = r"(?= (?:image|photo|photograph|picture|file|version|format|copy|encoder|codec)s?\b)"
_GUARDS = {
    # "noise in the dark areas" names a place, "this JPEG image" a format, "what colour is the car" neither.
    "dark": rf"(?!{_PLACES})",
    "flat": rf"(?!{_PLACES})",
    "sharp": rf"(?!{_PLACES})",
    "dim": rf"(?!{_PLACES})",
    "soft": rf"(?!{_PLACES}| (?:light|lighting|shadows?|colou?rs?|toys?|drinks?|furnishings?|skin|fur)\b)",
    "jpeg": rf"(?! 2000)(?!{_FORMAT})",
    "jpeg2000": rf"(?!{_FORMAT})",
    "jpeg 2000": rf"(?!{_FORMAT})",
    "color": "(?! (?:is|are|photo|image|picture|film))",
    "colour": "(?! (?:is|are|photo|image|picture|film))",
}
_BARE_FORMAT = re.compile(
    r"\b(?:this|that|the|my|our|your|a) (?:jpeg ?2000|jpeg|jp2k)\b"
    r"(?! (?:art[ie]fact|block|compress|damage|degrad|distort|noise|ringing))"
)

_NAMES = sorted({*ALIASES, *known_distortions(), *QUESTION_WORDS}, key=len, reverse=True)


def _pattern(name: str) -> str:
    plural = "" if name.endswith("s") else "s?"
    return f"({re.escape(name)}){plural}{_GUARDS.get(name, '')}"


_NAMED = re.compile(rf"\b(?:{'|'.join(map(_pattern, _NAMES))})\b")

_TOKEN = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-_+][A-Za-z0-9]+)*")
_REQUEST = re.compile(r"\b(?:use|using|run|running|apply|compute|calculate)\s+(?:the\s+|an?\s+)?([A-Za-z][\w-]*)", re.I)
_WITH = re.compile(r"\b(?:with|via|by)\s+(?:the\s+)?([A-Za-z][\w-]*)", re.I)
_MEASURING = re.compile(r"\b(?:rate|score|measure|assess|evaluate|compare|check|test|quality)\b", re.I)


def spoken(text: str) -> str:
    """A text in the form that words are looked up in: small letters, one space between words, no hyphens."""
    return re.sub(r"[\s_\-/‐-―]+", " ", text.lower().replace("’", "'")).strip()


def named_distortions(text: str) -> list[str]:
    """The distortions that a text names, as whole words, in order.

    A question about sharpness is a question about blur as well, so "sharp" gives both.

    Args:
        text: Any text, for example a query without its answer options.

    Returns:
        Different canonical names.
    """
    words = _BARE_FORMAT.sub(" ", spoken(text))
    names: list[str] = []
    for match in _NAMED.finditer(words):
        word = next(group for group in match.groups() if group)
        name = parse_distortion(QUESTION_WORDS.get(word, word))
        names += [name, Distortion.BLURS.value] if name == Distortion.SHARPNESS else [name]
    return list(dict.fromkeys(names))


def named_tools(text: str) -> list[str]:
    """The quality tools that a text names, in any case and punctuation, in order.

    Args:
        text: Any text, for example a query without its answer options.

    Returns:
        Different registered names.

    Raises:
        UnknownNameError: If the text asks for a tool that is not registered: a published metric ("LPIPS"), an
            acronym after "use" or "compute", or a misspelt name ("use pnsr").
    """
    registered = {_plain(tool.name): tool.name for tool in all_tools()}
    names: list[str] = []
    tokens = _TOKEN.findall(text)
    position = 0
    while position < len(tokens):
        pair, single = "".join(tokens[position : position + 2]), tokens[position]
        parts = re.split(r"[-_+]", single)
        # The longer name first: "MS-SSIM-based" is not about SSIM.
        joined = [*map("".join, pairwise(parts)), *parts]
        for candidate, length in ((pair, 2), (single, 1), *((part, 1) for part in joined)):
            plain = _plain(candidate)
            if plain in registered:
                names.append(registered[plain])
            elif plain in WELL_KNOWN_METRICS:
                get_tool(" ".join(tokens[position : position + length]))
            else:
                continue
            position += length
            break
        else:
            position += 1
    _refuse_unknown_requests(text, set(registered))
    return list(dict.fromkeys(names))


def _refuse_unknown_requests(text: str, registered: set[str]) -> None:
    shouting = text == text.upper()
    patterns = (_REQUEST, _WITH) if _MEASURING.search(text) else (_REQUEST,)
    for pattern in patterns:
        for match in pattern.finditer(text):
            name, plain = match[1], _plain(match[1])
            if plain in registered or name.upper() in _NO_METRICS or any(p in registered for p in _parts(name)):
                continue
            acronym = len(plain) >= 3 and sum(letter.isupper() for letter in name) >= 2 and not shouting
            if acronym or any(_misspelt(plain, tool) for tool in registered):
                raise UnknownNameError("tool", name, [tool.name for tool in all_tools()])


def _parts(name: str) -> list[str]:
    return [_plain(part) for part in re.split(r"[-_+]", name)]


def _misspelt(word: str, tool: str) -> bool:
    """Whether a word is a tool's name with letters swapped, doubled or missing."""
    if abs(len(word) - len(tool)) > 1 or len(tool) < 4:
        return False
    return sorted(word) == sorted(tool) or difflib.SequenceMatcher(None, word, tool).ratio() > 0.8


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).lower()
