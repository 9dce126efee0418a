"""A real HTTP server on loopback that speaks SearXNG's JSON and Tavily's JSON, serves pages, and can misbehave."""

from __future__ import annotations

import json
import socket
import ssl
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from loopback import LoopbackServer, QuietHandler, listening


@dataclass(frozen=True)
class Reply:
    """What is sent, and how."""

    body: bytes = b""
    status: int = 200
    type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    claimed: int | None = None
    """The Content-Length, where it is not the body's."""
    silent: bool = False
    """Take the request and close without a word."""


def as_json(value: Any, **options: Any) -> Reply:
    return Reply(json.dumps(value).encode(), **options)


def page(html: str, **options: Any) -> Reply:
    return Reply(html.encode(), **{"type": "text/html; charset=utf-8", **options})


def redirect(location: str, body: bytes = b"", status: int = 302) -> Reply:
    return Reply(body, status=status, headers={"Location": location})


@dataclass(frozen=True)
class Asked:
    """A request as it came."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes
    peer: str


class SearchServer(LoopbackServer):
    """Answers ``GET /search?format=json`` as SearXNG and ``POST /search`` as Tavily, from ``results``.

    ``replies`` are sent instead, one for each request to ``/search``; ``pages`` are served by path. With ``tls`` it is
    also a proxy that answers every CONNECT itself, with the page of the path that is then asked for.
    """

    block_on_close = False

    def __init__(self, tls: ssl.SSLContext | None) -> None:
        super().__init__(Handler)
        self.results: list[dict[str, Any]] = []
        self.unresponsive: list[Any] = []
        self.replies: deque[Reply] = deque()
        self.pages: dict[str, Reply] = {}
        self.requests: list[Asked] = []
        self.connects: list[str] = []
        self.tls = tls

    @property
    def url(self) -> str:
        return self.address


class Handler(QuietHandler):
    server: SearchServer

    def do_GET(self) -> None:
        self.answer(b"")

    def do_POST(self) -> None:
        self.answer(self.rfile.read(int(self.headers["Content-Length"])))

    def do_CONNECT(self) -> None:
        assert self.server.tls is not None
        self.server.connects.append(self.path)
        self.send_response_only(200)
        self.end_headers()
        self.wfile.flush()
        self.connection = self.request = self.server.tls.wrap_socket(self.connection, server_side=True)
        self.setup()
        self.handle_one_request()
        self.wfile.flush()
        self.connection.close()
        self.close_connection = True

    def answer(self, body: bytes) -> None:
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        asked = Asked(self.command, parts.path, query, dict(self.headers), body, self.client_address[0])
        self.server.requests.append(asked)
        self.send(self.reply_to(asked))

    def reply_to(self, asked: Asked) -> Reply:
        if asked.path in self.server.pages:
            return self.server.pages[asked.path]
        if not asked.path.endswith("/search"):
            return Reply(b"no such page", status=404, type="text/plain")
        if self.server.replies:
            return self.server.replies.popleft()
        if asked.method == "POST":
            wanted = json.loads(asked.body)
            found = self.server.results[: wanted["max_results"]]
            return as_json({"query": wanted["query"], "results": found, "response_time": 0.1})
        return as_json(
            {
                "query": asked.query["q"],
                "number_of_results": 0,
                "results": self.server.results,
                "answers": [],
                "unresponsive_engines": self.server.unresponsive,
            }
        )

    def send(self, reply: Reply) -> None:
        if reply.silent:
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
            return
        self.send_response(reply.status)
        self.send_header("Content-Type", reply.type)
        length = len(reply.body) if reply.claimed is None else reply.claimed
        self.send_header("Content-Length", str(length))
        for name, text in reply.headers.items():
            self.send_header(name, text)
        self.end_headers()
        with suppress(BrokenPipeError, ConnectionResetError):  # the client may have read enough
            self.wfile.write(reply.body)


@contextmanager
def searching(tls: ssl.SSLContext | None = None) -> Iterator[SearchServer]:
    """A server in a thread of its own."""
    with listening(SearchServer(tls)) as server:
        yield server


def closed_port() -> int:
    """A port of loopback where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def certificate(folder: Path, host: str) -> tuple[ssl.SSLContext, str]:
    """A server's TLS context for a host, and the PEM file of the authority that signed its certificate."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    now = datetime.now(UTC)
    authority_key, host_key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    authority = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "Test authority")])

    def builder(subject: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        unsigned = x509.CertificateBuilder(issuer_name=authority, subject_name=subject, public_key=key.public_key())
        unsigned = unsigned.serial_number(x509.random_serial_number())
        return unsigned.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))

    root = builder(authority, authority_key).add_extension(x509.BasicConstraints(True, 0), critical=True)
    named = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, host)])
    leaf = builder(named, host_key).add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
    pem = serialization.Encoding.PEM
    (folder / "authority.pem").write_bytes(root.sign(authority_key, hashes.SHA256()).public_bytes(pem))
    (folder / "host.pem").write_bytes(
        leaf.sign(authority_key, hashes.SHA256()).public_bytes(pem)
        + host_key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "host.pem")
    return context, str(folder / "authority.pem")
