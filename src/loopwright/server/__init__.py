"""The workflows over HTTP: runs begun, followed and kept, and the page for developers."""

from loopwright.server.app import create_app
from loopwright.server.serving import Serving, serve
from loopwright.server.settings import ServerSettings

__all__ = ["ServerSettings", "Serving", "create_app", "serve"]
