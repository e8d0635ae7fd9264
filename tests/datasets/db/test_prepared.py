"""Prepared queries return what Django's queries return, and runs do not affect each other."""

from __future__ import annotations

import uuid

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models import F, Q, UUIDField
from django.test.utils import CaptureQueriesContext

from annotation.models import Assignment, Draft, Item, Label, Rater, Response
from datasets.db.prepared import (
    InList,
    MappedValue,
    Parameter,
    Prepared,
    PreparedInsert,
    PreparedModels,
    PreparedUpdate,
    columns_of,
    run_together,
)
from tests.once import once
from tests.page_cast import Study, make_study

pytestmark = pytest.mark.django_db
MISSING = Assignment._meta.get_field("missing")


@once
def study() -> Study:
    return make_study(reports=3)


def of_item() -> Prepared:
    return Prepared(
        lambda: (
            Assignment.objects.filter(item=Parameter("item"))
            .order_by("pk")
            .values_list("uid", "asked", "created_at", "seconds", "item__campaign__is_open")
        )
    )


class TestRows:
    def test_rows_equal_those_read_by_django(self, study: Study) -> None:
        mine = study.assignment(study.ada)
        study.assignment(study.ben)
        columns = ("uid", "asked", "created_at", "seconds", "item__campaign__is_open")
        theirs = Assignment.objects.filter(item=mine.item_id).order_by("pk").values_list(*columns)
        assert [tuple(row) for row in of_item().rows(item=mine.item_id)] == list(theirs)
        assert len(theirs) == 2

    def test_each_run_uses_its_own_values(self, study: Study) -> None:
        query = of_item()
        first, second = study.assignment(study.ada), study.campaign.items.all()[1]
        for _ in range(8):
            assert [row[0] for row in query.rows(item=first.item_id)] == [first.uid]
            assert query.rows(item=second.pk) == []
            assert query.first(item=second.pk) is None

    def test_a_missing_value_is_an_error(self) -> None:
        with pytest.raises(KeyError):
            of_item().rows()

    @pytest.mark.parametrize("name", ["'; DROP TABLE annotation_rater; --", "%s", "ä⛵\u0301"])
    def test_values_are_never_put_into_the_sql(self, name: str) -> None:
        rater = Rater.objects.create(name=name)
        text = Rater._meta.get_field("name")
        query = Prepared(lambda: Rater.objects.filter(name=Parameter("x", text)).values_list("pk"))
        assert query.rows(x=name) == [[rater.pk]]
        assert query.rows(x=name + "'") == []

    def test_a_number_too_large_for_the_column_finds_nothing(self) -> None:
        assert of_item().rows(item=2**63) == of_item().rows(item=10**30) == []

    def test_a_null_value_matches_no_row(self, study: Study) -> None:
        key = Response._meta.get_field("key")
        query = Prepared(
            lambda: Response.objects.filter(key=Parameter("key", key)).values_list("pk")
        )
        Response.objects.create(assignment=study.assignment(study.ada), payload={}, door="page")
        assert query.rows(key=None) == []

    def test_a_run_counts_as_one_query(self, study: Study) -> None:
        with CaptureQueriesContext(connection) as captured:
            of_item().rows(item=1)
        assert len(captured) == 1


class TestModels:
    COLUMNS = {"": ("id", "uid", "asked"), "item": ("id", "key"), "item__campaign": ("name", "id")}

    def query(self) -> PreparedModels[Assignment]:
        def make() -> object:
            mine = Assignment.objects.filter(uid=Parameter("uid", UUIDField()))
            return mine.annotate(place=F("item__position"))

        return PreparedModels(make, self.COLUMNS, ("place",))  # type: ignore[arg-type]

    def test_objects_are_read_with_related_objects_in_one_query(self, study: Study) -> None:
        mine = study.assignment(study.ada)
        query = self.query()
        with CaptureQueriesContext(connection) as captured:
            found = query.first(uid=mine.uid)
            assert found is not None
            read, more = found
            assert (read.pk, read.uid, read.asked) == (mine.pk, mine.uid, mine.asked)
            assert (read.item.key, read.item.campaign.name) == ("hidden-system-0:r", "Pilot")
        assert len(captured) == 1
        assert more == [0]

    def test_columns_that_are_not_named_are_deferred(self, study: Study) -> None:
        found = self.query().first(uid=study.assignment(study.ada).uid)
        assert found is not None
        assert found[0].get_deferred_fields()
        assert found[0].status == "open"
        assert found[0].item.campaign.protocol == "report-coverage"

    def test_without_a_match_the_first_object_is_none(self, study: Study) -> None:
        assert self.query().first(uid=uuid.uuid4()) is None

    def test_a_missing_related_object_is_none(self, study: Study) -> None:
        mine = study.assignment(study.ada)
        columns = {"": columns_of(Assignment), "draft": columns_of(Draft)}
        query = PreparedModels(lambda: Assignment.objects.filter(pk=Parameter("pk")), columns)
        ((read, _),) = query.all(pk=mine.pk)
        assert getattr(read, "draft", None) is None
        Draft.objects.create(assignment=mine, payload={"a": "ä"})
        ((read, _),) = query.all(pk=mine.pk)
        assert read.draft.payload == {"a": "ä"}


class TestWriting:
    def test_an_update_returns_the_number_of_changed_rows(self, study: Study) -> None:
        free = Q(taken__lt=F("quota"))
        claim = PreparedUpdate(
            lambda: Item.objects.filter(free, pk=Parameter("item")), taken=F("taken") + 1
        )
        item = study.campaign.items.first()
        assert item is not None
        assert [claim.run(item=item.pk) for _ in range(3)] == [1, 1, 0]
        item.refresh_from_db()
        assert item.taken == 2

    @pytest.mark.parametrize("missing", [{}, {"u": {"answerable": "declined ⛵"}}])
    def test_an_update_writes_values_as_django_does(
        self, study: Study, missing: dict[str, object]
    ) -> None:
        mine = study.assignment(study.ada)
        update = PreparedUpdate(
            lambda: Assignment.objects.filter(pk=Parameter("pk")),
            missing=Parameter("missing", MISSING),
            lease=None,
        )
        assert update.run(pk=mine.pk, missing=missing) == 1
        assert Assignment.objects.filter(missing=missing, lease=None).get() == mine

    def test_an_update_can_set_different_values_for_each_row(self, study: Study) -> None:
        rows = [study.assignment(rater) for rater in (study.ada, study.ben)]
        update = PreparedUpdate(
            lambda: Assignment.objects.filter(InList("pk", "pks")),
            missing=MappedValue("missing", MISSING),
            seconds=MappedValue("seconds", Assignment._meta.get_field("seconds")),
        )
        missing = {rows[0].pk: {"u": {"answerable": '"declined" ⛵'}}, rows[1].pk: {}}
        seconds = {rows[0].pk: 0.1 + 0.2, rows[1].pk: None}
        assert update.run(pks=list(seconds), missing=missing, seconds=seconds) == 2
        for row in rows:
            row.refresh_from_db()
        assert {row.pk: row.missing for row in rows} == missing
        assert {row.pk: row.seconds for row in rows} == seconds

    def test_inserted_rows_get_keys_in_their_order(self, study: Study) -> None:
        mine = study.assignment(study.ada)
        response = Response(assignment=mine, payload={"units": {"ä": None}}, door="page")
        PreparedInsert(Response).run(response)
        assert Response.objects.get().payload == {"units": {"ä": None}}
        units = list(mine.item.units.all())
        labels = [
            Label(response=response, unit=unit, variable="answerable", value=f"v{n}", meta=meta)
            for n, (unit, meta) in enumerate(zip(units, (None, {"a": 1}, None), strict=False))
        ]
        PreparedInsert(Label).run(*labels)
        stored = {label.pk: (label.value, label.meta) for label in Label.objects.all()}
        assert stored == {label.pk: (label.value, label.meta) for label in labels}
        assert not any(label._state.adding for label in labels)

    def test_columns_with_automatic_values_are_filled(self, study: Study) -> None:
        rater = Rater.objects.create(name="x")
        item = study.campaign.items.first()
        made = Assignment(item=item, rater=rater, asked=[])
        PreparedInsert(Assignment).run(made)
        assert Assignment.objects.get(pk=made.pk).created_at == made.created_at is not None


@pytest.mark.postgresql
class TestTogether:
    def test_each_statement_sees_the_changes_of_those_before_it(self, study: Study) -> None:
        first, second = study.campaign.items.order_by("pk")[:2]
        taken = Prepared(lambda: Item.objects.filter(pk=Parameter("pk")).values_list("taken"))
        take = PreparedUpdate(
            lambda: Item.objects.filter(pk=Parameter("pk")), taken=F("taken") + Parameter("more")
        )
        with transaction.atomic():
            before, changed, after = run_together(
                taken.call(pk=first.pk), take.call(pk=first.pk, more=2), taken.call(pk=first.pk)
            )
            nothing, other = run_together(take.call(pk=0, more=1), taken.call(pk=second.pk))
        assert (before, changed, after) == ([[0]], 1, [[2]])
        assert (nothing, other) == (0, [[0]])

    def test_results_are_the_same_as_of_single_statements(self, study: Study) -> None:
        rater = PreparedModels(
            lambda: Rater.objects.filter(name=Parameter("name", Rater._meta.get_field("name"))),
            {"": columns_of(Rater)},
        )
        insert = PreparedInsert(Rater, ("name", "kind"))
        with transaction.atomic():
            keys, found = run_together(
                insert.call([("x", "human"), ("ä⛵\u0301 %s $1", "human")]),
                rater.call(name="ä⛵\u0301 %s $1"),
            )
        assert [each.pk for each, _ in found] == keys[1:]
        assert found[0][0] == Rater.objects.get(pk=keys[1])

    def test_if_one_statement_fails_none_takes_effect_and_the_connection_stays_usable(
        self, study: Study
    ) -> None:
        insert, names = PreparedInsert(Rater, ("name", "kind")), Rater.objects.values_list("name")
        before = set(names.all())
        with pytest.raises(IntegrityError), transaction.atomic():
            run_together(insert.call([("x", "human")]), insert.call([("x", "human")]))
        assert set(names.all()) == before
        with transaction.atomic():
            run_together(insert.call([("x", "human")]), insert.call([("y", "human")]))
        assert set(names.all()) == before | {("x",), ("y",)}
