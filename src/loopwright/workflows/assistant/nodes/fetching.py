"""Who asks: the profile, the conversation before, and a first word to the person."""

import asyncio
from datetime import UTC, datetime
from typing import Any, Literal, get_origin, get_type_hints

from pydantic import BaseModel

from loopwright.engine.ledger import STOP_REASON
from loopwright.workflows.assistant.answer.references import referenced
from loopwright.workflows.assistant.answer.wording import plain
from loopwright.workflows.assistant.constants import GENERATE_ACKNOWLEDGMENT, UPDATE_PROFILE
from loopwright.workflows.assistant.question.nearest import nearest
from loopwright.workflows.assistant.question.personal import forgets_all
from loopwright.workflows.assistant.question.tokens import Sentence
from loopwright.workflows.assistant.schemas import SMALLTALK, Profile, Turn
from loopwright.workflows.assistant.searching.lexicon import words
from loopwright.workflows.assistant.services import Services
from loopwright.workflows.assistant.sources.catalogue import current
from loopwright.workflows.assistant.state import AssistantState, ChatInput, given_profile, question_of, user_of


def fresh_state() -> dict[str, Any]:
    """What every question begins with, so that nothing of the one before it on a thread stays."""
    own = {key: hint for key, hint in get_type_hints(AssistantState).items() if key not in _ASKED}
    return {key: kind() if (kind := get_origin(hint) or hint) in _EMPTY else None for key, hint in own.items()}


_ASKED = frozenset({*ChatInput.__annotations__, STOP_REASON})
_EMPTY: frozenset[Any] = frozenset({list, dict, str, int, bool})
"""The types of which a question begins with an empty value; of the others it begins with None."""


async def fetch_data(state: AssistantState, services: Services) -> dict[str, Any]:
    """Fetch what is known of the person and of the conversation.

    Reads ``messages`` and ``user_context``; gives ``profile``, ``profile_needs_update`` and ``history``, and the keys
    that every question begins anew.
    """
    user = user_of(state)
    profile = given_profile(state)
    if profile is None and user:
        profile = await services.memory.profile(user)
    most = services.config.assistant.history_turns
    if conversation := (state.get("user_context") or {}).get("conversation_id"):
        history = await services.memory.turns(conversation, most, user_id=user)
    else:
        history = await asyncio.to_thread(said_in, state, services, most)
    question, spoken = question_of(state), words("time", "person")
    # Who speaks of themselves is read by a chat model alone.
    told = any(each.word in spoken for each in Sentence.of(question).tokens)
    needed = forgets_all(question) or (told and services.chat(UPDATE_PROFILE) is not None)
    return {**fresh_state(), "profile": profile, "profile_needs_update": needed, "history": history}


def said_in(state: AssistantState, services: Services, most: int) -> list[Turn]:
    """The latest turns before the question, and after a wish to be forgotten, as ``messages`` has them."""
    spoken = [each for each in state.get("messages") or [] if each.type in _SPEAKERS]
    while spoken and spoken.pop().type != "human":
        pass
    spoken = spoken[max(0, len(spoken) - most) :]
    wishes = (n for n, each in enumerate(spoken) if each.type == "human" and forgets_all(each.text))
    spoken = spoken[max(wishes, default=-1) + 1 :]
    cites = [each.type == "ai" and not _BRACKETS.isdisjoint(each.text) for each in spoken]
    records = [*current(services.store).records] if any(cites) else []
    return [
        Turn(role=_SPEAKERS[each.type], text=each.text, referenced_ids=referenced(each.text, records) if cited else ())
        for each, cited in zip(spoken, cites, strict=True)
    ]


_BRACKETS = frozenset("[【")
_SPEAKERS: dict[str, Literal["user", "assistant"]] = {"human": "user", "ai": "assistant"}


MOST_ENTRIES = 20
"""Entries of one list of a profile; the oldest are dropped."""


class ProfileReply(BaseModel):
    """What a chat model reads of a person in a message; only what the person said."""

    name: str = ""
    """How to address the person."""
    interests: list[str] = []
    """Topics that the person is interested in or works on."""
    seeking: list[str] = []
    """What the person wants to buy, learn or find."""
    offering: list[str] = []
    """What the person sells, teaches or brings."""


async def update_profile(state: AssistantState, services: Services) -> dict[str, Any]:
    """Add what the person says of itself, as a chat model reads it, to the profile, kept where there is a user id.

    Who asks to forget everything is forgotten at once, with all conversations; that needs no model.

    Reads ``messages``, ``user_context`` and ``profile``; gives ``profile``, and ``history`` where all is forgotten.
    """
    question, user = question_of(state), user_of(state) or ""
    if forgets_all(question):
        conversation = (state.get("user_context") or {}).get("conversation_id")
        if user:
            await services.memory.delete_profile(user)
        elif conversation:  # of those who give no name, each is known by its conversation
            await services.memory.delete_conversation(conversation, user_of(state))
        return {"profile": Profile(user_id=user), "history": []}
    said = await services.reply(UPDATE_PROFILE, ProfileReply, question=question)

    def changed(known: Profile | None) -> Profile:
        return _joined(known or Profile(user_id=user), said)

    # What is kept is changed as it is now: another conversation may have changed it, and a profile that was given for
    # this question alone is never kept.
    kept = await services.memory.change_profile(user, changed) if user else None
    return {"profile": kept if kept and not given_profile(state) else changed(state.get("profile"))}


def _joined(profile: Profile, said: ProfileReply) -> Profile:
    if said == ProfileReply():
        return profile
    lists = {
        name: tuple(dict.fromkeys([*getattr(profile, name), *filter(None, getattr(said, name))]))[-MOST_ENTRIES:]
        for name in ("interests", "seeking", "offering")
    }
    return profile.model_copy(update={**lists, "name": said.name or profile.name, "updated_at": datetime.now(UTC)})


_SURE = 6.5
"""The log-odds from which a message asks for nothing that is searched."""


class AcknowledgmentReply(BaseModel):
    """A chat model's first word to the person."""

    message: str
    """One short sentence that says what is looked for."""


async def generate_acknowledgment(state: AssistantState, services: Services) -> dict[str, Any]:
    """Tell the person what is looked for, before anything is searched.

    Reads ``messages`` and ``profile``; gives ``acknowledgment``.
    """
    question, info, profile = question_of(state), current(services.store).info, state.get("profile")
    sentence = Sentence.of(question)
    near = nearest(sentence, 0, len(sentence))
    small = near.operation in (*SMALLTALK, "outside") and near.likeness >= _SURE
    if not len(sentence) or small or forgets_all(question):  # nothing is searched
        return {"acknowledgment": ""}
    if services.chat(GENERATE_ACKNOWLEDGMENT) is not None:
        reply = await services.reply(GENERATE_ACKNOWLEDGMENT, AcknowledgmentReply, question=question)
        return {"acknowledgment": reply.message}
    # Without a promise to find anything.
    name = f"{plain(profile.name)}, l" if profile and profile.name else "L"
    conference = f" of {plain(info.title)}" if info and info.title else ""
    return {"acknowledgment": f"{name}et me look through the programme{conference}."}
