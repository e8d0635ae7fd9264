"""Warnings: each condition is tested once with labels that meet it, and once without."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analysis.campaigns.reports import contaminated_prompts
from annotation.answers.submission import submit
from annotation.campaign_setup.creation import create_campaign
from annotation.campaigns.design import Design
from annotation.models import Assignment, Campaign, Item, Rater, Response
from datasets.models import Batch, Report
from judging.models import Judge, JudgeRun
from tandem.formats import FORMATS
from tandem.labels.facts import Evidence, EvidenceSpan, LabelFact, LabelKey
from tandem.labels.selection import ReportOptions
from tandem.labels_report import labels_report
from tandem.sections.agreement import agreement
from tandem.sections.judges import judges
from tandem.sections.warnings import warnings
from tests.analysis.cast import JUDGE, fact, frame_of, sample_of, table
from tests.page_cast import TEXT, Study, make_study, payload

SOUND = {
    "ada": "ynynynynynynynynynynyn",
    "bram": "ynynynynynynynynynynny",
    "chidi": "ynynynynynynynynynynyn",
}


def found(facts: Iterable[LabelFact]) -> dict[str, dict[str, Any]]:
    """The warnings about a frame, by code."""
    frame = frame_of(facts)
    sample = sample_of(frame, resamples=5)
    blocks = {"answerable": {"agreement": agreement(sample), "judges": judges(sample, 0.2)}}
    return {each["code"]: each for each in warnings(frame, blocks)}


def test_sound_labels_give_no_warning() -> None:
    assert found(table({**SOUND, JUDGE: SOUND["ada"]})) == {}


def test_few_queries_give_a_warning() -> None:
    few = found(table({name: column[:18] for name, column in SOUND.items()}))
    assert few["few_queries"]["text"].startswith("It rests on only 9 queries.")
    assert "few_queries" not in found(table({n: column[:20] for n, column in SOUND.items()}))


def test_one_prevailing_category_gives_a_warning() -> None:
    nearly = found(table({"ada": "n" * 21 + "y", "bram": "n" * 22}))
    assert nearly["prevalence"]["text"].startswith("98% of people's labels are `no`.")
    assert "prevalence" not in found(table({"ada": "n" * 17 + "yyyyy", "bram": "n" * 22}))


def test_people_who_agree_less_than_chance_give_a_warning() -> None:
    turned = SOUND["ada"].translate(str.maketrans("yn", "ny"))
    below = found(table({"ada": SOUND["ada"], "bram": turned}))["kappa_below_zero"]
    assert (below["variable"], below["rater"]) == ("answerable", None)


def test_a_judge_that_agrees_less_than_chance_gives_a_warning() -> None:
    turned = SOUND["ada"].translate(str.maketrans("yn", "ny"))
    below = found(table({**SOUND, JUDGE: turned}))["kappa_below_zero"]
    assert below["rater"] == JUDGE
    assert "less than chance" in below["text"]


def test_a_rater_who_agrees_far_less_than_others_gives_a_warning() -> None:
    far = found(table({**SOUND, "dora": "yynnyynnyynnyynnyynnyy"}))["rater_far_off"]
    assert far["rater"] == "dora"
    two = found(table({"ada": SOUND["ada"], "dora": "yynnyynnyynnyynnyynnyy"}))
    assert "rater_far_off" not in two


def test_sharing_units_with_a_careless_rater_gives_no_warning() -> None:
    careful, turned = "yn" * 60, "ny" * 60
    shared = {"bram": "." * 60 + careful[:60], "chidi": "." * 60 + careful[:60]}
    labels = {"ada": careful[:60] + "." * 60, "dora": turned, **shared}
    frame = frame_of(table(labels))
    blocks = {"answerable": {"agreement": agreement(sample_of(frame, resamples=5)), "judges": {}}}
    far = [each["rater"] for each in warnings(frame, blocks) if each["code"] == "rater_far_off"]
    assert far == ["dora"]


def of_systems(failures: dict[str, int], units: int = 100) -> list[LabelFact]:
    """This many units of each system; the judge has no label on the first ones."""
    facts = []
    for system, lost in failures.items():
        for n in range(units):
            place, value = (f"{system}{n}", f"u{n}"), ("yes", "no")[n % 2]
            facts += [fact(*place, rater, value, system=system) for rater in ("ada", "bram")]
            said = None if n < lost else value
            missing = {"missing": "refused"} if n < lost else {}
            facts.append(fact(*place, JUDGE, said, system=system, **missing))
    return facts


def test_missing_labels_of_a_judge_withhold_its_headline() -> None:
    lost = found(of_systems({"bm25": 3, "dense": 3}))["judge_missing"]
    assert "no label on 6 of 200 units (3.0%)" in lost["text"]
    assert "do not quote its figures" in lost["text"]
    # 194 of 200 agree; the six are all wrong, or all right.
    assert "between 0.970 and 1.000" in lost["text"]
    assert "judge_missing" not in found(of_systems({"bm25": 2, "dense": 2}))


def test_a_judge_that_fails_more_on_one_system_gives_a_warning() -> None:
    fails = found(of_systems({"bm25": 2, "dense": 20}))["judge_fails_by_system"]
    assert "20.0% of units are missing for dense, 2.0% for bm25" in fails["text"]
    # (ad - bc)^2 n / row and column sums: (2*80 - 98*20)^2 * 200 / (100 * 100 * 22 * 178) = 16.5
    assert "chi-square 16.5, 1 df" in fails["text"]
    assert "judge_fails_by_system" not in found(of_systems({"bm25": 9, "dense": 12}))
    assert "judge_fails_by_system" not in found(of_systems({"bm25": 20}))


def test_a_judge_without_required_evidence_gives_a_warning() -> None:
    facts = table({"ada": "ynyn", JUDGE: "yyyn"})
    place = LabelKey("r0", "question", "q0", "answerable", JUDGE)
    span = EvidenceSpan("report", 0, 4)

    def warnings_for(evidence: Evidence) -> list[str]:
        frame = replace(frame_of(facts), evidence=evidence)
        sample = sample_of(frame, resamples=5)
        blocks = {"answerable": {"agreement": agreement(sample), "judges": judges(sample, 0.2)}}
        return [w["text"] for w in warnings(frame, blocks) if w["code"] == "judge_without_evidence"]

    (text,) = warnings_for(Evidence(owed={"answerable": ("yes",)}))
    assert "It quotes no evidence for its 3 labels `yes`" in text
    assert not warnings_for(Evidence({place: (span,)}, owed={"answerable": ("yes",)}))
    assert not warnings_for(Evidence())


@pytest.mark.django_db
def test_a_prompt_that_quotes_texts_labelled_by_people_gives_a_warning() -> None:
    study = make_study(people=1)
    first = study.assignment(study.ada)
    report = first.item.report
    assert report
    submit(first, payload("no"), "page")
    for name, prompt in (("peeper", f"Such as:\n {report.text}\n---"), ("honest", "Judge it.")):
        rater = Rater.objects.create(name=name, kind="judge")
        judge = Judge.objects.create(rater=rater, backend="lexical", prompt=prompt)
        JudgeRun.objects.create(campaign=study.campaign, judge=judge, prompt_sha256="0" * 64)
    seen = contaminated_prompts(study.campaign, ["peeper", "honest"])
    assert [(each["code"], each["rater"]) for each in seen] == [("prompt_saw_labels", "peeper")]
    assert "texts of 1 of the 1 items" in seen[0]["text"]


Change = Callable[[Study, Assignment], object]


def prompted(study: Study, prompt: str, campaign: Campaign | None = None) -> list[dict[str, Any]]:
    rater = Rater.objects.create(name="peeper", kind="judge")
    judge = Judge.objects.create(rater=rater, backend="lexical", prompt=prompt)
    of = campaign or study.campaign
    JudgeRun.objects.create(campaign=of, judge=judge, prompt_sha256="0" * 64)
    return contaminated_prompts(study.campaign, ["peeper"])


def labelled() -> tuple[Study, Assignment]:
    study = make_study(people=1)
    row = study.assignment(study.ada)
    submit(row, payload("no"), "page")
    return study, row


@pytest.mark.django_db
@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda _, row: _use(row, Item.Use.PRACTICE), id="practice"),
        pytest.param(lambda _, row: _use(row, Item.Use.GOLD), id="gold"),
        pytest.param(lambda _, row: _kind(row, "judge"), id="a judge's"),
        pytest.param(lambda _, row: row.responses.update(current=False), id="revised since"),
        pytest.param(lambda *_: Response.objects.all().delete(), id="open"),
    ],
)
def test_a_prompt_may_quote_texts_on_which_the_judge_is_not_evaluated(
    change: Change,
) -> None:
    study, row = labelled()
    change(study, row)
    assert prompted(study, TEXT) == []


def _use(row: Assignment, use: str) -> None:
    Item.objects.filter(pk=row.item_id).update(use=use)


def _kind(row: Assignment, kind: str) -> None:
    Rater.objects.filter(pk=row.rater_id).update(kind=kind, user=None)


@pytest.mark.django_db
@pytest.mark.parametrize(("length", "warned"), [(39, False), (40, True)])
def test_a_short_text_in_a_prompt_may_be_a_coincidence(length: int, warned: bool) -> None:
    study, row = labelled()
    text = "x" * length
    assert row.item.report
    Report.objects.filter(pk=row.item.report.pk).update(text=text)
    assert bool(prompted(study, f"Like {text}!")) is warned


@pytest.mark.django_db
def test_the_prompt_of_a_judge_never_run_here_is_not_checked() -> None:
    study, _ = labelled()
    other = create_campaign("Other", "report-coverage", Batch.objects.get(), Design()).campaign
    assert prompted(study, TEXT, other) == []


@pytest.mark.django_db
def test_texts_of_other_campaigns_in_a_prompt_give_no_warning() -> None:
    study, row = labelled()
    other = create_campaign("Other", "report-coverage", Batch.objects.get(), Design()).campaign
    Item.objects.filter(pk=row.item_id).update(campaign=other, key="moved")
    assert prompted(study, TEXT) == []


@pytest.fixture
def few(tmp_path: Path) -> dict[str, Any]:
    path = tmp_path / "few.jsonl"
    rows = [
        {"item": f"i{n}", "unit": f"i{n}", "variable": "mood", "value": "ab"[n % 2], "rater": rater}
        for n in range(4)
        for rater in ("Ada", "Bram")
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return labels_report([path], {}, ReportOptions(resamples=5))


@pytest.mark.every_case
@pytest.mark.parametrize("name", FORMATS)
def test_every_format_shows_warnings(few: dict[str, Any], name: str) -> None:
    assert "It rests on only 4 queries." in FORMATS[name].render(few)


def test_highlights_of_another_length_than_their_words_give_a_warning(tmp_path: Path) -> None:
    def line(rater: str, end: int, text: str) -> str:
        span = {"field": "report", "start": 3, "end": end, "text": text}
        row = {"item": "i", "unit": "u", "variable": "answerable", "value": "yes", "rater": rater}
        return json.dumps({**row, "spans": [span]}) + "\n"

    file = tmp_path / "labels.jsonl"
    file.write_text(line("ann", 9, "dam 😀") + line("bo", 8, "dam 😀"), "utf-8")
    report = labels_report([file], {}, ReportOptions(resamples=5))
    (warning,) = (each for each in report["warnings"] if each["code"] == "offsets")
    assert (warning["variable"], warning["rater"]) == ("answerable", "ann")
    assert warning["text"].startswith("1 highlight is longer or shorter than the quoted words")
