"""A campaign whose protocol declares measures has them, by people, judges, systems and reports."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from analysis.campaigns.frames import campaign_frame
from analysis.evaluation.declared import declared_parts
from analysis.evaluation.inputs import DeclaredContent
from analysis.release.facts import campaign_facts
from analysis.release.material import released_task
from analysis.release.measures import asked_content, computed, declared_in, differences
from annotation.campaign_setup.creation import create_campaign
from annotation.campaigns.design import Design
from annotation.models import Campaign
from annotation.protocols import PROTOCOLS
from annotation.protocols.base import Protocol
from annotation.registry import DECLARED
from datasets.material import batch_rows
from datasets.models import Batch
from tandem.labels.facts import Scale
from tandem.labels.selection import ReportOptions
from tandem.protocols.base import DeclaredMeasure, ItemSpec, Text, UnitSpec, Variable
from tandem.scores.base import values_of
from tandem.scores.declared import ReportValues
from tandem.scores.options import Options
from tests.analysis.cast import fact, frame_of
from tests.analysis.conftest import run
from tests.analysis.evaluation.test_command import value
from tests.cast import write_lines

pytestmark = pytest.mark.django_db

JSON = dict[str, Any]
NAME = "nuggets-study"
SYSTEMS = ("one", "two", "three", "four", "five", "six")
IMPORTANCE = ("vital", "vital", "okay")
QUERIES = 12
POINTS = {"none": 0.0, "partial": 0.5, "support": 1.0}
STRICT = {"support": 1.0}
VITAL = {"importance": ("vital",)}
WEIGHT = {"importance": {"vital": 1.0, "okay": 0.5}}
MEASURES = tuple(
    DeclaredMeasure(name, "assignment", points, where, weight)
    for name, points, where, weight in (
        ("A", POINTS, {}, {}),
        ("A-strict", STRICT, {}, {}),
        ("V-strict", STRICT, VITAL, {}),
        ("W", POINTS, {}, WEIGHT),
    )
)


def make_items(query: Any, variables: Sequence[Variable]) -> Iterator[ItemSpec]:
    """The questions of a query stand for nuggets; the last one is okay, the others are vital."""
    for report in query.reports:
        units = tuple(
            UnitSpec("report-nugget", f"{report.id}/{q.id}", q.text,
                     fields=(("importance", IMPORTANCE[n]),))
            for n, q in enumerate(query.questions)
        )  # fmt: skip
        texts = (Text("report", report.text, "Report"),)
        yield ItemSpec(report.id, units, texts, report=report.id, system=report.system)


@pytest.fixture(autouse=True)
def _nuggets(monkeypatch: pytest.MonkeyPatch) -> None:
    declare(monkeypatch)


def declare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the protocol for one test."""
    codes, level = tuple(POINTS), "ordinal"
    asked = Variable(
        "assignment", "report-nugget", "Does it?", codes, level, ("cannot-tell",)  # type: ignore[arg-type]
    )  # fmt: skip
    protocol = Protocol(
        name="nuggets",
        version="1",
        title="Nuggets",
        variables=(asked,),
        measures=MEASURES,
        make_items=make_items,
        needs=("questions", "reports"),
        own_guideline="Say whether the report states the nugget.",
    )
    for known in (DECLARED, PROTOCOLS):
        monkeypatch.setitem(known, "nuggets", protocol)


def line(n: int, lacking: bool) -> JSON:
    """A query with three nuggets and a report of each system; on the last, one may have none."""
    systems = SYSTEMS[1:] if lacking and n == QUERIES - 1 else SYSTEMS
    return {
        "id": f"t{n:02}",
        "text": "?",
        "meta": {"domain": ("law", "food")[n % 2]},
        "questions": [{"id": f"t{n:02}n{k}", "text": "A fact."} for k in range(3)],
        "reports": [{"id": f"t{n:02}-{s}", "text": "Words.", "system": s} for s in systems],
    }


def answer(place: int, k: int, n: int, rater: str) -> str:
    """System `place` states place // 2 of the nuggets, and a half of the next if it is odd.

    The judge cannot tell five from six, and people agree. On the first query nothing is stated.
    """
    if not n:
        return "none"
    place = min(place, 4) if rater == "judge" else place
    whole, half = divmod(place, 2)
    return "support" if k < whole else "partial" if k == whole and half else "none"


def labels(raters: Sequence[str] = ("ada", "bea", "judge")) -> Iterator[JSON]:
    for n in range(QUERIES):
        for place, system in enumerate(SYSTEMS):
            for k in range(3):
                for rater in raters:
                    yield {
                        "item": f"t{n:02}-{system}",
                        "unit": f"t{n:02}-{system}/t{n:02}n{k}",
                        "variable": "assignment",
                        "value": answer(place, k, n, rater),
                        "rater": rater,
                        "rater_kind": "judge" if rater == "judge" else "human",
                    }


def study(tmp_path: Path, given: Sequence[JSON], lacking: bool = False) -> None:
    batch = write_lines(tmp_path / "nuggets.jsonl", [line(n, lacking) for n in range(QUERIES)])
    run("load_batch", str(batch), "--name", NAME)
    create_campaign(NAME, "nuggets", Batch.objects.get(name=NAME), Design(), pool="open")
    run("import_labels", str(write_lines(tmp_path / "given.jsonl", given)), "--campaign", NAME)


def printed(*options: str) -> str:
    return run("measures", "--campaign", NAME, "--resamples", "2", *options)


def measured(*options: str) -> JSON:
    found: JSON = json.loads(printed(*options))
    return found


def test_every_evaluator_has_the_value_of_each_system_with_an_interval(tmp_path: Path) -> None:
    study(tmp_path, list(labels()))
    found = measured()["measures"]
    # Six states two nuggets and a half of the third, on eleven of twelve queries.
    share = (QUERIES - 1) / QUERIES
    by_hand = {"A": 2.5 / 3, "A-strict": 2 / 3, "V-strict": 1.0, "W": 2.25 / 2.5}
    for name, by_people in by_hand.items():
        for rater in ("people", "mean_of_people", "ada"):
            assert value(found[name], "six", rater) == pytest.approx(share * by_people)
        six = found[name]["systems"]["six"]["people"]
        assert six["low"] < six["value"] < six["high"]
        assert six["n"] == QUERIES
    # The judge gives six what five has: two nuggets.
    assert value(found["A"], "six", "judge") == pytest.approx(share * 2 / 3)
    assert found["A"]["variables"] == ["assignment"]
    assert found["A"]["citation"] == "nuggets 1"
    assert found["V-strict"]["summary"] == (
        "Points of assignment (support 1) where importance is vital, over the units."
    )


def test_each_report_has_its_value_or_the_reason_why_not(tmp_path: Path) -> None:
    given = [each for each in labels(("ada",)) if each["item"] != "t03-six"]
    lost = [{**each, "value": "cannot-tell"} if each["item"] == "t02-six" else each
            for each in given]  # fmt: skip
    study(tmp_path, lost)
    of = measured()["measures"]["A"]
    assert of["reports"]["people"]["t01-six"] == pytest.approx(2.5 / 3)
    assert of["reports"]["people"]["t02-six"] is None
    assert of["reasons"]["people"] == {
        "t02-six": "units, of 3: 3 with an escape",
        "t03-six": "nobody was asked about the report",
    }
    assert of["units"]["people"] == {
        "counted": 3 * (6 * QUERIES - 2), "failed": 0, "escaped": 3, "tied": 0, "absent": 0,
        "not_asked": 0,
    }  # fmt: skip
    table = csv.DictReader(io.StringIO(printed("--format", "csv")))
    rows = {row["report"]: row for row in table
            if (row["part"], row["measure"], row["by"]) == ("report", "A", "people")}  # fmt: skip
    assert float(rows["t01-six"]["value"]) == pytest.approx(2.5 / 3)
    assert (rows["t02-six"]["value"], rows["t02-six"]["reason"]) == (
        "", "units, of 3: 3 with an escape",
    )  # fmt: skip
    assert len(rows) == 6 * QUERIES


def test_slices_and_files_have_declared_measures_like_all_others(tmp_path: Path) -> None:
    study(tmp_path, list(labels()))
    found = measured()
    slices = found["measures"]["A"]["slices"]["domain"]
    assert slices["food"]["six"]["people"]["value"] == pytest.approx(2.5 / 3)
    assert slices["law"]["six"]["people"]["value"] == pytest.approx(2.5 / 3 * 5 / 6)
    text = printed("--format", "md")
    assert "A, A-strict, V-strict, W are declared by the protocol nuggets 1" in text
    assert "missing_topics null" in text
    people = next(b for b in found["leaderboard"]["boards"] if b["by"] == "people")
    assert people["systems"]["six"]["A"]["higher_than"] == list(SYSTEMS[:-1])


def test_judges_order_systems_as_people_do_over_runs_and_within_topics(tmp_path: Path) -> None:
    study(tmp_path, list(labels()))
    (pair,) = (p for p in measured()["measures"]["A"]["evaluators"]
               if {p["a"], p["b"]} == {"people", "judge"})  # fmt: skip
    # Five and six tie for the judge: see the worked example in `test_orders`.
    assert pair["kendall"]["value"] == pytest.approx(14 / (15 * 14) ** 0.5)
    assert pair["tau_ap"]["value"] == pytest.approx(0.8)
    for name, alike in (("kendall", 14 / (15 * 14) ** 0.5), ("tau_ap", 0.8)):
        within = pair[f"{name}_within"]
        assert (within["value"], within["n"]) == (pytest.approx(alike), QUERIES - 1)


def test_a_topic_that_a_system_lacks_is_left_out_or_zero(tmp_path: Path) -> None:
    given = [each for each in labels(("ada",)) if each["item"] != f"t{QUERIES - 1}-one"]
    for each in given:
        # One states the first nugget wherever it has a report.
        if "-one" in each["item"] and each["unit"].endswith("n0"):
            each["value"] = "support"
    study(tmp_path, given, lacking=True)
    assert value(measured()["measures"]["A"], "one") == pytest.approx(1 / 3)
    zero = measured("--option", "missing_topics=zero")["measures"]["A"]
    assert value(zero, "one") == pytest.approx(1 / 3 * (QUERIES - 1) / QUERIES)
    assert zero["systems"]["one"]["people"]["n"] == QUERIES
    assert value(zero, "two") == value(measured()["measures"]["A"], "two")


def test_a_release_gives_the_same_values_from_its_labels_and_batch(tmp_path: Path) -> None:
    study(tmp_path, list(labels()))
    campaign = Campaign.objects.get(name=NAME)
    facts = campaign_facts(campaign)
    asked = asked_content(facts, released_task(tmp_path, facts))
    assert asked is not None
    queries = tuple(batch_rows(campaign.batch))
    now = computed(asked, campaign_frame(campaign, ReportOptions()), queries, Options())
    assert now["W", "six", "judge"] == pytest.approx(2 / 2.5 * (QUERIES - 1) / QUERIES)
    found = measured()
    assert list(differences(found, now)) == []
    # What a protocol declares that is not known here cannot be computed here.
    declared = set(declared_in(found))
    assert "A" in declared
    others = {place: each for place, each in now.items() if place[0] not in declared}
    assert list(differences(found, others, without=declared)) == []
    assert len(list(differences(found, others))) > len(SYSTEMS)
    wrong: dict[tuple[str, str, str], float | None] = dict.fromkeys(now, 0.5)
    assert len(list(differences(found, wrong))) > len(SYSTEMS)


@pytest.mark.parametrize(
    ("over", "precision", "recall"),
    [("units", 1 / 2, 1 / 3), ("first-per-sentence", 1, 1 / 2)],
)
def test_a_citation_of_an_absent_passage_stands_at_its_place_in_the_sentence(
    over: Any, precision: float, recall: float
) -> None:
    """The first of three sentences cites a passage that the batch lacks, then one without support.

    The second sentence has support, and the third cites nothing.
    """
    report = SimpleNamespace(
        id="r", text="One. Two. Three.", sentences=("One.", "Two.", "Three."), system="s",
        setting=None, sentence_citations=(("gone", "p"), ("p",), ()),
    )  # fmt: skip
    query: Any = SimpleNamespace(id="q", reports=(report,), passages=(SimpleNamespace(id="p"),))
    units = [UnitSpec("sentence-citation", f"r#{n}/p", "Words.") for n in (1, 2)]
    asked = Variable("support", "sentence-citation", "Does it?", ("none", "full"))
    of = tuple(
        DeclaredMeasure("m", "support", {"full": 1.0}, {}, {}, over, below)
        for below in ("units", "sentences")
    )
    item = ItemSpec("r", tuple(units), (), report="r")
    content = DeclaredContent("support 1", of, (asked,), lambda query: [item])
    labels = [
        fact("r", unit.key, "ada", code, "support", kind="sentence-citation", query="q")
        for unit, code in zip(units, ("none", "full"), strict=True)
    ]
    frame = frame_of(labels, support=Scale(("none", "full"), "ordinal"))
    people = next(declared_parts([query], frame, content, Options()))
    found = [people.compute(measure, Options()) for measure in people.measures]
    assert [values_of(each).tolist() for each in found] == [[precision], [recall]]
    assert all(isinstance(each, ReportValues) and each.states["absent"] == 1 for each in found)


def test_a_declared_measure_with_the_name_of_a_papers_measure_is_renamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = replace(DECLARED["nuggets"], measures=(replace(MEASURES[0], name="KPR"),))
    monkeypatch.setitem(DECLARED, "nuggets", named)
    study(tmp_path, list(labels(("ada",))))
    assert "KPR (nuggets 1)" in measured()["measures"]


def test_reports_and_runs_are_on_a_leaderboard_of_the_autojudge_kit(tmp_path: Path) -> None:
    given = [
        each for each in labels(("ada", "judge")) if each["item"] not in ("t03-six", "t11-one")
    ]
    study(tmp_path, given, lacking=True)
    board = tmp_path / "board.tsv"
    printed("--leaderboard", str(board))
    rows = [line.split("\t") for line in board.read_text("utf-8").splitlines()]
    found = {tuple(row[:3]): float(row[3]) for row in rows}
    assert all(len(row) == 4 for row in rows)
    assert found["six", "t01", "A"] == pytest.approx(2.5 / 3)
    assert found["six", "t01", "A@judge"] == pytest.approx(2 / 3)
    assert ("six", "t03", "A") not in found
    # Of twelve topics, one is not judged, and on the first no nugget is stated.
    assert found["six", "all", "A"] == pytest.approx(2.5 / 3 * 10 / 11)
    assert ("one", "t11", "A") not in found
    printed("--leaderboard", str(board), "--option", "missing_topics=zero")
    assert "one\tt11\tA\t0.0\n" in board.read_text("utf-8")
