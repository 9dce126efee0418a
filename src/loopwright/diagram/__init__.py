"""Pictures of a graph whose arrows show the limits of its loops: Mermaid, SVG and PNG, all without network."""

from loopwright.diagram.drawing import png, svg
from loopwright.diagram.flowchart import mermaid, save_mermaid, shown_nodes

__all__ = ["mermaid", "png", "save_mermaid", "shown_nodes", "svg"]
