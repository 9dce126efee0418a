"""A graph as a picture: its Mermaid text, drawn by Mermaid itself inside this process, without network and browser."""

import importlib.util
from html import escape
from typing import Any

from loopwright.diagram.flowchart import arrows, mermaid
from loopwright.engine.proof.graph import Topology
from loopwright.errors import LoopwrightError

_LOOP = "stroke:#b3450b,stroke-width:2px"
_CONFIG = {"flowchart": {"useMaxWidth": False}, "maxEdges": 1_000_000, "maxTextSize": 100_000_000}
_CLEAR, _WHITE = "background-color: transparent", "background-color: white"


def svg(topology: Topology) -> str:
    """Draw a graph as a complete SVG document that refers to nothing outside itself.

    Loops are drawn as labelled arrows; gates and hidden nodes are not shown.

    Raises:
        LoopwrightError: The package mermaidx is not installed.
    """
    return str(_drawn(topology).svg()).replace(_CLEAR, _WHITE, 1)  # its dark lines would vanish on a dark page


def png(topology: Topology) -> bytes:
    """Draw a graph as a PNG file, as `svg` draws it, with two pixels of the picture for each pixel of the drawing.

    The letters are those of the font that mermaidx brings; use `svg` for names in other scripts than it has.
    """
    return _drawn(topology).png(scale=2, background="white")


def _drawn(topology: Topology) -> Any:
    try:
        import mermaidx
    except ImportError as error:
        raise LoopwrightError(
            "a picture needs the package mermaidx, which is not installed: pip install 'loopwright[diagram]'. "
            "The format mermaid needs nothing more."
        ) from error
    loops = [str(number) for number, arrow in enumerate(arrows(topology)) if arrow.loop]
    style = f"    linkStyle {','.join(loops)} {_LOOP}\n" if loops else ""
    return mermaidx.render(mermaid(topology) + style, config=_CONFIG)


def shown(graph: Any) -> dict[str, str]:
    """A bounded graph as a notebook shows it: its picture, or its Mermaid text without mermaidx, and the proof."""
    drawn, proof = graph.topology(), graph.certificate._repr_mimebundle_()  # pyright: ignore[reportPrivateUsage]
    text = mermaid(drawn)
    picture = svg(drawn) if importlib.util.find_spec("mermaidx") else f"<pre>{escape(text)}</pre>"
    return {"text/plain": f"{text}\n{proof['text/plain']}", "text/html": f"<div>{picture}{proof['text/html']}</div>"}
