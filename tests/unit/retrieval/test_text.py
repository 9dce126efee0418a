from __future__ import annotations

import pytest

from loopwright.retrieval.text import fold, query_terms, terms


def test_words_are_folded_and_stemmed() -> None:
    assert terms("Running RUNNERS, café") == ["run", "runner", "cafe"]
    assert terms("ＩＢＭ") == ["ibm"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("红楼梦", ["红楼", "楼梦"]),
        ("红", ["红"]),
        ("กรุงเทพ", ["กรุ", "รุง", "ุงเ", "งเท", "เทพ"]),
        ("IBM是公司", ["ibm", "是公", "公司"]),
    ],
)
def test_unspaced_scripts_become_overlapping_pieces(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


def test_marks_of_other_scripts_survive_folding() -> None:
    assert fold("กี่") == "กี่"
    assert fold("Straße É") == "strasse e"


def test_a_query_loses_its_stop_words_only_if_others_are_left() -> None:
    assert query_terms("Who was the king of the king?") == ["king"]
    assert query_terms("Who is it") == ["who", "is", "it"]
    assert query_terms("?!") == []


def test_vowel_signs_do_not_break_words() -> None:
    assert terms("हिन्दी भाषा") == ["हिन्दी", "भाषा"]
    assert terms("שָׁלוֹם עולם")[1:] == ["עולם"]
