from __future__ import annotations

import pytest

from loopwright.retrieval.mentions import aliases_in, entity_key, find_mentions, mentions_in
from loopwright.retrieval.records import Passage


def names(text: str, title: str = "", known: tuple[str, ...] = ()) -> list[str]:
    return [mention.name for mention in find_mentions(text, title=title, known=known)]


def passage(text: str, title: str = "") -> Passage:
    return Passage(id="d::0", document_id="d", text=text, title=title)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The Oberoi Group", "oberoi group"),
        ("Beyoncé", "BEYONCE"),
        ("Curie's", "Curie"),
        ("Mercury (planet)", "Mercury"),
        ("Simon &amp; Simon", "Simon & Simon"),
        ("St. Louis", "St Louis"),
        ("《红楼梦》", "红楼梦"),
        ("Ｇｏｏｇｌｅ", "Google"),
    ],
)
def test_spellings_of_one_name_have_one_key(one: str, other: str) -> None:
    assert entity_key(one) == entity_key(other) != ""


def test_quoted_titles_and_unspaced_scripts() -> None:
    assert names('He wrote "The art of war" for "us".') == ["The art of war"]
    assert names("《红楼梦》是曹雪芹的小说, 由 Google 出版", title="曹雪芹") == ["红楼梦", "曹雪芹", "Google"]
    assert names("แม่น้ำ “กรุงเทพ” กับ IBM") == ["กรุงเทพ", "IBM"]
    assert names("ฉันอยู่กรุงเทพนานแล้ว", title="กรุงเทพ") == ["กรุงเทพ"]


def test_places_are_those_in_the_text() -> None:
    text = "“Homer's Odyssey” was seen by Marie Curie's friend in São Paulo; 他读《红楼梦》。"
    found = find_mentions(text)
    assert len(found) >= 5
    assert all(text[mention.start : mention.end] == mention.name for mention in found)
    assert len({(mention.start, mention.end) for mention in found}) == len(found)


def test_a_surname_counts_as_the_longer_name_before_it() -> None:
    found = mentions_in(passage("Physics awarded Marie Curie first. Later Curie won again."))
    assert {mention.name: mention.entity for mention in found if "Curie" in mention.name} == {
        "Marie Curie": "marie curie",
        "Curie": "marie curie",
    }
    assert all(mention.passage_id == "d::0" for mention in found)


def test_a_short_form_counts_as_the_title() -> None:
    found = mentions_in(passage("Most hotels belong to Oberoi now.", title="The Oberoi Group"))
    assert [mention.entity for mention in found] == ["oberoi group"]


@pytest.mark.parametrize(
    "text",
    [
        "It borders West Virginia and then Virginia again.",
        "They flew with Air Canada and stayed in Canada.",
        "Both Marie Curie and Pierre Curie worked; then Curie died.",
    ],
)
def test_what_may_be_another_name_is_left_as_it_is(text: str) -> None:
    last = mentions_in(passage(text))[-1]
    assert last.entity == entity_key(last.name)


def test_explained_acronyms_are_aliases() -> None:
    text = (
        "International Business Machines (IBM) met the National Association of the Deaf (NAD). "
        "NASA (National Aeronautics and Space Administration) came later (LATER), and Toad Hall (ANU) too."
    )
    assert [(alias.alias, alias.entity) for alias in aliases_in("d", [passage(text), passage(text)])] == [
        ("ibm", "international business machines"),
        ("nad", "national association of the deaf"),
        ("nasa", "national aeronautics and space administration"),
    ]
