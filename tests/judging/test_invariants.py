"""`check_invariants` reports no violation, or names each violation and its row."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.management.base import CommandError
from django.db import InternalError, connection
from django.db.models.functions import Now

from annotation.models import Assignment, Campaign, Item, Label, Rater, Response
from judging import invariants
from judging.backends.base import Answer, Request
from judging.models import JudgeCall, JudgeRun
from judging.runs import ledger, lifecycle
from tests.judging.cast import campaign_of, command, judge, run_scripted, yes

UNITS, ITEMS = 12, 4
USAGE = {
    "prompt_tokens": 7,
    "completion_tokens": 3,
    "prompt_tokens_details": {"cached_tokens": 2},
}


@pytest.fixture
def run(campaign: Campaign) -> JudgeRun:
    """A run that answered three items and could not read the fourth."""
    lines = iter(["prose"])

    def script(request: Request) -> Answer:
        return Answer(next(lines, None) or yes(request), usage=USAGE)

    return run_scripted(campaign, judge(), script)[0]


def found() -> list[str]:
    return list(invariants.database_violations())


@pytest.mark.postgresql
def test_the_invariants_hold_after_a_run(run: JudgeRun) -> None:
    assert (run.done, run.failures) == (ITEMS - 1, {"unreadable": 1})
    assert found() == []
    assert command("check_invariants").strip() == "The invariants hold."


def test_the_invariants_hold_before_and_during_a_run(campaign: Campaign) -> None:
    assert found() == []
    run_scripted(campaign, judge(granularity="unit"), limit=5)
    run_scripted(campaign, judge("other"), limit=1)
    assert found() == []


@pytest.mark.postgresql
def test_the_command_fails_with_the_number_of_violations(run: JudgeRun) -> None:
    Assignment.objects.filter(status="done").update(status="open")
    with pytest.raises(CommandError, match="do not hold: 4 violations"):
        command("check_invariants")


def test_two_current_answers_to_one_assignment_are_found(run: JudgeRun) -> None:
    row = Assignment.objects.filter(status="done")[0]
    with connection.cursor() as cursor:
        # The database itself refuses them as long as it has this index.
        cursor.execute("DROP INDEX one_current_response")
    Response.objects.create(assignment=row, payload={}, door="judge", revision=2)
    assert [line for line in found() if line.startswith("I1")] == [
        f"I1: campaign {run.campaign}, judge, item {row.item.key} has 2 answers that stand"
    ]


@pytest.mark.postgresql
def test_two_labels_by_one_rater_are_found(run: JudgeRun) -> None:
    row = Assignment.objects.filter(status="done")[0]
    label = Label.objects.filter(response__assignment=row)[0]
    row.pk, row.uid, row.scope = None, uuid.uuid4(), "again"
    row.save()
    response = Response.objects.create(assignment=row, payload={}, door="judge")
    Label.objects.create(response=response, unit=label.unit, variable=label.variable, value="no")
    assert [line for line in found() if line.startswith("I1")] == [
        f"I1: unit {label.unit_id}, variable {label.variable} has 2 labels by judge"
    ]


@pytest.mark.postgresql
def test_an_uncounted_slot_is_found(campaign: Campaign) -> None:
    item = Item.objects.all()[0]
    Assignment.objects.create(item=item, rater=Rater.objects.create(name="ada"), asked=[], slot=1)
    (line,) = found()
    assert line.startswith(f"I3: campaign {campaign}, item {item.key}: 1 people have a slot, 0")


@pytest.fixture
def unchecked(db: None) -> Iterator[None]:
    """Turn off the constraint by which the database limits the slots of an item."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            cursor.execute("ALTER TABLE annotation_item DROP CONSTRAINT quota_is_kept")
            yield
            return
        cursor.execute("PRAGMA ignore_check_constraints = ON")
        yield
        cursor.execute("PRAGMA ignore_check_constraints = OFF")


def test_more_annotators_than_planned_are_found(campaign: Campaign, unchecked: None) -> None:
    item = Item.objects.all()[0]
    for number, name in enumerate(("ada", "bea"), start=1):
        rater = Rater.objects.create(name=name)
        Assignment.objects.create(item=item, rater=rater, asked=[], slot=number)
    Item.objects.filter(pk=item.pk).update(taken=2, quota=1)
    places = "2 people have a slot, 2 are counted, 1 planned"
    assert found() == [f"I3: campaign {campaign}, item {item.key}: {places}"]


@pytest.mark.postgresql
def test_an_item_assigned_twice_to_one_person_is_found(campaign: Campaign) -> None:
    item, ada = Item.objects.all()[0], Rater.objects.create(name="ada")
    for scope in ("", "q1:0"):
        Assignment.objects.create(item=item, rater=ada, asked=[], scope=scope)
    assert found() == [f"I3: campaign {campaign}, item {item.key}: given to ada 2 times"]


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"lease": uuid.uuid4()}, "is failed with a lease"),
        ({"status": "leased", "lease": None}, "is leased without a lease"),
        ({"status": "lost"}, "is 'lost', which is not a state"),
        ({"reason": ""}, "failed without a reason"),
    ],
)
def test_an_assignment_in_an_impossible_state_is_found(
    run: JudgeRun, wrong: dict[str, object], says: str
) -> None:
    Assignment.objects.filter(status="failed").update(**wrong)
    assert any(line.startswith("I4: campaign") and says in line for line in found())


@pytest.fixture
def leased(campaign: Campaign) -> tuple[JudgeRun, Assignment]:
    """A run under way, and a row that is leased for it."""
    under_way = lifecycle.start(campaign, judge())
    lease = lifecycle.lease_run(under_way)
    assert lease is not None
    (row,) = ledger.claim(campaign, under_way.judge, lease, 1)
    assert found() == []
    return under_way, row


def test_an_assignment_leased_after_the_end_of_its_run_is_found(
    leased: tuple[JudgeRun, Assignment],
) -> None:
    run, row = leased
    JudgeRun.objects.update(state="done", lease=None)
    place = f"campaign {run.campaign}, judge, item {row.item.key}"
    assert found() == [f"I4: {place} is leased, and no run is under way"]


def test_an_assignment_leased_to_another_run_than_its_own_is_found(
    leased: tuple[JudgeRun, Assignment],
) -> None:
    run, row = leased
    Assignment.objects.filter(pk=row.pk).update(lease=uuid.uuid4())
    place = f"campaign {run.campaign}, judge, item {row.item.key}"
    said = f"I4: {place} is leased, but not to the run that is under way"
    assert found() == [said]


def test_leases_of_a_dead_run_are_no_violation(
    leased: tuple[JudgeRun, Assignment],
) -> None:
    run, _ = leased
    JudgeRun.objects.update(lease_until=Now() - timedelta(seconds=1))
    after = lifecycle.start(run.campaign, run.judge)
    assert found() == []
    assert lifecycle.lease_run(after)
    assert found() == []


def test_a_run_that_counts_more_results_than_the_ledger_is_found(run: JudgeRun) -> None:
    JudgeRun.objects.update(done=ITEMS)
    (line,) = found()
    assert line.endswith("runs count 4 done and 1 failed, the ledger 3 and 1")


def test_a_failure_with_labels_is_found(run: JudgeRun) -> None:
    row = Assignment.objects.filter(status="failed").get()
    Response.objects.create(assignment=row, payload={}, door="judge")
    assert (
        f"I5: campaign {run.campaign}, judge, item {row.item.key} is failed and has 1 answers"
        in (line.removesuffix(" that stand") for line in found())
    )


def test_a_missing_answer_is_found(run: JudgeRun) -> None:
    Response.objects.all().delete()
    assert len([line for line in found() if line.startswith("I5")]) == ITEMS - 1


@pytest.mark.postgresql
@pytest.mark.every_case
@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"calls": 9}, "I6: {run} counts 9 calls, its calls 4"),
        ({"prompt_tokens": 9}, "I8: {run} counts 9 prompt_tokens, its calls 28"),
        ({"completion_tokens": 0}, "I8: {run} counts 0 completion_tokens, its calls 12"),
        ({"completion_tokens": 13}, "I8: {run} counts 13 completion_tokens, its calls 12"),
        ({"cached_tokens": 9}, "I8: {run} counts 9 cached_tokens, its calls 8"),
    ],
)
def test_a_run_with_a_wrong_count_of_calls_is_found(
    run: JudgeRun, wrong: dict[str, int], says: str
) -> None:
    JudgeRun.objects.update(**wrong)
    place = f"campaign {run.campaign}, judge judge, {run}"
    assert found() == [says.format(run=place)]


@pytest.mark.parametrize("cost", ["0.5", "0.1"])
def test_a_cost_that_differs_from_the_sum_of_its_calls_is_found(run: JudgeRun, cost: str) -> None:
    JudgeCall.objects.filter(run=run).update(cost="0.05")
    JudgeRun.objects.update(cost="0.2")
    assert found() == []
    JudgeRun.objects.update(cost=cost)
    (line,) = found()
    assert line.startswith("I8: ")
    assert f"cost {cost}" in line


def test_acknowledged_answers_are_found_by_key_or_assignment(run: JudgeRun, tmp_path: Path) -> None:
    Response.objects.filter(pk=Response.objects.first().pk).update(key="k1")  # type: ignore[union-attr]
    done = Assignment.objects.filter(status="done")[0]
    path = tmp_path / "told.txt"
    path.write_text(f"k1\n{done.uid}\n\n", "utf-8")
    assert "hold." in command("check_invariants", "--acknowledged", str(path))
    gone = str(uuid.uuid4())
    assert list(invariants.lost_saves(["k1", "k2", gone])) == [
        f"I2: the acknowledged save {key} is not stored" for key in sorted(("k2", gone))
    ]


def test_only_503_is_an_acceptable_server_error() -> None:
    log = [json.dumps({"path": "/x", "status": status}) for status in (200, 404, 503, 500)]
    assert list(invariants.server_errors(["no JSON", "[]", *log])) == [
        "I7: line 6 of the log: /x was answered 500"
    ]


def test_superfluous_calls_are_found(run: JudgeRun) -> None:
    stats = {"calls": ITEMS, "usage": {"prompt_tokens": 28, "completion_tokens": 12}}
    stats["by_outcome"] = {"ok": ITEMS}
    assert list(invariants.differs_from_server(stats, 0)) == []
    paid = stats | {"calls": ITEMS + invariants.PROBES + 1}
    assert [line[:2] for line in invariants.differs_from_server(paid, 0)] == ["I6"]
    assert list(invariants.differs_from_server(paid, 1)) == []
    less = stats | {"usage": {"prompt_tokens": 1, "completion_tokens": 12}}
    assert [line[:2] for line in invariants.differs_from_server(less, 0)] == ["I8"]


@pytest.mark.parametrize(("beside", "more", "laws"), [(0, 0, []), (0, 1, ["I8"]), (2, 14, [])])
def test_tokens_counted_by_the_server_beyond_the_stored_calls_are_found(
    run: JudgeRun, monkeypatch: pytest.MonkeyPatch, beside: int, more: int, laws: list[str]
) -> None:
    """A probe or a lost call may have taken as many tokens as the longest known call."""
    monkeypatch.setattr(invariants, "PROBE_TOKENS", 0)
    usage = {"prompt_tokens": 28 + more, "completion_tokens": 12}
    stats = {"calls": ITEMS + beside, "usage": usage, "by_outcome": {"ok": ITEMS + beside}}
    assert [line[:2] for line in invariants.differs_from_server(stats, 0)] == laws


def test_a_server_that_counted_fewer_calls_than_answers_is_found(run: JudgeRun) -> None:
    usage = {"prompt_tokens": 28, "completion_tokens": 12}
    stats = {"calls": ITEMS - 1, "usage": usage, "by_outcome": {"ok": ITEMS - 1}}
    assert "I6" in {line[:2] for line in invariants.differs_from_server(stats, 0)}


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("option", "says"),
    [
        (("--server", "nowhere"), "is not the address of a server"),
        (("--server", "http://127.0.0.1:9"), "does not say what it counted"),
        (("--acknowledged", "no-such-file"), "cannot be read"),
        (("--http-log", "no-such-file"), "cannot be read"),
    ],
)
def test_an_unreadable_file_is_reported(db: None, option: tuple[str, str], says: str) -> None:
    with pytest.raises(CommandError, match=says):
        command("check_invariants", *option)


def test_the_check_takes_few_queries(
    run: JudgeRun, tmp_path: Path, django_assert_max_num_queries: object
) -> None:
    campaign_of(tmp_path, "rubric-passage")
    assert callable(django_assert_max_num_queries)
    with django_assert_max_num_queries(20, connection=connection):
        assert found() == []


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_the_check_reads_one_snapshot_and_leaves_no_open_transaction() -> None:
    with invariants.one_instant():
        assert found() == []
        if connection.vendor == "postgresql":
            with pytest.raises(InternalError, match="read-only"):
                Rater.objects.create(name="ada")
    assert Rater.objects.create(name="bea").pk
    assert "hold." in command("check_invariants")
