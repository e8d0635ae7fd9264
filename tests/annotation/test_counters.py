"""Counters are correct for every writer, and pages need no more queries in a larger study."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection, transaction
from django.db.models import F, QuerySet
from django.test.utils import CaptureQueriesContext

from annotation import counters
from annotation.answers.submission import fail, submit
from annotation.campaigns.sampling import summary
from annotation.counters import (
    COUNTS,
    after_migrating,
    before_migrating,
    installed_triggers,
    recount,
    wrong_counts,
)
from annotation.models import Assignment, Campaign, Item, Rater, Tally, User
from annotation.people.accounts import campaign_raters
from annotation.people.leases import Ended, release, release_expired, set_lease
from annotation.progress.counts import with_counts
from tests.annotation.people.cast import run_out
from tests.page_cast import Study, client_of, make_study, payload, plant

pytestmark = pytest.mark.django_db
Key = tuple[int, int | None, str]


def kept() -> Counter[Key]:
    """Return the counters that are not 0."""
    sums: Counter[Key] = Counter()
    for campaign, rater, what, number in Tally.objects.values_list(
        "campaign", "rater", "what", "number"
    ):
        sums[campaign, rater, what] += number
    return Counter({key: number for key, number in sums.items() if number})


def there() -> Counter[Key]:
    """The same numbers, counted over the rows in Python."""
    return Counter({key: n for key, n in Counter(dict(_counted())).items() if n})


def _counted() -> Iterator[tuple[Key, int]]:
    found: Counter[Key] = Counter()
    for row in Assignment.objects.select_related("item"):
        place = "no-place" if row.slot is None else "placed"
        status = "open" if row.status == "leased" else row.status
        what = f"answers/{row.item.use}/{status}/{place}"
        found[row.item.campaign_id, row.rater_id, what] += 1
    for item in Item.objects.prefetch_related("unit_samplings"):
        found[item.campaign_id, None, f"items/{item.use}"] += 1
        found[item.campaign_id, None, f"places/{item.use}"] += item.quota
        found[item.campaign_id, None, f"free/{item.use}"] += item.taken < item.quota
        for draw in item.unit_samplings.all():
            word = {None: "pending", True: "drawn", False: "left"}[draw.drawn]
            found[item.campaign_id, None, f"units/{word}"] += 1
    for campaign in Campaign.objects.all():
        for query in campaign.query_samplings.all():
            word = f"queries/{query.role}/{'drawn' if query.drawn else 'left'}"
            found[campaign.pk, None, word] += 1
    return iter(found.items())


@pytest.fixture
def study() -> Study:
    return make_study(reports=4)


@pytest.mark.postgresql
class TestEveryWrite:
    def test_a_new_campaign_is_counted(self, study: Study) -> None:
        assert kept() == there() != Counter()

    def test_assignments_of_people_and_a_judge_are_counted(self, study: Study) -> None:
        plant(study)
        assert kept() == there()

    def test_released_slots_are_counted(self, study: Study) -> None:
        set_lease(study.campaign, 60)
        first, second = study.assignment(study.ada), study.assignment(study.ben)
        run_out(first)
        assert release_expired(study.campaign) == 1
        assert release(second, Ended.FREED)
        assert kept() == there()
        study.assignment(study.ada)
        assert kept() == there()

    def test_answers_of_an_item_that_becomes_gold_are_recounted(self, study: Study) -> None:
        plant(study)
        Item.objects.order_by("position")[0].assignments.update(slot=None)
        Item.objects.filter(position__lt=2).update(use="gold", quota=7)
        assert kept() == there()
        assert any(what.startswith("answers/gold/done") for _, _, what in kept())

    def test_failed_and_deleted_judge_assignments_are_counted(self, study: Study) -> None:
        judge = Rater.objects.create(name="j", kind="judge")
        rows = [
            Assignment.objects.create(item=item, rater=judge, asked=[])
            for item in study.campaign.items.all()
        ]
        fail(rows[0], "refused")
        assert kept() == there()
        Assignment.objects.filter(pk__in=[row.pk for row in rows[1:]]).delete()
        assert kept() == there()

    def test_a_leased_judge_assignment_is_counted_as_open(self, study: Study) -> None:
        judge = Rater.objects.create(name="j", kind="judge")
        row = Assignment.objects.create(item=study.campaign.items.all()[0], rater=judge, asked=[])
        before = list(Tally.objects.order_by("pk").values())
        Assignment.objects.filter(pk=row.pk).update(status="leased")
        assert list(Tally.objects.order_by("pk").values()) == before
        Assignment.objects.filter(pk=row.pk).update(status="done")
        assert kept() == there()

    def test_units_sampled_later_are_counted(self, study: Study) -> None:
        for drawn in (None, True, False):
            study.campaign.items.all()[0].unit_samplings.update(drawn=drawn)
            assert kept() == there()

    def test_a_rolled_back_change_is_not_counted(self, study: Study) -> None:
        before = kept()
        with transaction.atomic():
            submit(study.assignment(study.ada), payload("no"), "page")
            assert kept() != before
            transaction.set_rollback(True)
        assert kept() == before

    def test_a_deleted_campaign_leaves_no_counts(self, study: Study) -> None:
        assert summary(study.campaign)["units"] > 0
        gone = study.campaign.pk
        Assignment.objects.all().delete()
        study.campaign.delete()
        assert not any(campaign == gone for campaign, *_ in kept())


@pytest.mark.postgresql
def test_only_changes_to_counted_columns_change_counts(study: Study) -> None:
    held, done = study.assignment(study.ada), study.assignment(study.ben)
    submit(done, payload("no"), "page")
    items = Item.objects.filter(pk=held.item_id)
    rows = Assignment.objects.filter(pk=held.pk)
    units, queries = items.get().unit_samplings.all(), study.campaign.query_samplings.all()
    changes: list[tuple[QuerySet[Any], dict[str, Any], bool]] = [
        (items, {"use": "gold"}, True),
        (items, {"use": "practice"}, True),
        (items, {"quota": 5}, True),
        (items, {"taken": 0}, True),
        (items, {"taken": 1, "quota": 2}, True),
        (items, {"taken": 2, "quota": 2}, False),
        (items, {"quota": 3, "taken": 3}, True),
        (items, {"position": 99}, False),
        (rows, {"status": "done"}, True),
        (rows, {"status": "failed"}, True),
        (rows, {"status": "leased"}, False),
        (rows, {"slot": None}, True),
        (rows, {"attempts": 3}, False),
        (queries, {"role": "audit"}, True),
        (queries, {"drawn": False}, True),
        (queries, {"probability": 0.5}, False),
        (units, {"drawn": False}, True),
        (units, {"drawn": None}, True),
        (units, {"stratum": "yes"}, False),
    ]
    before = kept()
    for some, changed, counts in changes:
        with transaction.atomic():
            assert some.update(**changed), changed
            assert kept() == there(), changed
            assert (kept() != before) == counts, changed
            transaction.set_rollback(True)
    for some in (rows, queries, units):
        with transaction.atomic():
            some.delete()
            assert kept() == there() != before
            transaction.set_rollback(True)


@pytest.mark.postgresql
class TestInstalling:
    def test_the_triggers_stay_if_nothing_is_migrated(self, study: Study) -> None:
        before = installed_triggers(connection)
        assert before == set(counters.trigger_names())
        none: list[str] = []
        for plan in (none, None):
            before_migrating(using="default", plan=plan)
            assert installed_triggers(connection) == before
        before_migrating(using="default")
        after_migrating(using="default", plan=[])
        assert installed_triggers(connection) == before

    def test_nothing_is_counted_before_the_tables_exist(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        few = sorted(counters.TABLES)[1:]
        monkeypatch.setattr(connection.introspection, "table_names", lambda: few)
        before = installed_triggers(connection)
        before_migrating(using="default", plan=["one"])
        assert installed_triggers(connection) == before
        Tally.objects.create(campaign_id=0, what="items/study", number=4)
        after_migrating(using="default", plan=["one"])
        after_migrating(using="default")
        assert Tally.objects.get().number == 4
        Tally.objects.all().delete()

    def test_the_triggers_stay_if_their_installation_fails(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken() -> Iterator[str]:
            raise RuntimeError("broken")

        connection.check_constraints()
        before = installed_triggers(connection)
        monkeypatch.setattr(counters, "recount_statements", broken)
        with pytest.raises(RuntimeError):
            counters.install()
        assert installed_triggers(connection) == before

    def test_a_wrong_count_of_a_rater_is_reported_with_the_rater(self, study: Study) -> None:
        held = study.assignment(study.ada)
        Tally.objects.filter(rater=held.rater_id).update(number=F("number") - 1)
        assert list(wrong_counts()) == [
            f"Tallies: campaign {study.campaign.pk}, rater {held.rater_id}: "
            "answers/study/open/placed differs from the rows by -1"
        ]

    def test_missing_triggers_are_restored_and_everything_is_recounted(self, study: Study) -> None:
        connection.check_constraints()
        on = f" ON {COUNTS[0].table}" if connection.vendor == "postgresql" else ""
        with connection.cursor() as cursor:
            cursor.execute(f"DROP TRIGGER tandem_tally_answers_insert{on}")
        plant(study)
        assert kept() != there()
        connection.check_constraints()
        after_migrating(using="default", plan=[])
        assert kept() == there()
        study.assignment(study.rita)
        assert kept() == there()

    def test_a_migration_recounts_everything(self, study: Study) -> None:
        connection.check_constraints()
        before_migrating(using="default", plan=["one"])
        assert not installed_triggers(connection)
        Tally.objects.all().delete()
        after_migrating(using="default", plan=["one"])
        assert kept() == there() != Counter()

    def test_a_migrate_without_migrations_leaves_the_counts_alone(self, study: Study) -> None:
        before = set(Tally.objects.values_list("pk", flat=True))
        call_command("migrate", verbosity=0)
        assert set(Tally.objects.values_list("pk", flat=True)) == before

    def test_a_flush_leaves_no_counts(self, study: Study) -> None:
        Campaign.objects.all().delete()
        # Triggers leave such counts if their table is emptied before the counted one.
        Tally.objects.all().delete()
        Tally.objects.create(campaign_id=study.campaign.pk, what="items/study", number=-4)
        after_migrating(using="default")
        assert kept() == there() == Counter()
        assert not Tally.objects.exists()

    def test_everything_can_be_recounted(self, study: Study) -> None:
        plant(study)
        Tally.objects.update(number=F("number") + 1)
        recount()
        assert kept() == there()
        assert list(wrong_counts()) == []

    def test_a_wrong_count_is_reported(self, study: Study) -> None:
        assert list(wrong_counts()) == []
        Tally.objects.filter(what="items/study").update(number=F("number") + 2)
        Tally.objects.filter(what="units/drawn").delete()
        first = f"Tallies: campaign {study.campaign.pk}: "
        assert list(wrong_counts()) == [
            f"{first}items/study differs from the rows by +2",
            f"{first}units/drawn differs from the rows by -12",
        ]


@pytest.mark.postgresql
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite counts up one row")
class TestFolding:
    FOLD = f"SELECT {counters.PREFIX}fold(%s)"

    def fold(self, campaign: int) -> None:
        with connection.cursor() as cursor:
            cursor.execute(self.FOLD, [campaign])

    def test_folding_leaves_fewer_rows_with_the_same_sums(self, study: Study) -> None:
        for user in (study.ada, study.ben) * 4:
            submit(study.assignment(user), payload("no"), "page")
        # Some changes fold rows themselves; all others leave rows to fold.
        while Tally.objects.count() == len(kept()):
            Item.objects.update(quota=F("quota") + 1)
        before = kept()
        self.fold(study.campaign.pk)
        assert kept() == before == there()
        assert Tally.objects.count() == len(before)

    @pytest.mark.django_db(transaction=True)
    def test_simultaneous_folding_neither_loses_nor_duplicates_counts(self) -> None:
        study = make_study(reports=4)
        items = list(Item.objects.filter(campaign=study.campaign).values_list("pk", flat=True))
        before, barrier = kept(), threading.Barrier(len(items))

        def busy(item: int) -> None:
            own = Item.objects.filter(pk=item)
            try:
                barrier.wait()
                for _ in range(40):
                    own.update(quota=F("quota") + 1)
                    own.update(quota=F("quota") - 1)
                    self.fold(study.campaign.pk)
            finally:
                connection.close()

        threads = [threading.Thread(target=busy, args=(item,)) for item in items]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert kept() == before == there()


class TestPages:
    @pytest.mark.first_case
    @pytest.mark.parametrize(
        "address", ["/campaigns/", "/campaigns/{}/", "/campaigns/{}/people/", "/tasks/"]
    )
    def test_pages_of_a_larger_study_take_no_more_queries_and_read_no_more_rows(
        self, address: str
    ) -> None:
        study = make_study(reports=30)
        for user in (study.ada, study.ben):
            submit(study.assignment(user), payload("no"), "page")
        reader = study.ada if address == "/tasks/" else study.rita
        few = self.asked(reader, address.format(study.campaign.pk))
        for _ in range(20):
            for user in (study.ada, study.ben):
                submit(study.assignment(user), payload("no"), "page")
        many = self.asked(reader, address.format(study.campaign.pk))
        assert len(many) <= len(few)
        # Answers and samples grow with the study, so no page may count them, but for the labels of
        # a few items that it names.
        large = ("annotation_label", "annotation_unitdraw", "annotation_querydraw")
        counting = [sql for sql in few + many if any(f'"{table}"' in sql for table in large)]
        named = r'"annotation_assignment"\."item_id" IN \(\d+(, \d+){0,29}\)'
        assert not [sql for sql in counting if not re.search(named, sql)]

    def asked(self, reader: User, address: str) -> list[str]:
        client = client_of(reader)
        client.get(address)
        with CaptureQueriesContext(connection) as captured:
            assert client.get(address).status_code == 200
        return [query["sql"] for query in captured]

    def test_a_campaign_is_listed_with_its_counts(self, study: Study) -> None:
        plant(study)
        row: Any = with_counts(Campaign.objects.all()).get()
        counts = (
            row.items_total,
            row.places,
            row.places_done,
            row.imported,
            row.people,
            row.judges,
        )
        assert counts == (4, 8, 1, 0, 1, 1)
        assert row.people_done == 1

    def test_a_campaigns_people_are_listed_with_their_counts(self, study: Study) -> None:
        plant(study)
        counts = {each.kind: (each.done, each.held, each.since is None) for each in campaign_raters(
            study.campaign)}  # fmt: skip
        assert counts == {"human": (1, 1, False), "judge": (1, 0, True)}

    def test_a_campaigns_sample_is_summarized_from_counts(self, study: Study) -> None:
        counts = summary(study.campaign)
        assert (counts["queries"], counts["queries_drawn"]) == (1, 1)
        assert (counts["units"], counts["units_drawn"], counts["units_pending"]) == (12, 12, 0)
        assert counts["roles"] == {"evaluation": {"queries": 1, "asked": 1}}
        assert (counts["gold"], counts["practice"]) == (0, 0)


def test_postgresql_gets_a_trigger_and_its_function_for_each_count() -> None:
    made = list(counters.postgresql_statements())
    bodies = {
        found[1]: found[2]
        for each in made
        if (found := re.match(r"\s*CREATE OR REPLACE FUNCTION (\w+)\(.*?\)(.*)", each, re.S))
    }
    triggers = {
        found[1]: found[2]
        for each in made
        if (found := re.match(r"CREATE TRIGGER (\w+) AFTER (.*) EXECUTE FUNCTION \1\(\)$", each))
    }
    assert {name: how.split()[2] for name, how in triggers.items()} == counters.trigger_names()
    assert set(bodies) == {*triggers, "tandem_tally_fold"}
    for name in triggers:
        body, how = bodies[name], triggers[name]
        assert "INSERT INTO annotation_tally (campaign_id, rater_id, what, number)" in body
        assert "RETURN NULL;" in body
        of_rows = name == "tandem_tally_use" or (
            name.endswith("_update") and not name.endswith("answers_update")
        )
        assert ("FOR EACH ROW WHEN (" in how) is of_rows
        assert how.endswith("FOR EACH STATEMENT") is not of_rows
        assert ("UNION ALL" in body) is name.endswith("_update")
        assert ("random() * 50 < 1" in body) is name.endswith("_update")
    update = bodies["tandem_tally_answers_update"]
    assert update.index("-(1) FROM old_rows") < update.index(", 1 FROM new_rows")
    assert "OLD TABLE AS old_rows NEW TABLE AS new_rows" in triggers["tandem_tally_answers_update"]
    assert "sum(-(1)) FROM old_rows" in bodies["tandem_tally_answers_delete"]
    assert "sum(1) FROM new_rows" in bodies["tandem_tally_answers_insert"]
    assert "-(r.quota) FROM (SELECT OLD.*)" in bodies["tandem_tally_places_update"]
