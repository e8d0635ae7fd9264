"""Judges of one model count as one evaluator, by the one that labelled each variable."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from analysis.release.verify import verify
from tandem.labels.evaluators import (
    Evaluator,
    EvaluatorError,
    derive_evaluators,
    joint_name,
    labelled_variables,
    with_evaluators,
)
from tandem.labels.facts import LabelFact, Scale
from tandem.labels.frame import Frame, make_frame
from tests.analysis.papers.conftest import row_of, tables_of
from tests.analysis.papers.test_garage import STUDY, checked, grounded, questions, rated, typed
from tests.analysis.release.test_verify import change, sign_again
from tests.cast import run, write_lines
from tests.databases import rolled_back

JSON = dict[str, Any]
SCALES = {
    "eligibility": Scale(("none", "minor", "major"), "nominal"),
    "support": Scale(("supported", "unsupported"), "nominal"),
}


def fact(unit: str, variable: str, value: str | None, rater: str, kind: str = "judge") -> LabelFact:
    return LabelFact(
        item="i", unit=unit, kind="report", variable=variable, value=value, missing="refused",
        rater=rater, rater_kind=kind, replicate=0, query="q", system="s",
        setting=None, assisted_by=None,
    )  # fmt: skip


def frame_of(*facts: LabelFact) -> Frame:
    return make_frame(facts, SCALES)


def codes(frame: Frame, variable: str, rater: str) -> list[int]:
    column = [each.name for each in frame.raters].index(rater)
    found: list[int] = frame.variables[variable].codes[:, column].tolist()
    return found


BOTH = (
    fact("a", "eligibility", "major", "form"),
    fact("b", "eligibility", None, "form"),
    fact("a", "support", "unsupported", "truth"),
    fact("a", "eligibility", None, "truth"),
    fact("a", "support", "supported", "ann", "human"),
    fact("a", "eligibility", "none", "ann", "human"),
)
ONE_MODEL = {"form": ("m", ""), "truth": ("m", "")}
JOINT = "form and truth"
BOTH_LABELLED = {"form": ["eligibility"], "truth": ["support"]}


class TestDerivation:
    def test_judges_of_one_model_join_if_they_labelled_different_variables(self) -> None:
        (found,) = derive_evaluators([BOTH_LABELLED], ONE_MODEL)
        assert found == Evaluator(JOINT, ("form", "truth"))

    def test_their_order_is_that_of_the_campaigns(self) -> None:
        campaigns = [{"truth": ["support"]}, {"form": ["eligibility"]}]
        (found,) = derive_evaluators(campaigns, ONE_MODEL)
        assert found.name == "truth and form"

    @pytest.mark.parametrize(
        "models",
        [{"form": ("m", "")}, {"form": ("m", ""), "truth": ("n", "")},
         {"form": ("m", "here"), "truth": ("m", "there")}],
    )  # fmt: skip
    def test_other_models_and_servers_stay_apart(self, models: Any) -> None:
        assert derive_evaluators([BOTH_LABELLED], models) == []

    def test_a_second_judge_of_the_same_variable_and_campaign_leaves_all_alone(self) -> None:
        second, models = {"again": ["support"]}, {**ONE_MODEL, "again": ("m", "")}
        assert derive_evaluators([BOTH_LABELLED | second], models) == []
        (found,) = derive_evaluators([BOTH_LABELLED, second], models)
        assert found.judges == ("form", "truth", "again")

    def test_declared_judges_are_not_derived_again(self) -> None:
        assert derive_evaluators([BOTH_LABELLED], ONE_MODEL, {"truth"}) == []

    def test_a_name_lists_its_judges(self) -> None:
        assert [joint_name("a"), joint_name("ab"), joint_name("abc")] == [
            "a", "a and b", "a, b and c",
        ]  # fmt: skip


class TestLabels:
    def test_a_judge_labelled_what_it_gave_a_value_for(self) -> None:
        assert labelled_variables(frame_of(*BOTH)) == BOTH_LABELLED

    def test_each_variable_has_the_labels_of_the_judge_that_labelled_it(self) -> None:
        frame = with_evaluators(frame_of(*BOTH), [Evaluator(JOINT, ("form", "truth"))])
        assert [each.name for each in frame.raters] == ["ann", "form", "truth", JOINT]
        assert codes(frame, "eligibility", JOINT) == codes(frame, "eligibility", "form") == [2, -1]
        assert codes(frame, "support", JOINT) == codes(frame, "support", "truth") == [1]

    def test_an_answer_missing_from_that_judge_is_missing_and_no_other(self) -> None:
        frame = with_evaluators(frame_of(*BOTH), [Evaluator(JOINT, ("form", "truth"))])
        lost = [(each.unit, each.rater) for each in frame.variables["eligibility"].asides]
        assert lost == [(1, "form"), (1, JOINT), (0, "truth")]

    def test_it_may_take_the_place_of_its_judges(self) -> None:
        frame = with_evaluators(frame_of(*BOTH), [Evaluator(JOINT, ("form", "truth"))], True)
        assert [each.name for each in frame.raters] == ["ann", JOINT]
        assert {each.rater for each in frame.variables["eligibility"].asides} == {JOINT}

    def test_if_every_judge_failed_the_first_one_asked_counts(self) -> None:
        failed = [fact("a", "support", None, each) for each in ("truth", "form")]
        found = Evaluator("x", ("form", "truth")).judgements(frame_of(*failed))
        assert found == {"support": "form"}

    def test_two_labels_of_a_variable_are_refused_with_both_names(self) -> None:
        twice = frame_of(*BOTH, fact("b", "support", "supported", "form"))
        with pytest.raises(EvaluatorError, match=r"'x'.*'support'.*'form' and 'truth'"):
            with_evaluators(twice, [Evaluator("x", ("form", "truth"))])

    def test_a_campaign_without_its_judges_is_unchanged(self) -> None:
        frame = frame_of(*BOTH)
        assert with_evaluators(frame, [Evaluator("x", ("other",))]) is frame


# Both answers of `good` are supported, and that to q2 is no answer; both of `loose` are eligible,
# and one sentence of that to q1 is unsupported.
JUDGES = """
[judge.truth]
backend = "scripted"
file = "factuality"
family = "made-up"
answers = "judged.jsonl"

[judge.form]
backend = "scripted"
file = "eligibility"
family = "made-up"
answers = "judged.jsonl"
"""
SAID = {"q1-good": "none", "q2-good": "major", "q1-loose": "minor", "q2-loose": "minor"}


def judged() -> Iterator[JSON]:
    for line in rated():
        given = {"value": SAID[line["unit"]]} if line["variable"] == "eligibility" else {}
        yield {**line, "rater": "judge", **given}


def write_study(folder: Path, more: str = "") -> Path:
    write_lines(folder / "questions.jsonl", questions())
    write_lines(folder / "typing.jsonl", typed())
    write_lines(folder / "grounding.jsonl", grounded())
    write_lines(folder / "answers.jsonl", rated())
    write_lines(folder / "claims.jsonl", checked())
    write_lines(folder / "judged.jsonl", judged())
    asked = STUDY.replace(
        'labels = ["answers.jsonl"]', 'labels = ["answers.jsonl"]\njudges = ["truth", "form"]'
    ).replace('preset = "garage"', 'preset = "garage"\nlicence = "CC0-1.0"')
    (folder / "study.toml").write_text(asked + JUDGES + more, "utf-8")
    return folder


@pytest.fixture(scope="module")
def study(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    folder = write_study(tmp_path_factory.mktemp("joint"))
    with rolled_back(django_db_blocker):
        run("apply_study", folder)
        yield folder


def measures(*options: str) -> JSON:
    found: JSON = json.loads(run("measures", "--campaign", "answers", "--resamples", "2", *options))
    return found


@pytest.mark.django_db
class TestMeasures:
    def test_a_measure_of_two_variables_has_a_value_by_both_judges_together(
        self, study: Path
    ) -> None:
        systems = measures()["measures"]["Factuality"]["systems"]
        by = {name: of["raters"][JOINT]["value"] for name, of in systems.items()}
        assert by == {"good": 0.5, "loose": 0.5}
        assert systems["good"]["raters"]["truth"]["value"] is None

    def test_it_says_which_judge_labelled_which_variable(self, study: Path) -> None:
        found = measures()
        of = found["measures"]["Factuality"]
        assert of["variables"] == ["eligibility", "support"]
        assert of["judgements"] == {JOINT: {"eligibility": "form", "support": "truth"}}
        (evaluator,) = found["evaluators"]
        assert evaluator == {
            "name": JOINT, "judges": ["form", "truth"], "declared": False, "kind": "judge",
            "scripted": True,
        }  # fmt: skip
        text = run("measures", "--campaign", "answers", "--resamples", "2", "--format", "md")
        assert f"By {JOINT}: eligibility of form, support of truth." in text

    def test_what_one_judge_gives_alone_is_not_repeated(self, study: Path) -> None:
        found = measures()["measures"]
        for name in ("Eligibility", "uFactuality"):
            assert all(JOINT not in of["raters"] for of in found[name]["systems"].values())
            assert found[name]["judgements"] == {}

    def test_tables_have_a_grid_for_the_evaluator_and_none_for_its_judges(
        self, study: Path
    ) -> None:
        people, joint = tables_of("garage", "grounds")["table-2"]
        assert (people["caption"], joint["caption"]) == ("By people", f"By {JOINT}")
        assert row_of(joint, "good")[:3] == [0.5, 1.0, 0.5]
        assert row_of(joint, "loose")[:3] == [1.0, 0.5, 0.5]


@pytest.mark.django_db
@pytest.mark.parametrize("named", [[JOINT], ["truth", JOINT]])
def test_a_report_takes_an_evaluator_for_its_judges(study: Path, named: list[str]) -> None:
    judges = [part for name in named for part in ("--judge", name)]
    text = run("report", "--campaign", "answers", "--resamples", "2", "--format", "json", *judges)
    choices = json.loads(text)["choices"]
    assert sorted(choices["judges"]) == ["form", "truth"]


class TestReleases:
    @pytest.fixture(scope="class")
    def release(
        self, study: Path, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
    ) -> Path:
        folder = tmp_path_factory.mktemp("release") / "out"
        with django_db_blocker.unblock():
            run("freeze_study", study, "--output", folder, "--resamples", "2")
        return folder

    @pytest.fixture
    def file(self, release: Path, tmp_path: Path) -> Path:
        copied = Path(shutil.copytree(release, tmp_path / "release"))
        return copied / "campaigns" / "answers" / "measures.json"

    def test_joint_values_follow_from_the_labels(self, file: Path) -> None:
        release = file.parents[2]
        assert verify(release).wrong == []
        place = "measures", "Factuality", "systems", "good", "raters", JOINT, "value"
        change(file, *place, value=1)
        sign_again(release)
        line, *tables = verify(release).wrong
        assert line.startswith(f"campaign answers: Factuality of good by {JOINT}: 1 in measures")
        # The paper's tables have the value, too.
        assert all("Factuality" in each for each in tables)

    def test_a_release_from_before_evaluators_is_verified_without_them(self, file: Path) -> None:
        report = json.loads(file.read_text("utf-8"))
        del report["evaluators"]
        for of in report["measures"].values():
            for values in of["systems"].values():
                values["raters"].pop(JOINT, None)
        file.write_text(json.dumps(report), "utf-8")
        sign_again(file.parents[2])
        assert verify(file.parents[2]).wrong == []
