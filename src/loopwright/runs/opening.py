"""What a hub finds in its store when it opens: models that people chose, and runs that a shutdown interrupted."""

from __future__ import annotations

import logging

from loopwright.errors import ConfigError
from loopwright.runs.driving import SHUTDOWN
from loopwright.runs.schemas import RunFilter
from loopwright.runs.store.protocol import RunStore
from loopwright.workflows.hosting import Hosted

logger = logging.getLogger(__name__)

_PAGE = 200
"""Runs that are read at once."""


def assign_models(store: RunStore, hosted: Hosted) -> None:
    """Give a workflow's nodes the chat models that people chose; one that cannot be used is passed over. Blocks.

    Args:
        store: Where the choices are kept.
        hosted: The workflow.
    """
    if hosted.models is None:
        return
    for node, model in store.assignments(hosted.name).items():
        try:
            hosted.models.assign(node, model)
        except ConfigError as error:
            logger.warning("the model chosen for %s of %s is not used: %s", node, hosted.name, error)


def shut_down(store: RunStore) -> list[str]:
    """The runs that a stopping server interrupted. Blocks.

    Args:
        store: Where runs are kept.
    """
    found: list[str] = []
    before: str | None = None
    while True:
        page = store.list(RunFilter(status="interrupted"), _PAGE, before)
        kept = [store.get(run.id) for run in page.runs]
        found += [run.id for run in kept if run and run.error_type == SHUTDOWN]
        if page.next is None:
            return found
        before = page.next
