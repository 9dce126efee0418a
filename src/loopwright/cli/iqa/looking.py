"""``loopwright iqa tools``."""

from __future__ import annotations


def tools() -> None:
    """List the quality tools."""
    from rich.console import Console
    from rich.table import Table

    from loopwright.workflows.iqa.tools.registry import all_tools

    table = Table(box=None, padding=(0, 2))
    for heading in ("tool", "needs", "better", "about ms", "strong at"):
        table.add_column(heading)
    for tool in all_tools():
        needs = "a reference" if tool.reference.value == "Full-Reference" else "the image"
        better = "higher" if tool.higher_is_better else "lower"
        strengths = ", ".join(sorted(kind.value for kind in tool.strengths))
        name = f"{tool.name} (primary)" if tool.primary else tool.name
        table.add_row(name, needs, better, f"{tool.cost_ms:g}", strengths)
    Console(highlight=False, soft_wrap=True).print(table)
