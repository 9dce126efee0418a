"""``loopwright iqa tools``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from loopwright.workflows.iqa.tools.registry import Tool


def tools(
    deep: Annotated[
        bool, typer.Option("--deep", help="List the metrics of pyiqa, if it is installed: non-commercial licence.")
    ] = False,
) -> None:
    """List the quality tools."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    if deep:
        table, said = _deep()
        console.print(table)
        console.print(said, markup=False)
    else:
        console.print(_embedded())


def _embedded() -> Table:
    from loopwright.workflows.iqa.tools.registry import all_tools

    table = _table("tool", "needs", "better", "about ms", "strong at")
    for tool in all_tools():
        strengths = ", ".join(sorted(kind.value for kind in tool.strengths))
        name = f"{tool.name} (primary)" if tool.primary else tool.name
        table.add_row(name, *_kind(tool), f"{tool.cost_ms:g}", strengths)
    return table


def _deep() -> tuple[Table, str]:
    """The metrics of pyiqa as a table, and what its reader must know."""
    from loopwright.errors import ConfigError
    from loopwright.workflows.iqa.tools.deep.catalogue import INSTALL, LICENCE, TERMS, installed_version
    from loopwright.workflows.iqa.tools.deep.finding import deep_tools

    version = installed_version()
    if version is None:
        raise ConfigError(f"pyiqa is not installed (its licence: {LICENCE}): {INSTALL}")
    table = _table("tool", "needs", "better", "values, as pyiqa states them")
    for tool, metric in deep_tools():
        table.add_row(tool.name, *_kind(tool), metric.range)
    said = (
        f"pyiqa {version}. {TERMS}. None runs unless a question, --tools or a plan names it; a name that no embedded "
        "tool has goes without the prefix too. Weights are fetched at the first use. A score of 1 to 5 needs a curve: "
        "loopwright iqa calibrate."
    )
    return table, said


def _table(*headings: str) -> Table:
    from rich.table import Table

    table = Table(box=None, padding=(0, 2))
    for heading in headings:
        table.add_column(heading)
    return table


def _kind(tool: Tool) -> tuple[str, str]:
    needs = "a reference" if tool.reference.value == "Full-Reference" else "the image"
    return needs, "higher" if tool.higher_is_better else "lower"
