"""Token log-probabilities of a reply: which models give them, and how likely each of a few words was.

OpenAI's chat completions and Ollama give them through LangChain in ``response_metadata["logprobs"]``. Anthropic's API
has none, and LangChain's class for Google's offers none.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from pydantic import BaseModel

from loopwright.engine.nodes.failures import status_code
from loopwright.errors import ConfigError

LOGPROBS_KEY = "loopwright_log_probabilities"
"""In a model's ``metadata``: False if it is configured to be asked for none, or its provider refused to give any."""

TOP = 20
"""How many alternatives are asked for at each token: the most that OpenAI's API takes."""

LEAST_COVERED = 0.9
"""The least probability that the listed tokens which begin one of the words have together; with less, what is not
listed could change the picture."""

_CHAIN = 10


def offers_log_probabilities(model: BaseChatModel) -> bool:
    """Whether a model can be asked for log-probabilities.

    Returns:
        True if its class has the settings ``logprobs`` and ``top_logprobs``, it uses an API that has them, and neither
        its configuration nor its provider said no.
    """
    if (model.metadata or {}).get(LOGPROBS_KEY) is False or getattr(model, "use_responses_api", None):
        return False
    return {"logprobs", "top_logprobs"} <= type(model).model_fields.keys()


def forget_log_probabilities(model: BaseChatModel) -> None:
    """Note that a model's provider gives no log-probabilities, so that it is not asked for them again."""
    model.metadata = {**(model.metadata or {}), LOGPROBS_KEY: False}


def refuses_log_probabilities(error: BaseException) -> bool:
    """Whether an exception is a provider's refusal to give log-probabilities."""
    link: BaseException | None = error
    for _ in range(_CHAIN):
        if link is None:
            return False
        status = status_code(link)
        if status is not None and 400 <= status < 500 and "logprob" in str(link).lower():
            return True
        link = link.__cause__
    return False


class _Token(NamedTuple):
    """One token of a reply, and what else could have stood there."""

    text: str
    listed: dict[str, float]
    """Token -> probability, this one too."""


def word_probabilities(message: BaseMessage, field: str, words: Sequence[str]) -> dict[str, float] | None:
    """How likely each word was where a JSON reply has the value of a field, from its token log-probabilities.

    A token counts for the word that it begins or that begins it, whatever its case and the spaces and quotes before it:
    `` Good``, ``good`` and ``Goo`` are one.

    Args:
        message: The reply, a JSON object, as the model sent it.
        field: The name of the field; its value is text.
        words: Words of which no two begin with the same letter.

    Returns:
        Word -> probability, together 1; a word that is not among the listed tokens has 0. None if the reply has no
        log-probabilities, or the listed tokens cover less than `LEAST_COVERED`.

    Raises:
        ConfigError: If two words begin with the same letter: a short token could mean either.
    """
    initials = [word[:1].casefold() for word in words]
    if len(set(initials)) < len(words) or not all(initials):
        raise ConfigError(f"two of these words begin with the same letter, or one is empty: {', '.join(words)}")
    listed = _at_value(_tokens(message), field)
    found = dict.fromkeys(words, 0.0)
    for text, probability in listed.items():
        begun = re.sub(r"^[\W_]+", "", text).casefold()
        for word in words:
            if begun and (word.casefold().startswith(begun) or begun.startswith(word.casefold())):
                found[word] += probability
    covered = sum(found.values())
    return {word: each / covered for word, each in found.items()} if covered >= LEAST_COVERED else None


def _at_value(tokens: Sequence[_Token], field: str) -> dict[str, float]:
    """What could have stood where the field's value begins."""
    whole = "".join(token.text for token in tokens)
    place = re.search(rf'"{re.escape(field)}"\s*:\s*"\s*', whole)
    if place is None:
        return {}
    end = 0
    for token in tokens:
        end += len(token.text)
        if end > place.end():
            return token.listed
    return {}


def _tokens(message: BaseMessage) -> list[_Token]:
    given: Any = message.response_metadata.get("logprobs")
    if isinstance(given, Mapping):  # OpenAI's chat completions; Ollama gives the list itself
        given = cast("Mapping[str, Any]", given).get("content")
    entries = [*map(_plain, cast("list[Any]", given))] if isinstance(given, list) else []
    return [_Token(text, dict(_listed(entry))) for entry in entries if (text := _text(entry)) is not None]


def _plain(entry: Any) -> Any:
    """An entry as a mapping: Ollama's client hands on objects of its own."""
    return entry.model_dump() if isinstance(entry, BaseModel) else entry


def _listed(entry: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    for each in (entry, *(entry.get("top_logprobs") or ())):
        text, value = _text(each), each.get("logprob")
        if text is not None and isinstance(value, (int, float)) and not math.isnan(value):
            yield text, math.exp(min(0.0, value))


def _text(entry: Any) -> str | None:
    text = cast("Mapping[str, Any]", entry).get("token") if isinstance(entry, Mapping) else None
    return text if isinstance(text, str) else None
