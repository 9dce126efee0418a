"""What models were asked: the unit in which budgets are counted, and the shape of a price table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from langchain_core.messages import AIMessage, BaseMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Spent model calls and tokens. Values add with ``+``; ``Usage()`` is zero."""

    calls: int = 0
    """Model calls that were sent, the failed ones too."""
    input_tokens: int = 0
    """Tokens of the prompts, as the providers counted them."""
    output_tokens: int = 0
    """Tokens of the replies, as the providers counted them."""
    total_tokens: int = 0
    """All tokens, as the providers counted them; it can exceed input plus output."""
    unmetered_calls: int = 0
    """Calls whose tokens are unknown. If it is not 0, the token counts are lower bounds."""
    failed_calls: int = 0
    """Calls that ended in an exception instead of a reply; their tokens are unknown, so they are unmetered too."""

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            calls=self.calls + other.calls,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            total_tokens=self.total_tokens + other.total_tokens,
            unmetered_calls=self.unmetered_calls + other.unmetered_calls,
            failed_calls=self.failed_calls + other.failed_calls,
        )

    def __str__(self) -> str:
        least = "at least " if self.unmetered_calls else ""
        failed = f", {self.failed_calls} failed" if self.failed_calls else ""
        unknown = f" ({self.unmetered_calls} call(s) with unknown tokens)" if self.unmetered_calls else ""
        return (
            f"{self.calls} call(s){failed}, {least}{self.total_tokens} tokens: "
            f"{self.input_tokens} in, {self.output_tokens} out{unknown}"
        )

    @classmethod
    def of(cls, message: BaseMessage) -> Usage:
        """Read the usage of one reply.

        Args:
            message: The reply; without ``usage_metadata`` it is one call with unknown tokens.

        Returns:
            The usage of one call.
        """
        metadata = message.usage_metadata if isinstance(message, AIMessage) else None
        if metadata is None:
            return cls(calls=1, unmetered_calls=1)
        return cls(
            calls=1,
            input_tokens=metadata["input_tokens"],
            output_tokens=metadata["output_tokens"],
            total_tokens=metadata["total_tokens"],
        )


PriceTable: TypeAlias = Callable[[str, Usage], float | None]
"""Gives the price of a usage of a model, in a currency of its own choice; None if it does not know the model."""
