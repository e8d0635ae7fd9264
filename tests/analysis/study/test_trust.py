"""A plan of a study file: committed after the judge's run, drawn, labelled by people, looked at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError
from django.urls import reverse

from analysis.models import Study
from analysis.study import apply, parse_study, read_study
from analysis.study.plans import DECLARED
from analysis.study.status import status
from annotation.models import Campaign, Look, Rater, TrustLook, TrustPlan, User
from audit.models import Event
from datasets.models import Query
from tandem.files.rows import InputError
from tests.analysis.study.test_apply import refused
from tests.analysis.study.test_chain import refused_plan
from tests.analysis.trust import comparison_cast
from tests.analysis.trust.cast import JUDGE, PASSAGES, QUERIES, VARIABLE, all_answer, query, unsure
from tests.annotation.answering import person
from tests.cast import run, write_lines
from tests.page_cast import client_of

pytestmark = pytest.mark.django_db
STUDY = f"""\
[study]
name = "proof"

[batch.documents]
files = ["documents.jsonl"]

[judge.{JUDGE}]
backend = "scripted"
answers = "judge.jsonl"

[campaign.c]
protocol = "grounding-relevance"
batch = "documents"
raters_per_item = 3
labels = ["judge.jsonl"]

[trust.relevance]
campaign = "c"
variable = "{VARIABLE}"
judge = "{JUDGE}"
queries = 45
"""
IMPORTED, REPLAYED = 'labels = ["judge.jsonl"]', f'judges = ["{JUDGE}"]'
COMPARED = """\
[study]
name = "proof"

[batch.documents]
files = ["documents.jsonl"]

[campaign.c]
protocol = "report-coverage"
batch = "documents"
raters_per_item = 2

[trust.better]
campaign = "c"
systems = ["new", "old"]
queries = 40
"""


def verdicts(number: int) -> list[dict[str, Any]]:
    """The judge's answers about a query: yes to each passage, and unsure of the last."""
    return [
        {"item": f"q{number}", "unit": unit, "kind": "passage", "variable": name,
         "value": value, "rater": JUDGE, "rater_kind": "judge",
         **({"score": 0.6 if unsure(unit) else 0.95} if name == VARIABLE else {})}
        for unit in (f"q{number}/p{number}-{n}" for n in range(PASSAGES))
        for name, value in ((VARIABLE, "yes"), ("use", "related-information"))
    ]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_lines(tmp_path / "documents.jsonl", [query(n) for n in range(QUERIES)])
    lines = [line for number in range(QUERIES) for line in verdicts(number)]
    write_lines(tmp_path / "judge.jsonl", lines)
    (tmp_path / "study.toml").write_text(STUDY, "utf-8")
    return tmp_path


def changed(folder: Path, *pairs: tuple[str, str]) -> Path:
    text = STUDY
    for before, after in pairs:
        assert before in text, before
        text = text.replace(before, after)
    path = folder / "study.toml"
    path.write_text(text, "utf-8")
    return path


def stage(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = status(read_study(folder)).as_json()["stages"][-1]
    return found


def rows() -> tuple[int, int, int, int]:
    plan = TrustPlan.objects.get()
    return plan.draws.count(), plan.looks.count(), plan.pk, Event.objects.count()


def test_a_plan_is_committed_after_the_judge_s_run_then_drawn_labelled_and_looked_at(
    folder: Path,
) -> None:
    assert "commit to a plan: what jude may decide on relevant, after campaign c" in refused_plan(
        folder
    )
    assert "45 of 45 drawn queries" in str(refused("apply_study", folder))
    plan = TrustPlan.objects.get()
    assert plan.draws.count() == 45
    assert stage(folder)["state"] == "waiting"
    all_answer(plan, irrelevant={PASSAGES - 1})
    assert stage(folder)["todo"] == ["look at what its labels show"]
    assert "Done" in run("apply_study", folder)
    found = stage(folder)
    # The next share has another order of draws, so not all that are labelled count for it yet.
    assert 28 <= plan.looks.get().labelled == found["counts"]["labelled"] < 45
    assert found["state"] == "done"
    assert found["counts"]["look"]["share"] == pytest.approx(5 / 6)
    assert found["says"].startswith("83% of the cells certified; the surest 100% not yet")
    assert found["says"] in run("study_status", folder)


def test_the_page_of_a_study_shows_its_plans_from_the_last_look(folder: Path) -> None:
    rita = User.objects.create_user("rita", role=User.Role.RESEARCHER)
    second = STUDY.partition("[trust.relevance]")[2].replace(VARIABLE, "use")
    (folder / "study.toml").write_text(f"{STUDY}\n[trust.use]{second}", "utf-8")
    apply(read_study(folder))
    client, address = client_of(rita), reverse("study", args=[Study.objects.get().pk])
    card = client.get(address).content.decode()
    assert "jude on relevant" in card
    assert "45 queries drawn; nobody has looked yet" in card
    all_answer(TrustPlan.objects.get(), irrelevant={PASSAGES - 1})
    run("trust", "look", "c")
    card = client.get(address).content.decode()
    assert "83% of the cells certified; the surest 100% not yet" in card
    run("trust", "end", "c")
    card = client.get(address).content.decode()
    assert "has ended" in card
    assert "Apply the study’s file again: it will commit to a plan" in card


def test_a_reader_with_an_open_item_sees_no_evidence_on_the_page(folder: Path) -> None:
    rita = User.objects.create_user("rita", role=User.Role.RESEARCHER)
    apply(read_study(folder))
    all_answer(TrustPlan.objects.get(), queries=20)
    run("trust", "look", "c")
    client, address = client_of(rita), reverse("study", args=[Study.objects.get().pk])
    shown = "the surest 83% not yet"
    assert shown in client.get(address).content.decode()
    seen = Look.objects.get(user=rita, kind="trust")
    assert (seen.number, seen.exposing) == (20 * PASSAGES, False)
    person(Campaign.objects.get().items.get(query=drawn_last()), "rita")
    Rater.objects.filter(name="rita").update(user=rita)
    assert shown not in client.get(address).content.decode()


def drawn_last() -> Query:
    return TrustPlan.objects.get().draws.get(place=45).query


def test_a_plan_applied_again_changes_nothing(folder: Path) -> None:
    for answers in (0, 10, 45):
        all_answer(TrustPlan.objects.get(), queries=answers) if answers else None
        apply(read_study(folder))
        before = rows()
        assert not apply(read_study(folder)).done
        assert rows() == before


def test_apply_killed_between_the_commitment_and_the_draw_continues_with_the_draw(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object, **__: object) -> list[str]:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("analysis.study.trust._draw", killed)
        with pytest.raises(KeyboardInterrupt):
            apply(read_study(folder))
    committed = TrustPlan.objects.get()
    assert not committed.draws.exists()
    apply(read_study(folder))
    assert TrustPlan.objects.get().digest == committed.digest
    assert committed.draws.count() == 45


def test_people_are_asked_about_drawn_queries_alone_and_more_queries_are_drawn_on_request(
    folder: Path,
) -> None:
    done = apply(read_study(folder))
    assert done.waits[0].startswith("People give 135 of 135 answers in campaign 'c'")
    apply(read_study(changed(folder, ("queries = 45", "queries = 50"))))
    assert TrustPlan.objects.get().draws.count() == 50
    apply(read_study(changed(folder, ("queries = 45", "queries = 500"))))
    assert TrustPlan.objects.get().draws.count() == QUERIES


def test_a_plan_waits_until_the_judge_has_answered_everything(folder: Path) -> None:
    limited = 'judges = [{ judge = "jude", limit = 5 }]'
    changed(folder, (IMPORTED, limited))
    apply(read_study(folder))
    assert not TrustPlan.objects.exists()
    assert stage(folder)["state"] == "blocked"
    apply(read_study(changed(folder, (IMPORTED, REPLAYED))))
    assert TrustPlan.objects.get().draws.count() == 45


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("risk = 0.05", "committed with another risk, and its risk is 0.1"),
        ("delta = 0.1", "committed with another delta"),
        ('shares = ".2"', "committed with another shares"),
        ('truth = "adjudicated"', "committed with another truth"),
        ("people = 5", "committed with another people"),
        ("late_days = 3", "committed with another late_days"),
        ("by_system = true", "committed with another by_system, and its by_system is False"),
    ],
)
def test_a_table_that_changed_after_the_commitment_is_refused(
    folder: Path, change: str, says: str
) -> None:
    apply(read_study(folder))
    before = rows()
    error = refused("apply_study", changed(folder, ("queries = 45", f"queries = 45\n{change}")))
    assert says in str(error)
    assert f"line {STUDY.count(chr(10)) + 1}: " in str(error)
    assert rows() == before
    assert {option.name for option in DECLARED["trust"]} == {
        "variable", "judge", "risk", "delta", "shares", "truth", "people", "late_days",
        "by_system", "form", "k",
    }  # fmt: skip


def test_a_table_about_something_else_is_refused_while_a_plan_runs(folder: Path) -> None:
    apply(read_study(folder))
    other = changed(folder, (f'variable = "{VARIABLE}"', 'variable = "use"'))
    assert "is running, for jude on relevant" in str(refused("apply_study", other))
    run("trust", "end", "c")
    apply(read_study(other))
    assert TrustPlan.objects.get(end=None).variable == "use"


def test_a_second_plan_of_a_campaign_waits_for_the_end_of_the_first(folder: Path) -> None:
    second = STUDY.partition("[trust.relevance]")[2].replace(VARIABLE, "use")
    path = folder / "study.toml"
    path.write_text(f"{STUDY}\n[trust.use]{second}", "utf-8")
    apply(read_study(folder))
    assert stage(folder)["after"] == ["trust relevance"]
    run("trust", "end", "c")
    apply(read_study(folder))
    assert TrustPlan.objects.get(end=None).variable == "use"


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("queries = 45", "quieries = 45", "'quieries' is not a key"),
        ("queries = 45", "queries = 0", "queries is below 1"),
        ("queries = 45", "risk = 0.9", "risk must be a number from 0.001 to 0.5"),
        ("queries = 45", "shares = '2'", "shares '2'"),
        ("queries = 45", "people = 2", "majority needs at least 3 people"),
        ("queries = 45", 'systems = ["new", "old"]', "both a judge and systems"),
        (f'judge = "{JUDGE}"', "", "neither a judge nor systems"),
        (f'variable = "{VARIABLE}"', "", "variable is missing"),
        ('campaign = "c"', "", "campaign is missing"),
        ('campaign = "c"', 'campaign = "d"', "there is no campaign 'd' here"),
        (f'\njudge = "{JUDGE}"', '\njudge = "judy"', "campaign c does not run judge 'judy'"),
    ],
)
def test_a_plan_that_cannot_be_is_refused_before_anything_is_made(
    folder: Path, before: str, after: str, says: str
) -> None:
    path = changed(folder, (IMPORTED, REPLAYED), (before, after))
    with pytest.raises((InputError, CommandError), match=r"study\.toml") as error:
        run("plan_study", path)
    assert says in str(error.value)
    assert not Campaign.objects.exists()


def test_a_comparison_of_systems_is_committed_drawn_and_decided(tmp_path: Path) -> None:
    write_lines(tmp_path / "documents.jsonl", [comparison_cast.query(n) for n in range(40)])
    (tmp_path / "study.toml").write_text(COMPARED, "utf-8")
    apply(read_study(tmp_path))
    plan = TrustPlan.objects.get(kind="compare")
    assert plan.draws.count() == 40
    comparison_cast.all_answer(plan)
    apply(read_study(tmp_path))
    assert TrustLook.objects.get().labelled == 40
    assert "new and old decided: new is better" in stage(tmp_path)["says"]
    assert not apply(read_study(tmp_path)).done
    text = COMPARED.replace("queries = 40", "delta = 0.2")
    with pytest.raises(InputError, match="another delta"):
        apply(parse_study(text))
