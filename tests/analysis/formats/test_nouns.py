"""The task's noun replaces *unit* in our own words only."""

from __future__ import annotations

from typing import Any

from analysis.document import Block, CountedText, Number, RaterName, Table, UnitCount
from analysis.formats.build import document
from analysis.formats.nouns import block_in_noun, in_noun
from docs._reference.example import report

NOUN = ("key point", "key points")


def test_singular_and_plural_are_replaced_and_capitals_kept() -> None:
    assert in_noun("Units of a unit, 12 units", NOUN) == "Key points of a key point, 12 key points"


def test_names_that_contain_the_word_unit_are_kept() -> None:
    for text in ("judge unit-7", "my.unit", "items/units", "unitising", "unit#3", "units-b"):
        assert in_noun(text, NOUN) == text


def test_a_text_keeps_its_counts() -> None:
    count = UnitCount.of(3, show="several")
    found = in_noun(CountedText.of("on 3 units", ("3 units", count)), NOUN)
    assert isinstance(found, CountedText)
    assert found == "on 3 key points"
    assert [(words, of.filters) for words, of in found.counts] == [
        ("3 key points", {"show": "several"})
    ]


def test_the_words_of_a_table_change_but_raters_and_categories_do_not() -> None:
    row = (RaterName("units", "human"), 3, Number(None, reason="no unit has two labels"), "unit")
    header = ("Rater", "Units", "Kappa", "my unit")
    (table,) = block_in_noun(Block("", (Table("Shared units", header, (row,)),)), NOUN).tables
    assert (table.caption, table.header) == (
        "Shared key points",
        ("Rater", "Key points", "Kappa", "my unit"),
    )
    assert table.rows[0][0] == row[0]
    assert table.rows[0][3] == "unit"
    assert table.reasons() == {"no key point has two labels": "a"}


def with_nouns(*nouns: tuple[str, str]) -> dict[str, Any]:
    made = report()
    of = zip(made["variables"].items(), nouns, strict=True)
    return made | {"variables": {name: {**each, "noun": list(noun)} for (name, each), noun in of}}


def words_of(made: dict[str, Any]) -> str:
    shown = document(made)
    words = [
        text for each in shown.sections for text in (each.about, *each.paragraphs, *each.points)
    ]
    for _, block, table in shown.tables():
        words += [block.title, block.about, table.caption, *map(str, table.header)]
    return "\n".join(words)


def test_a_report_on_questions_never_says_unit() -> None:
    variables = len(report()["variables"])
    words = words_of(with_nouns(*[("question", "questions")] * variables))
    assert [line for line in words.split("\n") if in_noun(line, NOUN) != line] == []
    assert "Questions" in words


def test_each_variable_has_the_noun_of_its_own_kind() -> None:
    rest = [("unit", "units")] * (len(report()["variables"]) - 2)
    words = words_of(with_nouns(("report", "reports"), ("passage", "passages"), *rest))
    assert "Reports" in words
    assert "Passages" in words
    assert "Units whose human labels tie" in words


def test_a_labels_file_keeps_the_word_unit() -> None:
    made = report()
    plain = {name: {k: v for k, v in each.items() if k != "noun"}
             for name, each in made["variables"].items()}  # fmt: skip
    assert "Units" in words_of(made | {"variables": plain})
