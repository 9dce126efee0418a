"""Which distortions a chat model with vision believes to see: an opinion beside the measurements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from langchain_core.language_models import BaseChatModel
from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, WithJsonSchema

from loopwright.errors import InputError
from loopwright.models import UsageRecorder
from loopwright.workflows.iqa.distortions import Severity, known_distortions, parse_distortion
from loopwright.workflows.iqa.prompting import prompts
from loopwright.workflows.iqa.schemas import NonEmpty
from loopwright.workflows.iqa.sources.images import LoadedImage
from loopwright.workflows.iqa.vision.encoded import ask_about

_MOST = 5
"""So many distortions are asked for at most; more are guesses."""


@dataclass(frozen=True, slots=True)
class Suspicion:
    """A distortion that a model believes to see."""

    type: str
    """Canonical name of the kind or sub-type."""
    severity: Severity
    """How strong it looks, from slight on."""
    why: str
    """What in the image speaks for it, in one sentence."""


def _canonical(name: str) -> str:
    try:
        return parse_distortion(name)
    except InputError as error:
        raise ValueError(str(error)) from error


def _severity(value: object) -> Severity:
    """A severity in any of the words that are known for it."""
    return Severity(value)


_LEVELS = [severity.value for severity in Severity if severity is not Severity.NONE]


class SeenDistortion(BaseModel):
    """One distortion in a model's reply."""

    type: Annotated[
        str, AfterValidator(_canonical), WithJsonSchema({"type": "string", "enum": list(known_distortions())})
    ]
    """Its canonical name."""
    severity: Annotated[Severity, BeforeValidator(_severity), WithJsonSchema({"type": "string", "enum": _LEVELS})]
    """How strong it looks."""
    why: NonEmpty
    """What in the image speaks for it."""


class SeenDistortions(BaseModel):
    """A model's reply: what it sees, strongest first."""

    distortions: list[SeenDistortion] = Field(max_length=_MOST)
    """Empty if the image looks clean."""


def suspect(
    chat: BaseChatModel, image: LoadedImage, *, repairs: int, usage: UsageRecorder | None = None
) -> list[Suspicion]:
    """Ask a chat model which distortions it sees.

    Args:
        chat: A chat model that sees images.
        image: The image, or a region of one.
        repairs: How often the model may correct a reply that breaks the schema.
        usage: Where the calls are counted.

    Returns:
        Each distortion once, strongest first as the model has them; none if the image looks clean to it.

    Raises:
        ModelError: If the model is known to see no images.
        StructuredReplyError: If the reply still breaks the schema after the repairs.
    """
    prompt = prompts().get("observer").render(distortions=", ".join(known_distortions()))
    question = "Which distortions do you see in this image?"
    reply = ask_about(chat, image, prompt, question, SeenDistortions, repairs=repairs, usage=usage)
    seen: dict[str, Suspicion] = {}
    for item in reply.distortions:
        if item.severity is not Severity.NONE:
            seen.setdefault(item.type, Suspicion(item.type, item.severity, item.why))
    return list(seen.values())
