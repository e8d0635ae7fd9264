"""Adjudication through the API follows the rules of the page, and is as blind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse

from annotation.answers.submission import submit
from annotation.models import Assignment, Decision, Label, Rater, Span, User
from annotation.people.membership import add_member
from annotation.presentation import present, schema
from tandem.protocols.base import name_units
from tests.annotation.adjudication.cast import REASON, SHALOM, Dispute, decided, make_dispute, one
from tests.api.cast import Script, assert_error, script_of
from tests.blind_cast import SECRET, blind_study
from tests.page_cast import TEXT, client_of

pytestmark = pytest.mark.django_db
HIDDEN = ("planted-judge", "hidden-system", "person-", '"ada"', '"ben"', '"cleo"', '"dirk"')


@pytest.fixture
def there() -> Dispute:
    return make_dispute()


@pytest.fixture
def dora(there: Dispute) -> Script:
    return script_of(there.dora)


def queue_of(there: Dispute) -> str:
    return f"campaigns/{there.study.campaign.pk}/adjudication/"


def place(there: Dispute, number: int = 0) -> str:
    return f"{queue_of(there)}{there.units[number].pk}/"


def body(code: str = "no", *quotes: tuple[str, int], **more: Any) -> dict[str, Any]:
    return {"answer": one(code, *quotes), "reason": REASON, "revision": 0, **more}


def test_the_queue_comes_in_pages_in_its_order(there: Dispute, dora: Script) -> None:
    first = dora.get(queue_of(there) + "?page_size=2").json()
    assert first["count"] == 3
    assert [each["unit"] for each in first["results"]] == [u.pk for u in there.units[:2]]
    assert first["results"][0]["splits"] == [{"variable": "answerable", "raters": [1, 1, 1]}]
    (last,) = dora.get(queue_of(there) + "?page_size=2&page=2").json()["results"]
    assert last["unit"] == there.units[2].pk


def test_the_api_filters_the_queue_by_parameters(there: Dispute, dora: Script) -> None:
    decided(there, there.units[0])
    counts = {
        part: dora.get(f"{queue_of(there)}?{part}").json()["count"]
        for part in ("of=people", "of=judges", "state=decided", "variable=answerable")
    }
    assert counts == {"of=people": 1, "of=judges": 1, "state=decided": 1, "variable=answerable": 2}


@pytest.mark.every_case
@pytest.mark.parametrize("part", ["of=x", "variable=nothing", "rater=ada", "state=all"])
def test_an_unknown_part_of_the_queue_is_refused(there: Dispute, dora: Script, part: str) -> None:
    assert_error(dora.get(f"{queue_of(there)}?{part}"), 400)


def test_a_dispute_comes_with_the_labels_of_all_raters(there: Dispute, dora: Script) -> None:
    dispute = dora.get(place(there)).json()
    assert [each["name"] for each in dispute["raters"]] == [f"Rater {x}" for x in "ABCD"]
    said = sorted(each["values"]["answerable"] for each in dispute["raters"])
    assert said == ["invalid", "no", "yes", "yes"]
    spans = [span for each in dispute["raters"] for span in each["spans"]]
    assert len(spans) == 2
    assert all(TEXT[s["start"] : s["end"]] == s["text"] == "Zoë 🛶" for s in spans)
    assert (dispute["revision"], dispute["decisions"]) == (0, [])


def test_a_decision_is_stored(there: Dispute, dora: Script) -> None:
    answer = dora.put(place(there), body("yes", SHALOM))
    assert answer.status_code == 201
    assert answer.json()["own"] is True
    decision = Decision.objects.get()
    (span,) = decision.response.labels.get().spans.all()
    assert (decision.by.user, span.quote) == (there.dora, "שלום לכולם")
    assert dora.get(place(there)).json()["revision"] == 1


def test_overwriting_an_unseen_decision_is_a_conflict_with_the_current_one(
    there: Dispute, dora: Script
) -> None:
    decided(there, there.units[0], "yes", SHALOM, by=there.dirk)
    answer = dora.put(place(there), body())
    assert_error(answer, 409)
    current = answer.json()["current"]
    assert (current["revision"], current["own"]) == (1, False)
    assert current["answer"] == one("yes", SHALOM)
    assert dora.put(place(there), body(revision=1)).status_code == 201


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ({"reason": " "}, 422),
        ({"answer": {"answerable": "yes", "evidence": []}}, 422),
        ({"answer": {"answerable": "perhaps", "evidence": []}}, 422),
        ({"answer": {}}, 422),
        ({"by": "ada"}, 400),
        ({"revision": -1}, 400),
    ],
)
def test_an_invalid_decision_is_refused(
    there: Dispute, dora: Script, sent: dict[str, Any], status: int
) -> None:
    assert_error(dora.put(place(there), {**body(), **sent}), status)
    assert not Decision.objects.exists()


def test_a_dispute_names_no_raters(there: Dispute, dora: Script) -> None:
    decided(there, there.units[0], by=there.dirk)
    answers = [dora.get(queue_of(there)), dora.get(queue_of(there) + "?state=decided")]
    answers += [dora.get(place(there, number)) for number in range(3)]
    answers.append(dora.put(place(there), body()))
    for answer in answers:
        whole = answer.content.decode() + str(answer.headers)
        assert not [name for name in HIDDEN if name in whole]


def test_an_adjudicator_reads_no_exports(there: Dispute, dora: Script) -> None:
    campaign = there.study.campaign.pk
    for what in ("labels", "responses", "report", "people"):
        assert_error(dora.get(f"campaigns/{campaign}/{what}/"), 403)


@pytest.mark.first_case
@pytest.mark.parametrize(
    ("protocol", "variable", "codes", "decided"),
    [
        ("answer-rating", "appropriate", ("1", "4"), "2"),
        ("answer-preference", "preferred", ("first", "second"), "tie-good"),
    ],
)
def test_answers_under_judgement_have_no_names(
    tmp_path: Path, protocol: str, variable: str, codes: tuple[str, str], decided: str
) -> None:
    study = blind_study(protocol, tmp_path, variable)
    item = study.campaign.items.order_by("position")[0]
    spec = present(item)
    units, unit = name_units(spec.units), item.units.order_by("position")[0]
    for code in codes:
        rater = Rater.objects.create(name=f"{SECRET}-{code}")
        made = Assignment.objects.create(item=item, rater=rater, asked=list(units))
        submit(made, {"units": {n: {variable: code} for n in units}, "comment": None}, "api")
    # Only a file can contain such quotes: no page quotes an answer for this variable.
    first, label = spec.texts[0], Label.objects.filter(unit=unit).earliest("pk")
    Span.objects.create(label=label, field=first.field, start=0, end=4, quote=first.text[:4])
    dora = User.objects.create(username="dora", role="annotator")
    add_member(study.campaign, dora, "adjudicator")
    script = script_of(dora)
    address = f"campaigns/{study.campaign.pk}/adjudication/{unit.pk}/"
    response = script.get(address)
    sent = script.put(address, {"answer": {variable: decided}, "reason": "So.", "revision": 0})
    assert (response.status_code, sent.status_code) == (200, 201)
    assert SECRET not in response.content.decode() + sent.content.decode()
    texts = {text["field"]: text["text"] for text in response.json()["texts"]}
    (span,) = [span for each in response.json()["raters"] for span in each["spans"]]
    assert texts[span["field"]] == first.text
    if protocol == "answer-rating":
        issue = texts[response.json()["at_issue"]]
        assert issue.startswith(response.json()["text"].rstrip("…")[:20])
    assert len(schema(study.campaign).variables) == 1


def test_a_passage_beside_an_answer_shows_both_texts_at_issue(tmp_path: Path) -> None:
    study = blind_study("answer-rating", tmp_path, "needed_answer")
    item = study.campaign.items.order_by("position")[0]
    spec = present(item)
    units = name_units(spec.units)
    for code in ("yes", "no"):
        rater = Rater.objects.create(name=f"rater-{code}")
        made = Assignment.objects.create(item=item, rater=rater, asked=list(units))
        given = {name: {"needed_answer": code} for name in units}
        submit(made, {"units": given, "comment": None}, "api")
    dora = User.objects.create(username="dora", role="annotator")
    add_member(study.campaign, dora, "adjudicator")
    texts = {text.field: text.text for text in spec.texts}
    for unit in item.units.order_by("position"):
        address = f"campaigns/{study.campaign.pk}/adjudication/{unit.pk}/"
        response = script_of(dora).get(address)
        assert SECRET not in response.content.decode()
        shown = {text["field"]: text["text"] for text in response.json()["texts"]}
        at_issue = [shown[response.json()[name]] for name in ("at_issue", "beside")]
        assert at_issue == [texts[field] for field in units[unit.name].of]
        page = reverse("adjudication-unit", args=[study.campaign.pk, unit.pk])
        assert client_of(dora).get(page).content.decode().count('class="source at-issue"') == 2
