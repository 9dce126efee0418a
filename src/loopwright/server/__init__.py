"""The workflows over HTTP: runs begun, followed and kept, and the page for developers.

Names are imported when they are first used, so that an address can be had before the web framework is loaded.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from loopwright.server.app import create_app
    from loopwright.server.serving import Serving, serve
    from loopwright.server.settings import ServerSettings

__all__ = ["ServerSettings", "Serving", "create_app", "serve"]

_MODULES = {"ServerSettings": "settings", "Serving": "serving", "create_app": "app", "serve": "serving"}


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"loopwright.server.{_MODULES[name]}"), name)
    globals()[name] = value
    return value
