"""Judges are compared with adjudicators' decisions and with people's majority."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tandem.labels.facts import LabelFact, Scale
from tandem.labels.frame import make_frame
from tandem.labels.selection import ReportOptions
from tandem.labels_report import labels_report
from tandem.sections.adjudicated import references_of
from tandem.sections.methods import methods
from tests.cast import run, write_lines

# Ten units: people agree on eight, tie on u8, and are two to one for yes on u9.
PEOPLE = {f"u{n}": "yes yes yes" for n in range(6)} | {"u6": "no no no", "u7": "no no no"}
PEOPLE |= {"u8": "yes no", "u9": "yes yes no"}
JUDGE = {f"u{n}": "no" if n in (6, 7, 9) else "yes" for n in range(10)}
DECIDED = {"u0": "yes", "u8": "no", "u9": "no"}


def lines(decided: dict[str, str] = DECIDED) -> list[dict[str, Any]]:
    found = []
    for unit, said in PEOPLE.items():
        raters = [("human", f"person-{n}", code) for n, code in enumerate(said.split())]
        raters.append(("judge", "J", JUDGE[unit]))
        raters += [("reference", "adjudicated", decided[unit])] if unit in decided else []
        found += [
            {
                "item": unit,
                "unit": unit,
                "variable": "answerable",
                "value": code,
                "rater": name,
                "rater_kind": kind,
            }
            for kind, name, code in raters
        ]
    return found


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "labels.jsonl", lines())


def report(labels: Path, **choices: Any) -> dict[str, Any]:
    return labels_report([labels], {}, ReportOptions(resamples=20, **choices))


def judge(made: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = made["variables"]["answerable"]["judges"]["J"]
    return found


def test_by_default_judges_are_compared_with_the_majority_only(labels: Path) -> None:
    made = report(labels)
    assert judge(made)["reference"] == "majority"
    assert "adjudicated" not in judge(made)
    assert made["choices"]["reference"] == "majority"


def test_the_comparison_with_the_majority_is_unchanged_by_the_option(labels: Path) -> None:
    plain, other = judge(report(labels)), judge(report(labels, reference="adjudicated"))
    del other["adjudicated"]
    assert other == plain
    assert (plain["units"], plain["agreement"]["percent"]["value"]) == (9, pytest.approx(8 / 9))


def test_judges_are_compared_on_adjudicated_units_only(labels: Path) -> None:
    """u0 yes yes, u8 no yes, u9 no no: two of three."""
    found = judge(report(labels, reference="adjudicated"))["adjudicated"]["references"]
    assert found["units"] == 3
    assert found["agreement"]["percent"]["value"] == pytest.approx(2 / 3)
    assert found["confusion"] == {"labels": ["no", "yes"], "matrix": [[1, 1], [0, 1]]}


def test_judges_are_compared_on_adjudicated_labels_and_the_majority_elsewhere(labels: Path) -> None:
    """The judge agrees on two of three adjudicated units and on the other seven: nine of ten."""
    found = judge(report(labels, reference="adjudicated"))["adjudicated"]["settled"]
    assert found["units"] == 10
    assert found["agreement"]["percent"]["value"] == pytest.approx(9 / 10)
    # No: 3 right of 4. Yes: 6 right of 6, said 7 times.
    assert found["classes"]["no"]["recall"]["value"] == pytest.approx(3 / 4)
    assert found["classes"]["yes"]["precision"]["value"] == pytest.approx(6 / 7)


def test_agreement_among_people_excludes_the_adjudicator(labels: Path, tmp_path: Path) -> None:
    without = write_lines(tmp_path / "without.jsonl", lines({}))
    agreements = [
        report(path)["variables"]["answerable"]["agreement"] for path in (labels, without)
    ]
    assert agreements[0] == agreements[1]
    assert agreements[0]["raters"] == 3


def test_without_adjudicated_labels_the_comparison_is_null_with_a_reason(tmp_path: Path) -> None:
    without = write_lines(tmp_path / "without.jsonl", lines({}))
    made = report(without, reference="adjudicated")
    found = judge(made)["adjudicated"]
    assert found["references"]["agreement"]["percent"]["value"] is None
    assert found["references"]["agreement"]["percent"]["reason"]
    assert found["settled"]["units"] == 9
    assert "No judge labelled a unit that an adjudicator decided." in " ".join(methods(made))


def test_the_methods_mention_adjudicators_only_with_the_option(labels: Path) -> None:
    text = " ".join(methods(report(labels, reference="adjudicated")))
    assert "labels that adjudicators decided (units: answerable 3)" in text
    assert "adjudicators" not in " ".join(methods(report(labels)))


def test_an_adjudicated_escape_is_not_replaced_by_the_majority(labels: Path) -> None:
    """An adjudicator called u0 invalid, so people's yes does not replace that decision."""

    def fact(rater: str, kind: str, value: str) -> LabelFact:
        return LabelFact(
            "u0", "u0", "question", "answerable", value, None, rater, kind, 0, "q", None, None, None
        )

    facts = [fact("a", "human", "yes"), fact("adjudicated", "reference", "invalid")]
    scales = {"answerable": Scale(("yes", "no"), "nominal", ("invalid",))}
    decided, is_decided = references_of(make_frame(facts, scales).variables["answerable"])
    assert (decided.tolist(), is_decided.tolist()) == ([-1], [True])


@pytest.mark.every_case
@pytest.mark.parametrize("form", ["md", "html", "csv", "latex"])
def test_every_format_shows_the_comparison_with_adjudicators(labels: Path, form: str) -> None:
    made = run("report", "--labels", labels, "--reference", "adjudicated", "--resamples", "20",
               "--format", form)  # fmt: skip
    assert "References" in made or "references" in made
