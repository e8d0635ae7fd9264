"""The measures reproduce the data kit's figures for CRUX's coverage and CLAPnq's texts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from tandem.files.rows import Passage
from tandem.scores.agreement import settings
from tandem.scores.answers import Texts, length, recall_of, rouge_l_of, rouge_l_to_passage
from tandem.scores.coverage import ReportQuestions, report_coverage
from tandem.scores.options import PRESETS, Options
from tandem.statistics import Floats, kendall, rouge_l, spearman
from tests.analysis.conftest import ABSENT, PEOPLE, SHARED

pytestmark = [
    pytest.mark.every_case,
    pytest.mark.skipif(not SHARED.is_dir(), reason=ABSENT),
]

JSON = dict[str, Any]
SETTINGS = ("oracle", "bm25", "dr_rankfirst")
NOT_ASKED = -2


def lines(path: str) -> list[JSON]:
    return [json.loads(line) for line in (SHARED / path).read_text("utf-8").split("\n") if line]


@cache
def stated() -> dict[str, JSON]:
    entries = json.loads((SHARED / "expected.json").read_text("utf-8"))["entries"]
    return {entry["id"]: entry for entry in entries}


def expect(name: str, found: object) -> None:
    entry = stated()[name]
    assert found == pytest.approx(entry["value"], abs=entry["tolerance"], nan_ok=False), name


class TestCrux:
    @staticmethod
    @cache
    def coverages(person: str) -> dict[str, float]:
        """Coverage of each report, from the person's own labels."""
        rows = lines(f"crux/annotations/{person}/qlabels.jsonl")
        labels = np.array([label for row in rows for label in row["answerability"]])
        of = ReportQuestions(
            labels, np.repeat(np.arange(len(rows)), 15), len(rows), labels != NOT_ASKED
        )
        found = report_coverage(of, Options())
        return dict(zip((row["id"] for row in rows), found.tolist(), strict=True))

    def of_setting(self, setting: str, person: str) -> Floats:
        """Coverage of the setting's reports, in the order of topics."""
        other = tuple(f"{name}_" for name in SETTINGS[1:])
        rows = {
            key.removeprefix(f"{setting}_"): value
            for key, value in self.coverages(person).items()
            if key.startswith(f"{setting}_") or (setting == "oracle" and not key.startswith(other))
        }
        return np.array([rows[key] for key in sorted(rows)])

    @pytest.mark.parametrize("setting", SETTINGS)
    def test_coverage_by_setting_is_the_published_one(self, setting: str) -> None:
        by_person = {person: self.of_setting(setting, person) for person in PEOPLE}
        means = {person: values.mean() for person, values in by_person.items()}
        every = np.mean(list(by_person.values()))
        expect(f"crux.t1.coverage_mean.{setting}", {**means, "all": every})

    @pytest.mark.parametrize(
        ("name", "correlation"),
        [("coverage_spearman", spearman), ("coverage_kendall_tau_b", kendall)],
    )
    def test_people_rank_reports_as_published(
        self, name: str, correlation: Callable[[Floats, Floats], float]
    ) -> None:
        found = {}
        for a, b in combinations(PEOPLE, 2):
            one, other = self.coverages(a), self.coverages(b)
            x, y = (np.array([of[key] for key in one]) for of in (one, other))
            found[f"{a}-{b}"] = correlation(x, y)
        expect(f"crux.t1.{name}", found)

    def test_settings_differ_as_published(self) -> None:
        means = {
            setting: np.mean([self.of_setting(setting, person) for person in PEOPLE], axis=0)
            for setting in SETTINGS
        }
        found = {
            each.b: {
                "mean_difference": each.test.difference.value,
                "wilcoxon_p_two_sided": each.test.p_value,
                "oracle_higher_in": int((np.round(means[each.a] - means[each.b], 12) > 0).sum()),
            }
            for each in settings(means)
            if each.a == "oracle"
        }
        published = stated()["crux.t1.setting_difference"]
        for name, values in published["value"].items():
            assert found[name] == pytest.approx(values, abs=published["tolerance"])


class TestClapnq:
    @staticmethod
    @cache
    def questions() -> list[JSON]:
        return lines("clapnq/clapnq_dev_answerable.jsonl")

    @staticmethod
    def usable(question: JSON) -> Iterator[JSON]:
        yield from (each for each in question["output"] if each["answer"] not in ("", "NA", "."))

    @pytest.mark.parametrize(("name", "references"), [("max", "best"), ("mean", "mean")])
    def test_the_whole_passage_taken_as_the_answer_scores_as_published(
        self, name: str, references: str
    ) -> None:
        every = self.questions()
        passages = [question["passages"][0]["text"] for question in every]
        answers = [[each["answer"] for each in self.usable(question)] for question in every]
        of = Texts(passages, answers, passages, np.ones(len(every), bool))
        options = Options(references=references, recall_references=references)
        scores = {"rougeL_f1": rouge_l_of, "rouge1_recall": recall_of}
        found = {key: np.nanmean(measure(of, options)) for key, measure in scores.items()}
        expect(f"clapnq.full_passage_baseline.{name}_over_references.nostem", found)

    def test_the_whole_passage_under_its_title_scores_as_the_paper_prints(self) -> None:
        """Table 5 has 49.5, 97.4, 100 and 912."""
        every = self.questions()
        passages = [
            Passage("p", each["passages"][0]["text"], each["passages"][0]["title"]).titled
            for each in every
        ]
        answers = [[each["answer"] for each in self.usable(question)] for question in every]
        of = Texts(passages, answers, passages, np.ones(len(every), bool))
        measures = (rouge_l_of, recall_of, rouge_l_to_passage, length)
        found = [float(np.nanmean(measure(of, PRESETS["clapnq"]))) for measure in measures]
        assert found == pytest.approx([0.495, 0.974, 1, 912], abs=5e-4, rel=1e-4)

    def test_overlap_of_answers_with_their_passage_and_their_length_are_as_published(self) -> None:
        pairs = [
            (each, question["passages"][0]["text"])
            for question in self.questions()
            for each in self.usable(question)
        ]
        answers, passages = [each["answer"] for each, _ in pairs], [text for _, text in pairs]
        of = Texts(answers, [[]] * len(pairs), passages, np.ones(len(pairs), bool))
        selected = np.array([bool(each["selected_sentences"]) for each, _ in pairs])
        copied = rouge_l_to_passage(of, Options())[selected].mean()
        published = stated()["clapnq.rougeL.A_P.all_usable_outputs.nostem"]
        assert copied == pytest.approx(published["value"]["f1"], abs=published["tolerance"])
        characters = stated()["clapnq.lengths"]["value"]["answer_chars_usable"]
        assert length(of, Options()).mean() == pytest.approx(characters, abs=0.005)

    def test_overlap_of_answers_with_selected_sentences_is_as_published(self) -> None:
        found = [
            rouge_l(each["answer"], " ".join(each["selected_sentences"]))
            for question in self.questions()
            for each in self.usable(question)
            if each["selected_sentences"]
        ]
        values = {
            name: np.mean([getattr(each, name) for each in found])
            for name in ("precision", "recall", "f1")
        }
        expect("clapnq.rougeL.A_RS.all_usable_outputs.nostem", values)
