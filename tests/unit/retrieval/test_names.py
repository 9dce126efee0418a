from __future__ import annotations

import pytest

from loopwright.retrieval.names import entity_key, find_mentions


def names(text: str, title: str = "", known: tuple[str, ...] = ()) -> list[str]:
    return [mention.name for mention in find_mentions(text, title=title, known=known)]


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
