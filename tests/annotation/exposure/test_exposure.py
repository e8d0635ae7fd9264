"""Who could see others' answers before answering, as the ledger and the answers' marks say."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotation.answers.submission import submit
from annotation.campaign_setup.creation import create_campaign
from annotation.campaigns.design import Design
from annotation.exposure import ledger
from annotation.exposure.detection import (
    PersonExposure,
    _answers_of_others,
    _comparable,
    _content,
    _places,
    _same_items,
    evidence_against,
    exposed_labels,
    exposed_people,
    exposed_units,
    has_exposed,
    person_exposure,
)
from annotation.integrity import CHECKS, exposure
from annotation.models import (
    Assignment,
    Campaign,
    Exposure,
    Item,
    Label,
    Look,
    Response,
    User,
    rater_of,
)
from datasets.models import Batch
from tandem.protocols.base import UnitSpec
from tests.annotation import validating_cast
from tests.api.cast import body, script_of
from tests.cast import Line, load
from tests.page_cast import Study, client_of, make_study, payload, study_of

pytestmark = pytest.mark.django_db


def answer(
    study: Study, user: User, code: str = "no", campaign: Campaign | None = None
) -> Response:
    """The person's next item, answered through the page's channel."""
    mine = Study(campaign or study.campaign, study.ada, study.ben, study.rita, study.root)
    return submit(mine.assignment(user), payload(code), "page").response


def exported(client: Client, campaign: Campaign, what: str = "labels") -> bytes:
    """The complete file, which has to be read since it is streamed."""
    found = client.get(reverse("export-file", args=[campaign.pk, what, "jsonl"]))
    assert found.status_code == 200
    return b"".join(found)


def turned(client: Client, campaign: Campaign, to: str) -> None:
    sent = client.post(reverse("campaign-turn", args=[campaign.pk]), {"to": to})
    assert sent.status_code == 302


@pytest.fixture
def study() -> Study:
    cache.clear()  # exports in other tests count against the limit
    return make_study(people=3)


def test_an_answer_after_an_export_is_marked_with_the_look(study: Study) -> None:
    client, item = client_of(study.rita), study.assignment(study.rita)
    answer(study, study.ada)
    turned(client, study.campaign, "closed")
    exported(client, study.campaign)
    turned(client, study.campaign, "open")
    found = submit(item, payload("no"), "page").response
    look = Look.objects.get(user=study.rita)
    assert (look.kind, look.campaign, look.number) == ("export", study.campaign, 6)
    look.clean_fields(exclude=("scope", "rater"))
    assert found.exposed is True
    evidence = found.exposures.get()
    assert (evidence.look, evidence.kind, evidence.at) == (look, "export", look.at)
    assert evidence.units == ["q:0", "q:1", "q:2"]


def test_an_answer_without_an_earlier_look_is_not_marked(study: Study) -> None:
    before = answer(study, study.rita)
    assert answer(study, study.ada).exposed is False
    exported(client_of(study.rita), study.campaign)
    before.refresh_from_db()
    assert before.exposed is False
    assert not Exposure.objects.exists()


def test_ones_own_labels_are_no_exposure(study: Study) -> None:
    mine = answer(study, study.rita)
    exported(client_of(study.rita), study.campaign)
    again = submit(mine.assignment, payload("invalid"), "page").response
    assert (again.revision, again.exposed) == (2, False)
    answer(study, study.ada)
    exported(client_of(study.rita), study.campaign)
    assert submit(mine.assignment, payload("no"), "page").response.exposed is True


def test_a_look_shows_only_answers_that_existed_then(study: Study) -> None:
    exported(client_of(study.rita), study.campaign)
    answer(study, study.ada)
    assert answer(study, study.rita).exposed is False


def test_an_item_that_nobody_else_had_answered_stays_unmarked(study: Study) -> None:
    answer(study, study.ada)
    exported(client_of(study.rita), study.campaign)
    assert [answer(study, study.rita).exposed for _ in range(2)] == [True, False]


def test_the_exposure_of_an_imported_answer_is_unknown(study: Study) -> None:
    asked = study.assignment(study.ada)
    assert submit(asked, payload("no"), "import").response.exposed is None


def test_a_look_at_one_unit_marks_that_unit_alone(study: Study) -> None:
    unit = answer(study, study.ada).assignment.item.units.get(name="q:1")
    with ledger.collect_looks() as looks:
        ledger.saw_answers("dispute", study.campaign, units=[unit.pk])
    ledger.record(study.rita.pk, looks)
    found = answer(study, study.rita)
    assert found.exposures.get().units == ["q:1"]
    assert answer(study, study.ben).exposed is False, "whose look it was not"


@pytest.mark.parametrize(("number", "exposing"), [(29, True), (30, False)])
def test_figures_over_thirty_or_more_units_are_logged_but_mark_nothing(
    study: Study, number: int, exposing: bool
) -> None:
    answer(study, study.ada)
    with ledger.collect_looks() as looks:
        ledger.saw_figures("report", study.campaign, number)
    ledger.record(study.rita.pk, looks)
    assert Look.objects.get().number == number
    assert answer(study, study.rita).exposed is exposing


def test_figures_over_many_units_mark_the_items_of_small_groups_among_them(study: Study) -> None:
    items = [answer(study, study.ada).assignment.item_id for _ in range(2)]
    with ledger.collect_looks() as looks:
        ledger.saw_figures("report", study.campaign, 400, items=items[1:])
    ledger.record(study.rita.pk, looks)
    assert [answer(study, study.rita).exposed for _ in range(2)] == [False, True]


class TestOtherCampaigns:
    """The same content is recognised in other campaigns over the batch or one that continues it."""

    def over(self, batch: Batch, **options: Any) -> Campaign:
        design = Design(raters_per_item=3, **options)
        return create_campaign(
            f"Over {batch.name}", "report-coverage", batch, design, pool="open"
        ).campaign

    def test_a_look_in_another_campaign_over_the_batch_exposes(self, study: Study) -> None:
        answer(study, study.ada)
        exported(client_of(study.rita), study.campaign)
        found = answer(study, study.rita, campaign=self.over(study.campaign.batch))
        assert found.exposures.get().units == ["q:0", "q:1", "q:2"]

    def test_only_campaigns_of_the_same_task_that_were_looked_at_are_compared(
        self, study: Study
    ) -> None:
        own, batch = study.campaign, study.campaign.batch
        same, other, unseen = (
            Campaign.objects.create(name=name, protocol=protocol, batch=batch)
            for name, protocol in (("a", own.protocol), ("b", "report-nugget"), ("c", own.protocol))
        )
        assert set(_comparable(own, {own.pk, same.pk, other.pk})) == {own, same}
        assert _comparable(own, {other.pk}) == _comparable(own, ()) == []
        assert unseen in _comparable(own, {unseen.pk})

    @pytest.mark.parametrize(
        ("report", "question", "expected"),
        [
            ("The pier held.", "Did it hold?", ["a"]),
            ("The pier fell.", "Did it hold?", None),
            ("The pier held.", "Did it really hold?", None),
        ],
    )
    @pytest.mark.parametrize("ids", ["the same ids", "other ids"])
    def test_a_look_in_another_batch_with_equal_texts_exposes(
        self, tmp_path: Path, study: Study, ids: str, report: str, question: str,
        expected: list[str] | None,
    ) -> None:  # fmt: skip
        first, second = (
            self.over(self.batch(tmp_path, name, line))
            for name, line in (
                ("old", self.line("r", "a", "The pier held.", "Did it hold?")),
                ("new", self.line("r" if ids == "the same ids" else "x", "a", report, question)),
            )
        )
        self.answered(first, study.ada)
        exported(client_of(study.rita), first)
        found = self.answered(second, study.rita)
        assert found.exposed is bool(expected)
        assert [each.units for each in found.exposures.all()] == ([expected] if expected else [])

    def test_an_item_is_recognised_by_its_key_and_texts_or_in_another_batch_by_its_texts(
        self, tmp_path: Path
    ) -> None:
        held, fell = "The pier held.", "The pier fell."
        old, same, changed, moved, other = (
            self.over(self.batch(tmp_path, name, self.line(key, "a", report, "Did it hold?")))
            for name, key, report in (
                ("old", "r", held), ("same", "r", held), ("changed", "r", fell),
                ("moved", "x", held), ("other", "x", fell),
            )
        )  # fmt: skip
        design = Design(raters_per_item=3)
        again = create_campaign("Again", "report-coverage", old.batch, design, pool="open").campaign
        item, asked = old.items.get(), [same, changed, moved, other, again]
        found = sorted(each.campaign.pk for each in _same_items(item, asked))
        assert found == [same.pk, moved.pk, again.pk]
        assert [each.campaign for each in _same_items(item, [moved])] == [moved]
        assert list(_same_items(item, [changed, other])) == []

    def test_a_look_at_an_equal_text_under_another_id_exposes(self, tmp_path: Path) -> None:
        """Two systems gave the same report: a person who saw answers on one answers the other."""
        line = self.line("r", "a", "No answer.", "Did it hold?")
        twin, other = (
            {"id": name, "text": text, "system": name}
            for name, text in (("x", "No answer."), ("y", "It held."))
        )
        batch = self.batch(tmp_path, "twins", {**line, "reports": [*line["reports"], twin, other]})
        campaign = self.over(batch)
        seen, same, different = campaign.items.order_by("position")
        study = make_study()
        self.answered_item(seen, study.ada)
        exported(client_of(study.root), campaign)
        look = Look.objects.get()
        Look.objects.filter(pk=look.pk).update(user=study.rita)
        assert list(
            self.answered_item(same, study.rita).exposures.values_list("look", "units")
        ) == [(look.pk, ["a"])]
        assert self.answered_item(different, study.rita).exposed is False
        again = self.over(self.renamed(batch))
        assert [self.answered_item(each, study.rita).exposed for each in again.items.all()] == [
            True, True, False,
        ]  # fmt: skip
        assert not [*exposure.find_violations(campaign), *exposure.find_violations(again)]

    def renamed(self, batch: Batch) -> Batch:
        """Rename the campaign, so that another one over the same batch can have its name."""
        batch.name += " again"
        return batch

    def line(self, name: str, unit: str, report: str, question: str) -> Line:
        return {
            "id": f"{name}-query",
            "text": "What of the pier?",
            "questions": [{"id": unit, "text": question}],
            "reports": [{"id": name, "text": report, "system": "one"}],
        }

    def batch(self, folder: Path, name: str, line: Line) -> Batch:
        load(folder, [line], name)
        return Batch.objects.get(name=name)

    def answered(self, campaign: Campaign, user: User) -> Response:
        return self.answered_item(campaign.items.get(), user)

    def answered_item(self, item: Item, user: User) -> Response:
        asked = Assignment.objects.create(item=item, rater=rater_of(user), asked=["a"], slot=None)
        sent = {"units": {"a": {"answerable": "no", "evidence": []}}, "comment": None}
        return submit(asked, sent, "page").response


class TestTheLedger:
    def test_repeated_exports_are_one_row_until_there_are_new_answers(self, study: Study) -> None:
        client = client_of(study.rita)
        answer(study, study.ada)
        for _ in range(2):
            exported(client, study.campaign)
            assert Look.objects.count() == 1
        answer(study, study.ben)
        exported(client, study.campaign)
        assert Look.objects.count() == 2

    def test_the_cost_of_a_look_does_not_grow_with_the_answers(self, study: Study) -> None:
        with CaptureQueriesContext(connection) as few:
            self.look(study)
        for user in (study.ada, study.ben):
            for _ in range(2):
                answer(study, user)
        with CaptureQueriesContext(connection) as many:
            self.look(study)
        assert len(few) == len(many) <= 6

    def look(self, study: Study) -> None:
        with ledger.collect_looks() as looks:
            ledger.saw_answers("export", study.campaign)
        ledger.record(study.rita.pk, looks)

    def test_asking_for_an_exports_status_is_no_look(self, study: Study) -> None:
        answer(study, study.ada)
        client = client_of(study.rita)
        client.head(reverse("export-file", args=[study.campaign.pk, "labels", "jsonl"]))
        assert not Look.objects.exists()

    @pytest.mark.first_case
    @pytest.mark.parametrize("what", ["units", "batch"])
    def test_an_export_without_answers_is_no_look(self, study: Study, what: str) -> None:
        answer(study, study.ada)
        exported(client_of(study.rita), study.campaign, what)
        assert not Look.objects.exists()

    def test_answers_that_arrive_during_a_download_count_as_seen(self, study: Study) -> None:
        answer(study, study.ada)
        found = client_of(study.rita).get(
            reverse("export-file", args=[study.campaign.pk, "labels", "jsonl"])
        )
        late = answer(study, study.ben)
        b"".join(found)
        assert [look.upto >= late.pk for look in Look.objects.order_by("pk")] == [False, True]

    def test_fetching_a_computed_result_is_a_look(self, study: Study) -> None:
        answer(study, study.ada)
        with ledger.collect_looks() as computing:
            ledger.saw_figures("report", study.campaign, 6)
        kept = json.loads(json.dumps(computing))
        answer(study, study.ben)
        with ledger.collect_looks() as fetching:
            ledger.deliver(kept)
        ledger.record(study.rita.pk, fetching)
        look = Look.objects.get(user=study.rita)
        assert (look.kind, look.number) == ("report", 6)
        assert look.upto == Response.objects.order_by("pk")[0].pk

    def test_without_a_request_no_look_is_recorded(self, study: Study) -> None:
        with CaptureQueriesContext(connection) as queries:
            ledger.saw_answers("export", study.campaign)
        assert not queries
        assert not ledger.is_collecting()

    def test_an_erased_accounts_looks_name_nobody(self, study: Study) -> None:
        answer(study, study.ada)
        self.look(study)
        study.rita.delete()
        assert Look.objects.get().user is None


class TestTheCheck:
    """`check_invariants` derives the marks again."""

    @pytest.fixture
    def marked(self, study: Study) -> Response:
        answer(study, study.ada)
        exported(client_of(study.rita), study.campaign)
        Look.objects.update(at=timezone.now() - timedelta(minutes=1))
        return answer(study, study.rita)

    def wrong(self, study: Study) -> list[str]:
        return [str(each).partition(": ")[2] for each in exposure.find_violations(study.campaign)]

    def test_marks_follow_from_the_ledger(self, study: Study, marked: Response) -> None:
        answer(study, study.rita)
        answer(study, study.ben)
        assert self.wrong(study) == []
        assert exposure.CHECK in CHECKS

    def test_the_check_finds_a_removed_mark(self, study: Study, marked: Response) -> None:
        marked.exposures.all().delete()
        Response.objects.filter(pk=marked.pk).update(exposed=False)
        (found,) = self.wrong(study)
        assert "revision 1: is not marked on unit q:0 and 2 more" in found

    def test_the_check_finds_a_mark_without_a_look(self, study: Study, marked: Response) -> None:
        Look.objects.update(exposing=False)
        (found,) = self.wrong(study)
        assert "is marked on unit q:0 and 2 more, although no look" in found

    def test_the_check_finds_a_mark_without_evidence(self, study: Study, marked: Response) -> None:
        marked.exposures.all().delete()
        (found,) = self.wrong(study)
        assert found.endswith("is marked as exposed without a look")


def test_a_carried_over_answer_keeps_its_mark(study: Study) -> None:
    unit = answer(study, study.ada).assignment.item.units.get(name="q:1")
    with ledger.collect_looks() as looks:
        ledger.saw_answers("dispute", study.campaign, units=[unit.pk])
    ledger.record(study.rita.pk, looks)
    answer(study, study.rita)
    design = Design(raters_per_item=3)
    made = create_campaign(
        "New",
        "report-coverage",
        study.campaign.batch,
        design,
        continues=study.campaign.name,
        pool="open",
    ).campaign
    carried = Response.objects.filter(assignment__item__campaign=made)
    assert set(carried.values_list("exposed", flat=True)) == {False, True}
    (mark,) = Exposure.objects.filter(response__in=carried)
    assert (mark.kind, mark.units) == ("dispute", ["q:1"])


class TestCountsByPerson:
    def test_exposed_answers_are_counted_by_person_and_kind_of_look(self, study: Study) -> None:
        for _ in range(2):
            answer(study, study.ada)
        with ledger.collect_looks() as looks:
            ledger.saw_answers("dispute", study.campaign)
        ledger.record(study.rita.pk, looks)
        answer(study, study.rita)
        exported(client_of(study.rita), study.campaign)
        answer(study, study.rita)
        Response.objects.filter(assignment__rater=rater_of(study.ada)).update(exposed=None)
        (found,) = exposed_people(study.campaign)
        assert (found.name, found.exposed) == (rater_of(study.rita).name, 2)
        assert found.in_words == "a dispute (2), an export (1)"
        person = person_exposure(study.campaign, rater_of(study.rita).pk)
        assert (person.exposed, person.answers, person.unknown) == (2, 2, 0)
        assert person.kinds == {"a dispute": 2, "an export": 1}
        other = person_exposure(study.campaign, rater_of(study.ada).pk)
        assert (other.exposed, other.kinds, other.answers, other.unknown) == (0, {}, 2, 2)

    def test_practice_and_replaced_answers_do_not_count(self, study: Study) -> None:
        answer(study, study.ada)
        exported(client_of(study.rita), study.campaign)
        mine = answer(study, study.rita)
        Item.objects.filter(pk=mine.assignment.item_id).update(use=Item.Use.PRACTICE)
        assert exposed_people(study.campaign) == []
        assert has_exposed(study.campaign)
        Exposure.objects.all().delete()
        assert not has_exposed(study.campaign)
        assert person_exposure(study.campaign, rater_of(study.rita).pk).answers == 0

    def test_only_current_answers_of_the_campaign_are_counted_as_exposed(
        self, study: Study
    ) -> None:
        unit = answer(study, study.ada).assignment.item.units.get(name="q:1")
        with ledger.collect_looks() as looks:
            ledger.saw_answers("dispute", study.campaign, units=[unit.pk])
        for user in (study.rita, study.ben):
            ledger.record(user.pk, looks)
        batch = study.campaign.batch
        other, third = (
            create_campaign(
                name, "report-coverage", batch, Design(raters_per_item=3), pool="open"
            ).campaign
            for name in ("Other", "Third")
        )
        marked = [answer(study, study.rita), answer(study, study.rita, campaign=other)]
        assert [each.exposed for each in marked] == [True, True]
        again = submit(marked[0].assignment, payload("invalid"), "page").response
        answer(study, study.rita)
        answer(study, study.ben)
        assert exposed_people(study.campaign) == [
            PersonExposure(name, 1, {"a dispute": 1}, 0, 0)
            for name in sorted(rater_of(user).name for user in (study.rita, study.ben))
        ]
        rita = rater_of(study.rita).pk
        assert person_exposure(study.campaign, rita) == (
            PersonExposure("", 1, {"a dispute": 1}, answers=2, unknown=0)
        )
        assert person_exposure(other, rita).answers == 1
        assert [has_exposed(each) for each in (study.campaign, other, third)] == [True, True, False]
        labels = Label.objects.filter(response=again)
        assert exposed_labels(labels) == {labels.get(unit__name="q:1").pk}
        assert dict(exposed_units({again.pk})) == {again.pk: {"q:1"}}

    def test_a_kind_that_is_no_longer_known_keeps_its_name(self) -> None:
        assert ledger.describe("export") == "an export"
        assert ledger.describe("of old") == "of old"


def test_judges_labels_shown_by_the_item_itself_are_no_exposure(tmp_path: Path) -> None:
    validating_cast.judge()
    study = study_of("report-coverage", tmp_path, validating_cast.validating())
    mine = study.campaign.items.get(position=0)
    validating_cast.judged(mine)
    with ledger.collect_looks() as looks:
        ledger.saw_answers("report", study.campaign)
    ledger.record(study.rita.pk, looks)
    assignment = study.assignment(study.rita)
    assert assignment.assisted_by
    given = validating_cast.plain_answer(assignment)
    names = sorted(given)
    assert evidence_against(assignment, names) == []
    validating_cast.judged(mine, rater=validating_cast.judge("Another"))
    with ledger.collect_looks() as looks:
        ledger.saw_answers("report", study.campaign)
    ledger.record(study.rita.pk, looks)
    assert [each.kind for each in evidence_against(assignment, names)] == ["report"]


def test_pairs_are_equal_if_both_texts_are_in_either_order() -> None:
    unit = UnitSpec("pair", "a|b", "Which?")
    texts = {"report:a": "One.", "report:b": "Two."}
    assert _content(unit, texts) == ("pair", "One.", "Two.")
    assert _content(unit, {"report:a": "Two.", "report:b": "One."}) == ("pair", "One.", "Two.")
    assert _content(unit, texts) != _content(unit, {**texts, "report:b": "Three."})


def test_a_look_at_one_raters_answers_covers_only_those_given_by_then(study: Study) -> None:
    def looked(rater: User) -> None:
        with ledger.collect_looks() as looks:
            ledger.saw_answers("flagged", study.campaign, rater=rater_of(rater))
        ledger.record(study.rita.pk, looks)

    mine, names = study.assignment(study.rita), ["q:0", "q:1", "q:2"]
    looked(study.ada)
    answer(study, study.ada)
    looked(study.ben)
    assert evidence_against(mine, names) == []
    looked(study.ada)
    (found,) = evidence_against(mine, names)
    assert found.look == Look.objects.latest("pk").pk
    first, *_ = places = list(_places(mine, names, set()))
    assert [(each.item, each.name) for each in places] == [(mine.item_id, name) for name in names]
    assert set(_answers_of_others(mine, [first], upto=10**9)) == {first.unit}
    assert _answers_of_others(mine, [first], upto=0) == {}
    assert evidence_against(mine, names, before=found.at) == []
    assert evidence_against(mine, names, before=found.at + timedelta(microseconds=1)) == [found]


READS = ("labels/", "responses/", "exports/labels/jsonl/", "report/?resamples=2")


@pytest.mark.parametrize("read", READS)
def test_reading_labels_while_a_campaign_is_closed_by_the_api_marks_later_answers(
    study: Study, read: str
) -> None:
    rita, place = script_of(study.rita), f"campaigns/{study.campaign.pk}/"
    mine = rita.post(f"{place}next/").json()["uid"]
    answer(study, study.ada)
    assert rita.get(f"{place}{read}").status_code == 403
    assert not Look.objects.exists()
    assert rita.post(f"{place}terms/", {"is_open": False}).status_code == 200
    shown = rita.get(f"{place}{read}")
    assert shown.status_code == 200
    assert shown.getvalue()
    assert rita.post(f"{place}terms/", {"is_open": True}).status_code == 200
    sent = rita.put(f"assignments/{mine}/response/", body("no", "no", "no"))
    assert sent.status_code == 201
    assert Response.objects.get(assignment__uid=mine).exposed is True
