"""``loopwright iqa``: assess images."""

from __future__ import annotations

import typer

from loopwright.workflows.iqa.commands import assess, table, versus
from loopwright.workflows.iqa.commands.assess import path_taken

__all__ = ["app", "path_taken"]

app = typer.Typer(help="Assess image quality: planner, executor, summarizer, replanning.", no_args_is_help=True)
app.command()(assess.assess)
app.command()(table.batch)
app.command()(versus.compare)


@app.command()
def tools() -> None:
    """List the quality tools."""
    from rich.console import Console
    from rich.table import Table

    from loopwright.workflows.iqa.tools.registry import all_tools

    table = Table(box=None, padding=(0, 2))
    for heading in ("tool", "needs", "better", "about ms", "strong at"):
        table.add_column(heading)
    for tool in all_tools():
        table.add_row(
            f"{tool.name} (primary)" if tool.primary else tool.name,
            "a reference" if tool.reference.value == "Full-Reference" else "the image",
            "higher" if tool.higher_is_better else "lower",
            f"{tool.cost_ms:g}",
            ", ".join(sorted(kind.value for kind in tool.strengths)),
        )
    Console(highlight=False, soft_wrap=True).print(table)
