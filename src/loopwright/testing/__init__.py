"""What tests of agent graphs need: fakes, graders that always say no, crashes, a clock, assertions, contract suites.

Public, for the tests of users too; see ``docs/testing.md``. Nothing here reaches a network. Names are imported when
they are first used, so that the pytest plug-in costs nothing where it is not used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from loopwright.testing.bounds import assert_bounded
    from loopwright.testing.chat import Call, Reply, ScriptedChatModel, always
    from loopwright.testing.chat_model_contract import ChatModelContract
    from loopwright.testing.checkpointer_contract import CheckpointerContract
    from loopwright.testing.clocks import ManualClock
    from loopwright.testing.crashing import CrashInjector, InjectedCrash
    from loopwright.testing.graders import AlwaysNo
    from loopwright.testing.processes import ProcessResult, run_in_process
    from loopwright.testing.stopping import Stopped, aassert_stops, assert_stops
    from loopwright.testing.store_contract import StoreContract

__all__ = [
    "AlwaysNo",
    "Call",
    "ChatModelContract",
    "CheckpointerContract",
    "CrashInjector",
    "InjectedCrash",
    "ManualClock",
    "ProcessResult",
    "Reply",
    "ScriptedChatModel",
    "Stopped",
    "StoreContract",
    "aassert_stops",
    "always",
    "assert_bounded",
    "assert_stops",
    "run_in_process",
]

_MODULES = {
    "bounds": ("assert_bounded",),
    "chat": ("Call", "Reply", "ScriptedChatModel", "always"),
    "chat_model_contract": ("ChatModelContract",),
    "checkpointer_contract": ("CheckpointerContract",),
    "clocks": ("ManualClock",),
    "crashing": ("CrashInjector", "InjectedCrash"),
    "graders": ("AlwaysNo",),
    "processes": ("ProcessResult", "run_in_process"),
    "store_contract": ("StoreContract",),
    "stopping": ("Stopped", "aassert_stops", "assert_stops"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
