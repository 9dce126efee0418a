"""``loopwright worker``: works on the runs that servers on the same PostgreSQL were asked for."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from typing import Annotated

import typer

from loopwright.cli.serve import DATA, Data, loading, opened, require_known
from loopwright.cli.words import ConfigFile

Store = Annotated[
    str,
    typer.Option("--store", "--runs", help="Where runs are kept: postgresql://..., as for `loopwright serve --runs`."),
]
Workflows = Annotated[
    str | None,
    typer.Option(
        metavar="A,B", show_default=False,
        help="What to work on: names, MODULE:GRAPH or FILE.py, separated by commas; by default what is installed.",
    ),
]  # fmt: skip
Concurrency = Annotated[int, typer.Option(min=1, help="Runs that go on at the same time.")]
Lease = Annotated[
    float, typer.Option(min=1, help="Seconds without a sign of life after which others go on with its runs.")
]
Grace = Annotated[float, typer.Option(min=0, help="Seconds for supersteps to end once it is told to stop.")]


def worker(
    store: Store,
    concurrency: Concurrency = 10,
    workflows: Workflows = None,
    config: ConfigFile = None,
    data: Data = DATA,
    lease: Lease = 6.0,
    grace: Grace = 30.0,
) -> None:
    """Work on runs that servers on the same PostgreSQL were asked for, until told to stop; any number of these may."""
    targets = [word.strip() for word in workflows.split(",") if word.strip()] if workflows else None
    require_known(targets or ())
    with ExitStack() as exits:
        served = opened(exits, targets, config)
        loading("the run history")
        from loopwright.server import ServerSettings, Serving
        from loopwright.server.serving import work
        from loopwright.tracing import exporting
        from loopwright.workflows.sections import WorkflowConfig

        exits.enter_context(exporting())
        serving = Serving(
            workflows=served, settings=ServerSettings(data=data), runs=store, max_running=concurrency,
            lease=lease, allowances=WorkflowConfig.load(config).allowances,
        )  # fmt: skip
        names = ", ".join(sorted(hosted.name for hosted in served))
        work(serving, grace, lambda: print(f"working on {names}; stop with Ctrl-C", file=sys.stderr))
