"""The HTML file is self-contained and valid, and shows what the page shows."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from tandem.document import Number, Table
from tandem.figures import FIGURES, subjects
from tandem.formats import FORMATS
from tandem.formats.html import as_html, cell_html, document_html, style, table_html
from tandem.sections.contents import document
from tests.analysis.cast import JUDGE, table
from tests.analysis.formats.test_formats import CAST, Tables
from tests.analysis.hostile import HOSTILE, renamed
from tests.analysis.report.test_verdict import UNLIKE, labels, report_of

HOSTILE_CAST = {**renamed(CAST), "campaign": "</title><script>alert(1)</script>"}
FETCHING = {"src", "href", "srcset", "data", "action", "poster", "xlink:href", "background"}


@pytest.fixture(scope="module")
def text() -> str:
    return FORMATS["html"].render(HOSTILE_CAST)


def test_the_file_fetches_nothing_and_runs_no_script(text: str) -> None:
    read = Tables(text)
    tags = {tag for tag, _, _ in read.attributes}
    assert not tags & {"script", "link", "iframe", "object", "img", "base"}
    assert not {name for _, name, _ in read.attributes} & FETCHING
    assert not [name for _, name, _ in read.attributes if name.startswith("on")]
    assert "<script" not in text
    assert "://" not in text
    assert "url(" not in text
    assert "@import" not in text


def test_the_files_security_policy_forbids_everything_that_it_does_not_need(text: str) -> None:
    head = text.split("<title>")[0]
    assert "content=\"default-src 'none'; style-src 'unsafe-inline'\"" in head
    assert head.startswith('<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">')


def test_paragraphs_of_methods_fold_below_the_first_which_says_what_was_used() -> None:
    report = report_of(labels(**UNLIKE, **{JUDGE: "nnynyynn" * 5}))
    methods = document_html(document(report), report, folded=True).partition(
        'id="section-methods" tabindex="-1"'
    )[2]
    first, _, rest = methods.partition("<details")
    assert "were used" in first
    assert "<h3>Agreement among people</h3>" in rest
    assert "<h3>Intervals</h3>" in rest
    assert " open" not in rest.partition("</section>")[0]
    assert rest.partition("</section>")[0].count('<p class="text">') == rest.count("<h3>") - 1


def test_every_tag_is_closed_and_every_id_is_unique(text: str) -> None:
    read = Tables(text)
    ids = Counter(value for _, name, value in read.attributes if name == "id")
    assert read.open == []
    assert set(ids.values()) == {1}
    assert {v for _, name, v in read.attributes if name == "aria-labelledby"} <= set(ids)


def test_each_table_has_a_caption_and_each_header_a_scope(text: str) -> None:
    read = Tables(text)
    assert len(read.tables) + read.of_figures == text.count("<caption>") > 10
    assert all(read.captions)
    assert set(read.scopes) == {"col", "row"}


def test_the_file_contains_the_drawn_figures(text: str) -> None:
    there = [f.name for f in FIGURES.values() for _ in subjects(HOSTILE_CAST, f)]
    drawn = re.findall(r'<svg class="figure(?: wide-only)?"', text)
    assert len(drawn) == len(there) == Tables(text).of_figures
    assert re.search(r'<svg [^>]*role="img" aria-label="Coverage of 20 reports', text)


def test_names_in_the_file_are_text_and_never_markup(text: str) -> None:
    assert "&lt;script&gt;&quot;x&quot;" in text
    assert not [name for name in HOSTILE.values() if "<" in name and name in text]


def test_the_file_has_styles_for_light_dark_and_print() -> None:
    css = str(style())
    assert "light-dark(" in css
    assert "--people:" in css
    assert "@media print" in css
    assert css.count("{") == css.count("}")
    assert "</" not in css


def test_on_a_page_the_verdict_links_to_its_sections_and_the_rest_is_folded() -> None:
    report = report_of(labels(**UNLIKE, **{JUDGE: "nnynyynn" * 5}))
    shown = document_html(document(report), report, folded=True)
    verdict = shown.split("</section>")[0]
    assert 'class="verdict"' in verdict
    targets = set(re.findall(r'href="#(section-[^"]+)"', shown))
    assert {"section-people", "section-judge-model", "section-planning"} <= targets
    assert targets <= set(re.findall(r'id="(section-[^"]+)"', shown))
    assert re.findall(r"<a [^>]*>[ ,;(]", verdict) == []
    assert 'class="fold" open' not in shown
    assert "<h2" not in verdict


def test_words_for_agreement_in_the_verdict_have_a_hint_with_their_bands() -> None:
    report = report_of(labels(**UNLIKE, **{JUDGE: "nnynyynn" * 5}))
    hints = re.findall(
        r'<details class="hint"><summary>.*?</details>', FORMATS["html"].render(report)
    )
    assert len(hints) == 3
    assert "<li><b>Moderately</b> κ or α from 0.4</li>" in hints[0]


def test_the_verdict_has_a_column_for_each_of_several_judges() -> None:
    other = table({"other": "nnnnnnyy" * 5}, rater_kind="judge")
    report = report_of([*labels(**UNLIKE, **{JUDGE: "nnynyynn" * 5}), *other])
    verdict = document_html(document(report), report, folded=True).split("</section>")[0]
    assert "Do the judges agree with each other?" in re.findall(r"<dt>(.*?)</dt>", verdict)
    heads = re.findall(r'<th scope="col">.*?<bdi>(.*?)</bdi></th>', verdict)
    assert heads == ["model", "other"]
    rows = dict(re.findall(r'<th scope="row">(.*?)</th>(.*?)</tr>', verdict))
    assert re.findall(r'data-label="(.*?)"', rows["Do the judges agree with people?"]) == heads
    # One sentence for both has one cell, and a single judge has no table.
    shared = '<td class="open" colspan="2" data-label="model, other">'
    assert shared in rows["What do the judges get wrong?"]
    single = report_of(labels(**UNLIKE, **{JUDGE: "nnynyynn" * 5}))
    verdict = document_html(document(single), single, folded=True).split("</section>")[0]
    assert "Does model agree with people?" in re.findall(r"<dt>(.*?)</dt>", verdict)
    assert '<th scope="col">' not in verdict.split("<figure")[0]


def test_a_column_of_numbers_with_an_empty_cell_is_still_aligned_as_numbers() -> None:
    rows = (("bm25", Number(0.5), "yes"), ("Kendall's τ", "", ""))
    made = table_html(Table("Systems", ("System", "Coverage", "Context"), rows))
    assert '<th scope="col" class="number">Coverage</th>' in made
    assert '<th scope="col">Context</th>' in made


@pytest.mark.parametrize(
    ("systems", "last", "scrolls"),
    [(8, Number(0.5), True), (8, "yes", False), (7, Number(0.5), False)],
)
def test_a_long_table_of_numbers_scrolls_sideways_on_a_phone_and_by_keyboard(
    systems: int, last: Number | str, scrolls: bool
) -> None:
    row = ("bm25", *[Number(0.5)] * 3, last)
    made = table_html(Table("Systems", ("System", "Ada", "Ben", "Cleo", "Judge"), (row,) * systems))
    frame = 'class="table-frame wide sideways" role="group" aria-label="Systems" tabindex="0"'
    assert (frame in made) == scrolls == ("sideways" in made)


def test_each_figure_of_raters_names_its_variable_if_there_are_several() -> None:
    people = {"ada": "ynynyynn" * 5, "bram": "ynynyynn" * 5}
    one, both = report_of(table(people)), report_of([*table(people), *table(people, "odd")])
    assert '<strong id="figure-first">All raters on one axis</strong>' in as_html(one)
    shown = as_html(both)
    assert '<strong id="figure-first">All raters on one axis: answerable</strong>' in shown
    assert "<h3>All raters on one axis: odd</h3>" in shown
    # Telephones get a narrower drawing, which needs no scrolling.
    first = shown.partition("figure-first")[2].partition("</figure>")[0]
    narrow = first.partition("figure narrow-only")[2]
    assert 'width="340.0"' in narrow.partition(">")[0]


def test_counts_have_a_comma_before_thousands_and_titles_keep_people_s_names() -> None:
    assert (cell_html(9600), cell_html(960), cell_html("9600")) == ("9,600", "960", "9600")
    people = {"ada": "ynynyynn" * 5, "bram": "ynynyynn" * 5, "carl": "ynnnyynn" * 5}
    shown = as_html(report_of([*table(people), *table(people, "odd")]))
    assert "odd: soft labels (Dawid–Skene)" in shown
