"""An item gets as many people as the design allows, each once: enforced by code and database."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

import pytest
from django.db import IntegrityError, transaction

from annotation.assignments.queue import next_assignment
from annotation.models import Assignment, Campaign, Item, Label, Rater, Response, Span, User
from tests import forks
from tests.annotation.answering import person
from tests.cast import ROOT, campaign_of, manage, run, write_lines
from tests.databases import environment
from tests.patience import PATIENCE


@pytest.fixture
def coverage(batch: Path) -> Campaign:
    return campaign_of("report-coverage", "--raters-per-item", "2")


def ann(name: str = "ann") -> Rater:
    return Rater.objects.get_or_create(name=name)[0]


def take_all(campaign: Campaign, rater: Rater) -> list[str]:
    taken = []
    while assignment := next_assignment(campaign, rater):
        taken.append(assignment.item.key)
        Assignment.objects.filter(pk=assignment.pk).update(status="done")
    return taken


@pytest.mark.postgresql
def test_a_person_gets_each_item_once_in_the_campaigns_order(coverage: Campaign) -> None:
    keys = list(coverage.items.values_list("key", flat=True))
    assert take_all(coverage, ann()) == keys
    assert next_assignment(coverage, ann()) is None


@pytest.mark.postgresql
def test_the_quota_is_never_exceeded(coverage: Campaign) -> None:
    counts = [len(take_all(coverage, ann(name))) for name in ("a", "b", "c")]
    assert counts == [6, 6, 0]
    assert set(coverage.items.values_list("taken", "quota")) == {(2, 2)}
    slots = Assignment.objects.values_list("item", "slot")
    assert Counter(slots).most_common(1)[0][1] == 1


def test_asking_again_returns_the_open_item_without_a_second_slot(coverage: Campaign) -> None:
    first = next_assignment(coverage, ann())
    assert next_assignment(coverage, ann()) == first
    assert coverage.items.get(key="r").taken == 1


def test_a_person_is_not_given_items_imported_under_their_name(
    coverage: Campaign, tmp_path: Path
) -> None:
    row = {"item": "r", "unit": "🌉", "variable": "answerable", "value": "no", "rater": "ann"}
    run("import_labels", write_lines(tmp_path / "l.jsonl", [row]), "--campaign", "c")
    assert "r" not in take_all(coverage, ann())
    assert coverage.items.get(key="r").taken == 0


def test_items_of_other_campaigns_are_not_given(coverage: Campaign) -> None:
    other = campaign_of("report-coverage", "--raters-per-item", "2", name="other")
    for campaign in (coverage, other):
        first = next_assignment(campaign, ann())
        assert first is not None
        assert Item.objects.get(pk=first.item_id).campaign == campaign
        assert next_assignment(campaign, ann()) == first
    assert sorted(other.items.values_list("taken", flat=True)) == [0, 0, 0, 0, 0, 1]
    for _ in range(2):
        keys = list(coverage.items.values_list("key", flat=True))
        Assignment.objects.filter(item__campaign=other).update(status="done")
        assert set(take_all(coverage, ann("bo"))) <= set(keys)
    assert not Assignment.objects.filter(item__campaign=other, rater__name="bo").exists()


def test_judges_assignments_take_no_slots_of_people(coverage: Campaign) -> None:
    item = coverage.items.get(key="r")
    Assignment.objects.create(item=item, rater=ann(), asked=[], replicate=1, slot=None)
    found = next_assignment(coverage, ann("bo"))
    assert found is not None
    assert found.slot == 1


def test_people_are_asked_all_units_in_their_stored_order(coverage: Campaign) -> None:
    assignment = next_assignment(coverage, ann())
    assert assignment is not None
    assert assignment.asked == ["a/b#1", " blank ", "🌉"]
    assert assignment.shown == []


def test_a_random_order_is_each_persons_own_and_the_same_again(batch: Path) -> None:
    campaign = campaign_of("answer-rating", "--raters-per-item", "9")
    names = [f"person {n}" for n in range(8)]
    orders = {n: next_assignment(campaign, ann(n)) for n in names}
    asked = {n: tuple(a.asked) for n, a in orders.items() if a}
    assert len(set(asked.values())) > 1
    assert len({tuple(sorted(order)) for order in asked.values()}) == 1
    for order in asked.values():
        sentences = [name for name in order if name in ("r#2", "r#1#1", "r#1#2")]
        assert sentences in (["r#2", "r#1#1", "r#1#2"], ["r#1#1", "r#1#2", "r#2"])
    assert len({tuple(a.shown) for a in orders.values() if a}) > 1


def test_passages_are_not_shown_between_the_answers(batch: Path) -> None:
    campaign = campaign_of("answer-rating", "--raters-per-item", "9")
    for n in range(8):
        assignment = next_assignment(campaign, ann(f"person {n}"))
        assert assignment is not None
        kinds = [field.partition(":")[0] for field in assignment.shown]
        assert kinds == ["passage", "passage", "report", "report"]


@pytest.mark.postgresql
class TestTheDatabaseItself:
    """Constraints that no code can circumvent."""

    def test_the_database_refuses_more_people_than_the_quota(self, coverage: Campaign) -> None:
        self.assert_refused(lambda: coverage.items.update(taken=3), "quota_is_kept")

    def test_the_database_refuses_a_person_twice_on_an_item(self, coverage: Campaign) -> None:
        held = person(coverage.items.get(key="r"), "ann")
        twice = Assignment(item=held.item, rater=held.rater, asked=[], slot=2)
        self.assert_refused(twice.save, "a_rater_is_asked_once", "rater_id")

    def test_the_database_refuses_two_people_in_one_slot(self, coverage: Campaign) -> None:
        held = person(coverage.items.get(key="r"), "ann")
        other = Assignment(item=held.item, rater=ann("bo"), asked=[], slot=1)
        self.assert_refused(other.save, "a_place_holds_one_person", "slot")

    @pytest.mark.parametrize("odd", [{"slot": 0}, {"replicate": 1}, {"scope": "x"}])
    def test_the_database_refuses_an_invalid_slot(
        self, coverage: Campaign, odd: dict[str, object]
    ) -> None:
        values = {"slot": 1, **odd}
        row = Assignment(item=coverage.items.all()[0], rater=ann(), asked=[], **values)
        self.assert_refused(row.save, "a_place_is_for_a_person_once")

    def test_the_database_refuses_a_second_current_response(self, coverage: Campaign) -> None:
        held = person(coverage.items.get(key="r"), "ann")
        Response.objects.create(assignment=held, payload={}, door="page")
        second = Response(assignment=held, payload={}, door="page", revision=2)
        self.assert_refused(second.save, "one_current_response", "assignment_id")

    def test_the_database_refuses_two_labels_for_a_variable(self, coverage: Campaign) -> None:
        label = self.label(coverage)
        again = Label(response=label.response, unit=label.unit, variable="v", value="b")
        self.assert_refused(again.save, "one_label_a_variable", "variable")

    def test_the_database_refuses_a_span_with_one_end(self, coverage: Campaign) -> None:
        label = self.label(coverage)
        for start, end in ((1, None), (None, 1), (2, 2), (3, 2)):
            span = Span(label=label, field="report", start=start, end=end, quote="x")
            self.assert_refused(span.save, "a_span_has_both_ends_or_none")

    def test_the_database_refuses_an_unknown_channel(self, coverage: Campaign) -> None:
        held = person(coverage.items.get(key="r"), "ann")
        self.assert_refused(
            Response(assignment=held, payload={}, door="cellar").save, "door_is_known"
        )

    def test_the_database_refuses_an_account_for_a_judge(self, coverage: Campaign) -> None:
        user = User.objects.create(username="u")
        self.assert_refused(
            Rater(name="j", kind="judge", user=user).save, "accounts_belong_to_people"
        )

    def test_the_database_refuses_a_repeated_item_or_unit(self, coverage: Campaign) -> None:
        item = coverage.items.get(key="r")
        copy = Item(campaign=coverage, key="r", position=99, query=item.query)
        self.assert_refused(copy.save, "item_once_a_campaign", "key")
        unit = item.units.all()[0]
        unit.pk = None
        self.assert_refused(unit.save, "unit_once_an_item|unit_name_once_an_item", "name|key")

    def label(self, coverage: Campaign) -> Label:
        held = person(coverage.items.get(key="r"), "ann")
        response = Response.objects.create(assignment=held, payload={}, door="page")
        unit = held.item.units.all()[0]
        return Label.objects.create(response=response, unit=unit, variable="v", value="a")

    def assert_refused(self, act: object, name: str, column: str = "") -> None:
        """SQLite names a unique constraint by its columns, PostgreSQL every one by its name."""
        with pytest.raises(IntegrityError, match=f"{name}|{column or name}"), transaction.atomic():
            act()  # type: ignore[operator]


@pytest.mark.postgresql
@pytest.mark.processes
@pytest.mark.parametrize(("people", "clicks", "quota"), [(8, 1, 3), (4, 2, 3)])
def test_a_crowd_of_simultaneous_people_gets_exactly_the_slots(
    house: Path, people: int, clicks: int, quota: int
) -> None:
    name = f"crowd {people}"
    manage(house, "create_campaign", name, "--protocol", "report-coverage", "--batch", "b",
           "--pool", "open", "--raters-per-item", quota)  # fmt: skip
    env = environment(house)
    command = [sys.executable, "-m", "tests.annotation.crowd", name, str(people), str(clicks)]
    done = forks.run(command, cwd=ROOT, env=env, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    script = (
        "import json; from annotation.models import *;"
        f"a = Assignment.objects.filter(item__campaign__name={name!r});"
        "print(json.dumps([list(a.values_list('item', 'rater', 'slot')),"
        f"list(Item.objects.filter(campaign__name={name!r}).values_list('taken', flat=True))]))"
    )
    out = manage(house, "shell", "--no-imports", "-c", script)
    rows, taken = json.loads(out.stdout.splitlines()[-1])
    assert taken == [quota] * 6
    assert len(rows) == 6 * quota
    assert Counter(item for item, _, _ in rows).most_common(1)[0][1] == quota
    assert len({(item, rater) for item, rater, _ in rows}) == len(rows)
    assert {slot for _, _, slot in rows} == set(range(1, quota + 1))
