"""The pytest plug-in: ``assert_bounded``, ``scripted_model`` and ``no_model_requests`` in every test.

It imports nothing of LangGraph until one of them is used, so that it does not slow down other tests.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from loopwright.engine import Certificate
    from loopwright.testing import ScriptedChatModel

BLOCK_MODELS = "loopwright_block_models"
CHECK = "--loopwright-check"

pytest.register_assert_rewrite("loopwright.testing.chat_model_contract", "loopwright.testing.checkpointer_contract")


@pytest.fixture
def assert_bounded() -> Callable[..., Certificate]:
    """Assert that every cycle of a graph is bounded: `loopwright.testing.assert_bounded`."""
    from loopwright.testing import assert_bounded

    return assert_bounded


@pytest.fixture
def scripted_model() -> type[ScriptedChatModel]:
    """Make a chat model that replies from a script: `loopwright.testing.ScriptedChatModel`."""
    from loopwright.testing import ScriptedChatModel

    return ScriptedChatModel


@pytest.fixture
def no_model_requests() -> Generator[None]:
    """Block, for this test, every request of a model that a `ModelRegistry` makes."""
    from loopwright.models import allow_model_requests

    with allow_model_requests(False):
        yield


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    parser.addini(BLOCK_MODELS, "Block requests of Loopwright's models in every test.", type="bool", default=False)
    parser.getgroup("loopwright").addoption(
        CHECK, action="append", default=[], metavar="MODULE:GRAPH", dest="loopwright_check",
        help="Test too that every cycle of this graph is bounded (may be given again).",
    )  # fmt: skip


def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Block models where the configuration says so, and add the graphs of the command line."""
    if config.getini(BLOCK_MODELS):
        for item in items:
            names: list[str] = getattr(item, "fixturenames", [])
            if "no_model_requests" not in names:
                names.insert(0, "no_model_requests")
    targets: list[str] = config.getoption("loopwright_check", default=[]) or []
    items += [BoundedItem.from_parent(session, name=target) for target in targets]


class BoundedItem(pytest.Item):
    """A test that a graph, named as ``MODULE:GRAPH``, is bounded."""

    def runtest(self) -> None:
        """Import the graph and prove it."""
        from loopwright.testing import assert_bounded

        try:
            graph = pkgutil.resolve_name(self.name)
        except (ImportError, AttributeError, ValueError) as error:
            raise pytest.UsageError(f"{CHECK} {self.name}: no such graph ({error}); give MODULE:GRAPH") from error
        assert_bounded(graph)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *args: Any, **kwargs: Any) -> Any:
        """Show what was found, without a traceback."""
        if isinstance(excinfo.value, AssertionError | pytest.UsageError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, *args, **kwargs)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """How the test is called."""
        return self.path, None, f"bounded: {self.name}"
