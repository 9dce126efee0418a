"""The workflows over HTTP: questions in, events out as they happen."""

from loopwright.server.app import create_app
from loopwright.server.serving import serve

__all__ = ["create_app", "serve"]
