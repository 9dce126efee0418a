"""Small models and a hub on loopback, and the real models where they are."""

import hashlib
from collections.abc import Mapping
from contextlib import AbstractContextManager
from importlib.util import find_spec
from pathlib import Path

import pytest
from loopback import LoopbackServer, QuietHandler, listening

from loopwright.models.embedded.catalogue import KNOWN, KnownModel, Published, WeightFile
from loopwright.models.embedded.resolving import Weights

ROOT = Path(__file__).resolve().parents[2]
MODELS = ROOT / ".models"
CHAT = "qwen2.5-coder-1.5b-instruct"


def real(name: str, fetched_by: str = "scripts/fetch_test_models") -> Weights:
    """A model of .models/; skips the test where it is absent."""
    if not (MODELS / name / KNOWN[name].files[0].name).exists():
        pytest.skip(f"{name} is not in .models/: run {fetched_by}")
    return Weights(KNOWN[name], {file.name: MODELS / name / file.name for file in KNOWN[name].files})


def local_chat() -> str:
    """A real chat model inside the test's process, as a configuration names it; skips without the runtime, too."""
    if find_spec("xllamacpp") is None:
        pytest.skip("xllamacpp is not installed: pip install 'loopwright[local]'")
    (path,) = real(CHAT, "scripts/fetch_test_models --chat").files.values()
    return f"local:{path}"


def lay(folder: Path, model: KnownModel) -> Path:
    """Files of the right names and sizes, full of zeros and taking no space on the disk."""
    place = folder / model.name
    place.mkdir(parents=True)
    for file in model.files:
        with (place / file.name).open("wb") as stream:
            stream.truncate(file.bytes)
    return place


def published(contents: Mapping[str, bytes]) -> KnownModel:
    """A model made of these files, which the hub below can serve."""
    files = tuple(
        WeightFile(file, len(data), hashlib.sha256(data).hexdigest(), f"onnx/{file}") for file, data in contents.items()
    )
    return KnownModel("tiny", "embedding", "owner/trained", "MIT", files, Published("owner/tiny", "a" * 40))


class Hub(LoopbackServer):
    """Speaks enough of the hub's protocol for a download: HEAD with the file's identity, GET with ranges."""

    def __init__(self, contents: Mapping[str, bytes]) -> None:
        super().__init__(HubHandler)
        self.contents = dict(contents)
        self.requests: list[tuple[str, str, str | None]] = []
        self.tokens: list[str | None] = []
        self.cuts = 0
        """So many times a GET breaks off in the middle."""
        self.status = 200


class HubHandler(QuietHandler):
    server: Hub

    def do_GET(self) -> None:
        asked = self.headers.get("Range")
        self.server.requests.append((self.command, self.path, asked))
        self.server.tokens.append(self.headers.get("Authorization"))
        data = self.server.contents.get(self.path)
        if self.server.status != 200 or data is None:
            self.send_body(self.server.status if self.server.status != 200 else 404, b"", "text/plain")
            return
        start = int(asked.removeprefix("bytes=").partition("-")[0]) if asked else 0
        self.send_response(206 if asked else 200)
        self.send_header("ETag", f'"{hashlib.sha256(data).hexdigest()}"')
        self.send_header("X-Repo-Commit", "a" * 40)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(len(data) - start))
        if asked:
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        self.end_headers()
        if self.command == "HEAD":
            return
        end = len(data)
        if self.server.cuts:
            self.server.cuts -= 1
            self.close_connection = True
            end = start + (len(data) - start) // 2
        self.wfile.write(data[start:end])

    do_HEAD = do_GET


def hub(contents: Mapping[str, bytes]) -> AbstractContextManager[Hub]:
    """A hub in a thread of its own that serves these files of `published`'s repository."""
    files = {f"/owner/tiny/resolve/{'a' * 40}/onnx/{name}": data for name, data in contents.items()}
    return listening(Hub(files))
