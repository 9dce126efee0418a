from __future__ import annotations

import dataclasses

import pytest
from pydantic import BaseModel

from loopwright.engine.nodes.redact import redacted, snapshot

SECRET = "sk-very-secret"


class Settings(BaseModel):
    token: str = SECRET
    size: int = 3


@dataclasses.dataclass
class Account:
    password: str = SECRET
    name: str = "me"
    settings: Settings = dataclasses.field(default_factory=Settings)


NAMES = [
    "api_key", "apikey", "API_KEY", "x-api-key", "client_secret", "access_token", "password", "db_passwd", "Authorization",
    "credentials", "private_key", "access-key", "Cookie",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_values_whose_name_says_secret_are_hidden(name: str) -> None:
    assert redacted({name: SECRET}) == {name: "***"}


@pytest.mark.parametrize(
    "state",
    [
        {"outer": {"inner": [{"api_key": SECRET}]}},
        Settings(),
        Account(),
        {"a": Account()},
        [Account()],
        {"pair": (1, {"secret": SECRET})},
    ],
)
def test_secrets_are_found_in_mappings_sequences_models_and_dataclasses(state: object) -> None:
    shown = snapshot(state)
    assert SECRET not in shown
    assert "***" in shown


def test_what_is_no_secret_is_shown_as_it_is() -> None:
    assert snapshot({"text": "hello", "n": 3}) == "text='hello', n=3"
    assert redacted({"keyboard": 1, "monkey": 2}) == {"keyboard": 1, "monkey": 2}
    assert "name='me'" in snapshot(Account())
