"""What clients give, as far as it can be kept; and other models and prompts, as far as they lead nobody astray."""

import math
import re
from collections.abc import Iterable
from typing import Annotated, Any, cast

from pydantic import AfterValidator, Field

from loopwright.database import storable
from loopwright.errors import InputError, UnknownNameError
from loopwright.models.embedded.catalogue import KNOWN
from loopwright.models.prompts import PromptLibrary
from loopwright.models.registry import DEFAULT
from loopwright.models.spec import LOCAL, PROVIDERS
from loopwright.runs.preparing import draft_of
from loopwright.workflows.api import RunChanges, Workflow

DEEPEST = 64
"""Lists and objects within each other."""
LARGEST = 2**63
"""Whole numbers are smaller than this, with either sign."""


def keepable(value: Any, depth: int = 0) -> Any:
    """Make sure that a value can be kept, and give it back.

    Args:
        value: What `json.loads` made, which takes more than JSON has.
        depth: How deep it lies in what was given.

    Raises:
        ValueError: If it is nested too deep, or holds a number or a text that no database takes.
    """
    if depth > DEEPEST:
        raise ValueError(f"lists and objects are nested deeper than {DEEPEST}")
    if isinstance(value, dict):
        for key, inner in cast("dict[str, Any]", value).items():
            keepable(key, depth)
            keepable(inner, depth + 1)
    elif isinstance(value, list):
        for inner in cast("list[Any]", value):
            keepable(inner, depth + 1)
    elif isinstance(value, str) and storable(value) != value:
        raise ValueError("a text holds half of a surrogate pair, or NUL")
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError("a number is not finite")
    elif isinstance(value, int) and not -LARGEST <= value < LARGEST:
        raise ValueError("a whole number has more than 64 bits")
    return value


Given = Annotated[dict[str, Any], AfterValidator(keepable)]
"""An object that a client gives."""
AnyGiven = Annotated[Any, AfterValidator(keepable)]
"""Any value that a client gives."""
WITHOUT_NUL = r"^[^\x00]*$"
"""What a text looks like that every database takes."""
Author = Annotated[str, Field(max_length=200, pattern=WITHOUT_NUL)]
"""Who wrote something."""
Note = Annotated[str, Field(max_length=2000, pattern=WITHOUT_NUL)]
"""Why somebody did something."""

# The name becomes a part of an address at some providers: it must not lead to another one.
_MODEL = re.compile(r"[a-z_]{1,40}:(?!.*(//|\.\.))\w[\w.:/@+-]{0,199}", re.ASCII)
LONGEST_PROMPT = 100_000
"""Characters of a prompt."""


def require_harmless(asked: RunChanges, hosted: Workflow) -> RunChanges:
    """What a client asks for, as far as it may; whether it fits the workflow is seen when the run is prepared.

    Raises:
        InputError: If clients may not choose a model, or a draft cannot take the place of its prompt.
    """
    for model in asked.models.values():
        check_model(hosted, model)
    for prompt, wanted in asked.prompts.items():
        if isinstance(wanted, str) and hosted.prompts and prompt in hosted.prompts.ids():
            check_text(hosted.prompts, prompt, wanted)
    return RunChanges.model_validate({name: getattr(asked, name) for name in RunChanges.model_fields})


def check_state(hosted: Workflow, state: Iterable[str]) -> None:
    """Make sure that a client may set these keys of the state: none of them may name a file of this machine.

    Raises:
        InputError: If one of them does.
    """
    if places := sorted(hosted.places.intersection(state)):
        raise InputError(f"the state's {places[0]} names a file of the server: begin a new run instead")


def offered(hosted: Workflow) -> list[str]:
    """The names of the models that the configuration uses."""
    registry = hosted.models
    if registry is None:
        return []
    return sorted({name for node in (*hosted.model_nodes, DEFAULT) for name in registry.models_of(node)})


def check_node(hosted: Workflow, node: str) -> None:
    """Make sure that a node can have a chat model.

    Raises:
        InputError: If it cannot, or clients can change the model of none.
    """
    if hosted.models is None:
        raise InputError(f"the models of workflow {hosted.name!r} cannot be changed here: it chooses them itself")
    if node not in (*hosted.model_nodes, DEFAULT):
        raise UnknownNameError("node with a model", node[:80], (*hosted.model_nodes, DEFAULT))


def check_model(hosted: Workflow, model: str | None) -> None:
    """Make sure that a client may choose a model: one of the configuration, or one of a provider's own.

    An address, a key or an option cannot be given: a client could have the server call any machine.

    Raises:
        InputError: If it is not so.
    """
    if model is None or model in offered(hosted):
        return
    if not _MODEL.fullmatch(model):
        raise InputError(f"the model is {model[:80]!r}: give PROVIDER:NAME, for example openai:gpt-4.1-mini")
    provider = model.partition(":")[0]
    if provider not in PROVIDERS:
        raise UnknownNameError("model provider", provider, PROVIDERS)
    if provider == LOCAL and (name := model.partition(":")[2]) not in KNOWN:  # no file of the server's
        raise UnknownNameError("local model", name, [known.name for known in KNOWN.values() if known.role == "chat"])


def check_text(library: PromptLibrary, prompt: str, text: str) -> None:
    """Make sure that a text can take the place of a prompt: it must take the same values.

    Raises:
        InputError: If it misses or adds a ``{{name}}``, is empty, or is too long.
    """
    if not text.strip() or len(text) > LONGEST_PROMPT or storable(text) != text:
        raise InputError(f"prompt {prompt!r}: give a text of 1 to {LONGEST_PROMPT} characters of Unicode")
    draft_of(library.get(prompt, library.versions(prompt)[-1]), text)
