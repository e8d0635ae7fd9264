"""Integrity checks accept answers to every protocol that were stored and revised on its page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.db import transaction
from django.db.models import F, Value
from django.db.models.functions import Concat
from django.urls import reverse

from annotation import presentation
from annotation.answers.drafts import save_draft
from annotation.answers.submission import submit
from annotation.integrity import CheckedCounts, violations
from annotation.models import Assignment, Campaign, Label, Rater, Response, Span, User
from annotation.protocols import PROTOCOLS
from datasets.models import Passage, Report
from tests.annotation.answering import good_answer, person
from tests.annotation.follow_cast import answer, coverage, rating
from tests.annotation.validating_cast import judge, validating
from tests.cast import RICH, campaign_of, load, run
from tests.page_cast import client_of, study_of

pytestmark = pytest.mark.usefixtures("db")


def found() -> list[str]:
    return [str(each) for each in violations((), CheckedCounts())]


@contextmanager
def undone() -> Iterator[None]:
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def answered(campaign: Campaign, *people: str) -> list[Assignment]:
    """Each person answers every item on the page, and the first one revises them."""
    rows = [person(item, name) for item in campaign.items.all() for name in people]
    for row in rows:
        payload = {"units": good_answer(row), "comment": None}
        submit(row, payload, "page")
        if row.rater.name == people[0]:
            submit(row, payload | {"comment": "again 🛶"}, "page")
            save_draft(row, payload | {"comment": "and again"}, 0, 2)
    return rows


@pytest.mark.every_case
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_answers_from_the_page_pass_and_a_flipped_label_is_found(
    tmp_path: Path, protocol: str
) -> None:
    load(tmp_path, RICH)
    campaign = campaign_of(protocol, "--raters-per-item", "2")
    answered(campaign, "ann", "ben")
    assert Response.objects.filter(revision=2, current=True).exists()
    assert found() == []
    label = Label.objects.filter(response__assignment__rater__name="ben")[0]
    with undone():
        Label.objects.filter(pk=label.pk).update(value="tampered")
        (line,) = found()
        assert f"is labelled 'tampered', but the answer has {label.value!r}" in line
    span = Span.objects.filter(label__response__current=True).first()
    if span is not None:
        with undone():
            Span.objects.filter(pk=span.pk).update(quote="invented")
            (line,) = found()
            assert line.startswith("evidence: ")


def test_an_import_with_inexact_evidence_passes(batch: Path, tmp_path: Path) -> None:
    """Imported quotes are found folded, joined, nearly or not at all."""
    campaign = campaign_of("report-coverage")
    unit = campaign.items.get(key="r").units.get(name="🌉")
    quotes = [
        "anna LEE\u0301  built it",
        "Anna Lee\u0301 built it 🌉. שלום לכולם! It opened in 1901.",
        "Anna Lee\u0301 bulit it 🌉. It opened in 1901",
        "never written anywhere by anybody",
    ]
    lines = [
        {
            "item": "r", "unit": unit.key, "kind": unit.kind, "variable": "answerable",
            "value": "yes", "rater": f"file {n}", "rater_kind": "human",
            "spans": [{"text": quote}],
        }
        for n, quote in enumerate(quotes)
    ]  # fmt: skip
    path = tmp_path / "labels.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    run("import_labels", path, "--campaign", "c")
    methods = set(Span.objects.values_list("method", flat=True))
    assert methods >= {"folded", "none"}
    assert found() == []
    Span.objects.filter(method="none").update(quote="something else")
    assert len(found()) == 2


def test_campaigns_with_prerequisites_pass(batch: Path) -> None:
    first = coverage(1)
    second = rating()
    for item in first.items.values_list("key", flat=True):
        answer(first, item, "ann", {})
    answered(second, "ann", "ben")
    assert found() == []


def test_confirmed_judges_labels_pass(tmp_path: Path) -> None:
    judge()
    campaign = study_of("rubric-passage", tmp_path, validating()).campaign
    answered(campaign, "ann")
    assert found() == []


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("protocol", "options"),
    [
        ("rubric-passage", ("per_passage=1",)),
        ("rubric-passage", ("sampling=all",)),
        ("report-coverage", ("development=0.3", "order=random")),
    ],
)
def test_sampled_and_shuffled_campaigns_pass(
    batch: Path, protocol: str, options: tuple[str, ...]
) -> None:
    given = [word for option in options for word in ("--option", option)]
    answered(campaign_of(protocol, "--human-share", "0.7", *given), "ann")
    assert found() == []


def test_an_asked_unit_that_the_item_lacks_is_named(batch: Path) -> None:
    campaign = campaign_of("report-coverage")
    row = answered(campaign, "ann")[0]
    Assignment.objects.filter(pk=row.pk).update(asked=[*row.asked, "x"])
    lines = found()
    assert any("asks unit 'x', which its item does not have" in line for line in lines)


def test_answers_to_a_protocol_that_this_version_lacks_are_not_read(batch: Path) -> None:
    """A newer version stored them; without its questions no label can be called wrong."""
    campaign = campaign_of("report-coverage")
    row = answered(campaign, "ann")[0]
    Assignment.objects.filter(pk=row.pk).update(asked=[*row.asked, "x"])
    Campaign.objects.update(protocol="of-tomorrow")
    assert found() == []


def test_evidence_now_found_only_in_another_passage_is_named(batch: Path) -> None:
    """If a quote names its passage, the same words in another passage are not the quoted ones."""
    campaign = campaign_of("key-point-verification", "--option", "points=answers")
    row = person(campaign.items.get(key="r"), "ann")
    quote = {"quote": "It", "start": 0, "field": "passage:p#1"}
    units = {name: {"grounded": "yes", "evidence": [quote]} for name in row.asked}
    submit(row, {"units": units, "comment": None}, "page")
    assert found() == []
    Passage.objects.filter(key="p").update(text="It stands here, too.")
    assert found() == []
    Span.objects.filter(pk=Span.objects.all()[0].pk).update(field="passage:p")
    surplus, lost = found()
    assert surplus.endswith("quotes 'It', but its answer does not")
    assert lost.endswith("its answer quotes 'It', but no span does")


class TestTextsChangedUnderStoredSentences:
    @pytest.fixture
    def changed(self, batch: Path) -> tuple[Campaign, Assignment]:
        """A report whose sentences people are asked about was shortened in the database."""
        campaign = campaign_of("answer-rating", "--option", "variables=support")
        asked = next(
            item for item in campaign.items.all() if item.units.filter(kind="sentence").count() > 1
        )
        row = person(asked, "ann")
        reports = Report.objects.filter(query=asked.query)
        reports.update(text="Short.", sentences=["Short."])
        presentation._specs.clear()
        return campaign, row

    def test_the_page_says_what_is_wrong_and_who_can_fix_it(
        self, changed: tuple[Campaign, Assignment]
    ) -> None:
        _, row = changed
        user = User.objects.create(username="ann", role="annotator")
        Rater.objects.filter(pk=row.rater_id).update(user=user)
        client = client_of(user)
        client.raise_request_exception = False
        answer = client.get(reverse("item", args=[row.uid]))
        assert answer.status_code == 500
        page = answer.content.decode()
        assert "This item has changed" in page
        assert "<code>tandem check</code> names the item" in page
        assert row.item.key not in page
        reply = client.get(reverse("item", args=[row.uid]), headers={"Accept": "application/json"})
        assert "`tandem check` names the item" in reply.json()["error"]

    def test_the_check_names_the_item_and_the_unit(
        self, changed: tuple[Campaign, Assignment]
    ) -> None:
        campaign, row = changed
        (wrong,) = [each for each in found() if row.item.key in each and each.startswith("items")]
        assert wrong.startswith(f"items: campaign {campaign.name}, item {row.item.key}: asks unit ")
        assert wrong.endswith("which its texts no longer have")

    def test_an_item_that_the_batch_lost_is_named_as_well(self, batch: Path) -> None:
        campaign = campaign_of("report-coverage")
        item = campaign.items.first()
        assert item is not None
        assert found() == []
        Report.objects.filter(query=item.query).update(key=Concat(F("key"), Value("-renamed")))
        assert (
            f"items: campaign {campaign.name}, item {item.key}: its batch no longer gives it"
            in (found())
        )
