"""Profiles and conversations: kept, apart from other people's, gone once deleted; and what a model notes."""

import asyncio
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from conferences import sample_services
from postgres import postgres_server, postgres_url  # noqa: F401

from loopwright.errors import ConfigError, InputError, StoreError
from loopwright.testing import always
from loopwright.workflows.assistant import chat
from loopwright.workflows.assistant.memory import Memory, open_memory
from loopwright.workflows.assistant.schemas import Profile, Table, Turn
from loopwright.workflows.assistant.services import Services

ANA = Profile(
    user_id="ana@example.org", name="Ana", interests=("bread", "bees"), updated_at=datetime(2024, 5, 4, tzinfo=UTC)
)


def said(text: str, *ids: str) -> Turn:
    return Turn(role="assistant" if ids else "user", text=text, referenced_ids=ids, at=datetime(2024, 5, 4, tzinfo=UTC))


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    if request.param == "postgres":
        spec = request.getfixturevalue("postgres_url")
    else:
        spec = "memory" if request.param == "memory" else f"sqlite:{tmp_path}/deep/er/memory.db"
    with open_memory(spec) as opened:
        yield opened


async def test_two_servers_share_a_memory(postgres_url: str) -> None:  # noqa: F811
    with open_memory(postgres_url) as one, open_memory(postgres_url) as other:
        await one.add_turns("c", [said("When is rye?")], ANA.user_id)
        await other.keep_profile(ANA)
        assert await other.turns("c", user_id=ANA.user_id) == [said("When is rye?")]
        assert await one.profile(ANA.user_id) == ANA


async def test_turns_come_back_in_order_and_the_latest_within_a_limit(memory: Memory) -> None:
    assert await memory.turns("c") == []
    first, second = said("When is rye?"), said("On Sunday [sessions:31].", "sessions:31")
    await memory.add_turns("c", [first, second])
    await memory.add_turns("c", [said("Where?")])
    assert await memory.turns("c") == [first, second, said("Where?")]
    assert await memory.turns("c", 2) == [second, said("Where?")]
    assert await memory.turns("c", 0) == []
    assert await memory.turns("c", 99) == [first, second, said("Where?")]


async def test_a_conversation_belongs_to_who_began_it(memory: Memory) -> None:
    await memory.add_turns("one", [said("My secret")], "ana")
    for user in ("ben", None):
        assert await memory.turns("one", user_id=user) == []
        await memory.add_turns("one", [said("mine now")], user)
    await memory.delete_conversation("one", "ben")
    assert await memory.turns("one", user_id="ana") == [said("My secret")]
    assert await memory.turns("one") == [said("mine now")]
    assert await memory.turns("one", user_id="ben") == []


async def test_forgetting_a_person_takes_the_conversations_along_and_no_others(memory: Memory) -> None:
    await memory.keep_profile(ANA)
    await memory.keep_profile(Profile(user_id="ben"))
    for n in range(1001):  # more than one page of them
        await memory.add_turns(f"c{n}", [said("x")], ANA.user_id)
    await memory.add_turns("his", [said("y")], "ben")
    await memory.delete_profile(ANA.user_id)
    assert [await memory.turns(f"c{n}", user_id=ANA.user_id) for n in (0, 500, 1000)] == [[], [], []]
    assert await memory.profile("ben") == Profile(user_id="ben")
    assert await memory.turns("his", user_id="ben") == [said("y")]


@pytest.mark.parametrize("blank", ["", "  "])
async def test_blank_ids_are_refused(memory: Memory, blank: str) -> None:
    with pytest.raises(InputError, match="blank"):
        await memory.profile(blank)
    with pytest.raises(InputError, match="blank"):
        await memory.keep_profile(Profile(user_id=blank))
    with pytest.raises(InputError, match="blank"):
        await memory.turns(blank)


async def test_what_is_deleted_is_not_left_in_the_files(tmp_path: Path) -> None:
    with open_memory(f"sqlite:{tmp_path / 'memory.db'}") as memory:
        await memory.keep_profile(ANA.model_copy(update={"name": "Ana Unmistakable"}))
        await memory.add_turns("c", [said("an unmistakable secret " * 200)], ANA.user_id)
        assert b"nmistakable" in content(tmp_path)
        await memory.delete_profile(ANA.user_id)
        assert b"nmistakable" not in content(tmp_path)


def content(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir())


@pytest.mark.parametrize(
    "spec", ["", "memory:x", "sqlite:", "sqlite://memory.db", "redis://u:secret@h", "postgresql://u:secret@h/d?o=1"]
)
def test_an_unknown_memory_is_refused_without_its_password(spec: str) -> None:
    with pytest.raises(ConfigError, match=r"unknown memory|without slashes|option 'o'") as refused:
        open_memory(spec)
    assert "secret" not in str(refused.value)


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("These are my notes. " * 100)
    with pytest.raises(StoreError, match=r"notes\.txt"):
        open_memory(f"sqlite:{path}")
    assert path.read_text() == "These are my notes. " * 100


async def test_a_broken_file_is_an_error_and_never_an_unknown_person(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with open_memory(f"sqlite:{path}") as memory:
        await memory.keep_profile(ANA)
        with sqlite3.connect(path) as other:
            other.execute("DROP TABLE profile")
        other.close()
        with pytest.raises(StoreError, match=r"memory\.db: .*no such table"):
            await memory.profile(ANA.user_id)


def known(services: Services) -> Profile | None:
    return asyncio.run(services.memory.profile(ANA.user_id))


def say(message: str, services: Services, **context: Any) -> str:
    return chat(message, user_context={"user_id": ANA.user_id} | context, services=services).answer


@pytest.mark.matrix(3)
@pytest.mark.parametrize("profile", [None, Profile(user_id=ANA.user_id), ANA])
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
        assert asyncio.run(services.memory.turns("hers", user_id=ANA.user_id)) == []
        say("Which keynotes are there?", services, user_id=None, conversation_id="of nobody")
        assert "forgotten this conversation" in say(message, services, user_id=None, conversation_id="of nobody")
        assert asyncio.run(services.memory.turns("of nobody")) == []
        services.memory.close()
        assert "could not delete it" in say(message, services)


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
