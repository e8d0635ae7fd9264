"""The task's noun fills the slots in Tandem's own texts, and changes no other word."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from docs._reference.example import report
from tandem.document import (
    UNIT,
    UNIT_HEAD,
    UNITS,
    UNITS_HEAD,
    Block,
    CountedText,
    Format,
    Number,
    RaterName,
    Table,
    UnitCount,
    in_noun,
)
from tandem.formats import FORMATS
from tandem.sections.base import block_in_noun, slotted
from tandem.sections.contents import document

NOUN = ("key point", "key points")
SLOTS = re.compile("[\ufdd0-\ufdd3]")
WORD = re.compile(r"\bunits?\b")
LIBRARY = Path(__file__).parents[3] / "tandem"
FORMATS_OF_OURS = [each for name, each in FORMATS.items() if name != "json"]


def test_slots_have_the_singular_or_plural_noun_with_a_capital_where_a_text_begins() -> None:
    text = f"{UNITS_HEAD} of a {UNIT}, 12 {UNITS}. {UNIT_HEAD}"
    assert in_noun(text, NOUN) == "Key points of a key point, 12 key points. Key point"
    assert in_noun(text) == "Units of a unit, 12 units. Unit"


def test_a_text_without_slots_is_kept_whatever_it_says() -> None:
    for text in ("judge unit-7", "Units", "the query as the unit", "my.unit"):
        assert in_noun(text, NOUN) == text


def test_a_text_keeps_its_counts() -> None:
    count = UnitCount.of(3, show="several")
    found = in_noun(CountedText.of(f"on 3 {UNITS}", (f"3 {UNITS}", count)), NOUN)
    assert isinstance(found, CountedText)
    assert found == "on 3 key points"
    assert [(words, of.filters) for words, of in found.counts] == [
        ("3 key points", {"show": "several"})
    ]


def test_the_words_of_a_table_change_but_raters_and_categories_do_not() -> None:
    row = (RaterName("units", "human"), 3, Number(None, reason="no unit has two labels"), "unit")
    header = (RaterName("unit", "judge"), UNITS_HEAD, "Kappa", "Units")
    caption = f"Shared {UNITS}"
    (table,) = block_in_noun(Block("", (Table(caption, header, (row,)),)), NOUN).tables
    assert table.caption == "Shared key points"
    assert table.header == (header[0], "Key points", "Kappa", "Units")
    assert table.rows[0][0] == row[0]
    assert table.rows[0][3] == "unit"
    assert table.reasons() == {"no key point has two labels": "a"}


def sentences(path: Path) -> Iterator[str]:
    """Yield the texts of a module other than its docstrings and errors; numbers in them are 30."""
    tree = ast.parse(path.read_text())
    raised = {
        id(each)
        for error in ast.walk(tree)
        if isinstance(error, ast.Raise)
        for each in ast.walk(error)
    }
    for node in ast.walk(tree):
        bare = [node.value] if isinstance(node, ast.Expr) else []
        raised |= {id(each) for each in bare if isinstance(each, ast.Constant)}
        if id(node) in raised:
            continue
        if isinstance(node, ast.JoinedStr):
            raised |= {id(each) for each in node.values}
            yield "".join(
                str(each.value) if isinstance(each, ast.Constant) else "30" for each in node.values
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_every_sentence_of_the_statistics_that_says_unit_has_the_noun() -> None:
    modules = [*(LIBRARY / "statistics").glob("*.py")]
    modules += [LIBRARY / "sections" / f"{name}.py" for name in SOURCES_OF_REASONS]
    modules.append(LIBRARY.parent / "analysis" / "robustness" / "sheet.py")
    said = [text for path in modules for text in sentences(path) if WORD.search(text)]
    said = [text for text in said if " " in text and text not in NOT_SHOWN]
    assert len(said) > 20
    assert [text for text in said if WORD.search(slotted(text))] == []


SOURCES_OF_REASONS = (
    "agreement", "backgrounds", "crowd", "floor", "judges", "planning", "soft_labels", "written",
)  # fmt: skip
NOT_SHOWN: set[str] = set()


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
    made = with_nouns(*[("question", "questions")] * variables)
    # Their sentences get the noun when the report is created.
    words = words_of(made | {"verdict": None, "warnings": []})
    said = [line for line in words.split("\n") if WORD.search(line.lower())]
    assert [line for line in said if "with the query as the unit" not in line] == []
    assert "Questions" in words


def test_each_variable_has_the_noun_of_its_own_kind() -> None:
    rest = [("unit", "units")] * (len(report()["variables"]) - 2)
    words = words_of(with_nouns(("report", "reports"), ("passage", "passages"), *rest))
    assert "Reports" in words
    assert "Passages" in words
    assert "units, where people tie." in words or "People tie on no unit." in words


def test_a_labels_file_keeps_the_word_unit() -> None:
    made = report()
    plain = {name: {k: v for k, v in each.items() if k != "noun"}
             for name, each in made["variables"].items()}  # fmt: skip
    assert "Units" in words_of(made | {"variables": plain})


@pytest.mark.parametrize("format", FORMATS_OF_OURS, ids=lambda each: each.name)
def test_no_format_is_written_with_an_empty_slot(format: Format) -> None:
    assert not SLOTS.search(format.render(report()))
    nouns = [("report", "reports"), *[("passage", "passages")] * (len(report()["variables"]) - 1)]
    assert not SLOTS.search(format.render(with_nouns(*nouns)))
