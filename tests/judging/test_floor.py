"""The baseline has the labels of a lexical judge, without a judge, computed once per batch."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from annotation.models import Assignment, Campaign, Label, Rater, Response
from annotation.protocols import PROTOCOLS
from judging import floor
from judging.backends.lexical import Lexical
from judging.floor import UnitKey, get_floor
from judging.models import Judge, JudgeCall, JudgeRun
from tests.judging.cast import campaign_of, command, judge

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache of baselines is a folder, in which other tests have baselines of the same batch."""
    monkeypatch.setattr(floor, "VERSION", f"{floor.VERSION} {uuid4()}")


def said_by_judge(campaign: Campaign) -> dict[str, dict[UnitKey, str]]:
    """The labels of a lexical judge that labels the campaign, by variable."""
    judge("words")
    command("run_judge", "--campaign", campaign.name, "--judge", "words")
    found: dict[str, dict[UnitKey, str]] = {}
    columns = ("variable", "unit__item__key", "unit__kind", "unit__key", "value")
    for variable, item, kind, unit, value in Label.objects.values_list(*columns):
        found.setdefault(variable, {})[item, kind, unit] = value
    return found


@pytest.mark.parametrize("protocol", [p for p in PROTOCOLS if PROTOCOLS[p].variables])
def test_the_baseline_has_the_labels_of_a_lexical_judge(protocol: str, tmp_path: Path) -> None:
    campaign = campaign_of(tmp_path, protocol)
    found = get_floor(campaign)
    judged = said_by_judge(campaign)
    for variable, codes in found.codes.items():
        if codes:
            # A campaign may ask fewer units than there are; the rule answers all of them.
            assert judged[variable].items() <= codes.items(), variable
    texts = protocol != "question-typing"
    assert any(found.codes.values()) == (texts and bool(judged))


def test_the_baseline_has_no_rule_for_unordered_categories(tmp_path: Path) -> None:
    found = get_floor(campaign_of(tmp_path, "grounding-relevance"))
    assert (set(found.codes), found.without_rule) == ({"relevant"}, {"use"})


def test_the_baseline_labels_no_item_without_a_text(
    tmp_path: Path,
) -> None:
    found = get_floor(campaign_of(tmp_path, "question-typing"))
    assert not any(found.codes.values())


def test_the_baseline_writes_no_judge_run_or_answer(tmp_path: Path) -> None:
    get_floor(campaign_of(tmp_path))
    for model in (Rater, Assignment, Response, Label, Judge, JudgeRun, JudgeCall):
        assert model._default_manager.count() == 0


def test_the_baseline_is_computed_once_for_a_batch_and_its_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = campaign_of(tmp_path)
    counted = count_items(monkeypatch)
    first = get_floor(campaign)
    assert counted == [4]
    command("create_campaign", "again", "--protocol", "report-coverage", "--batch", "bridges")
    assert get_floor(Campaign.objects.get(name="again")) == first
    assert get_floor(campaign) == first
    assert counted == [4]


def test_the_baseline_is_computed_again_for_other_options_or_another_rule(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = campaign_of(tmp_path)
    get_floor(campaign)
    counted = count_items(monkeypatch)
    command("create_campaign", "rated", "--protocol", "report-coverage", "--batch", "bridges",
            "--option", "variables=rating")  # fmt: skip
    assert set(get_floor(Campaign.objects.get(name="rated")).codes) == {"rating"}
    assert counted == [4]
    monkeypatch.setattr(floor, "VERSION", "another")
    get_floor(campaign)
    assert counted == [8]


def count_items(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count the items that the rule answers from now on, in a list with one number."""
    counted, answers = [0], Lexical.answers

    def counting(self: Lexical, facts: Any) -> Any:
        counted[0] += 1
        return answers(self, facts)

    monkeypatch.setattr(Lexical, "answers", counting)
    return counted
