"""Days, times and plain asking words of other languages, put into English before a question is read."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence

from loopwright.retrieval.text import STOP_WORDS
from loopwright.workflows.assistant.understanding.spelling import plain

# Foreign=English, with "_" for a blank. What stands before the bar is plain in any question, what stands after it only
# counts in a question that is in the language.
_GERMAN = """
montag=Monday dienstag=Tuesday mittwoch=Wednesday donnerstag=Thursday freitag=Friday samstag=Saturday sonnabend=Saturday
sonntag=Sunday montags=Monday samstags=Saturday sonntags=Sunday heute=today vormittag=morning
vormittags=morning nachmittag=afternoon nachmittags=afternoon abends=evening morgens=morning mittags=at_noon
am_wochenende=on_the_weekend heute_abend=tonight morgen_früh=tomorrow_morning am_morgen=in_the_morning
am_abend=in_the_evening am_vormittag=in_the_morning am_nachmittag=in_the_afternoon nach_dem_mittagessen=after_lunch
vor_dem_mittagessen=before_lunch ersten_tag=first_day zweiten_tag=second_day letzten_tag=last_day
|
morgen=tomorrow abend=evening ab=from vor=before nach=after zwischen=between bis=to am=on im=in in=in was=what
welche=which welcher=which welches=which wann=when wo=where wer=who gibt=is es=there läuft=is_on laufen=are_on findet=is
finden=are statt=scheduled beginnt=starts beginnen=start über=about zu=about zum=about_the zur=about_the von=by vom=by
der=the die=the das=the den=the dem=the des=the ein=a eine=a einen=a und=and oder=or ist=is sind=are mit=with
vorträge=talks vortrag=talk raum=room saal=hall gebäude=building stände=stands stand=stand aussteller=exhibitors
referenten=speakers jetzt=now gerade=currently als_nächstes=next spricht=speaks etwas=something thema=topic ich=I
kann=can zeig=show mir=me alle=all für=about mich=me interessiere=interested suche=find los=happening
samstag_morgen=Saturday_morning sonntag_morgen=Sunday_morning freitag_morgen=Friday_morning
"""
_FRENCH = """
lundi=Monday mardi=Tuesday mercredi=Wednesday jeudi=Thursday vendredi=Friday samedi=Saturday dimanche=Sunday
aujourd'hui=today demain=tomorrow matin=morning matinée=morning après-midi=afternoon après_midi=afternoon soirée=evening
ce_soir=tonight premier_jour=first_day deuxième_jour=second_day dernier_jour=last_day
après_le_déjeuner=after_lunch week-end=weekend
|
soir=evening vers=around avant=before après=after entre=between de=de des=des dès=from jusqu'à=until et=and ou=or
l'=the d'=of le=the la=the les=the du=of_the un=a une=a au=at aux=at dans=in en=in sur=about qui=who quand=when où=where
quelles=which quels=which quel=which quelle=which que=what quoi=what qu'est-ce=what qu'il=it est=is sont=are y=there
a-t-il=is_there il=it conférences=talks conférence=talk exposés=talks salle=room bâtiment=building stands=stands
maintenant=now parle=speaks quoi_de_neuf=what_is_on je=I cherche=find sur_le=about sur_la=about sur_les=about
"""
_SPANISH = """
lunes=Monday miércoles=Wednesday jueves=Thursday viernes=Friday sábado=Saturday sábados=Saturday hoy=today
por_la_mañana=in_the_morning de_la_mañana=am por_la_tarde=in_the_afternoon de_la_tarde=pm
por_la_noche=in_the_evening de_la_noche=pm esta_tarde=this_afternoon esta_noche=tonight esta_mañana=this_morning
el_domingo=on_Sunday el_martes=on_Tuesday primer_día=first_day segundo_día=second_day último_día=last_day
fin_de_semana=weekend después_de_comer=after_lunch mañana=tomorrow
|
domingo=Sunday martes=Tuesday tarde=afternoon noche=evening las=the antes_de=before después_de=after
desde=from hasta=until entre=between y=and o=or el=the la=the los=the en=in de=de del=del sobre=about acerca=about
qué=what que=what quién=who cuándo=when dónde=where cuáles=which cuál=which hay=is_there es=is son=are un=a una=a
me=me interesa=interested busco=find sobre_el=about sobre_la=about por=by
charlas=talks charla=talk conferencias=talks ponencias=talks sala=room edificio=building ponentes=speakers ahora=now
habla=speaks
"""
_DUTCH = """
maandag=Monday dinsdag=Tuesday woensdag=Wednesday donderdag=Thursday vrijdag=Friday zaterdag=Saturday zondag=Sunday
vandaag=today ochtend=morning voormiddag=morning namiddag=afternoon s_morgens=in_the_morning s_ochtends=in_the_morning
s_middags=in_the_afternoon s_avonds=in_the_evening vanavond=tonight vanmiddag=this_afternoon
vanochtend=this_morning na_de_lunch=after_lunch eerste_dag=first_day tweede_dag=second_day
laatste_dag=last_day zaterdagmiddag=Saturday_afternoon zondagmiddag=Sunday_afternoon zaterdagochtend=Saturday_morning
zondagochtend=Sunday_morning zaterdagavond=Saturday_evening zondagavond=Sunday_evening
|
morgen=tomorrow middag=afternoon avond=evening vanaf=from voor=before na=after tussen=between tot=until op=on in=in
wat=what welke=which wanneer=when waar=where wie=who is=is zijn=are er=there de=the het=the een=a en=and of=or
over=about van=by met=with lezingen=talks lezing=talk presentaties=talks zaal=room gebouw=building sprekers=speakers
nu=now
spreekt=speaks
"""
_PORTUGUESE = """
segunda-feira=Monday terça-feira=Tuesday quarta-feira=Wednesday quinta-feira=Thursday sexta-feira=Friday sábado=Saturday
sábados=Saturday no_domingo=on_Sunday domingo_de=Sunday domingo_à=Sunday hoje=today amanhã=tomorrow manhã=morning
de_manhã=in_the_morning da_manhã=am da_tarde=pm da_noite=pm à_tarde=in_the_afternoon de_tarde=in_the_afternoon
à_noite=in_the_evening de_noite=in_the_evening esta_noite=tonight hoje_à_noite=tonight primeiro_dia=first_day
segundo_dia=second_day último_dia=last_day fim_de_semana=weekend depois_do_almoço=after_lunch
antes_do_almoço=before_lunch às=at
|
domingo=Sunday tarde=afternoon noite=evening antes_das=before depois_das=after a_partir_das=from das=from
desde=from até=until entre=between e=and ou=or o=the a=the os=the as=the o_que=what se_passa=is_on na=in no=in em=in
de=de da=of_the do=of_the
sobre=about que=what quê=what quem=who quando=when onde=where quais=which qual=which há=is_there é=is são=are um=a uma=a
palestras=talks palestra=talk sessões=talks sessão=talk conversas=talks apresentações=talks sala=room edifício=building
oradores=speakers agora=now fala=speaks
"""
_LONGEST = 3
_LEAST = 2
"""A question is in a language that has this many of its words that English has not."""
_ENGLISH = STOP_WORDS | frozenset("die over stand stands tot alle abend martes".split())
_TOKEN = re.compile(r"[dl]['’](?=[^\W\d_])|[^\W\d_]+(?:['’-][^\W\d_]+)*", re.IGNORECASE)
_COMPOUND = re.compile(r"\b(\w{3,}tag)((?:vor|nach)mittag|abend|morgen)s?\b", re.IGNORECASE)
_UNIT = r"(?:uhr|uur|heures?|horas?|h)"
_HOUR = rf"(\d{{1,2}})(?:[:.h]([0-5]\d))?(?:\s*{_UNIT}\b)?"
_UNTIL = (
    r"(?:às|as|bis|tot|à|a(?:\s+las)?|até(?:\s+(?:às|as))?|jusqu['’]à|hasta(?:\s+las)?|[ye](?:\s+(?:las|as|às))?"
    r"|et|und|en)"
)
_FROM = r"(?:de|das|desde|von|van|entre|zwischen|tussen)(?:\s+(?:las|as|les))?"
_SPOKEN_HOUR = re.compile(
    r"\b(\d{1,2})(?:[:.]([0-5]\d))?\s*(?:uhr|uur|heures?|horas?)\b(?:\s*([0-5]\d)\b)?", re.IGNORECASE
)
_RANGE = re.compile(rf"\b{_FROM}\s+{_HOUR}\s+{_UNTIL}\s+{_HOUR}", re.IGNORECASE)
_AT = re.compile(rf"(?<!\w)(?:às|as|à|a\s+las?|um|om|gegen|vers)\s+{_HOUR}(?![\w:.]*\d)", re.IGNORECASE)


def _table(text: str) -> dict[str, str]:
    entries = (entry.split("=") for entry in text.replace("|", " ").split())
    return {_key(foreign.replace("_", " ")): english.replace("_", " ") for foreign, english in entries}


def _key(word: str) -> str:
    return plain(word).replace("’", "'")


_TEXTS = (_GERMAN, _FRENCH, _SPANISH, _DUTCH, _PORTUGUESE)
_LANGUAGES = tuple(_table(text) for text in _TEXTS)
_PLAIN: dict[str, str] = {key: word for text in _TEXTS for key, word in _table(text.split("|")[0]).items()}
_FIRST_WORDS = frozenset(words.split()[0] for table in _LANGUAGES for words in table) - STOP_WORDS


def in_english(question: str, known: Container[str]) -> str:
    """A question with the words for days, times and asking in German, French, Spanish, Dutch or Portuguese in English.

    In a question that is otherwise English only what names a day or a time is replaced; what it is about never is.

    Args:
        question: The question.
        known: Plain words of names, which are left alone.
    """
    text = _SPOKEN_HOUR.sub(lambda match: f"{match[1]}:{match[2] or match[3] or '00'}", question)
    text = _COMPOUND.sub(r"\1 am \2", text)
    keys = [_key(match[0]) for match in _TOKEN.finditer(text)]
    if text != question:
        text = _AT.sub(_at, text)
    if _FIRST_WORDS.isdisjoint(keys):
        return text
    language = _language_of(keys)
    if language is not None:
        text = _RANGE.sub(lambda m: f"from {m[1]}:{m[2] or '00'} to {m[3]}:{m[4] or '00'}", text)
        text = _AT.sub(_at, text)
    return _replaced(text, _PLAIN | (language or {}), known, language or {})


def _at(match: re.Match[str]) -> str:
    return f"at {match[1]}:{match[2] or '00'}"


def _language_of(keys: Sequence[str]) -> dict[str, str] | None:
    """The table of the language that a question is in, or None if it is in English or too short to tell."""
    own = [sum(key in table and key not in _ENGLISH for key in keys) for table in _LANGUAGES]
    best = max(range(len(own)), key=own.__getitem__)
    table = _LANGUAGES[best]
    english = sum(key in STOP_WORDS and key not in table for key in keys)
    return table if own[best] >= _LEAST and own[best] > english else None


def _replaced(text: str, table: Mapping[str, str], known: Container[str], own: Container[str]) -> str:
    tokens = [(match.start(), match.end(), _key(match[0])) for match in _TOKEN.finditer(text)]
    pieces: list[str] = []
    end = i = 0
    while i < len(tokens):
        for size in range(min(_LONGEST, len(tokens) - i), 0, -1):
            phrase = " ".join(key for _, _, key in tokens[i : i + size])
            # A small word of the question's own language is no name, though somebody is called so: "el domingo", "der".
            named = phrase in known and not (phrase in own and text[tokens[i][0]].islower())
            if phrase in table and not named:
                blank = " " if phrase.endswith("'") else ""
                pieces += [text[end : tokens[i][0]], table[phrase], blank]
                end = tokens[i + size - 1][1]
                break
        else:
            size = 1
        i += size
    return "".join([*pieces, text[end:]])
