"""``loopwright assistant serve``."""

from __future__ import annotations

from loopwright.cli.assistant.options import Store
from loopwright.cli.rag.options import ConfigFile
from loopwright.cli.serve import DATA, Cors, Data, Host, Port, Token, add_assistant, loading, reserved, run


def serve(
    host: Host = "127.0.0.1",
    port: Port = 8000,
    token: Token = None,
    cors: Cors = None,
    data: Data = DATA,
    store: Store = None,
    config: ConfigFile = None,
) -> None:
    """Serve the assistant alone over HTTP, its events as they happen, until it is told to stop."""
    with reserved(host, port, token) as served:
        loading("the assistant")
        add_assistant(served, config, store)
        run(served, host, port, token, cors or (), data=data, rates=(6000, 3000))
