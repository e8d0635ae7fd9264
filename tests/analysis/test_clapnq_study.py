"""CLAPnq by the commands: the imported release gives the figures that others computed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annotation.models import Rater
from annotation.presentation import usable_answers, with_a_gap
from datasets.readers.clapnq import NO_ANSWER
from tandem.statistics import rouge_l
from tests.analysis.conftest import run
from tests.databases import emptying_after

# `test_free_text` and the tests of CLAPnq's reader and import check the same with a few answers.
pytestmark = [pytest.mark.django_db, pytest.mark.long]

Entries = dict[str, dict[str, Any]]
Line = dict[str, Any]


@pytest.fixture(scope="module")
def clapnq(data: Path, django_db_setup: None, django_db_blocker: Any) -> Iterator[str]:
    """A campaign with the released answers; removed after the module."""
    with emptying_after(django_db_blocker):
        files = [str(path) for path in sorted((data / "clapnq").glob("*.jsonl"))]
        run("load_batch", *files, "--name", "clapnq")
        run("create_campaign", "nq", "--protocol", "grounded-answer", "--batch", "clapnq",
            "--option", "variables=descriptor,deflected,action,selected")  # fmt: skip
        run("import_labels", *files, "--campaign", "nq", "--format", "clapnq")
        yield "nq"


@pytest.fixture(scope="module")
def written(clapnq: str, django_db_blocker: Any) -> dict[str, Any]:
    with django_db_blocker.unblock():
        report = json.loads(run("report", "--campaign", clapnq, "--resamples", "50"))
    found: dict[str, Any] = report["written"]
    return found


@pytest.fixture(scope="module")
def outputs(clapnq: str, django_db_blocker: Any) -> list[Line]:
    """The released outputs, rebuilt from the exports: each once, in order."""
    with django_db_blocker.unblock():
        texts, labels = _lines("units"), _lines("labels")
        responses = _lines("responses")
    passages = {x["item"]: next(iter(x["texts"].values())) for x in texts}
    meta = {(x["item"], x["rater"]): x["meta"] for x in labels if x.get("meta")}
    found: dict[tuple[str, int], Line] = {}
    for each in responses:
        key = each["item"], each["rater"]
        if each["rater_kind"] == "human":
            found.setdefault((each["item"], meta[key]["output"]), _output(each, passages))
    return [found[key] for key in sorted(found)]


def _lines(what: str) -> list[Line]:
    text = run("export", "--campaign", "nq", "--what", what, "--format", "jsonl")
    return [json.loads(line) for line in text.split("\n") if line]


def _output(response: Line, passages: dict[str, str]) -> Line:
    written = (a["written"]["text"] for a in response["units"].values() if a.get("written"))
    chosen = [a.get("selected") for a in response["units"].values() if "selected" in a]
    return {
        "item": response["item"],
        "answer": next(written, ""),
        "selected": [n for n, code in enumerate(chosen) if code == "yes"],
        "passage": passages[response["item"]],
    }


@pytest.fixture(scope="module")
def sentences(data: Path) -> dict[str, list[str]]:
    """The sentences of each passage, to look up those that were selected by number."""
    lines = (data / "clapnq" / "clapnq_dev_answerable.jsonl").read_text("utf-8").split("\n")
    rows = [json.loads(line) for line in lines if line]
    return {row["id"]: row["passages"][0]["sentences"] for row in rows}


def close(entry: Line, found: object) -> None:
    assert found == pytest.approx(entry["value"], abs=entry["tolerance"]), entry["id"]


class TestReport:
    def test_agreement_in_each_round_is_that_computed_elsewhere(
        self, written: Line, expected: Entries
    ) -> None:
        entry = expected["clapnq.iaa_rougeL_f1.round1_round2.nostem"]
        found = written["rounds"]["rouge_l_differing"]
        close(entry, found["value"])
        assert found["n"] == entry["n"] == 125
        assert found["low"] < found["value"] < found["high"]

    def test_agreement_with_kept_answers_as_1_is_that_computed_elsewhere(
        self, written: Line, expected: Entries
    ) -> None:
        entry = expected["clapnq.iaa_rougeL_f1.merged_counted_as_1.nostem"]
        close(entry, written["rounds"]["rouge_l_all"]["value"])
        assert written["rounds"]["rouge_l_all"]["n"] == entry["n"] == 275

    def test_agreement_of_all_pairs_of_a_question_is_that_computed_elsewhere(
        self, written: Line, expected: Entries
    ) -> None:
        entry = expected["clapnq.iaa_rougeL_f1.per_question_all_pairs.nostem"]
        close(entry, written["between_raters"]["rouge_l_differing"]["value"])
        assert written["between_raters"]["rouge_l_differing"]["n"] == entry["n"] == 138

    def test_the_share_of_kept_answers_is_that_computed_elsewhere(self, written: Line) -> None:
        rounds = written["rounds"]
        assert (rounds["kept"], rounds["modified"], rounds["skipped"]) == (150, 125, 10)
        assert rounds["keep_rate"]["value"] == pytest.approx(150 / 275)

    def test_answers_left_out_are_counted(self, written: Line, expected: Entries) -> None:
        counts = expected["clapnq.counts"]["value"]
        assert written["unusable"] == counts["answer_NA"] + counts["answer_dot"]
        # Each kept answer is listed for both of its annotators.
        assert written["answers"] == counts["usable_outputs"] + 150

    @pytest.mark.parametrize("format", ["md", "html", "csv", "latex"])
    def test_every_format_prints_the_agreement(self, clapnq: str, format: str) -> None:
        text = run("report", "--campaign", clapnq, "--format", format, "--resamples", "50")
        assert "0.638" in text
        assert "0.836" in text or "0.8355" in text


class TestExports:
    """The release's other figures, computed from the exports alone."""

    def test_counts_of_exported_records_are_those_computed_elsewhere(
        self, outputs: list[Line], expected: Entries
    ) -> None:
        counts = expected["clapnq.counts"]["value"]
        answers = Counter(output["answer"].strip() for output in outputs)
        assert len(outputs) == counts["outputs"]
        assert (answers[""], answers["NA"], answers["."]) == (10, 10, 1)
        people = Rater.objects.filter(kind="human")
        assert people.count() == counts["distinct_annotators"]

    def test_the_number_of_selections_with_a_gap_is_that_computed_elsewhere(
        self, outputs: list[Line], expected: Entries
    ) -> None:
        gaps = [o for o in outputs if o["selected"] and _leaves_a_gap(o["selected"])]
        assert len(gaps) == expected["clapnq.non_consecutive"]["value"]["recomputed_true"]

    @pytest.mark.parametrize("pair", ["RS_P", "A_RS", "A_P"])
    @pytest.mark.parametrize("which", ["all_usable_outputs", "first_usable_output"])
    def test_rouge_of_answers_selections_and_passages_is_that_computed_elsewhere(
        self,
        outputs: list[Line],
        sentences: dict[str, list[str]],
        expected: Entries,
        pair: str,
        which: str,
    ) -> None:
        entry = expected[f"clapnq.rougeL.{pair}.{which}.nostem"]
        usable = [o for o in outputs if o["answer"].strip() not in NO_ANSWER and o["selected"]]
        if which == "first_usable_output":
            usable = list({o["item"]: o for o in reversed(usable)}.values())
        scores = [rouge_l(*_pair(pair, o, sentences[o["item"]])) for o in usable]
        assert len(scores) == entry["n"]
        for name, value in entry["value"].items():
            mean = float(np.mean([getattr(score, name) for score in scores]))
            assert mean == pytest.approx(value, abs=entry["tolerance"]), name


def test_only_questions_whose_selection_leaves_a_gap_pass_the_gate(
    clapnq: str, outputs: list[Line]
) -> None:
    passed = with_a_gap(usable_answers(clapnq)).values_list("assignment__item__key", flat=True)
    usable = [o for o in outputs if o["answer"].strip() not in NO_ANSWER]
    gaps = {o["item"] for o in usable if o["selected"] and _leaves_a_gap(o["selected"])}
    assert set(passed) == gaps
    assert 200 < len(gaps) < 300


def _pair(pair: str, output: Line, sentences: list[str]) -> tuple[str, str]:
    texts = {
        "A": output["answer"],
        "RS": " ".join(sentences[n] for n in output["selected"]),
        "P": output["passage"],
    }
    prediction, reference = pair.split("_")
    return texts[prediction], texts[reference]


def _leaves_a_gap(places: list[int]) -> bool:
    return max(places) - min(places) + 1 > len(places)
