"""Other words for what questions ask after."""

from __future__ import annotations

from loopwright.retrieval.text import fold, terms
from loopwright.workflows.rag.asking.words import has_unspaced, keywords

_GROUPS: dict[str, str] = {
    "born": "birthplace birth",
    "birthplace": "born birth",
    "died": "death killed",
    "wrote": "author writer",
    "written": "author writer",
    "author": "wrote writer novelist",
    "directed": "director filmmaker",
    "director": "directed filmmaker",
    "produced": "producer",
    "founded": "founder established",
    "founder": "founded established",
    "established": "founded formed",
    "formed": "founded formation",
    "invented": "inventor invention",
    "discovered": "discoverer discovery",
    "composed": "composer music",
    "composer": "composed music",
    "performed": "performer singer",
    "performer": "artist singer recorded",
    "sang": "singer vocals",
    "starred": "starring cast",
    "played": "starring role player",
    "actor": "starring cast",
    "spouse": "married wife husband",
    "wife": "married spouse",
    "husband": "married spouse",
    "child": "son daughter",
    "mother": "daughter parents",
    "father": "son parents",
    "price": "cost value",
    "cost": "price value",
    "population": "inhabitants residents",
    "capital": "seat government city",
    "located": "situated location",
    "headquartered": "based headquarters",
    "headquarters": "based offices",
    "owner": "owned company",
    "owned": "owner subsidiary",
    "released": "release published",
    "published": "publisher release",
    "language": "speak spoken",
    "currency": "money coin",
    "job": "profession occupation",
    "profession": "occupation career",
    "university": "college alma mater",
    "educated": "studied graduated university",
    "member": "belongs part",
    "president": "head leader",
    "leader": "head president",
    "mayor": "head city",
    "height": "tall metres elevation",
    "tall": "height metres elevation",
    "length": "long kilometres",
    "area": "size square kilometres",
    "cause": "reason because",
    "war": "battle conflict",
    "start": "began beginning",
    "end": "ended finished",
    "movie": "film",
    "film": "movie",
    "deadline": "due date",
    "holiday": "vacation leave",
    "fee": "charge cost",
    "ราคา": "มูลค่า ค่า",
    "เกิด": "กำเนิด วันเกิด",
    "แต่ง": "ผู้แต่ง เขียน",
    "เขียน": "ผู้เขียน ผู้แต่ง",
    "ก่อตั้ง": "ผู้ก่อตั้ง จัดตั้ง",
    "กำกับ": "ผู้กำกับ",
    "เมืองหลวง": "ราชธานี",
    "ประชากร": "จำนวนคน",
    "ตั้งอยู่": "ที่ตั้ง",
    "价格": "价值 售价",
    "出生": "生于 诞生",
    "写": "作者 著",
    "作者": "写 著",
    "创立": "成立 创始人",
    "成立": "创立 建立",
    "导演": "执导",
    "首都": "京城",
    "人口": "居民",
    "位于": "坐落 在",
    "丈夫": "妻子 结婚",
}
_STEMMED = {" ".join(terms(word)): others for word, others in _GROUPS.items() if not has_unspaced(word)}


def synonyms_of(text: str) -> dict[str, str]:
    """The words of a text that have others.

    Args:
        text: A question or a query.

    Returns:
        The word as it stands in the text -> other words for it, in the order of the text.
    """
    if has_unspaced(text):
        return {word: others for word, others in _GROUPS.items() if has_unspaced(word) and word in text}
    found = ((word, _GROUPS.get(fold(word)) or _STEMMED.get(" ".join(terms(word)))) for word in keywords(text))
    return {word: others for word, others in found if others}
