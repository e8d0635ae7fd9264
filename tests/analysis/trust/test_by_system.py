"""A plan may give each system a bound of its own, with a part of its level."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError
from django.template.loader import render_to_string
from django.utils import timezone

from analysis.trust.looks import STALE, look_at, record_look
from annotation.models import Label, TrustCertificate, TrustPlan
from tandem.trust import check_certificate
from tandem.trust.certificate import certificate_page, verify
from tandem.trust.systems import Systems
from tests.analysis.trust import cast
from tests.analysis.trust.system_cast import JUDGE, QUERIES, VARIABLE, all_answer, world
from tests.cast import run

pytestmark = pytest.mark.django_db

PLAN = ("plan", "c", "--variable", VARIABLE, "--judge", JUDGE, "--by-system", "--risk", "0.12")


def committed(folder: Path, *lone: int, drawn: int = QUERIES) -> TrustPlan:
    world(folder, *lone)
    run("trust", *PLAN)
    run("trust", "draw", "c", "--queries", drawn)
    return TrustPlan.objects.get()


def look() -> Any:
    return json.loads(run("trust", "look", "c", "--format", "json"))


def test_the_commitment_splits_the_level_and_has_the_cells_of_each_system(tmp_path: Path) -> None:
    document = committed(tmp_path, 0, drawn=1).document
    found = document["by_system"]
    # Half of .04, over two systems and two cuts.
    assert document["level"] == pytest.approx(0.02)
    assert (found["part"], found["level"]) == (0.5, pytest.approx(0.005))
    first = document["population"]["queries"].index("q0")
    assert found["accepted"]["new"][first] == [3, 4]
    assert found["accepted"]["old"][first] == [0, 0]
    assert {tuple(row) for row in found["accepted"]["old"]} == {(0, 0), (3, 4)}


def test_bounds_are_shown_beside_the_share_and_stand_in_the_certificate(tmp_path: Path) -> None:
    plan = committed(tmp_path)
    all_answer(plan, unanswered={3})
    found = look()
    first, second = found["cuts"]
    assert found["certified"] == 1
    assert first["systems"]["new"] == first["systems"]["old"] < 0.3
    assert second["systems"]["new"] < second["systems"]["old"]
    words = run("trust", "look", "c")
    assert "By system, of the surest 75% at most these shares are wrong: new " in words
    run("trust", "certificate", "c")
    made = TrustCertificate.objects.get().document
    bounds = {name: own["bound"] for name, own in made["predicate"]["systems"].items()}
    assert bounds == first["systems"]
    assert made["predicate"]["draws"][0]["by_system"] == {"new": [0, 0], "old": [0, 1]}
    assert verify(made).wrong == []
    assert check_certificate.differences(made) == []
    page = render_to_string("results/certificate.html", certificate_page(made))
    assert "the plan gave the bounds 50 % of its level" in page
    assert "No system has a bound of its own" not in page


def test_a_late_query_is_wrong_for_each_of_its_systems(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = committed(tmp_path, 0)
    later = timezone.now() + timedelta(days=15)
    monkeypatch.setattr("analysis.trust.labels.timezone.now", lambda: later)
    seen = look_at(plan)
    systems = Systems.of(plan.document)
    assert systems is not None
    assert len(seen.labels.by_system) == QUERIES
    for query, own in zip(seen.state.labelled, seen.labels.by_system, strict=True):
        assert own.tolist() == [each[query].tolist() for each in systems.accepted.values()]


def test_errors_that_move_to_another_system_make_the_plan_stale(tmp_path: Path) -> None:
    plan = committed(tmp_path, drawn=3)
    all_answer(plan, unanswered={3})
    assert not record_look(plan).stale
    wrong = Label.objects.filter(
        variable=VARIABLE, value="no", unit__item__query=plan.draws.get(place=1).query
    )
    unit = wrong.select_related("unit").first().unit  # type: ignore[union-attr]
    other = (
        type(unit)
        .objects.exclude(item=unit.item)
        .get(item__query=unit.item.query, key=unit.key, item__campaign=plan.campaign)
    )
    of_people = Label.objects.filter(variable=VARIABLE, response__assignment__rater__kind="human")
    of_people.filter(unit=unit).update(value="yes")
    of_people.filter(unit=other).update(value="no")
    assert look_at(plan).stale == (STALE["truth"],)


def test_without_several_systems_there_are_no_bounds_of_systems(tmp_path: Path) -> None:
    cast.world(tmp_path, queries=20)
    with pytest.raises(CommandError, match="need cells of several systems, and these are of none"):
        run("trust", "plan", "c", "--variable", cast.VARIABLE, "--judge", JUDGE, "--by-system")
    assert not TrustPlan.objects.exists()
