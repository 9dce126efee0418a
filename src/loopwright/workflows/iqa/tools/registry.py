"""Which quality tools there are, what each is good at, and which to choose for a question."""

from __future__ import annotations

from collections.abc import Iterable

from loopwright.errors import UnknownNameError
from loopwright.workflows.iqa.distortions import Distortion, kind_of, parse_distortion
from loopwright.workflows.iqa.schemas import ReferenceMode
from loopwright.workflows.iqa.tools.blind.brisque import brisque
from loopwright.workflows.iqa.tools.blind.features import NAME as BLIND_SCORE
from loopwright.workflows.iqa.tools.blind.gaussian_model import blind_score
from loopwright.workflows.iqa.tools.blind.piqe import piqe
from loopwright.workflows.iqa.tools.deep import HINT, PREFIX, deep_tool
from loopwright.workflows.iqa.tools.full_reference import (
    fsimc,
    gmsd,
    haarpsi,
    mdsi,
    ms_ssim,
    psnr,
    ssim,
    vif,
    vsi,
)
from loopwright.workflows.iqa.tools.niqe import niqe
from loopwright.workflows.iqa.tools.tool import COST_PIXELS, Tool, plain

_ARTEFACTS = frozenset({Distortion.BLURS, Distortion.COMPRESSION, Distortion.SPATIAL})

# In order of measured agreement with people within each reference mode; the order breaks ties in `select_tools`.
_TOOLS = (
    Tool(
        name="MDSI",
        reference=ReferenceMode.FULL,
        higher_is_better=False,
        strengths=_ARTEFACTS | {Distortion.NOISE, Distortion.COLOR},
        cost_ms=2.5,
        compute=mdsi,
        source="Nafchi, Shahkolaei, Hedjam, Cheriet: IEEE Access 4, 2016",
        primary=True,
    ),
    Tool(
        name="VSI",
        reference=ReferenceMode.FULL,
        higher_is_better=True,
        strengths=_ARTEFACTS | {Distortion.NOISE, Distortion.COLOR},
        cost_ms=11.5,
        compute=vsi,
        source="L. Zhang, Shen, Li: IEEE Transactions on Image Processing 23(10), 2014",
    ),
    Tool(
        name="HaarPSI",
        reference=ReferenceMode.FULL,
        higher_is_better=True,
        strengths=_ARTEFACTS | {Distortion.NOISE},
        cost_ms=5.0,
        compute=haarpsi,
        source="Reisenhofer, Bosse, Kutyniok, Wiegand: Signal Processing: Image Communication 61, 2018",
    ),
    Tool(
        name="FSIMc",
        reference=ReferenceMode.FULL,
        higher_is_better=True,
        strengths=_ARTEFACTS | {Distortion.NOISE, Distortion.COLOR},
        cost_ms=18.0,
        compute=fsimc,
        source="L. Zhang, L. Zhang, Mou, D. Zhang: IEEE Transactions on Image Processing 20(8), 2011",
    ),
    Tool(
        name="GMSD",
        reference=ReferenceMode.FULL,
        higher_is_better=False,
        strengths=_ARTEFACTS | {Distortion.NOISE},
        cost_ms=0.8,
        compute=gmsd,
        source="Xue, Zhang, Mou, Bovik: IEEE Transactions on Image Processing 23(2), 2014",
    ),
    Tool(
        name="MS-SSIM",
        reference=ReferenceMode.FULL,
        higher_is_better=True,
        strengths=_ARTEFACTS,
        cost_ms=4.0,
        compute=ms_ssim,
        source="Wang, Simoncelli, Bovik: Asilomar Conference on Signals, Systems and Computers, 2003",
    ),
    Tool(
        name="VIFp",
        reference=ReferenceMode.FULL,
        higher_is_better=True,
        strengths=_ARTEFACTS | {Distortion.NOISE},
        cost_ms=7.0,
        compute=vif,
        source="Sheikh, Bovik: IEEE Transactions on Image Processing 15(2), 2006",
    ),
    Tool(
        name="SSIM",
        reference=ReferenceMode.FULL,
        higher_is_better=True,
        strengths=_ARTEFACTS,
        cost_ms=1.0,
        compute=ssim,
        source="Wang, Bovik, Sheikh, Simoncelli: IEEE Transactions on Image Processing 13(4), 2004",
    ),
    Tool(
        name="PSNR",
        reference=ReferenceMode.FULL,
        higher_is_better=True,
        strengths=_ARTEFACTS | {Distortion.NOISE},
        cost_ms=0.05,
        compute=psnr,
        source="10 log10(255^2 / mean squared error) over the three channels",
        unit="dB",
    ),
    Tool(
        name=BLIND_SCORE,
        reference=ReferenceMode.NONE,
        higher_is_better=True,
        strengths=frozenset({Distortion.BLURS, Distortion.NOISE, Distortion.SPATIAL}),
        cost_ms=22.0,
        compute=blind_score,
        source="our own regression, trained by scripts/train_blind.py on BIQ2021 (train split) and TID2013 (rebuilt)",
        primary=True,
    ),
    Tool(
        name="BRISQUE",
        reference=ReferenceMode.NONE,
        higher_is_better=False,
        strengths=_ARTEFACTS,
        cost_ms=7.0,
        compute=brisque,
        source="Mittal, Moorthy, Bovik: IEEE Transactions on Image Processing 21(12), 2012",
    ),
    Tool(
        name="NIQE",
        reference=ReferenceMode.NONE,
        higher_is_better=False,
        strengths=_ARTEFACTS,
        cost_ms=11.0,
        compute=niqe,
        source="Mittal, Soundararajan, Bovik: IEEE Signal Processing Letters 20(3), 2013",
    ),
    Tool(
        name="PIQE",
        reference=ReferenceMode.NONE,
        higher_is_better=False,
        strengths=_ARTEFACTS,
        cost_ms=3.0,
        compute=piqe,
        source="Venkatanath, Praneeth, Chandrasekhar, Channappayya, Medasani: NCC, 2015",
    ),
)


def all_tools() -> tuple[Tool, ...]:
    """Every embedded tool, those with a reference first, each group in order of measured agreement with people."""
    return _TOOLS


def primary_tool(reference_mode: ReferenceMode) -> Tool:
    """The tool whose score is the answer when nothing speaks for another one."""
    return next(tool for tool in _TOOLS if tool.primary and tool.reference is reference_mode)


def get_tool(name: str) -> Tool:
    """The tool of a name.

    Args:
        name: An embedded one's, whose case, spaces and punctuation do not matter, or ``pyiqa:NAME``.

    Raises:
        UnknownNameError: If there is none of that name.
        ConfigError: If it is pyiqa's, which cannot be imported.
    """
    if name.strip().lower().startswith(PREFIX):
        return deep_tool(name)
    tool = embedded_tool(name)
    if tool is None:
        raise UnknownNameError("tool", name, [tool.name for tool in _TOOLS], hint=HINT)
    return tool


def embedded_tool(name: str) -> Tool | None:
    """The embedded tool of a name, or None.

    Args:
        name: As for `get_tool`.
    """
    return next((tool for tool in _TOOLS if plain(tool.name) == plain(name)), None)


def select_tools(
    distortions: Iterable[str],
    reference_mode: ReferenceMode,
    *,
    exclude: Iterable[str] = (),
    budget_ms: float | None = None,
    limit: int = 3,
    pixels: int = COST_PIXELS,
) -> list[Tool]:
    """The tools to run: the primary one first, then those that are good at the named distortions.

    Only tools of the given reference mode are chosen: with a reference, a tool that ignores it would be the poorer
    witness and could only contradict the better ones.

    Args:
        distortions: Kinds or sub-types, in any known spelling; naming one twice changes nothing.
        reference_mode: Whether there is a reference.
        exclude: Names of tools that must not be chosen, for example because they failed.
        budget_ms: The most milliseconds that the chosen tools may take together, on one thread; a tool that no longer
            fits is passed over. None for no bound.
        limit: The most tools to choose.
        pixels: The number of pixels of the image, for the budget.

    Returns:
        Different tools, at most `limit`; empty if none is left.

    Raises:
        UnknownNameError: If a distortion, or an excluded tool is unknown.
    """
    kinds = {kind_of(parse_distortion(name)) for name in distortions}
    unwanted = {get_tool(name).name for name in exclude}
    candidates = [t for t in _TOOLS if t.reference is reference_mode and t.name not in unwanted]
    candidates.sort(key=lambda tool: (not tool.primary, -len(kinds & tool.strengths)))
    chosen: list[Tool] = []
    spent = 0.0
    for tool in candidates:
        cost = tool.cost_ms * (pixels / COST_PIXELS)
        if len(chosen) < limit and (budget_ms is None or spent + cost <= budget_ms):
            chosen.append(tool)
            spent += cost
    return chosen
