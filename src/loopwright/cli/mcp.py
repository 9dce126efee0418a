"""``loopwright mcp``: proofs of graphs, and every workflow, as tools of an MCP host."""

import signal
import sys
from contextlib import ExitStack, redirect_stdout, suppress
from io import TextIOWrapper
from typing import Annotated, cast

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
    from loopwright.server.listening import reserve
    from loopwright.workflows.runtime import to_its_end

    with ExitStack() as exits, suppress(KeyboardInterrupt):
        listener = None if http is None else exits.enter_context(reserve("127.0.0.1", http))
        with redirect_stdout(sys.stderr):  # what imported code prints is no part of the protocol
            opened = serve.opened(exits, targets, config, any_number=True)
        if listener is None:
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # a thread that waits for input would hold up any other end
            # What nodes print goes to standard error while mcp has the pipe, and into the pipe if it is kept till then.
            cast("TextIOWrapper", sys.stdout).reconfigure(line_buffering=True)
            return to_its_end(serve_stdio(opened))
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
        print(f"listening on {address}; stop with Ctrl-C", file=sys.stderr, flush=True)
        to_its_end(serve_http(opened, listener))
