"""Fakes for testing graphs without a network: public, for users too."""

from __future__ import annotations

from loopwright.testing.chat import Call, Reply, ScriptedChatModel, always

__all__ = ["Call", "Reply", "ScriptedChatModel", "always"]
