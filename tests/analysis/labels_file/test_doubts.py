"""One category or person counted as two is named at the head of the report, with both counts."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest

import tandem
from tandem.files.rows import InputError
from tests.cast import write_lines

JSON = dict[str, Any]
ABOUT = ("file", "similar_values", "similar_raters", "similar_variables", "merged_values",
         "missing_word")  # fmt: skip


def rows(*values: Any, rater: str = "bea", variable: str = "v") -> list[JSON]:
    """Labels of two people: Ada says yes, and `rater` the values."""
    made: list[JSON] = []
    for n, value in enumerate(values):
        row = {"item": f"i{n}", "unit": "u", "variable": variable}
        made += [{**row, "rater": "Ada", "value": "yes"}, {**row, "rater": rater, "value": value}]
    return made


def warned(table: Any, **options: Any) -> list[JSON]:
    found = tandem.report(table, resamples=2, **options).json["warnings"]
    about = [each for each in found if each["code"] in ABOUT]
    assert found[: len(about)] == about, "they come first"
    return about


def as_file(folder: Path, form: str, table: list[JSON]) -> Any:
    """The same labels by columns, by lines (since a label has two revisions), or as rows."""
    if form == "rows":
        return table
    lines = [{**row, "assisted_by": "x"} for row in rows("no")] if form == "lines" else []
    lines = [{**line, "item": "other", "value": "yes"} for line in lines]
    return write_lines(folder / "l.jsonl", table + lines)


@pytest.mark.parametrize("form", ["rows", "columns", "lines"])
@pytest.mark.parametrize(
    ("value", "shown", "said"),
    [
        ("yes ", '"yes "', "blanks"),
        ("yes\u00a0", '"yes\\xa0"', "blanks"),
        ("\u200byes", '"\\u200byes"', "blanks"),
        ("Yes", '"Yes"', "case"),
        ("YES ", '"YES "', "blanks and case"),
    ],
)
def test_values_that_look_the_same_are_named_with_their_counts(
    tmp_path: Path, form: str, value: str, shown: str, said: str
) -> None:
    table = as_file(tmp_path, form, rows("yes", value, value))
    (warning,) = warned(table)
    assert (warning["code"], warning["variable"]) == ("similar_values", "v")
    count = 6 if form == "lines" else 4
    assert f'"yes" ({count} labels) and {shown} (2 labels)' in warning["text"]
    assert f"differ only in {said}, and count as 2 categories" in warning["text"]


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_the_last_digits_of_a_float_are_named(level: Any) -> None:
    table = [{**row, "value": 0.3} for row in rows(*"ab")] + rows("x")[:0]
    table[1]["value"] = 0.1 + 0.2
    (warning,) = warned(table, levels={"v": level})
    assert '"0.3" (3 labels) and "0.30000000000000004" (1 label)' in warning["text"]
    assert "count as 2 categories" in warning["text"]


def test_leading_zeros_and_unicode_forms_of_values_are_named() -> None:
    form = unicodedata.normalize("NFD", "évident")
    table = [
        {**row, "value": v} for row, v in zip(rows(1, 2), ["1", "01", "évident", form], strict=True)
    ]
    first, second = warned(table)
    assert "leading zeros" in first["text"]
    assert (
        '"évident" (1 label) and "e\\u0301vident" (1 label) differ only in Unicode form'
        in second["text"]
    )


class TestSpellingsOfNumbers:
    def texts(self, *values: str) -> list[JSON]:
        return [{**row, "value": v} for row, v in zip(rows(1, 2), values, strict=True)]

    def test_texts_that_are_merged_are_named(self) -> None:
        (warning,) = warned(self.texts("1", "1.0", "2", "2"))
        assert warning["code"] == "merged_values"
        assert 'count as one number: "1" (1 label) and "1.0" (1 label)' in warning["text"]

    def test_numbers_of_a_data_frame_are_one_category_without_a_word(self) -> None:
        table = [{**row, "value": v} for row, v in zip(rows(1, 2), [1, 1.0, 2.0, 2], strict=True)]
        assert warned(table) == []
        assert tandem.report(table, resamples=2).json["variables"]["v"]["categories"] == ["1", "2"]

    def test_no_figure_changes(self) -> None:
        one = tandem.report(self.texts("1", "1.0", "2", "2"), resamples=2).json["variables"]["v"]
        other = tandem.report(self.texts("1", "1", "2", "2"), resamples=2).json["variables"]["v"]
        assert one["agreement"] == other["agreement"]


@pytest.mark.parametrize("word", ["nan", "NA", "N/A", "#N/A", "None", "null", "NaN", "-", "none"])
def test_a_word_for_missing_is_named_with_the_way_to_write_it(tmp_path: Path, word: str) -> None:
    """Two units `nan/1` and `1/1` once had percent .5 and alpha 0 without a word."""
    path = tmp_path / "l.csv"
    path.write_text(
        f"item,unit,variable,rater,value\na,a,v,Ada,{word}\na,a,v,Bea,1\nb,b,v,Ada,1\nb,b,v,Bea,1\n",
        "utf-8",
    )
    (warning,) = warned(path)
    assert (warning["code"], warning["variable"]) == ("missing_word", "v")
    assert f'"{word}" (1 label) is a category' in warning["text"]
    assert "leave the cell empty, or write a reason under `missing`" in warning["text"]
    assert warned(path, scales={"v": [word, 1]}) == [], "it is declared"


def test_a_protocols_own_code_is_no_word_for_missing() -> None:
    table = [
        {**row, "variable": "eligibility", "protocol": "answer-rating", "value": "none"}
        for row in rows(1, 2)
    ]
    assert warned(table) == []


@pytest.mark.parametrize("kind", ["Unicode form", "case", "blanks", "leading zeros"])
def test_a_person_under_two_names_is_named(kind: str) -> None:
    one, two = {
        "Unicode form": ("Zoë", unicodedata.normalize("NFD", "Zoë")),
        "case": ("Zoë", "zoë"),
        "blanks": ("Zoë", "Zoë\u00a0"),
        "leading zeros": ("r1", "r01"),
    }[kind]
    table = rows("yes", rater=one) + [
        {**row, "item": "x"} for row in rows("no", rater=two) if row["rater"] == two
    ]
    (warning,) = warned(table)
    assert (warning["code"], warning["variable"], warning["rater"]) == (
        "similar_raters",
        None,
        None,
    )
    assert f"(1 label) differ only in {kind}, and count as 2 raters" in warning["text"]


def test_two_names_of_one_variable_are_named() -> None:
    (warning,) = warned(rows("yes") + rows("yes", variable="V"))
    assert warning["code"] == "similar_variables"
    assert '"v" (2 labels) and "V" (2 labels) differ only in case' in warning["text"]


def test_a_clean_file_has_none_of_these_warnings() -> None:
    assert warned(rows("yes", "no", "other", "0.3", "10", "1")) == []


@pytest.mark.parametrize("blank", [" ", "\t", "\u00a0", "\u2003", "\u200b", " \ufeff"])
@pytest.mark.parametrize("column", ["item", "unit", "variable", "rater", "value"])
@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_blanks_alone_are_refused_as_an_empty_cell_is(
    tmp_path: Path, blank: str, column: str, form: str
) -> None:
    row = {"item": "i", "unit": "u", "variable": "v", "rater": "r", "value": "yes", column: blank}
    path = tmp_path / f"l.{form}"
    if form == "csv":
        cells = ",".join(row.values())
        path.write_text(f"{','.join(row)}\n{cells}\n", "utf-8")
    else:
        path.write_text(json.dumps(row) + "\n", "utf-8")
    with pytest.raises(InputError) as caught:
        tandem.report(path)
    assert caught.value.place.line == (2 if form == "csv" else 1)
    if form == "csv":
        path.write_text(f"{','.join(row)}\n{cells.replace(blank, '')}\n", "utf-8")
        with pytest.raises(InputError) as empty:
            tandem.report(path)
        assert str(empty.value) == str(caught.value)
