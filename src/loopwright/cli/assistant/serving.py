"""``loopwright assistant serve``."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from loopwright.cli.assistant.options import Store, conference
from loopwright.cli.rag.options import ConfigFile


def serve(
    host: Annotated[str, typer.Option(help="The address to listen on; other machines reach it only with a token.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port to listen on; 0 takes a free one.")] = 8000,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="LOOPWRIGHT_TOKEN", show_envvar=True, show_default=False,
            help="The bearer token that every request must carry, but those for health.",
        ),
    ] = None,
    cors: Annotated[
        list[str] | None, typer.Option(help="An origin whose pages may use the server.", show_default=False)
    ] = None,
    store: Store = None,
    config: ConfigFile = None,
) -> None:  # fmt: skip
    """Serve the assistant over HTTP, its events as they happen, until it is told to stop."""
    from loopwright.server import serve as run
    from loopwright.workflows.assistant.pipeline import warm_up

    def started(address: str) -> None:
        print(f"listening on {address}; stop with Ctrl-C", file=sys.stderr)

    with conference(config, store) as services:
        warm_up(services)
        run(services, host, port, token, cors or (), started=started)
