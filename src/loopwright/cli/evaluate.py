"""``loopwright evaluate``."""

from __future__ import annotations

import logging
import sys
from contextlib import closing, redirect_stdout
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from loopwright.cli.run import Settings, settings_of
from loopwright.cli.serve import DATA, Data, Runs, as_it_is, own_graph
from loopwright.cli.words import AsJson, ConfigFile, shown_count
from loopwright.errors import InputError
from loopwright.workflows import registry


def evaluate(
    name: Annotated[str, typer.Argument(help="The workflow.", show_default=False)],
    questions: Annotated[Path, typer.Argument(help="JSONL: id, the workflow's input, expected.", readable=False)],
    without_loops: Annotated[
        bool, typer.Option("--without-loops", help="Ask again without each loop: what it brings, and costs.")
    ] = False,
    limit: Annotated[int | None, typer.Option(min=1, help="Only so many questions.", show_default=False)] = None,
    at_once: Annotated[int, typer.Option(min=1, help="Questions that are asked at the same time.")] = 4,
    keep: Annotated[
        str | None,
        typer.Option(
            metavar="VERSION",
            help="Ask with the models and prompts chosen on the page, and keep the outcomes for it under this name.",
        ),
    ] = None,
    prompts: Annotated[
        list[str] | None,
        typer.Option("--prompt", metavar="PROMPT=N", help="With --keep: a version of a prompt.", show_default=False),
    ] = None,
    config: ConfigFile = None,
    overrides: Settings = None,
    data: Data = DATA,
    runs: Runs = None,
    as_json: AsJson = False,
) -> None:
    """Measure a workflow on questions with known answers: figures with intervals, and what each loop brings."""
    from loopwright.workflows.evaluation import evaluate as measured

    versions = dict(map(_version, prompts or ()))
    if keep is not None and not keep.strip():
        raise InputError("--keep names no version: call it what was changed, for example --keep 'prompt 3'")
    if versions and keep is None:
        raise InputError("--prompt goes with --keep: versions of prompts are kept with the runs")
    if not find_spec("scipy"):  # said before questions are asked, and paid for
        raise InputError("the intervals of figures need scipy: pip install scipy")
    given = config, settings_of(overrides)
    shown = sys.stderr.isatty() and not as_json
    with (
        redirect_stdout(sys.stderr),  # what its code prints is no part of the figures
        closing(
            registry.load(name).open(*given) if name in registry.names() else as_it_is(own_graph(name), *given)
        ) as workflow,
        shown_count("questions", shown) as progress,
    ):
        if all(handler.level > logging.INFO for handler in logging.getLogger().handlers):
            # What single runs warn of, the figures tell; --verbose shows it all the same.
            logging.getLogger("loopwright").setLevel(logging.ERROR)
        ask = partial(
            measured, workflow, questions, without_loops=without_loops, limit=limit, at_once=at_once,
            on_progress=progress,
        )  # fmt: skip
        if keep is None:
            found = ask()
        else:
            from loopwright.runs.preparing import kept_evaluation
            from loopwright.runs.store import open_runs

            with closing(open_runs(runs or f"sqlite:{data / 'runs.db'}")) as store:
                found = kept_evaluation(store, workflow, ask, questions.stem, keep.strip(), versions)
    print(found.as_json() if as_json else found.table())


def _version(given: str) -> tuple[str, int]:
    prompt, _equals, version = given.partition("=")
    if not (prompt and version.isdecimal()):
        raise InputError(f"--prompt is {given!r}: give PROMPT=N, a prompt and the number of its version")
    return prompt, int(version)
