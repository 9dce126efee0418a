"""``loopwright worker``: works on the runs that servers on the same PostgreSQL were asked for."""

import sys
from contextlib import ExitStack
from typing import Annotated

import typer

from loopwright.cli.serve import DATA, Data, Lease, loading, opened, require_known
from loopwright.cli.words import ConfigFile

Runs = Annotated[
    str,
    typer.Option(
        "--runs", envvar="LOOPWRIGHT_RUNS", show_envvar=True,
        help="Where runs are kept: postgresql://..., as for `loopwright serve --runs`.",
    ),
]  # fmt: skip
Workflows = Annotated[
    str | None,
    typer.Option(
        metavar="A,B", show_default=False,
        help="What to work on: names, MODULE:GRAPH or FILE.py, separated by commas; by default what is installed.",
    ),
]  # fmt: skip
Concurrency = Annotated[int, typer.Option(min=1, help="Runs that go on at the same time.")]
Grace = Annotated[
    float, typer.Option(min=0, help="Seconds for supersteps to end once it is told to stop; up to 10 more follow.")
]
Host = Annotated[str, typer.Option(help="The address for --port; who reaches it needs no token.")]
Port = Annotated[
    int | None, typer.Option(min=1, max=65535, show_default=False, help="A port to give figures for Prometheus on.")
]


def worker(
    runs: Runs,
    concurrency: Concurrency = 10,
    workflows: Workflows = None,
    config: ConfigFile = None,
    data: Data = DATA,
    lease: Lease = 6.0,
    grace: Grace = 15.0,
    host: Host = "127.0.0.1",
    port: Port = None,
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
            workflows=served, settings=ServerSettings(data=data), runs=runs, max_running=concurrency,
            lease=lease, allowances=WorkflowConfig.load(config).allowances,
        )  # fmt: skip
        names = ", ".join(sorted(hosted.name for hosted in served))
        told = f"working on {names}; stop with Ctrl-C"
        work(serving, grace, lambda: print(told, file=sys.stderr), (host, port) if port else None)
