"""Reading a labels file by columns gives the frame and the errors of reading it by rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tandem.files.rows import InputError
from tandem.labels.file.frames import UnknownLevelError, _by_rows, file_frame
from tandem.labels.frame import Frame
from tandem.labels.selection import ReportOptions, UnknownOptionError
from tests.cast import ROOT, write_lines

Line = dict[str, Any]
DEMONSTRATION = ROOT / "datasets/demonstration/labels.jsonl"


def lines() -> list[Line]:
    """Ada, Bram and a judge label two variables, with missing and repeated labels."""
    made: list[Line] = []
    for n in range(24):
        place: Line = {"item": f"r{n // 3}", "unit": f"q{n % 5}", "query": f"é{n // 6}"}
        place |= {"kind": ("question", "")[n % 2], "system": ("bm25", None, "dense")[n % 3]}
        for turn, rater in enumerate(("Bram", "Ada", "model")):
            who = {"rater": rater, "rater_kind": "judge" if rater == "model" else "human"}
            said: Line = {"value": ("yes", "no", "invalid", "maybe")[(n * n + turn) % 4]}
            if (n + turn) % 7 == 0:
                said = {"missing": "refused"}
            if rater == "model" and n % 2:
                said["score"] = n / 7
            made.append(place | who | said | {"variable": "answerable"})
            if rater != "Ada":
                made.append(place | who | {"variable": "rating", "value": (n + turn) % 12})
    answers = [line for line in made if line["variable"] == "answerable" and "value" in line]
    made += [answers[1] | {"replicate": 1, "value": "no"}, answers[2] | {"replicate": 2}]
    made += [line | {"revision": 2, "value": "no"} for line in answers[5:9]]
    made += [line | {"revision": 1} for line in answers[5:7]]
    made += [{"item": "alone", "unit": "u", "variable": "answerable", "rater": "Chidi",
              "value": "yes", "meta": {"domain": "law"}},
             {"item": "r1", "unit": "q9", "kind": "question", "variable": "answerable",
              "rater": "Ada", "value": "yes", "meta": {"domain": "art"}, "query": "é9",
              "spans": [{"field": "report", "start": 0, "end": 4, "text": "word"}]}]  # fmt: skip
    return made


def same(one: Frame, other: Frame) -> None:
    assert replace(one, variables={}) == replace(other, variables={})
    assert list(one.variables) == list(other.variables)
    for name, made in one.variables.items():
        by_rows = other.variables[name]
        assert (made.scale, made.raters, made.asides) == (
            by_rows.scale,
            by_rows.raters,
            by_rows.asides,
        )
        assert made.escapes == by_rows.escapes
        for part in ("names", "system", "setting"):
            assert getattr(made.units, part) == getattr(by_rows.units, part)
        for part in ("query", "item"):
            assert getattr(made.units, part).tolist() == getattr(by_rows.units, part).tolist()
        assert made.codes.tolist() == by_rows.codes.tolist()
        assert np.array_equal(made.scores, by_rows.scores, equal_nan=True)


CHOICES = {
    "everything": ReportOptions(),
    "a variable": ReportOptions(variables=("rating",)),
    "people": ReportOptions(raters=("human",)),
    "a person and a judge": ReportOptions(raters=("Ada",), judges=("model",)),
    "a system": ReportOptions(strata=(("system", "bm25"),)),
    "what meta says": ReportOptions(strata=(("domain", "law"),)),
    "two strata": ReportOptions(
        strata=(("system", "bm25"), ("system", "dense"), ("domain", "art"))
    ),
}


@pytest.mark.parametrize("what", CHOICES)
def test_reading_by_columns_gives_the_frame_of_reading_by_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    path = write_lines(tmp_path / "labels.jsonl", lines())
    by_rows, protocols = _by_rows([path], {"rating": "ordinal"}, CHOICES[what])
    monkeypatch.setattr("tandem.labels.file.frames._by_rows", None)
    by_columns, named = file_frame([path], {"rating": "ordinal"}, CHOICES[what])
    assert named == protocols
    same(by_columns, by_rows)


def test_both_ways_of_reading_agree_on_the_demonstrations_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    by_rows, protocols = _by_rows([DEMONSTRATION], {}, ReportOptions())
    assert protocols == {"report-coverage"}
    monkeypatch.setattr("tandem.labels.file.frames._by_rows", None)
    by_columns, named = file_frame([DEMONSTRATION], {}, ReportOptions())
    assert named == protocols
    same(by_columns, by_rows)


def test_several_files_are_read_as_one(tmp_path: Path) -> None:
    every = lines()
    paths = [write_lines(tmp_path / f"{n}.jsonl", every[n::2]) for n in range(2)]
    together = file_frame(paths, {})[0]
    whole, _ = file_frame([write_lines(tmp_path / "whole.jsonl", every)], {})
    assert together.inputs.labels == whole.inputs.labels > 0
    same(together, _by_rows(paths, {}, ReportOptions())[0])


ADA = {"item": "r", "unit": "q", "variable": "v", "rater": "Ada", "value": "3"}


def test_a_repeated_judgement_keeps_the_evidence_of_its_first_line(tmp_path: Path) -> None:
    spans = [{"field": "report", "start": 0, "end": 4, "text": "word"}]
    path = write_lines(tmp_path / "labels.jsonl", [ADA, ADA | {"replicate": 1, "spans": spans}])
    assert file_frame([path], {})[0].evidence.spans == {}


def test_the_first_meta_of_an_item_counts(tmp_path: Path) -> None:
    lines = [ADA | {"unit": f"{n}", "item": item, "meta": meta}
             for n, (item, meta) in enumerate([("r", {"domain": ""}), ("r", {"domain": "law"}),
                                               ("r", {"domain": "art"}), ("s", {"domain": 3}),
                                               ("t", {"domain": 1.5})])]  # fmt: skip
    path = write_lines(tmp_path / "labels.jsonl", lines)
    assert file_frame([path], {})[0].strata == {"domain": {"r": "law", "s": "3"}}
    same(file_frame([path], {})[0], _by_rows([path], {}, ReportOptions())[0])


WRONG = {
    "a label twice": [ADA, ADA | {"unit": "p"}, ADA],
    "a rater of two kinds": [ADA, ADA | {"unit": "p", "rater_kind": "judge"}],
    "a word among numbers": [ADA, ADA | {"unit": "p", "value": "high"}],
}


@pytest.mark.parametrize("what", WRONG)
def test_a_conflict_between_lines_is_refused_with_its_line(tmp_path: Path, what: str) -> None:
    path = write_lines(tmp_path / "labels.jsonl", WRONG[what])
    messages = []
    for read in (
        lambda: file_frame([path], {"v": "ordinal"}),
        lambda: _by_rows([path], {"v": "ordinal"}, ReportOptions()),
    ):
        with pytest.raises(InputError) as error:
            read()
        messages.append(str(error.value))
    assert messages[0] == messages[1]
    assert f"line {len(WRONG[what])}" in messages[0]


def test_an_assisted_label_is_paired_with_the_verdict_that_was_shown(tmp_path: Path) -> None:
    seen = ADA | {"rater": "Bram", "assisted_by": "Ada", "value": "4"}
    path = write_lines(tmp_path / "labels.jsonl", [ADA, seen])
    (found,) = file_frame([path], {})[0].assisted
    assert (found.value, found.verdict) == ("4", "3")


def test_an_item_of_two_queries_is_read(tmp_path: Path) -> None:
    found = [ADA | {"query": "one"}, ADA | {"unit": "p", "query": "two"}]
    path = write_lines(tmp_path / "labels.jsonl", found)
    for frame in (file_frame([path], {})[0], _by_rows([path], {}, ReportOptions())[0]):
        assert frame.variables["v"].units.query.tolist() == [0, 1]


def test_options_that_name_an_unknown_rater_or_variable_are_refused(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "labels.jsonl", [ADA])
    with pytest.raises(UnknownOptionError, match="There is no rater 'Chidi' here; there are"):
        file_frame([path], {}, ReportOptions(raters=("Chidi",)))
    with pytest.raises(UnknownLevelError):
        file_frame([path], {"w": "ordinal"})
