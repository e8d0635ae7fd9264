"""Which figures reveal something about a single unit: those over fewer than thirty."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.campaigns.frames import campaign_frame, campaign_strata
from annotation.answers.submission import submit
from annotation.exposure import ledger
from annotation.models import User
from tests.cast import Line
from tests.page_cast import Study, study_of

pytestmark = pytest.mark.django_db
QUESTIONS = 12


def query(n: int) -> Line:
    return {
        "id": f"q{n}",
        "text": "What of the pier?",
        "questions": [{"id": f"q{n}:{m}", "text": f"Does it hold, {m}?"} for m in range(QUESTIONS)],
        "reports": [{"id": f"r{n}", "text": "The pier held.", "system": "one"}],
        "meta": {"domain": "small" if n == 3 else "large"},
    }


@pytest.fixture
def study(tmp_path: Path) -> Study:
    """Four reports of one system with twelve questions each; Ada has answered them all."""
    study = study_of("report-coverage", tmp_path, lines=[query(n) for n in range(4)])
    for _ in range(4):
        answer(study, study.ada)
    return study


def answer(study: Study, user: User) -> str:
    mine = study.assignment(user)
    units = {name: {"answerable": "no", "evidence": []} for name in mine.asked}
    submit(mine, {"units": units, "comment": None}, "page")
    return mine.item.key


def looked_at(study: Study, kind: str, with_strata: bool = False) -> tuple[ledger.Note, set[str]]:
    """Return the look at a frame's figures, and the items that it exposes."""
    strata = campaign_strata(study.campaign) if with_strata else None
    with ledger.collect_looks() as looks:
        campaign_frame(study.campaign, strata=strata, kind=kind)
    (look,) = looks
    keys = dict(study.campaign.items.values_list("pk", "key"))
    return look, {keys[pk] for pk in (look["scope"] or {}).get("items", ())}


def test_figures_over_all_units_expose_no_item(study: Study) -> None:
    look, items = looked_at(study, "measures")
    assert (look["number"], look["exposing"], items) == (4 * QUESTIONS, False, set())


def test_the_scores_of_single_reports_expose_them(study: Study) -> None:
    look, items = looked_at(study, "report")
    assert (look["exposing"], items) == (True, {"r0", "r1", "r2", "r3"})


def test_a_small_stratum_exposes_its_items(study: Study) -> None:
    _, items = looked_at(study, "measures", with_strata=True)
    assert items == {"r3"}


def test_the_agreement_of_a_person_with_few_labels_exposes_their_items(tmp_path: Path) -> None:
    study = study_of("report-coverage", tmp_path, lines=[query(n) for n in range(4)])
    study.campaign.items.update(quota=2)
    for _ in range(4):
        answer(study, study.ada)
    key = answer(study, study.ben)
    _, items = looked_at(study, "measures")
    assert items == {key}


def test_without_labels_no_look_is_recorded(tmp_path: Path) -> None:
    study = study_of("report-coverage", tmp_path, lines=[query(0)])
    with ledger.collect_looks() as looks:
        campaign_frame(study.campaign)
    assert looks == []
