"""Agreement before and after a change of the guideline, worked by hand and from a campaign."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis.campaigns.cache import computed_report
from annotation.answers.submission import submit
from annotation.assignments.queue import next_assignment
from annotation.campaign_setup.creation import create_campaign
from annotation.campaigns.changes import change
from annotation.campaigns.design import Design
from annotation.campaigns.settings import CampaignSettings
from annotation.exposure.ledger import FEWEST_UNITS
from annotation.models import Campaign, User, rater_of
from datasets.models import Batch
from tandem.formats import FORMATS
from tandem.labels.facts import LabelKey
from tandem.labels.frame import Guideline
from tandem.labels.guidelines import UNKNOWN, with_guidelines
from tandem.labels.resampling import Sample
from tandem.labels.selection import ReportOptions
from tandem.sections.contents import document
from tandem.sections.guidelines import FEWEST, guidelines
from tests import cast
from tests.analysis.cast import frame_of, table
from tests.cast import run, write_lines

BOTH = (Guideline(None, ""), Guideline(1, "d" * 12))
NOUN = ("question", "questions")
ROWS = {"ada": "y" * 80, "ben": "yn" * 20 + "y" * 40}


def of(rows: dict[str, str], under: dict[str, list[int]]) -> dict[str, Any]:
    """The block of people's labels, each given under the version with this number."""
    frame = frame_of(table(rows)).variables["answerable"]
    names = [rater.name for rater in frame.raters]
    versions = {names.index(name): np.array(each) for name, each in under.items()}
    sample = Sample(replace(frame, guidelines=versions), 20, 0)
    return guidelines(sample, BOTH, NOUN)


def test_each_version_has_its_own_agreement_and_the_change_between_them() -> None:
    halves = [0] * 40 + [1] * 40
    found = of(ROWS, {"ada": halves, "ben": halves})
    before, after = found["versions"]
    assert [(each["version"], each["units"], each["people"]) for each in (before, after)] == [
        (None, 40, 2),
        (1, 40, 2),
    ]
    assert before["percent"]["value"] == 0.5
    assert after["percent"]["value"] == 1
    (step,) = found["changes"]
    assert (step["before"], step["after"]) == (None, 1)
    assert step["percent"]["value"] == 0.5
    # Within each version all queries have the same labels, so that resamples do not vary.
    assert step["percent"]["low"] is None


def test_labels_under_different_versions_are_not_compared() -> None:
    found = of(ROWS, {"ada": [0] * 80, "ben": [0] * 40 + [1] * 40})
    before, after = found["versions"]
    assert (before["units"], after["units"], after["labels"]) == (40, 0, 40)
    assert after["percent"]["value"] is None
    assert after["percent"]["reason"].startswith("no questions have labels from two people under")


def test_too_few_units_give_a_reason_and_no_figure() -> None:
    halves = [0] * 60 + [1] * 20
    found = of(ROWS, {"ada": halves, "ben": halves})
    reason = (
        "only 20 questions have labels from two people under one version, at least 30 are needed"
    )
    assert found["versions"][1]["fleiss_kappa"]["reason"] == reason
    assert found["changes"][0]["fleiss_kappa"]["reason"] == reason
    assert found["versions"][0]["percent"]["value"] is not None


def test_no_figure_of_a_version_reveals_single_answers() -> None:
    assert FEWEST >= FEWEST_UNITS


def test_labels_without_a_known_version_are_counted_and_left_out() -> None:
    known = [0] * 40 + [1] * 30 + [UNKNOWN] * 10
    found = of(ROWS, {"ada": known, "ben": known})
    assert (found["unknown"], found["versions"][1]["units"]) == (20, 30)


def test_there_is_a_comparison_only_if_people_followed_several_versions() -> None:
    frame = frame_of(table({"ada": "yn", "ben": "yy"}))
    place = LabelKey("r0", "question", "q0", "answerable", "ada")
    assert with_guidelines(frame, BOTH[:1], {place: 0}) is frame
    made = with_guidelines(frame, BOTH, {place: 1})
    held = made.variables["answerable"].guidelines
    assert {column: versions.tolist() for column, versions in held.items()} == {
        0: [1, UNKNOWN],
        1: [UNKNOWN, UNKNOWN],
    }
    part = made.variables["answerable"].only(np.array([1]))
    assert part.guidelines[0].tolist() == [UNKNOWN]


JUDGED = {"ada": "y" * 80, "ben": "y" * 80, "model": "yn" * 20 + "y" * 39 + "n"}


def test_a_judge_is_compared_with_people_under_the_versions_that_both_followed() -> None:
    halves = [0] * 40 + [1] * 40
    found = of(JUDGED, dict.fromkeys(("ada", "ben", "model"), halves))["judges"]["model"]
    before, after = found["versions"]
    assert [(each["version"], each["labels"], each["units"]) for each in (before, after)] == [
        (None, 40, 40),
        (1, 40, 40),
    ]
    assert (before["percent"]["value"], after["percent"]["value"]) == (0.5, 0.975)
    (step,) = found["changes"]
    assert (step["before"], step["after"]) == (None, 1)
    assert step["percent"]["value"] == pytest.approx(0.475)
    # By hand: people said no nowhere, the judge in 20 of 40; of 80 labels 20 are no. Observed
    # disagreement 20/40, expected 2*60*20/(80*79), and likewise with 1 of 40 and 79*1.
    assert before["krippendorff_alpha"]["value"] == pytest.approx(1 - 0.5 / (2400 / 6320))
    assert after["krippendorff_alpha"]["value"] == pytest.approx(1 - 0.025 / (158 / 6320))


def test_a_judges_label_under_another_version_than_peoples_is_no_pair() -> None:
    halves = [0] * 40 + [1] * 40
    found = of(JUDGED, {"ada": halves, "ben": halves, "model": [0] * 40 + [1] * 20 + [0] * 20})
    after = found["judges"]["model"]["versions"][1]
    assert (after["labels"], after["units"]) == (20, 20)
    assert after["percent"]["reason"] == (
        "only 20 questions have labels from people and from the judge under one version, at least "
        "30 are needed"
    )


def test_a_judge_under_one_version_has_no_change() -> None:
    halves = [0] * 40 + [1] * 40
    found = of(JUDGED, {"ada": halves, "ben": halves, "model": [0] * 80})["judges"]["model"]
    assert (len(found["versions"]), found["changes"]) == (1, [])


QUERIES, QUESTIONS = 20, 4


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    lines = [
        {
            "id": f"q{n:02}",
            "text": "What of the pier?",
            "questions": [{"id": f"q{n:02}:{m}", "text": f"Held, {m}?"} for m in range(QUESTIONS)],
            "reports": [{"id": f"r{n:02}", "text": "The pier held.", "system": "one"}],
        }
        for n in range(QUERIES)
    ]
    cast.load(tmp_path, lines)
    batch = Batch.objects.get(name="b")
    design = Design(raters_per_item=2)
    return create_campaign("Pilot", "report-coverage", batch, design, pool="open").campaign


def people() -> list[User]:
    return [User.objects.create(username=name, role="annotator") for name in ("ada", "ben")]


def answer(campaign: Campaign, users: list[User], items: int) -> None:
    """Each person answers the next items; the second says no to every other question."""
    campaign.refresh_from_db()
    for nth, user in enumerate(users):
        for _ in range(items):
            mine = next_assignment(campaign, rater_of(user))
            assert mine is not None
            units: dict[str, Any] = {
                name: {"answerable": "invalid" if nth and n % 2 else "no", "evidence": []}
                for n, name in enumerate(sorted(mine.asked))
            }
            submit(mine, {"units": units, "comment": None}, "page")


def block(campaign: Campaign) -> dict[str, Any] | None:
    report = computed_report(campaign, ReportOptions(resamples=20)).report
    found: dict[str, Any] | None = report["variables"]["answerable"].get("guidelines")
    return found


@pytest.mark.django_db
class TestCampaign:
    def test_a_guideline_that_never_changed_has_no_section(self, campaign: Campaign) -> None:
        answer(campaign, people(), 2)
        assert block(campaign) is None
        # A text under which nobody has answered changes nothing.
        change(campaign, CampaignSettings(guideline="Ours."))
        assert block(campaign) is None

    def test_answers_keep_the_version_that_they_followed(self, campaign: Campaign) -> None:
        both = people()
        answer(campaign, both, 10)
        change(campaign, CampaignSettings(guideline="Ours."))
        answer(campaign, both, 10)
        found = block(campaign)
        assert found is not None
        assert [(each["version"], each["labels"]) for each in found["versions"]] == [
            (None, 60),
            (1, 60),
        ]

    def test_a_guideline_restored_to_an_earlier_text_is_that_earlier_version(
        self, campaign: Campaign
    ) -> None:
        both = people()
        for text in ("One.", "Two.", "One."):
            change(campaign, CampaignSettings(guideline=text))
            answer(campaign, both, 2)
        found = block(campaign)
        assert found is not None
        assert [(each["version"], each["labels"]) for each in found["versions"]] == [
            (1, 24),
            (2, 12),
        ]

    def test_imported_answers_have_no_version(self, campaign: Campaign, tmp_path: Path) -> None:
        both = people()
        answer(campaign, both, 2)
        change(campaign, CampaignSettings(guideline="Ours."))
        answer(campaign, both, 2)
        lines = [
            {"item": "r19", "unit": f"q19:{n}", "variable": "answerable", "value": "no",
             "rater": "Cem"}
            for n in range(QUESTIONS)
        ]  # fmt: skip
        write_lines(tmp_path / "labels.jsonl", lines)
        run("import_labels", tmp_path / "labels.jsonl", "--campaign", campaign.name)
        found = block(campaign)
        assert found is not None
        assert found["unknown"] == QUESTIONS


def report_of(found: dict[str, Any]) -> dict[str, Any]:
    from docs._reference.example import report

    made = report()
    variable = made["variables"]["answerable"] | {"guidelines": found, "noun": list(NOUN)}
    return made | {"variables": {"answerable": variable}}


def sentences(found: dict[str, Any]) -> tuple[str, ...]:
    (section,) = (each for each in document(report_of(found)).sections if each.name == "guideline")
    return section.points


class TestSection:
    def test_the_section_gives_both_agreements_with_intervals_and_units(self) -> None:
        halves = [0] * 40 + [1] * 40
        rows = {"ada": "yynn" * 20, "ben": "ynyn" * 10 + "yynn" * 9 + "ynnn"}
        (sentence,) = sentences(of(rows, {"ada": halves, "ben": halves}))
        assert sentence.startswith("People agree better since the change: Fleiss’ κ ")
        assert "under the protocol's own guideline (40 questions) and Fleiss’ κ 0.95 [" in sentence
        assert "under version 1 (40 questions), a difference of 0.95 [" in sentence

    def test_the_section_says_plainly_that_units_are_too_few(self) -> None:
        halves = [0] * 60 + [1] * 20
        (sentence,) = sentences(of(ROWS, {"ada": halves, "ben": halves}))
        assert sentence == (
            "From the protocol's own guideline to version 1: not known, only 20 questions have "
            "labels from two people under one version, at least 30 are needed."
        )

    def test_the_section_says_how_judges_agreed_or_why_they_are_not_compared(self) -> None:
        halves = [0] * 40 + [1] * 40
        people = {"ada": halves, "ben": halves}
        sentence = sentences(of(JUDGED, {**people, "model": halves}))[1]
        assert sentence.startswith(
            ("The judge model agrees better", "No change of the judge model")
        )
        assert "under version 1 (40 questions), a difference of " in sentence
        for under, words in (
            ([0] * 80, "only under the protocol's own guideline"),
            ([UNKNOWN] * 80, "under none of them"),
        ):
            sentence = sentences(of(JUDGED, {**people, "model": under}))[1]
            assert sentence == (
                f"The judge model labelled {words}: there is no before and after to compare."
            )
        text = FORMATS["md"].render(report_of(of(JUDGED, {**people, "model": halves})))
        assert "Judges with people's majority under each version" in text

    def test_every_format_has_the_section(self) -> None:
        halves = [0] * 60 + [1] * 20
        made = report_of(of(ROWS, {"ada": halves, "ben": halves}))
        for name in ("md", "html", "latex"):
            assert "at least 30 are needed" in FORMATS[name].render(made), name
