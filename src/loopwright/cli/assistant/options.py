"""The options that several ``assistant`` commands share, and what is opened from them."""

from __future__ import annotations

import logging
import sys
from collections.abc import Generator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from loopwright.errors import InputError

if TYPE_CHECKING:
    from loopwright.workflows.assistant.config import AssistantConfig
    from loopwright.workflows.assistant.services import Services

Store = Annotated[
    str | None,
    typer.Option(
        "--store", "-s", show_default=False,
        help="Where the conference lies: sqlite:FILE or postgres://...; by default assistant.store.",
    ),
]  # fmt: skip
Now = Annotated[
    str | None,
    typer.Option(
        "--now", help="The moment of asking, as 2025-02-01T14:00:00+01:00; by default now.", show_default=False
    ),
]
Mode = Literal["none", "mechanical", "reflection"]
"""The retry modes of the workflow, here so that the help needs no LangGraph."""
GivenMode = Annotated[
    Mode | None,
    typer.Option("--mode", help="What follows a poor search; by default as configured.", show_default=False),
]


def load_config(file: Path | None, overrides: dict[str, Any] | None = None) -> AssistantConfig:
    """Read the configuration, with what the command line says over it.

    Args:
        file: The file that was named.
        overrides: Values by dotted key; None leaves the file's value.
    """
    from loopwright.workflows.assistant.config import AssistantConfig

    given = {key: value for key, value in (overrides or {}).items() if value is not None}
    return AssistantConfig.load(file, given)


def quiet_loops() -> None:
    """Leave warnings about reached bounds out, which answers and figures tell in words, unless all is to be logged."""
    if all(handler.level > logging.INFO for handler in logging.getLogger().handlers):
        logging.getLogger("loopwright.loops").setLevel(logging.ERROR)


@contextmanager
def conference(file: Path | None, store: str | None) -> Generator[Services]:
    """Services over the conference that is configured.

    Where none is named and none was read, that is the made-up conference of the package, and standard error says so.

    Args:
        file: The configuration that was named.
        store: The store that was named.

    Raises:
        InputError: If the store holds no conference.
        StoreError: If the store that is named is not there.
    """
    from loopwright.workflows.assistant.conference.catalogue import current
    from loopwright.workflows.assistant.services import Services

    config = load_config(file, {"assistant.store": store})
    quiet_loops()
    usual = store is None and config.assistant.store == type(config.assistant).model_fields["store"].default
    if not usual or Path(config.assistant.store.partition(":")[2]).exists():
        with Services.of(config) as services:
            if current(services.store).info is not None:
                yield services
                return
        if not usual:
            raise InputError("the store holds no conference: run `loopwright assistant ingest SCHEDULE` first")
    from loopwright.workflows.assistant.conference.sample import sample_store

    print(
        "no conference was read yet: this is the sample; `loopwright assistant ingest SCHEDULE` reads yours",
        file=sys.stderr,
    )
    with sample_store() as sample, Services.of(config, store=sample) as services:
        yield services


def moment_of(now: str | None) -> datetime | None:
    """The moment of asking.

    Args:
        now: As the command line has it.

    Raises:
        InputError: If it is no ISO time.
    """
    from loopwright.workflows.assistant.reasons import moment

    return moment(now)
