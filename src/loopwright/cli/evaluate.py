"""``loopwright evaluate``."""

from __future__ import annotations

import logging
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from loopwright.cli.run import Settings, settings_of
from loopwright.cli.words import AsJson, ConfigFile, printable, shown_count
from loopwright.errors import InputError
from loopwright.workflows import registry

if TYPE_CHECKING:
    from loopwright.workflows.api import Workflow


def evaluate(
    name: Annotated[str, typer.Argument(help="The workflow.", show_default=False)],
    questions: Annotated[
        Path, typer.Argument(help="JSONL: id, the workflow's input, expected.", readable=False, show_default=False)
    ],
    without_loops: Annotated[
        bool, typer.Option("--without-loops", help="Ask again without each loop: what it brings, and costs.")
    ] = False,
    limit: Annotated[int | None, typer.Option(min=1, help="Only so many questions.", show_default=False)] = None,
    at_once: Annotated[int, typer.Option(min=1, help="Questions that are asked at the same time.")] = 4,
    config: ConfigFile = None,
    overrides: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Measure a workflow on questions with known answers: figures with intervals, and what each loop brings."""
    from loopwright.workflows.evaluation import evaluate as measured

    shown = sys.stderr.isatty() and not as_json
    with (
        closing(_opened(name, config, settings_of(overrides))) as workflow,
        shown_count("questions", shown) as progress,
    ):
        if all(handler.level > logging.INFO for handler in logging.getLogger().handlers):
            # What single runs warn of, the figures tell; --verbose shows it all the same.
            logging.getLogger("loopwright").setLevel(logging.ERROR)
        found = measured(
            workflow,
            questions,
            without_loops=without_loops,
            limit=limit,
            at_once=at_once,
            on_progress=progress,
        )
    print(printable(found.as_json() if as_json else found.table()))


def _opened(name: str, config: Path | None, overrides: dict[str, Any]) -> Workflow[Any]:
    """A workflow by its name, or a graph of the user's own by its place."""
    if name in registry.names():
        return registry.load(name).open(config, overrides)
    from loopwright.check.loading import load_graphs
    from loopwright.workflows.user_graph import UserGraph

    registry.place_of(name)
    found = load_graphs(name)
    if len(found) > 1:
        raise InputError(f"{name} holds several graphs: give one of {', '.join(found)}")
    return UserGraph(*next(iter(found.items())))
