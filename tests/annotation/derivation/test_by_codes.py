"""The parts of a batch whose labels have the codes that a researcher names, by any protocol."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path

import pytest
from django.core.management.base import CommandError

from annotation.derivation.base import make_options
from annotation.derivation.rules import RULES
from datasets.derivation import DerivationError
from datasets.lineage import lineage_of, units_behind
from datasets.models import Batch
from tandem.files.rows import Query
from tests.annotation.derivation.cast import BATCH, batch, campaign, derive, label, queries
from tests.cast import run

pytestmark = pytest.mark.django_db

HEAD = """
name = "sorting"
version = "1"
title = "Sorting"

[item]
each = "{each}"
shows = []

[guideline]
en = "Sort them."
"""
VARIABLE = """
[[variable]]
name = "good"
unit = "{unit}"
question = "Is it good?"
"""
SORTS = 'codes = ["no", "partly", "yes"]\nlevel = "ordinal"\nescapes = ["cannot-tell"]\n'
FAULTS = 'codes = ["wordy", "vague", "rude"]\nseveral = true\nescapes = ["cannot-tell"]\n'
SCALE = "scale = { from = 0, to = 100, step = 10 }\n"
Given = Mapping[str, Sequence[Mapping[str, str]]]


def sorting(
    folder: Path, each: str, unit: str, about: str = SORTS, people: int = 1, more: str = ""
) -> None:
    """Create the campaign `verify` over the batch `b`, of a protocol with one variable, or more."""
    file = folder / "sorting.toml"
    file.write_text(HEAD.format(each=each) + VARIABLE.format(unit=unit) + about + more, "utf-8")
    run("protocol", "add", file)
    if not Batch.objects.filter(name="b").exists():
        batch(folder)
    campaign("sorting", people=people)


def labelled(folder: Path, values: Mapping[str, str], items: Mapping[str, str]) -> None:
    label(folder, {unit: [{"good": value}] for unit, value in values.items()}, items=items)


def kept(name: str, keep: str, *arguments: object) -> dict[str, Query]:
    derive(name, "by-codes", "--set", f"keep={keep}", *arguments, campaign="verify")
    return queries(name)


def refused(keep: str, why: str, *arguments: object) -> None:
    with pytest.raises(CommandError, match=why):
        kept("none", keep, *arguments)
    assert not Batch.objects.filter(name="none").exists()


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("each", "unit", "part", "key"),
    [
        ("query", "question", "questions", "{0}"),
        ("query", "key-point", "key_points", "{0}"),
        ("query", "nugget", "nuggets", "{0}"),
        ("query", "report", "reports", "{0}"),
        ("query", "passage", "passages", "q1/{0}"),
        ("passage", "item", "passages", "q1/{0}"),
        ("report", "item", "reports", "{0}"),
        ("key-point", "item", "key_points", "{0}"),
    ],
)
def test_a_part_of_each_kind_is_kept_by_its_label(
    tmp_path: Path, each: str, unit: str, part: str, key: str
) -> None:
    lines = [deepcopy(BATCH[0])]
    lines[0]["nuggets"] = [{"id": f"q1n{n}", "text": f"Fact {n}."} for n in range(3)]
    batch(tmp_path, lines)
    sorting(tmp_path, each, unit)
    parts = [found.id for found in getattr(queries("b")["q1"], part)]
    names = [key.format(found) for found in parts]
    values = dict(zip(names, ["no", *["partly", "yes"] * 2], strict=False))
    items = {name: "q1" if each == "query" else name for name in names}
    labelled(tmp_path, values, items)
    made = kept("sorted", "good=yes,partly")["q1"]
    assert [found.id for found in getattr(made, part)] == parts[1:]
    lineage = lineage_of(Batch.objects.get(name="sorted"))
    assert lineage is not None
    word = part.replace("_", " ")
    assert lineage.counts["dropped"][word] == {"not good=yes,partly": 1}
    assert lineage.options == {"keep": "good=yes,partly", "units": "any"}


@pytest.mark.parametrize("unit", ["query", "item"])
def test_queries_are_kept_by_their_labels(tmp_path: Path, unit: str) -> None:
    sorting(tmp_path, "query", unit)
    labelled(tmp_path, {"q1": "no", "q2": "yes"}, {})
    assert list(kept("sorted", "good=yes")) == ["q2"]
    refused("good=cannot-tell", "by-codes leaves no query of 'b'")


def test_all_that_is_not_a_part_of_the_kind_stays_as_it_was(tmp_path: Path) -> None:
    sorting(tmp_path, "query", "report")
    reports = {f"q{n}{kind}": "yes" for n in (1, 2) for kind in "ro"}
    labelled(tmp_path, reports, {key: key[:2] for key in reports})
    assert kept("sorted", "good=yes") == queries("b")


def test_key_points_go_with_the_passage_that_states_them(tmp_path: Path) -> None:
    sorting(tmp_path, "query", "passage")
    values = {f"q{q}/q{q}p{p}": "no" if p == 0 else "yes" for q in (1, 2) for p in range(3)}
    labelled(tmp_path, values, {key: key[:2] for key in values})
    made = kept("sorted", "good!=no")["q1"]
    assert [p.id for p in made.passages] == ["q1p1", "q1p2"]
    assert [k.id for k in made.key_points] == ["q1k1", "q1k2"]


class TestConditions:
    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("about", "keep", "names"),
        [
            (FAULTS, "good=rude", ["q1r"]),
            (FAULTS, "good=rude,vague", ["q1r", "q1o"]),
            (FAULTS, "good!=rude,vague", ["q2r", "q2o"]),
            (FAULTS, "good=wordy,good!=rude", ["q1o"]),
            (FAULTS, "good!=wordy,vague,rude,cannot-tell", ["q2r"]),
            (FAULTS, "good=cannot-tell", ["q2o"]),
            (SCALE, "good>=60", ["q1r", "q1o"]),
            (SCALE, "good>60", ["q1o"]),
            (SCALE, "good < 55.5", ["q2r", "q2o"]),
            (SCALE, "good>=40,good<=60", ["q1r", "q2o"]),
            (SCALE, "good=60.0", ["q1r"]),
            (SORTS, "good>=partly", ["q1o", "q2o"]),
            (SORTS, "good<yes", ["q1r", "q1o"]),
            (SORTS, "good!=no", ["q1o", "q2r", "q2o"]),
        ],
    )
    def test_they_name_codes_sets_and_ranges(
        self, tmp_path: Path, about: str, keep: str, names: list[str]
    ) -> None:
        values = {
            FAULTS: ['["wordy", "rude"]', '["wordy", "vague"]', "[]", "cannot-tell"],
            SCALE: ["60", "100", "0", "40"],
            SORTS: ["no", "partly", "cannot-tell", "yes"],
        }[about]
        sorting(tmp_path, "report", "report", about)
        labelled(tmp_path, dict(zip(["q1r", "q1o", "q2r", "q2o"], values, strict=True)), {})
        made = kept("sorted", keep)
        assert [report.id for query in made.values() for report in query.reports] == names

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("about", "keep", "why"),
        [
            (SORTS, "goood=yes", "no variable 'goood'; did you mean 'good'"),
            (SORTS, "good=yess", "good has no code 'yess'; did you mean 'yes'"),
            (SORTS, "good>=cannot-tell", "no code 'cannot-tell' in its order; it has no, partly"),
            (SORTS, "good>=no,yes", "takes one code, not 2; write good>=no"),
            (SORTS, "yes", "a condition reads support=partial,full or score>=60; 'yes' does not"),
            (FAULTS, "good>=vague", "codes of good have no order; write good=CODE,CODE"),
            (SCALE, "good>=110", "good goes from 0 to 100, and '110' is outside"),
            (SCALE, "good>=1e999999999", "'1e999999999' is outside"),
            (SCALE, "good<=nan", "'nan' is outside"),
            (SCALE, "good=65", "good has no code '65'; it has 0 to 100 in steps of 10"),
        ],
    )
    def test_what_a_variable_cannot_be_is_refused_with_what_it_can(
        self, tmp_path: Path, about: str, keep: str, why: str
    ) -> None:
        sorting(tmp_path, "report", "report", about)
        refused(keep, why)

    def test_raters_are_counted_by_whether_their_label_meets_all_conditions_together(
        self, tmp_path: Path
    ) -> None:
        sorting(tmp_path, "report", "report", SCALE, people=3)
        votes = [{"good": value} for value in ("30", "50", "70")]
        inside = [{"good": value} for value in ("40", "60", "0")]
        label(tmp_path, {"q1r": votes, "q1o": inside, "q2r": votes, "q2o": votes})
        made = kept("sorted", "good>=40,good<=60")
        # Most of 30, 50 and 70 are at least 40, and most are at most 60, but only one is both.
        assert [report.id for query in made.values() for report in query.reports] == ["q1o"]

    def test_without_any_the_option_is_asked_for(self, tmp_path: Path) -> None:
        sorting(tmp_path, "report", "report")
        with pytest.raises(CommandError, match="by-codes needs keep, what the labels of a part"):
            derive("none", "by-codes", campaign="verify")
        with pytest.raises(DerivationError, match=r"option keep must be a text, not \['a'\]"):
            make_options(RULES["by-codes"], {"keep": ["a"]})


class TestSeveralUnits:
    def test_a_question_of_each_report_is_kept_by_any_or_all_of_them(self, tmp_path: Path) -> None:
        sorting(tmp_path, "report", "question")
        values = {"q1:0": "yes no", "q1:1": "yes yes", "q1:2": "no no"}
        values |= {f"q2:{n}": "yes yes" for n in range(3)}
        for place, report in enumerate("ro"):
            given = {unit: both.split()[place] for unit, both in values.items()}
            labelled(tmp_path, given, {unit: f"{unit[:2]}{report}" for unit in given})
        any_report = kept("any", "good=yes")["q1"]
        assert [q.id for q in any_report.questions] == ["q1:0", "q1:1"]
        all_reports = kept("all", "good=yes,units=all")["q1"]
        assert [q.id for q in all_reports.questions] == ["q1:1"]

    def test_a_shipped_protocol_is_read_like_any_other(self, tmp_path: Path) -> None:
        batch(tmp_path)
        campaign("report-coverage", people=1)
        for query in ("q1", "q2"):
            for report in "ro":
                given = {f"{query}:{n}": [{"answerable": "yes" if n else "no"}] for n in range(3)}
                label(tmp_path, given, items=dict.fromkeys(given, f"{query}{report}"))
        made = kept("sorted", "answerable=yes")["q1"]
        oracle = ("--set", "oracle=oracle")
        derive("answered", "answerable-questions", *oracle, campaign="verify")
        assert [q.id for q in made.questions] == ["q1:1", "q1:2"]
        assert queries("sorted") == queries("answered")


class TestDeciding:
    SPLIT = ("q1r", "q1o", "q2r", "q2o")

    def split(self, folder: Path) -> None:
        sorting(folder, "report", "report", people=2)
        yes, no = {"good": "yes"}, {"good": "no"}
        given = {key: [yes, yes] for key in self.SPLIT} | {"q1o": [yes, no], "q2o": [no, no]}
        label(folder, given)

    def test_a_tie_is_refused_dropped_or_kept_as_told(self, tmp_path: Path) -> None:
        self.split(tmp_path)
        refused("good=yes", r"there is a tie on 1 reports \(q1o\).*--ties keep")
        tied = kept("kept", "good=yes", "--ties", "keep")
        dropped = kept("dropped", "good=yes", "--ties", "drop")
        assert [r.id for q in tied.values() for r in q.reports] == ["q1r", "q1o", "q2r"]
        assert [r.id for q in dropped.values() for r in q.reports] == ["q1r", "q2r"]

    def test_one_rater_may_decide_alone(self, tmp_path: Path) -> None:
        self.split(tmp_path)
        made = kept("ben", "good=yes", "--decided-by", "ben")
        assert [r.id for q in made.values() for r in q.reports] == ["q1r", "q2r"]

    def test_codes_that_count_alike_are_no_tie(self, tmp_path: Path) -> None:
        sorting(tmp_path, "report", "report", people=2)
        label(tmp_path, {key: [{"good": "yes"}, {"good": "partly"}] for key in self.SPLIT})
        assert kept("sorted", "good=yes,partly") == queries("b")

    def test_an_unfinished_campaign_is_refused(self, tmp_path: Path) -> None:
        sorting(tmp_path, "report", "report", people=2)
        label(tmp_path, {key: [{"good": "yes"}] for key in self.SPLIT})
        refused("good=yes", "'verify' is not finished: 4 reports have fewer labels", "--ties=drop")

    def test_what_is_asked_on_a_condition_is_decided_after_the_condition(
        self, tmp_path: Path
    ) -> None:
        more = VARIABLE.format(unit="report").replace("good", "very")
        more += 'codes = ["no", "yes"]\nasked_if = { good = ["yes"] }\n'
        sorting(tmp_path, "report", "report", people=3, more=more)
        no, good, very = {"good": "no"}, {"good": "yes", "very": "no"}, {"good": "yes"}
        very |= {"very": "yes"}
        given = {
            "q1r": [very, very, no],
            "q1o": [very, no, no],
            "q2r": [no, no, no],
            "q2o": [good, good, very],
        }
        label(tmp_path, given)
        made = kept("sorted", "very=yes")
        assert [r.id for q in made.values() for r in q.reports] == ["q1r"]
        lineage = lineage_of(Batch.objects.get(name="sorted"))
        assert lineage is not None
        assert lineage.counts["dropped"] == {
            "reports": {"very: not asked": 2, "not very=yes": 1},
        }

    def test_other_labels_put_the_batch_behind(self, tmp_path: Path) -> None:
        self.split(tmp_path)
        kept("sorted", "good=yes", "--ties", "drop")
        lineage = lineage_of(Batch.objects.get(name="sorted"))
        assert lineage is not None
        assert units_behind(lineage) == 0
        label(tmp_path, {"q2o": [{"good": "yes"}]}, people=("ben",))
        assert units_behind(lineage) == 1


class TestCitations:
    def test_a_sentence_keeps_the_citations_that_support_it(self, tmp_path: Path) -> None:
        lines = [deepcopy(BATCH[0])]
        lines[0]["reports"] = [
            {
                "id": "r",
                "text": "Ada built it. It is old.",
                "sentences": ["Ada built it.", "It is old."],
                "sentence_citations": [["q1p0", "q1p1"], ["q1p1", "q1p2", "elsewhere"]],
                "citations": ["q1p0", "q1p1", "q1p2", "elsewhere"],
            }
        ]
        batch(tmp_path, lines)
        campaign("citation-support", people=1)
        values = {"r#1/q1p0": "full", "r#1/q1p1": "none", "r#2/q1p1": "partial", "r#2/q1p2": "none"}
        given = {unit: [{"support": value}] for unit, value in values.items()}
        label(tmp_path, given, items=dict.fromkeys(given, "r"))
        (report,) = kept("sorted", "support=full,partial")["q1"].reports
        assert report.sentence_citations == (("q1p0",), ("q1p1",))
        assert report.citations == ("q1p0", "q1p1")
        lineage = lineage_of(Batch.objects.get(name="sorted"))
        assert lineage is not None
        assert lineage.counts["dropped"] == {
            "citations": {"not support=full,partial": 2, "not in the campaign": 1}
        }


class TestRefusals:
    def test_a_unit_that_is_no_part_is_refused_with_the_variables_that_are_about_one(
        self, tmp_path: Path
    ) -> None:
        more = VARIABLE.format(unit="report").replace("good", "fine") + SORTS
        sorting(tmp_path, "report", "sentence", more=more)
        refused("good=yes", "good is about a sentence, which is no part.*; name one of fine")

    def test_a_campaign_without_any_variable_about_a_part_is_refused(self, tmp_path: Path) -> None:
        batch(tmp_path)
        campaign("answer-preference", people=1)
        refused("preferred=tie-good", "which is answer-preference; no rule reads it, since it asks")

    def test_conditions_on_two_kinds_of_part_are_refused(self, tmp_path: Path) -> None:
        more = VARIABLE.format(unit="question").replace("good", "fine") + SORTS
        sorting(tmp_path, "report", "report", more=more)
        refused("good=yes,fine=yes", "about question and report; derive twice")

    def test_a_name_of_two_kinds_of_part_is_written_with_its_kind(self, tmp_path: Path) -> None:
        more = VARIABLE.format(unit="question") + SORTS
        sorting(tmp_path, "report", "report", more=more)
        refused("good=yes", "about a report and a question; name one of report:good, question:good")
        values = {key: [{"good": "yes"}] for key in ("q1r", "q1o", "q2r", "q2o")}
        label(tmp_path, values, kind="report")
        assert kept("sorted", "report:good=yes") == queries("b")


def test_the_file_of_the_same_labels_is_the_same(tmp_path: Path) -> None:
    sorting(tmp_path, "query", "query")
    labelled(tmp_path, {"q1": "no", "q2": "yes"}, {})
    for name in ("first", "second"):
        kept(name, "good=yes", "--output", tmp_path / name)
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()
    assert json.loads((tmp_path / "first").read_text())["id"] == "q2"
