"""Pages and exports take few database queries, and no more in a larger study."""

from __future__ import annotations

import pytest
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from annotation.answers.submission import submit
from annotation.exports import rows
from annotation.models import Assignment, Campaign, Draft, Item, Rater, User, rater_of
from annotation.progress.person import progress, progress_in
from tests.page_cast import Study, answers, client_of, make_study, page, payload

pytestmark = pytest.mark.django_db
# PostgreSQL locks the rater, too, since it allows concurrent writers. The first opening of an item
# in a process also finds out whether it is long.
SAVE, OPEN = 23 + (connection.vendor == "postgresql"), 13


def count(study: Study, *, save: bool) -> int:
    mine, client = study.assignment(study.ada), client_of(study.ada)
    with CaptureQueriesContext(connection) as captured:
        if save:
            form = answers("no", "no", "no", version=0, seen=0, seconds=3)
            assert client.post(page("submit", mine), form).status_code == 200
        else:
            assert client.get(page("item", mine)).status_code == 200
    return len(captured)


def free_of(user: User, campaign: Campaign) -> int:
    """The definition: items with a free slot that this person has never had."""
    items = [item for item in Item.objects.filter(campaign=campaign) if item.taken < item.quota]
    had = set(Assignment.objects.filter(rater__user=user).values_list("item_id", flat=True))
    return sum(item.pk not in had for item in items)


class TestPages:
    def test_a_save_takes_few_queries(self) -> None:
        assert count(make_study(), save=True) <= SAVE

    def test_opening_an_item_takes_few_queries(self) -> None:
        assert count(make_study(), save=False) <= OPEN

    @pytest.mark.first_case
    @pytest.mark.parametrize("save", [True, False])
    def test_a_larger_study_takes_no_more_queries(self, save: bool) -> None:
        study = make_study(reports=12)
        first = count(study, save=save)
        while True:
            mine = study.assignment(study.ada)
            if mine.item.position == 8:
                break
            submit(mine, payload("no"), "page")
        assert count(study, save=save) <= first

    def test_a_save_deletes_the_draft_that_it_replaces(self) -> None:
        study = make_study()
        mine, client = study.assignment(study.ada), client_of(study.ada)
        client.post(page("draft", mine), answers("no", None, None, version=0, seen=0))
        assert Draft.objects.count() == 1
        client.post(page("submit", mine), answers("no", "no", "no", version=1, seen=0))
        assert not Draft.objects.exists()


class TestProgress:
    def test_progress_counts_exactly_the_free_items(self) -> None:
        study = make_study(reports=5)
        for user in (study.ada, study.ben, study.ada):
            submit(study.assignment(user), payload("no"), "page")
        study.assignment(study.ben)
        for user in (study.ada, study.ben, study.rita):
            numbers = progress(user, [study.campaign.pk])[study.campaign.pk]
            assert numbers.free == free_of(user, study.campaign)

    def test_an_item_imported_under_ones_name_is_not_free(self) -> None:
        study = make_study(reports=5)
        items = study.campaign.items.order_by("position")
        rater = rater_of(study.ada)
        for n, scope in ((2, ""), (2, "x"), (3, "x")):
            Assignment.objects.create(item=items[n], rater=rater, asked=[], scope=scope)
        numbers = progress(study.ada, [study.campaign.pk])[study.campaign.pk]
        assert numbers.free == free_of(study.ada, study.campaign) == 3

    def test_progress_follows_when_slots_are_taken(self) -> None:
        study = make_study(reports=5)
        for left in (5, 4, 2, 0):
            Item.objects.filter(position__gte=left).update(taken=F("quota"))
            assert progress_in(study.rita, study.campaign.pk).free == left
        Item.objects.update(taken=0)
        assert progress_in(study.rita, study.campaign.pk).free == 5

    def test_a_person_without_a_pseudonym_has_all_items_free(self) -> None:
        study = make_study(reports=5)
        assert not Rater.objects.filter(user=study.rita).exists()
        numbers = progress(study.rita, [study.campaign.pk])[study.campaign.pk]
        assert (numbers.done, numbers.begun, numbers.free) == (0, 0, 5)


class TestExports:
    @pytest.mark.first_case
    @pytest.mark.parametrize("what", ["units", "labels", "spans", "responses", "batch"])
    def test_an_export_takes_no_more_queries_for_more_items(self, what: str) -> None:
        study = make_study(reports=12)
        submit(study.assignment(study.ada), payload("no"), "page")
        export = getattr(rows, what)
        few = self.queries(export, study.campaign)
        for _ in range(11):
            submit(study.assignment(study.ada), payload("no"), "page")
        assert self.queries(export, study.campaign) == few

    def queries(self, export: object, campaign: Campaign) -> int:
        assert callable(export)
        fresh = Campaign.objects.select_related("batch").get(pk=campaign.pk)
        with CaptureQueriesContext(connection) as captured:
            assert list(export(fresh)) or export is rows.spans
        return len(captured)

    def test_export_lines_are_ordered_by_item_rater_and_unit(self) -> None:
        study = make_study(reports=3)
        for user in (study.ben, study.ada, study.ben, study.ada):
            submit(study.assignment(user), payload("no"), "page")
        lines = list(rows.labels(study.campaign))
        keys = [(line["item"], line["rater"], line["unit"]) for line in lines]
        assert keys == sorted(keys)
        assert len(keys) == 12

    def test_the_end_of_a_chunk_does_not_separate_a_query_from_its_texts(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        study = make_study(reports=5)
        whole = list(rows.units(study.campaign))
        monkeypatch.setattr(rows, "CHUNK", 2)
        monkeypatch.setattr("annotation.exports.rows.CHUNK", 2)
        assert list(rows.units(study.campaign)) == whole
        assert {line["item"] for line in whole} == {f"hidden-system-{n}:r" for n in range(5)}
