"""What a chat model notes of a person, and that it is forgotten on request, also with nothing known."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from conferences import sample_services

from loopwright.testing import always
from loopwright.workflows.assistant import chat
from loopwright.workflows.assistant.schemas import Profile, Table
from loopwright.workflows.assistant.services import Services

ANA = Profile(user_id="ana", name="Ana", interests=("bread", "salt"))
WHO = {"user_id": "ana"}


def known(services: Services) -> Profile | None:
    return asyncio.run(services.memory.profile("ana"))


def say(message: str, services: Services, **context: Any) -> str:
    return chat(message, user_context=WHO | context, services=services).answer


@pytest.mark.parametrize("profile", [None, Profile(user_id="ana"), ANA])
@pytest.mark.parametrize(
    "message", ["forget everything about me", "Please delete my profile.", "Thanks! Forget me, please."]
)
def test_forgetting_everything_deletes_profile_and_conversations(profile: Profile | None, message: str) -> None:
    with sample_services() as services:
        if profile:
            asyncio.run(services.memory.keep_profile(profile))
        say("Which keynotes are there?", services, conversation_id="hers")
        answer = say(message, services)
        assert "forgotten everything" in answer
        assert known(services) is None
        assert asyncio.run(services.memory.turns("hers", user_id="ana")) == []


@pytest.mark.parametrize("message", ["How do I delete my data from a phone?", "talks on how to clear my data lake"])
def test_what_only_sounds_like_a_command_forgets_nothing(message: str) -> None:
    with sample_services() as services:
        asyncio.run(services.memory.keep_profile(ANA))
        say(message, services)
        assert known(services) == ANA


def test_a_model_adds_to_a_profile_and_does_not_bring_back_what_is_forgotten() -> None:
    with sample_services({"update_profile": always({"seeking": ["a mill"], "name": "Ana"})}) as services:
        say("I work on salt.", services)
        profile = known(services)
        assert profile is not None
        assert (profile.name, profile.seeking) == ("Ana", ("a mill",))
        assert "you look for a mill" in say("what do you know about me?", services)
        say("forget everything", services)
        assert known(services) is None


def test_a_model_leaves_questions_about_the_conference_alone() -> None:
    reply = {"standalone": "x", "tables": [Table.SESSIONS], "topic": "made up"}
    models = {"plan_queries": always(reply), "generate_acknowledgment": always({"message": "I look for it."})}
    with sample_services(models) as services:
        counted = chat("How many talks are there?", services=services)
        assert (counted.model_calls, counted.answer[:10]) == (1, "There are ")
        assert chat("talks about salt", services=services).queries[0].query_text == "made up"
