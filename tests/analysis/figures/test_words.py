"""Readers of a report see the words of buttons in place of codes; files keep the codes."""

from __future__ import annotations

import json
from typing import Any

from annotation.protocols import PROTOCOLS
from annotation.protocols.schema import schema_of
from tandem.document import UnitCount
from tandem.figures.files import figure_file
from tandem.formats.markdown import as_markdown
from tandem.sections.contents import document
from tandem.sections.words import replace_codes, words_of

JSON = dict[str, Any]
WORDS = {"yes": "Relevant", "no": "Not relevant"}


def in_words(full: JSON) -> JSON:
    block = full["variables"]["answerable"] | {"words": WORDS}
    return {**full, "variables": {**full["variables"], "answerable": block}}


def test_each_code_is_shown_as_the_word_of_its_button() -> None:
    words = schema_of(PROTOCOLS["report-coverage"]).words()["answerable"]
    assert words == {"yes": "Yes", "no": "No", "invalid": "Makes no sense"}


def test_the_page_shows_words_and_the_json_has_codes(full: JSON) -> None:
    report, before = in_words(full), json.dumps(full)
    text = as_markdown(report)
    assert "categories Relevant, Not relevant" in text or "Relevant" in text
    assert "| yes |" not in text
    drawn = figure_file(report, "confusion", "svg", "answerable").content.decode()
    assert ">Not relevant<" in drawn
    assert ">yes<" not in drawn
    assert json.dumps(full) == before
    assert report["variables"]["answerable"]["judges"]["mild"]["confusion"]["labels"] == [
        "no",
        "yes",
    ]


def test_the_link_of_a_count_filters_units_by_codes_not_by_words(full: JSON) -> None:
    shown = document(in_words(full))
    (rows,) = [
        t.rows for _, block, t in shown.tables() if t.caption.startswith("Confusion")
        and "answerable" in block.title and "Not relevant" in t.header
    ][:1]  # fmt: skip
    cell = rows[0][2]
    assert rows[0][0] == "Not relevant"
    assert isinstance(cell, UnitCount)
    assert (cell.filters["people"], cell.filters["said"]) == ("no", "yes")


def test_codes_with_the_same_word_stay_distinct_and_reasons_have_words(
    full: JSON,
) -> None:
    assert words_of({"words": {"a": "Same", "b": "Same", "c": "Own"}}) == {
        "a": "Same (a)", "b": "Same (b)", "c": "Own",
    }  # fmt: skip
    report = in_words(full)
    warning = {
        "variable": "answerable",
        "rater": None,
        "text": "92% of labels are `yes`.",
        "code": "",
    }
    first = [{"why": "2 of 3 say yes, 1 of 3 say no", "item": "i", "unit": "u"}]
    between = report["variables"]["answerable"]["between_judges"] | {"label_first": first}
    report["variables"]["answerable"]["between_judges"] = between
    found = replace_codes({**report, "warnings": [warning]})
    assert found["warnings"][0]["text"] == "92% of labels are “Relevant”."
    (unit,) = found["variables"]["answerable"]["between_judges"]["label_first"]
    assert unit["why"] == "2 of 3 say Relevant, 1 of 3 say Not relevant"
