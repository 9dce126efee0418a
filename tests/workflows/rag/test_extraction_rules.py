"""Facts by rules: what they find, what they keep apart, and what they leave alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopwright.retrieval.mentions import mentions_in
from loopwright.retrieval.records import Fact, Passage
from loopwright.workflows.rag.extraction.rules import facts_in

CORPUS = Path(__file__).parents[4] / "shared" / "data" / "qa" / "musique.corpus.jsonl"


def passage(text: str, title: str = "", id: str = "d::0") -> Passage:
    return Passage(id=id, document_id="d", text=text, title=title, end=len(text))


def facts(text: str, title: str = "") -> list[Fact]:
    place = passage(text, title)
    return facts_in(place, mentions_in(place))


def triples(text: str, title: str = "") -> set[tuple[str, str, str]]:
    return {(fact.subject, fact.relation, fact.object) for fact in facts(text, title)}


@pytest.mark.parametrize(
    ("text", "title", "expected"),
    [
        ("Ada Lovelace was born in London.", "", ("Ada Lovelace", "was born in", "London")),
        ("Ada Lovelace was born in London on 10 December 1815.", "", ("Ada Lovelace", "was born on", "10 December 1815")),
        ("Mr. Horace Jones designed Tower Bridge.", "", ("Mr. Horace Jones", "designed", "Tower Bridge")),
        ("Paris, the capital of France, is a city.", "Paris", ("Paris", "is the capital of", "France")),
        ("Paris, the capital of France, is a city.", "Paris", ("Paris", "is a", "city")),
        ("The capital of Spain is Madrid.", "", ("Madrid", "is the capital of", "Spain")),
        ("The current editor is Jan Solovej.", "Journal of Optics", ("Jan Solovej", "is the current editor of", "Journal of Optics")),
        ("Maria Sand (born 5 May 1960) is a painter.", "", ("Maria Sand", "was born on", "5 May 1960")),
        ("Jean Bailly (; 15 September 1736 – 12 November 1793) was a mayor.", "", ("Jean Bailly", "died on", "12 November 1793")),
        ("Arden Mills was founded in 1912.", "", ("Arden Mills", "was founded in", "1912")),
        ("Arden Mills employs 340 people.", "", ("Arden Mills", "employs", "340 people")),
        ("Founded in 1912, Arden Mills makes paper.", "Arden Mills", ("Arden Mills", "founded in", "1912")),
        ("Maria Sand's brother, Peter Sand, lives in Oslo.", "", ("Maria Sand", "brother", "Peter Sand")),
        ("Maria Sand is a painter who lives in Oslo.", "", ("Maria Sand", "lives in", "Oslo")),
        ("Big Night is a 1996 film directed by Stanley Tucci.", "", ("Big Night", "directed by", "Stanley Tucci")),
        ("Jane Roe was a mayor, served in Congress and was killed in Boston.", "", ("Jane Roe", "was killed in", "Boston")),
        ("In 1976 the Diocese of Leeds left the Province of York.", "", ("Diocese of Leeds", "left", "Province of York")),
        ("Katherine Bell, a British engineer, founded Orion Group.", "", ("Katherine Bell", "founded", "Orion Group")),
        ("The Spanish governor of Cuba left. Adolfo Castellanos was a governor of Cuba.", "", ("Adolfo Castellanos", "was a governor of", "Cuba")),
    ],
)  # fmt: skip
def test_states(text, title, expected):
    assert expected in triples(text, title)


def test_list_gives_one_fact_each():
    found = triples("The film stars Tom Hanks, Meg Ryan and Bill Pullman.", "Big Night (film)")
    assert found == {("Big Night", "stars", name) for name in ("Tom Hanks", "Meg Ryan", "Bill Pullman")}


def test_a_list_of_names_is_no_apposition():
    found = triples("The members are in Europe, and Portugal, the United Kingdom, Norway voted.", "Alliance")
    assert not any(subject == "Portugal" and object == "United Kingdom" for subject, _, object in found)
    assert ("Portugal", "is the oldest member of", "Alliance") in triples(
        "Portugal, the oldest member of the Alliance, voted.", "Portugal"
    )


def test_pronoun_and_generic_noun_mean_the_title():
    text = "It was opened in 1894. The bridge crosses the Thames. The final bridge crosses the Severn."
    assert triples(text, "Tower Bridge") == {
        ("Tower Bridge", "was opened in", "1894"),
        ("Tower Bridge", "crosses", "Thames"),
    }
    assert triples(text) == set()


@pytest.mark.parametrize(
    ("text", "relation"),
    [
        ("Arden Mills is not a bank.", "is not a"),
        ("Arden Mills isn't a bank.", "is not a"),
        ("Arden Mills was never owned by Orion Group.", "was never owned by"),
        ("Arden Mills no longer belongs to Orion Group.", "no longer belongs to"),
        ("Arden Mills did not buy Orion Group.", "did not buy"),
        ("Arden Mills can't operate in Norway.", "can not operate in"),
        ("Arden Mills wasn't founded in 1912.", "was not founded in"),
    ],
)
def test_negation_stays_in_the_relation(text, relation):
    found = facts(text, "Arden Mills")
    assert [fact.relation for fact in found] == [relation]


@pytest.mark.parametrize(
    "text",
    [
        "Is Arden Mills a bank?",
        "If Arden Mills is a bank, nobody noticed.",
        "It is not true that Arden Mills is a bank.",
        "John Smith denied that Arden Mills was sold to Orion Group.",
        "No member of Orion Group lives in Paris.",
        "Neither Anna Bell nor Carl Dorn founded Orion Group.",
        "",
        "...",
        "(Arden Mills",
    ],
)
def test_what_is_not_stated_is_no_fact(text):
    assert triples(text, "Arden Mills") == set()


@pytest.mark.parametrize(
    ("text", "title", "expected"),
    [
        ("北京是中华人民共和国的首都。", "北京", ("北京", "是…的首都", "中华人民共和国")),
        ("日本是一个岛国。", "日本", ("日本", "是", "岛国")),
        ("北京大学成立于1898年，位于北京市海淀区。", "北京大学", ("北京大学", "位于", "北京市海淀区")),
        ("它不是一所中学。", "北京大学", ("北京大学", "不是", "中学")),
        ("鲁迅（1881年—1936年），浙江绍兴人，是中国著名作家。", "鲁迅", ("鲁迅", "是", "中国著名作家")),
        ("กรุงเทพมหานครเป็นเมืองหลวงของประเทศไทย", "กรุงเทพ", ("กรุงเทพมหานคร", "เป็นเมืองหลวงของ", "ประเทศไทย")),
        ("ภูเขาไฟฟูจิคือภูเขาที่สูงที่สุดในญี่ปุ่น", "", ("ภูเขาไฟฟูจิ", "คือ", "ภูเขาที่สูงที่สุดในญี่ปุ่น")),
        ("ช้างไม่ใช่ปลา", "ช้าง", ("ช้าง", "ไม่ใช่", "ปลา")),
        ("วัดโพธิ์ ตั้งอยู่ในกรุงเทพ", "วัดโพธิ์", ("วัดโพธิ์", "ตั้งอยู่ใน", "กรุงเทพ")),
    ],
)
def test_chinese_and_thai(text, title, expected):
    assert expected in triples(text, title)


@pytest.mark.parametrize(
    "text", ["北京是首都吗？", "如果北京是首都，就好了。", "但是他认为北京是首都。", "ถ้าช้างเป็นปลา"]
)
def test_chinese_and_thai_without_a_statement(text):
    assert triples(text, "标题") == set()


def test_ids_are_of_content_and_place():
    first, again = (facts("Ada Lovelace was born in London.") for _ in range(2))
    assert [fact.id for fact in first] == [fact.id for fact in again]
    elsewhere = facts("Yes. Ada Lovelace was born in London.")
    assert {fact.id for fact in first}.isdisjoint(fact.id for fact in elsewhere)
    other = passage("Ada Lovelace was born in London.", id="d::1")
    assert {fact.id for fact in first}.isdisjoint(fact.id for fact in facts_in(other, mentions_in(other)))


def test_order_of_mentions_does_not_matter():
    place = passage("Ada Lovelace was born in London on 10 December 1815 and knew Charles Babbage.")
    assert facts_in(place, mentions_in(place)[::-1]) == facts_in(place, mentions_in(place))


def well_formed(found: list[Fact], place: Passage) -> bool:
    return all(
        0 <= fact.start < fact.end <= len(place.text)
        and fact.subject
        and fact.relation
        and fact.object
        and 0 < fact.confidence <= 1
        and fact.extractor == "rules"
        and fact.passage_id == place.id
        for fact in found
    ) and len({fact.id for fact in found}) == len(found)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [*"Ada London 1815 was is not born in of the a film who , . ( ) ' \" and by He his 's If that 北京 是 เป็น ( 12 km".split(), "\n"]
        )
        | st.text(max_size=4),
        max_size=30,
    ),
    st.sampled_from(["", "Ada", "The Film (film)"]),
)  # fmt: skip
def test_any_text(words, title):
    place = passage(" ".join(words), title)
    assert well_formed(facts_in(place, mentions_in(place)), place)


@pytest.mark.skipif(not CORPUS.exists(), reason="the corpus is not here")
def test_a_real_corpus():
    with CORPUS.open(encoding="utf-8") as lines:
        records = [json.loads(line) for _, line in zip(range(300), lines, strict=False)]
    places = [passage(record["text"], record["title"], f"{record['id']}::0") for record in records]
    found = [facts_in(place, mentions_in(place)) for place in places]
    assert all(well_formed(of_one, place) for of_one, place in zip(found, places, strict=True))
    assert sum(bool(of_one) for of_one in found) > 0.75 * len(places)
    # Every subject is named in the text or the title; every object's words stand in the text, which may put parentheses
    # between them.
    for of_one, place in zip(found, places, strict=True):
        assert all(fact.subject in place.text or fact.subject in place.title for fact in of_one)
        assert all(word in place.text for fact in of_one for word in fact.object.split())
