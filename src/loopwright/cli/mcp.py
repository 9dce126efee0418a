"""``loopwright mcp``: proofs of graphs, and every workflow, as tools of an MCP host."""

import asyncio
import sys
from contextlib import ExitStack, suppress
from typing import Annotated

import typer

from loopwright.cli import serve
from loopwright.cli.words import ConfigFile


def mcp(
    targets: serve.Targets = None,
    http: Annotated[
        int | None,
        typer.Option(
            min=0, max=65535, metavar="PORT", show_default=False,
            help="Serve by streamable HTTP on this port of 127.0.0.1 instead (0: a free one), at /mcp.",
        ),
    ] = None,
    config: ConfigFile = None,
) -> None:  # fmt: skip
    """Serve an MCP host over standard input and output: check_graph, certificate, and each workflow as a tool."""
    from loopwright.mcp import serve_http, serve_stdio

    def started(address: str) -> None:
        print(f"listening on {address}; stop with Ctrl-C", file=sys.stderr, flush=True)

    with ExitStack() as exits, suppress(KeyboardInterrupt):
        opened = serve.opened(exits, targets, config, any_number=True)
        asyncio.run(serve_stdio(opened) if http is None else serve_http(opened, http, started))
