"""Annotators' pages in other languages: complete catalogues, and who reads which language."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from babel.messages.mofile import write_mo
from django.conf import settings
from django.db import OperationalError
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.test import Client
from django.utils import translation

from annotation.people.languages import translated
from annotation.protocols import PROTOCOLS
from scripts.catalogues import LOCALE, catalogue, untranslated
from tandem.messages import Message
from tests.once import once
from tests.page_cast import Study, answers, client_of, make_study, page

LANGUAGES = [code for code, _ in settings.LANGUAGES if code != "en"]
DOMAINS = ("django", "djangojs")
SHARED = ("tandem", "pages", "item", "judges", "people", "campaigns")
PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|\{\w+\}|</?\w+[^>]*>")


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_text_of_annotators_pages_is_translated(language: str) -> None:
    assert untranslated(language) == [], "run python -m scripts.catalogues, and translate these"


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("domain", DOMAINS)
def test_translations_are_compiled_and_keep_every_placeholder(language: str, domain: str) -> None:
    known, compiled = catalogue(language, domain), io.BytesIO()
    write_mo(compiled, known)
    stored = LOCALE / language / "LC_MESSAGES" / f"{domain}.mo"
    assert stored.read_bytes() == compiled.getvalue(), "run python -m scripts.catalogues"
    for message in known:
        if not message.id:
            continue
        texts = [message.id] if isinstance(message.id, str) else list(message.id)
        known_as = message.string or ""
        said = [known_as] if isinstance(known_as, str) else list(known_as)
        for text, word in zip(texts, said, strict=True):
            assert set(PLACEHOLDER.findall(word)) == set(PLACEHOLDER.findall(text)), text


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", PROTOCOLS)
def test_every_guideline_is_translated_section_by_section(name: str, language: str) -> None:
    declared = PROTOCOLS[name]
    for protocol in (declared, *declared.readings.values()):
        translated = protocol.guideline_in(language)
        assert translated != protocol.guideline
        for pattern in (r"(?m)^#{1,2} ", r"(?m)^- "):
            found = [len(re.findall(pattern, text)) for text in (translated, protocol.guideline)]
            assert found[0] == found[1]


@once
def study() -> Study:
    return make_study(reports=1)


def test_annotators_pages_are_in_the_chosen_language_or_that_of_the_browser(study: Study) -> None:
    ada, mine = client_of(study.ada), study.assignment(study.ada)
    english = ada.get(page("item", mine)).content.decode()
    assert ('<html lang="en">' in english, "Submit" in english) == (True, True)
    browser = ada.get("/tasks/", headers={"accept-language": "de-AT"})
    assert browser.headers["Content-Language"] == "de"
    assert ada.post("/account/language/", {"language": "de"}).status_code == 302
    german = ada.get(page("item", mine)).content.decode()
    for words in ('<html lang="de">', "Absenden", "Kann der Bericht sie beantworten?", "Ja"):
        assert words in german
    assert '"Saved": "Gespeichert"' in german
    guideline = ada.get(page("guideline", mine)).content.decode()
    assert "Was ein Bericht beantwortet" in guideline
    assert "Ihre Anmeldung" in ada.get("/account/").content.decode()
    assert "Nicht gefunden" in ada.get("/tasks/finished/0/").content.decode()
    assert "<strong>Ergibt keinen Sinn</strong>" in guideline


def test_a_refusal_is_in_the_language_and_words_of_its_reader(study: Study) -> None:
    ada, mine = client_of(study.ada), study.assignment(study.ada)
    said = {}
    for language in ("en", "de"):
        ada.post("/account/language/", {"language": language})
        response = ada.post(page("submit", mine), answers("yes", "yes", None, quote=("Zoe", 0)))
        longer = ada.post(page("submit", mine), answers("no", "no", "no", comment="x" * 10_001))
        said[language] = [p["message"] for a in (response, longer) for p in a.json()["problems"]]
    assert said["en"][0] == "has no answer; give one of Yes, No, Makes no sense"
    assert said["de"][0] == (
        "die Antwort fehlt; wählen Sie eine von diesen: Ja, Nein, Ergibt keinen Sinn"
    )
    assert said["de"][-1] == "ist länger als 10.000 Zeichen; kürzen Sie es"
    lost = client_of(study.ben).post(
        page("submit", study.assignment(study.ben)),
        answers("yes", "yes", "no", quote=("Zoe", 0)),
        headers={"accept-language": "de"},
    )
    assert lost.json()["problems"][0]["message"] == "'Zoe' wurde im Text nicht gefunden (Bericht)"


def test_reasons_to_wait_are_in_the_readers_language() -> None:
    waits = Message("%(one)s and for %(other)s", one=Message("the practice"), other=Message("x"))
    with translation.override("de"):
        assert translated(waits) == "die Übung; außerdem auf: x"
    assert waits == "the practice and for x"


def test_a_guideline_names_codes_as_their_buttons_do(study: Study) -> None:
    mine = study.assignment(study.ada)
    guideline = client_of(study.ada).get(page("guideline", mine)).content.decode()
    assert "<strong>Makes no sense</strong>" in guideline
    assert "<strong>invalid</strong>" not in guideline


def test_keys_are_named_as_on_the_readers_keyboard(study: Study) -> None:
    ada, mine = client_of(study.ada), study.assignment(study.ada)
    german = ada.get(page("item", mine), headers={"accept-language": "de"}).content.decode()
    for key in ("strg", "entf", "pos1", "ende"):
        assert f"<kbd>{key}</kbd>" in german
    assert not re.search(r"<kbd[^>]*>(ctrl|del|home|end)\b", german)


def test_no_page_text_is_outside_the_translation_catalogues() -> None:
    """Words in a style sheet, and in a script outside of `t` and `tn`, are in no catalogue."""
    scripts = Path(settings.BASE_DIR) / "static" / "js"
    seen, left = set[Path](), [scripts / "item.js", *(scripts / "work").glob("*.js")]
    while left:
        script = left.pop().resolve()
        if script in seen:
            continue
        seen.add(script)
        text = re.sub(r"(?m)^\s*(//|\*|/\*).*$", "", script.read_text("utf-8"))
        left += [
            script.parent / name for name in re.findall(r"(?:from|import)\(?\s*\"(\..+?)\"", text)
        ]
        bare = re.sub(r"\b(t|tn)\((\s*\"(?:[^\"\\]|\\.)*\",?)+", "", text)
        bare = re.sub(r"(?m)//.*$", "", bare)
        words = r"[A-Z][a-z]+ [a-z]"
        assert re.findall(rf'"({words}[^"]*)"|>({words}[^<]*)<', bare) == [], script.name
    assert scripts / "conflict_dialog.js" in seen
    for sheet in (Path(settings.BASE_DIR) / "static" / "css" / "work").glob("*.css"):
        assert re.findall(r"content: *\"[^\"]*[A-Za-z]{2}", sheet.read_text("utf-8")) == [], (
            sheet.name
        )


def test_an_error_page_for_an_unknown_reader_is_in_the_browsers_language(
    monkeypatch: pytest.MonkeyPatch, client: Client
) -> None:
    def away(request: HttpRequest) -> str:
        raise OperationalError

    monkeypatch.setattr("annotation.people.languages.language_of", away)
    client.raise_request_exception = False
    answer = client.get("/tasks/", headers={"accept-language": "de"})
    assert (answer.status_code, answer.headers["Content-Language"]) == (503, "de")
    assert "Gleich wieder da" in answer.content.decode()


def test_researchers_pages_stay_english(study: Study) -> None:
    answer = client_of(study.rita).get("/tasks/", headers={"accept-language": "de"})
    assert '<html lang="en">' in answer.content.decode()


def test_a_right_to_left_language_sets_the_pages_direction() -> None:
    for language, attributes in (("ar", ' lang="ar" dir="rtl"'), ("de", ' lang="de">')):
        with translation.override(language):
            assert attributes in render_to_string("404.html")


def test_styles_of_annotators_pages_use_logical_properties() -> None:
    physical = re.compile(
        r"(?<![\w-])((margin|padding|border)-(left|right)[\w-]*|left|right|float|text-align)"
        r":\s*(?=\S)(?!start|end|center|inline|-12px)[^;}]+|inset -?\dpx"
    )
    folder = Path(settings.BASE_DIR) / "static" / "css"
    sheets = [folder / f"{name}.css" for name in SHARED]
    for sheet in (*sheets, *(folder / "work").glob("*.css")):
        text = re.sub(r"/\*.*?\*/|\[dir=[^}]*\}", "", sheet.read_text("utf-8"), flags=re.DOTALL)
        wrong = [found[0] for found in physical.finditer(text)]
        assert wrong == [], f"{sheet.name}: write margin-inline-start, inset-inline-end and so on"


def test_every_catalogue_belongs_to_an_offered_language() -> None:
    assert {path.name for path in Path(LOCALE).iterdir()} == set(LANGUAGES)
