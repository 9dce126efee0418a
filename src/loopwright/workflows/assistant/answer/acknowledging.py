"""The first word to the person, before anything is planned or searched."""

from __future__ import annotations

from loopwright.workflows.assistant.answer.wording import plain
from loopwright.workflows.assistant.question.nearest import nearest
from loopwright.workflows.assistant.question.personal import forgets_all
from loopwright.workflows.assistant.question.tokens import Sentence
from loopwright.workflows.assistant.schemas import SMALLTALK, Profile
from loopwright.workflows.assistant.sources.info import ConferenceInfo

_SURE = 6.5


def acknowledgment(text: str, profile: Profile | None = None, info: ConferenceInfo | None = None) -> str:
    """Say at once that the question arrived and where the answer is looked for, without a promise to find it.

    Args:
        text: The question as asked.
        profile: What is known of the person.
        info: The conference.

    Returns:
        One short sentence; empty where nothing is searched, for example after thanks.
    """
    sentence = Sentence.of(text)
    near = nearest(sentence, 0, len(sentence))
    small = near.operation in (*SMALLTALK, "outside") and near.likeness >= _SURE
    if not len(sentence) or small or forgets_all(text):
        return ""
    name = f"{plain(profile.name)}, l" if profile and profile.name else "L"
    conference = f" of {plain(info.title)}" if info and info.title else ""
    return f"{name}et me look through the programme{conference}."
