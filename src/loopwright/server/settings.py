"""How much the server takes, from whom how often, and where it keeps it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from loopwright.workflows.api import Workflow, upload_fields

MEGABYTE = 2**20
"""Bytes in a megabyte, as the messages count them."""


@dataclass(frozen=True, kw_only=True)
class ServerSettings:
    """How much the server takes, from whom how often, and where it keeps it."""

    data: Path = Path(".loopwright")
    """The folder for uploaded files and documents."""
    request_bytes: int = MEGABYTE
    """The largest request body that holds no file."""
    body_seconds: float = 30.0
    """The time that a request's body may take to come, besides what its size needs on a slow connection."""
    upload_bytes: int = 50 * MEGABYTE
    """The largest uploaded file."""
    ingest_files: int = 50
    """Documents of one request that brings several."""
    ingest_bytes: int = 200 * MEGABYTE
    """The largest request that brings several documents."""
    kept_bytes: int = 5_000 * MEGABYTE
    """Bytes of all uploaded files and documents together; a further one is refused."""
    arriving_bytes: int = 1_000 * MEGABYTE
    """Bytes of requests with files that are worked on at the same time; a further one has to come again."""
    free_bytes: int = 200 * MEGABYTE
    """Bytes of the disk that stay free; a file that would take from them is refused."""
    upload_pixels: int = 100_000_000
    """The largest picture that is decoded."""
    decoding_seconds: float = 30.0
    """The longest that the decoding of a picture may take, in wall time."""
    decoding_bytes: int = 2_048 * MEGABYTE
    """The address space of the process that decodes a picture."""
    reads_per_minute: int = 6000
    """Requests of one client that change nothing; 0 for no limit."""
    starts_per_minute: int = 3000
    """Requests of one client that start or change something; 0 for no limit."""
    guesses_per_minute: int = 20
    """Requests with a wrong token that one address may send; 0 for no limit."""

    file_paths: Mapping[str, int] = field(default_factory=dict[str, int])
    """Path whose requests bring files -> the largest body there."""

    def taking_files_of(self, workflows: Iterable[Workflow[Any]]) -> Self:
        """The same, with the paths where files are taken: uploads, and those of workflows."""
        paths = {"/uploads": self.upload_bytes}
        for hosted in workflows:
            paths |= dict.fromkeys(hosted.file_routes, self.ingest_bytes)
            if files := len(upload_fields(hosted.Input)):
                paths[f"/workflows/{hosted.name}/run"] = files * self.upload_bytes
        # A multipart body says besides each file what it is.
        return replace(self, file_paths={path: most + self.request_bytes for path, most in paths.items()})

    def body_bytes(self, path: str) -> int:
        """The largest request body for a path; a slash too many at its end is no matter of size."""
        return self.file_paths.get(path.rstrip("/"), self.request_bytes)
