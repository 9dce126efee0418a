"""Keeps secrets out of texts and out of exceptions, also those that a server repeats."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_SEEN = ("message", "error", "body")
"""Attributes in which the clients' exceptions repeat what a server said."""


def redact(text: str, secrets: list[str]) -> str:
    """Replace each secret in a text by ``***``."""
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = text.replace(secret, "***")
    return text


def redact_error(error: BaseException, secrets: list[str]) -> None:
    """Replace each secret in what an exception and those that it was raised from or during say, in place.

    Args:
        error: The exception. Its class and attributes stay, so that its kind can still be told.
        secrets: What must not be seen.
    """
    for link in _chain(error):
        link.args = tuple(_without(value, secrets) for value in link.args)
        for name in _SEEN:
            value = getattr(link, name, None)
            if isinstance(value, (str, dict, list)):
                setattr(link, name, _without(value, secrets))


def _chain(error: BaseException) -> Iterator[BaseException]:
    waiting, seen = [error], set[int]()
    while waiting:
        link = waiting.pop()
        if id(link) not in seen:
            seen.add(id(link))
            yield link
            waiting += [each for each in (link.__cause__, link.__context__) if each is not None]


def _without(value: Any, secrets: list[str]) -> Any:
    if isinstance(value, str):
        return redact(value, secrets)
    if isinstance(value, dict):
        return {name: _without(item, secrets) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_without(item, secrets) for item in value)
    return value
