"""Whether an answer needed a passage is asked, stored, exported and reported per answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError

from annotation.blinding import aliases_for
from annotation.campaign_setup.replay import differences
from annotation.models import Assignment, Label, User
from annotation.presentation import present, schema
from tests.blind_cast import LINE, SECRET, blind_study, needed_study, needed_study_before
from tests.cast import exported, run, write_lines
from tests.page_cast import Study, client_of, page

pytestmark = pytest.mark.django_db
REPORTS = [report["id"] for report in LINE["reports"]]
PASSAGES = [passage["id"] for passage in LINE["passages"]]
PAIRS = [f"{report}/{passage}" for report in REPORTS for passage in PASSAGES]
OF_PASSAGES = [f"q/1/{passage}" for passage in PASSAGES]


def form(mine: Assignment, needed: set[str]) -> dict[str, Any]:
    """Yes for these units, and no for all others."""
    fields: dict[str, Any] = {"version": 0, "seen": 0}
    kinds = {unit.key: unit.kind for unit in present(mine.item).units}
    aliases = aliases_for(mine)
    for number, name in enumerate(mine.asked):
        fields[f"unit-{number}"] = aliases.get(name, name)
        for variable in schema(mine.item.campaign).variables_of(kinds[name]):
            fields[f"unit-{number}-{variable.name}"] = "yes" if name in needed else "no"
    return fields


def send(study: Study, user: User, needed: set[str]) -> None:
    mine = study.assignment(user)
    sent = client_of(user).post(page("submit", mine), form(mine, needed))
    assert sent.status_code == 200


def labels(variable: str) -> dict[tuple[str, str], str]:
    rows = [row for row in exported("Study", "labels") if row["variable"] == variable]
    assert len({(row["unit"], row["rater"]) for row in rows}) == len(rows)
    return {(row["kind"], row["unit"]): row["value"] for row in rows}


def test_a_label_is_stored_for_each_report_and_passage(tmp_path: Path) -> None:
    study = needed_study(tmp_path)
    send(study, study.ada, {PAIRS[3], OF_PASSAGES[0]})
    assert labels("needed_answer") == {
        ("report-passage", key): "yes" if key == PAIRS[3] else "no" for key in PAIRS
    }
    assert labels("needed_question") == {
        ("passage", OF_PASSAGES[0]): "yes",
        ("passage", OF_PASSAGES[1]): "no",
    }
    assert {row["unit"] for row in exported("Study", "units")} == {*PAIRS, *OF_PASSAGES}
    run("check_invariants")


def test_each_answers_need_of_a_passage_must_be_answered(tmp_path: Path) -> None:
    study = blind_study("answer-rating", tmp_path, "needed_answer")
    fields = form(mine := study.assignment(study.ada), set())
    del fields["unit-4-needed_answer"]
    refused = client_of(study.ada).post(page("submit", mine), fields)
    assert refused.status_code == 422
    (problem,) = refused.json()["problems"]
    assert (problem["unit"], problem["key"]) == ("u4", "needed_answer")


def test_the_report_counts_pairs_of_answer_and_passage(tmp_path: Path) -> None:
    study = needed_study(tmp_path)
    send(study, study.ada, {PAIRS[0], PAIRS[1]})
    send(study, study.ben, {PAIRS[0]})
    block = json.loads(run("report", "--campaign", "Study", "--resamples", "2"))["variables"]
    assert block["needed_answer"]["agreement"]["units"] == len(PAIRS) == 6
    assert block["needed_answer"]["agreement"]["percent"]["value"] == pytest.approx(5 / 6)
    assert block["needed_question"]["agreement"]["units"] == len(PASSAGES) == 2


def test_labels_are_imported_by_report_and_passage(tmp_path: Path) -> None:
    needed_study(tmp_path)
    row = {"item": "q/1", "variable": "needed_answer", "value": "yes", "rater": "Cy"}
    rows = [{**row, "unit": key, "rater_kind": "human"} for key in PAIRS]
    run("import_labels", write_lines(tmp_path / "l.jsonl", rows), "--campaign", "Study")
    assert sorted(Label.objects.values_list("unit__key", flat=True)) == sorted(PAIRS)
    old = write_lines(tmp_path / "old.jsonl", [{**rows[0], "unit": OF_PASSAGES[0]}])
    with pytest.raises(CommandError, match='unit "q/1/p" of item "q/1" is not asked'):
        run("import_labels", old, "--campaign", "Study")


def test_no_unit_text_names_a_system(tmp_path: Path) -> None:
    study = blind_study("answer-rating", tmp_path, "needed_answer")
    spec = present(study.assignment(study.ada).item)
    assert not [unit.text for unit in spec.units if SECRET in unit.text]


class TestEarlierCampaign:
    """A campaign that asks once for all answers continues to, and its labels keep their meaning."""

    def test_an_earlier_campaign_continues_to_ask_the_old_question(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        study = needed_study_before(monkeypatch, tmp_path)
        assert study.campaign.protocol_version == "1"
        shown = client_of(study.ada).get(page("item", study.assignment(study.ada)))
        body = shown.content.decode()
        assert "Does it matter for an answer?" in body
        assert "Does the answer need it?" not in body
        assert "Passage 1, answer 1" not in body
        send(study, study.ada, {OF_PASSAGES[1]})
        expected = {("passage", OF_PASSAGES[0]): "no", ("passage", OF_PASSAGES[1]): "yes"}
        assert labels("needed_answer") == labels("needed_question") == expected

    def test_an_earlier_campaign_keeps_its_old_guideline(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        study = needed_study_before(monkeypatch, tmp_path)
        assert "**yes** if an answer draws on it" in schema(study.campaign).protocol.guideline

    def test_an_earlier_campaigns_labels_are_reported_and_its_sample_replays(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        study = needed_study_before(monkeypatch, tmp_path)
        send(study, study.ada, set())
        send(study, study.ben, set())
        block = json.loads(run("report", "--campaign", "Study", "--resamples", "2"))["variables"]
        assert {name: each["agreement"]["units"] for name, each in block.items()} == {
            "needed_question": 2, "needed_answer": 2,
        }  # fmt: skip
        assert list(differences(study.campaign)) == []
        run("check_invariants")
