"""Conferences to ask, and the assistant over them."""

from datetime import date
from functools import cache
from typing import Any

from langchain_core.language_models import BaseChatModel

from loopwright.engine import BoundedGraph
from loopwright.models import ModelRegistry
from loopwright.retrieval.stores import open_store
from loopwright.retrieval.stores.store import KnowledgeStore
from loopwright.workflows.assistant import AssistantConfig, Services, build_graph
from loopwright.workflows.assistant.searching.search import Search
from loopwright.workflows.assistant.sources.info import ConferenceInfo
from loopwright.workflows.assistant.sources.sample import sample_store
from loopwright.workflows.assistant.sources.storing import info_contribution

EMPTY = ConferenceInfo(
    title="An empty conference", start=date(2026, 3, 7), end=date(2026, 3, 8), time_zone="Europe/Brussels"
)


def services_of(store: KnowledgeStore, section: dict[str, Any], models: dict[str, BaseChatModel]) -> Services:
    config = AssistantConfig.load(None, {"assistant": section}, {})
    return Services(config, ModelRegistry(models, nodes=AssistantConfig.model_nodes), given_store=store)


def empty_conference(reflect_and_replan: BaseChatModel | None = None, **section: Any) -> Services:
    """A conference with a programme that has not a single talk."""
    store = open_store("memory")
    store.put([info_contribution(EMPTY)])
    return services_of(store, section, {"reflect_and_replan": reflect_and_replan} if reflect_and_replan else {})


def sample_services(models: dict[str, BaseChatModel] | None = None, **section: Any) -> Services:
    """The made-up conference that ships with the package."""
    services = services_of(shared_sample(), section, models or {})
    services.opened.once("search", search)
    return services


@cache
def shared_sample() -> KnowledgeStore:
    """One store of it for all tests; nobody writes to it."""
    return sample_store()


@cache
def search() -> Search:
    """A search over it."""
    return Search(shared_sample())


def assistant(services: Services) -> BoundedGraph:
    return build_graph(services=services)


ICAL = """BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//bread//EN
X-WR-CALNAME:Bread Days
X-WR-TIMEZONE:Europe/Lisbon
BEGIN:VEVENT
UID:1@bread.example
DTSTART;TZID=Europe/Lisbon:20260508T100000
DTEND;TZID=Europe/Lisbon:20260508T104500
SUMMARY:Rye\\, slowly
DESCRIPTION:A long line that is
  folded.
LOCATION:Oven
CATEGORIES:Grain
URL:https://bread.example/1
ATTENDEE;CN="Ana Só";ROLE=REQ-PARTICIPANT:invalid:nomail
END:VEVENT
BEGIN:VEVENT
UID:2@bread.example
DTSTART:20260509T003000Z
DURATION:PT30M
SUMMARY:Night bake
END:VEVENT
BEGIN:VEVENT
UID:3@bread.example
DTSTART;VALUE=DATE:20260509
DTEND;VALUE=DATE:20260511
SUMMARY:Market
RRULE:FREQ=DAILY;COUNT=2
END:VEVENT
BEGIN:VEVENT
UID:4@bread.example
DTSTART:20260509T100000
SUMMARY:Off
STATUS:CANCELLED
END:VEVENT
END:VCALENDAR
"""
"""A calendar with a time of each kind, and an event that is off."""
