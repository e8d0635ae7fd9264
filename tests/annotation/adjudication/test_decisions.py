"""A decision becomes the Reference's label, with reason, author and time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from annotation.adjudication.decisions import (
    REFERENCE_NAME,
    Case,
    NotYoursError,
    Quote,
    RaterAnswer,
    decide,
    find_case,
    is_by,
    rater_answers,
)
from annotation.adjudication.disputes import adjudicable
from annotation.answers.submission import Circumstances, submit
from annotation.answers.types import ConflictError
from annotation.assignments.queue import next_assignment
from annotation.campaign_setup.creation import create_campaign
from annotation.campaigns.design import Design
from annotation.exports.references import COLUMNS, references
from annotation.exposure import ledger
from annotation.models import Assignment, Decision, Label, Rater, Response, Span, User, rater_of
from annotation.people.accounts import forget
from annotation.people.invitations import invite, join
from annotation.people.membership import (
    PeopleError,
    add_member,
    end_membership,
    has_decided,
    readable,
    workable,
)
from audit.models import Event
from datasets.models import Batch
from tandem.protocols.validation import RefusedError
from tests.annotation.adjudication.cast import (
    BOAT,
    REASON,
    SHALOM,
    Dispute,
    decided,
    make_dispute,
    one,
)
from tests.cast import exported, run, write_lines
from tests.once import once
from tests.page_cast import TEXT

pytestmark = pytest.mark.django_db


@once
def there() -> Dispute:
    return make_dispute()


def test_a_decision_is_a_label_of_the_reference_with_evidence(there: Dispute) -> None:
    outcome = decided(there, there.units[0], "yes", SHALOM)
    (label,) = outcome.response.labels.all()
    assert (label.unit, label.variable, label.value) == (there.units[0], "answerable", "yes")
    (span,) = label.spans.all()
    assert TEXT[span.start : span.end] == span.quote == "שלום לכולם"
    rater = outcome.response.assignment.rater
    assert (rater.name, rater.kind, rater.user) == (REFERENCE_NAME, "reference", None)


def test_a_decisions_assignment_asks_for_its_unit_only(there: Dispute) -> None:
    """An import may contain an answer of the Reference as replicate 1."""
    first, second, _ = there.units
    reference = Rater.objects.create(name=REFERENCE_NAME, kind="reference")
    brought = Assignment.objects.create(
        item=there.item, rater=reference, replicate=1, scope=first.name, asked=[first.name]
    )
    for unit in (first, second):
        decided(there, unit)
    made = Assignment.objects.filter(rater=reference).exclude(pk=brought.pk).order_by("pk")
    stored = [(each.item, each.scope, each.asked, each.shown, each.replicate) for each in made]
    assert stored == [(there.item, unit.name, [unit.name], [], 0) for unit in (first, second)]
    for unit in (first, second):
        case = find_case(there.dora, there.study.campaign, unit.pk)
        assert case is not None
        assert [list(each.labels.values_list("unit", flat=True)) for each in case.history] == [
            [unit.pk]
        ]


def test_a_decisions_history_is_that_of_its_unit_and_the_reference(there: Dispute) -> None:
    unit, campaign = there.units[0], there.study.campaign
    stored = decided(there, unit).response
    reference, other = stored.assignment.rater, campaign.items.get(position=1)
    for item, rater in ((other, reference), (there.item, there.judge)):
        fields = {"item": item, "rater": rater, "scope": unit.name, "asked": [unit.name]}
        made = Assignment.objects.create(**fields)
        Response.objects.create(assignment=made, payload={}, door="import")
    case = find_case(there.dora, campaign, unit.pk)
    assert case is not None
    assert case.history == (stored,)
    elsewhere = create_campaign("Other", "report-coverage", campaign.batch, Design()).campaign
    assert find_case(there.dora, elsewhere, unit.pk) is None


def test_every_raters_answer_is_shown_with_quotes_and_comment(there: Dispute) -> None:
    """Ada's quotes come in the order of her labels, even from a text that no longer exists."""
    case = find_case(there.dora, there.study.campaign, there.units[0].pk)
    assert case is not None
    of_ada = Response.objects.get(assignment__rater__user=there.study.ada)
    more = Label.objects.create(response=of_ada, unit=case.unit, variable="about", value="1")
    Span.objects.create(label=more, field="gone", quote="no such words")
    of_cleo = Label.objects.filter(response__assignment__rater__user=there.cleo, unit=case.unit)
    of_cleo.update(variable="about")
    said = rater_answers(case)
    assert [each.name for each in said] == ["Rater A", "Rater B", "Rater C", "Rater D"]
    boat = [Quote("report", 0, 5, BOAT[0])]
    hers = [*boat, Quote("", None, None, "no such words")]
    unnamed = [replace(each, name="") for each in said]
    assert sorted(unnamed, key=lambda each: (str(each.values), each.comment)) == [
        RaterAnswer("", {"answerable": "no"}, [], ""),
        RaterAnswer("", {"answerable": "yes"}, boat, ""),
        RaterAnswer("", {"answerable": "yes"}, hers, "hard to say"),
        RaterAnswer("", {}, [], ""),
    ]


def test_the_letters_of_raters_are_drawn_anew_for_each_unit(there: Dispute) -> None:
    """Otherwise who decides would learn in one unit whom to believe in the next."""
    letters = set()
    for unit in there.units:
        case = find_case(there.dora, there.study.campaign, unit.pk)
        assert case is not None
        (ada,) = (each for each in rater_answers(case) if each.comment == "hard to say")
        letters.add(ada.name)
    assert len(letters) > 1


def test_opening_a_dispute_records_a_look_at_its_answers(there: Dispute) -> None:
    with ledger.collect_looks() as notes:
        find_case(there.dora, there.study.campaign, there.units[1].pk)
    looks = [(each["kind"], each["scope"]) for each in notes]
    assert looks == [("dispute", {"units": [there.units[1].pk]})]


def test_a_decision_records_the_adjudicator_and_the_reason(there: Dispute) -> None:
    outcome = decided(there, there.units[0])
    decision = Decision.objects.get()
    assert (decision.by.user, decision.response.comment) == (there.dora, REASON)
    assert decision.response == outcome.response


def test_an_escape_can_be_decided(there: Dispute) -> None:
    decided(there, there.units[0], "invalid")
    assert Label.objects.get(response__decision__isnull=False).value == "invalid"


def test_changing_a_decision_keeps_the_earlier_one(there: Dispute) -> None:
    unit = there.units[0]
    decided(there, unit, "yes")
    decided(there, unit, "no", seen=1, by=there.dirk, reason="On second thoughts, no.")
    case = find_case(there.dora, there.study.campaign, unit.pk)
    assert case is not None
    history = [(each.decision.by.user, each.comment, each.current) for each in case.history]
    assert history == [
        (there.dirk, "On second thoughts, no.", True),
        (there.dora, REASON, False),
    ]


def test_a_new_reason_makes_a_new_decision(there: Dispute) -> None:
    unit = there.units[0]
    decided(there, unit)
    assert decided(there, unit, seen=1, reason="Because.").created
    assert not decided(there, unit, seen=2, reason="Because.").created


@pytest.mark.first_case
@pytest.mark.parametrize("code", ["yes", "no"])
def test_the_second_of_two_simultaneous_adjudicators_gets_a_conflict(
    there: Dispute, code: str
) -> None:
    """This holds even for equal decisions, since the second one's reason would be lost."""
    decided(there, there.units[0], "yes", by=there.dora)
    with pytest.raises(ConflictError):
        decided(there, there.units[0], code, by=there.dirk, reason="Mine.")
    assert Decision.objects.get().by.user == there.dora


def test_a_decision_without_a_seen_revision_counts_as_having_seen_none(there: Dispute) -> None:
    case = find_case(there.dora, there.study.campaign, there.units[0].pk)
    assert case is not None
    payload = {"units": {"q:0": one("no")}, "comment": REASON}
    assert decide(case, there.dora, payload, Circumstances(), "page").created
    with pytest.raises(ConflictError):
        decide(case, there.dora, payload | {"comment": "Anew."}, Circumstances(), "page")


def test_a_decision_that_is_sent_twice_is_stored_once(there: Dispute) -> None:
    first = decided(there, there.units[0], key="k")
    again = decided(there, there.units[0], key="k")
    assert (again.response, again.created) == (first.response, False)
    assert Decision.objects.count() == 1


def test_reusing_a_key_for_another_decision_is_refused(there: Dispute) -> None:
    decided(there, there.units[0], "yes", key="k")
    with pytest.raises(RefusedError, match="another decision"):
        decided(there, there.units[0], "no", key="k", seen=1)


def test_the_audit_trail_records_a_decision_without_its_text(there: Dispute) -> None:
    decided(there, there.units[0])
    decided(there, there.units[0], "no", seen=1, reason="On second thoughts, no.")
    events = Event.objects.filter(event__startswith="adjudication").order_by("pk")
    assert [each.event for each in events] == ["adjudication.decided", "adjudication.changed"]
    assert [each.facts for each in events] == [{"revision": 1}, {"revision": 2}]
    assert events[0].after == events[1].before != events[1].after


@pytest.mark.parametrize("reason", [None, ""])
def test_a_decision_requires_a_reason(there: Dispute, reason: str | None) -> None:
    with pytest.raises(RefusedError, match="give the reason"):
        decided(there, there.units[0], reason=reason)


def test_a_decision_owes_evidence_like_a_raters_answer(there: Dispute) -> None:
    with pytest.raises(RefusedError):
        decided(there, there.units[0], "yes", ("not in the text", 0))
    assert not Assignment.objects.filter(rater__kind="reference").exists()


def test_a_rater_of_the_unit_cannot_decide_on_it(there: Dispute) -> None:
    add_member(there.study.campaign, there.study.ada, "adjudicator")
    assert find_case(there.study.ada, there.study.campaign, there.units[0].pk) is None


def test_a_rater_of_another_unit_can_decide_on_this_one(there: Dispute) -> None:
    other = there.study.campaign.items.get(position=1)
    rater = rater_of(there.dora)
    theirs = Assignment.objects.create(item=other, rater=rater, asked=["q:0", "q:1", "q:2"])
    units = {name: one("no") for name in theirs.asked}
    submit(theirs, {"units": units, "comment": None}, "api")
    assert decided(there, there.units[0]).created


def test_an_adjudicator_of_another_campaign_may_label_here(there: Dispute) -> None:
    decided(there, there.units[0])
    other = create_campaign("Other", "report-coverage", Batch.objects.get(), Design()).campaign
    assert has_decided(there.dora, there.study.campaign)
    assert not has_decided(there.dora, other)
    assert not has_decided(there.dirk, there.study.campaign)
    add_member(other, there.dora, "annotator")
    assert workable(there.dora).get() == other
    assert next_assignment(other, rater_of(there.dora))


def test_an_adjudicator_who_labels_the_unit_meanwhile_cannot_decide(there: Dispute) -> None:
    case = find_case(there.dora, there.study.campaign, there.units[0].pk)
    dora = Rater.objects.create(name="person-dora", user=there.dora)
    mine = Assignment.objects.create(item=there.item, rater=dora, asked=["q:0"])
    payload = {"units": {"q:0": one("no")}, "comment": None}
    submit(mine, payload, "api")
    with pytest.raises(NotYoursError):
        decide_now(there, case)


def test_an_adjudicator_whose_role_ended_meanwhile_cannot_decide(there: Dispute) -> None:
    case = find_case(there.dora, there.study.campaign, there.units[0].pk)
    end_membership(there.study.campaign, there.dora)
    with pytest.raises(NotYoursError):
        decide_now(there, case)
    assert not Decision.objects.exists()


def test_an_adjudicator_who_decided_gets_no_items_of_the_campaign(there: Dispute) -> None:
    campaign, dora, dirk = there.study.campaign, there.dora, there.dirk
    decided(there, there.units[0])
    made = invite("annotator", campaign, by=there.study.rita)
    with pytest.raises(PeopleError, match="has seen the labels of others"):
        add_member(campaign, dora, "annotator")
    with pytest.raises(PeopleError, match="has seen the labels of others"):
        join(made.invitation, dora)
    # The request remains. The second account decided nothing and may be named by mistake.
    join(made.invitation, dirk)
    assert {user.username for user in (dora, dirk) if campaign in workable(user)} == {"dirk"}
    assert campaign in adjudicable(dora)


def test_a_researcher_who_decided_may_read_but_not_label(there: Dispute) -> None:
    campaign = there.study.campaign
    rosa = User.objects.create(username="rosa", role="researcher")
    add_member(campaign, rosa, "adjudicator")
    decided(there, there.units[0], by=rosa)
    add_member(campaign, rosa, "researcher")
    assert campaign in readable(rosa)
    assert campaign not in workable(rosa)
    assert next_assignment(campaign, rater_of(rosa)) is None
    assert next_assignment(campaign, rater_of(there.study.rita)) is not None


def decide_now(there: Dispute, case: Case | None) -> None:
    assert case is not None
    payload = {"units": {"q:0": one("no")}, "comment": REASON}
    decide(case, there.dora, payload, Circumstances(seen=0), "page")


def test_an_undisputed_unit_cannot_be_opened(there: Dispute) -> None:
    agreed = there.study.campaign.items.get(position=1).units.first()
    assert agreed is not None
    assert find_case(there.dora, there.study.campaign, agreed.pk) is None


def test_a_decided_unit_can_still_be_opened_after_the_dispute_ends(there: Dispute) -> None:
    decided(there, there.units[0])
    Response.objects.filter(assignment__rater__user__in=[there.study.ada, there.cleo]).update(
        current=False
    )
    assert find_case(there.dora, there.study.campaign, there.units[0].pk) is not None


def test_the_reference_gets_a_number_if_its_name_is_taken(there: Dispute) -> None:
    Rater.objects.create(name=REFERENCE_NAME)
    rater = decided(there, there.units[0]).response.assignment.rater
    assert (rater.name, rater.kind) == (f"{REFERENCE_NAME}-2", "reference")


def test_the_export_of_decisions_has_a_line_for_each_label(there: Dispute) -> None:
    first, second, _ = there.units
    decided(there, second, "no")
    decided(there, first, "yes", BOAT)
    decided(there, first, "yes", SHALOM, seen=1, reason="Better so.")
    (one_line, other) = exported("Pilot", "references")
    assert tuple(one_line) == COLUMNS
    assert one_line["spans"] == [{"field": "report", "start": 88, "end": 98, "text": "שלום לכולם"}]
    rows = [(line["unit"], line["value"], line["reason"], line["revision"])
            for line in (one_line, other)]  # fmt: skip
    assert rows == [("q:0", "yes", "Better so.", 2), ("q:1", "no", REASON, 1)]
    assert one_line["decided_by"] == Rater.objects.get(user=there.dora).name != "dora"
    assert list(references(there.study.campaign)) == [one_line, other]


def test_the_labels_file_has_decisions_as_labels_of_a_reference(there: Dispute) -> None:
    decided(there, there.units[0], "no")
    (line,) = [x for x in exported("Pilot", "labels") if x["rater_kind"] == "reference"]
    assert (line["rater"], line["unit"], line["value"]) == (REFERENCE_NAME, "q:0", "no")


def test_a_decision_replaced_by_an_import_can_be_decided_again(
    there: Dispute, tmp_path: Path
) -> None:
    """The labels file has neither a reason nor an adjudicator, so the unit is open again."""
    unit = there.units[0]
    decided(there, unit, "no")
    (line,) = [x for x in exported("Pilot", "labels") if x["rater_kind"] == "reference"]
    path = write_lines(tmp_path / "l.jsonl", [{**line, "value": "invalid", "revision": 2}])
    run("import_labels", path, "--campaign", "Pilot")
    case = find_case(there.dora, there.study.campaign, unit.pk)
    assert case is not None
    assert (case.revision, [is_by(each, there.dora) for each in case.history]) == (2, [None, True])
    assert decided(there, unit, "no", seen=2).created


def test_the_command_counts_the_open_disputes(there: Dispute) -> None:
    decided(there, there.units[0])
    output = run("disputes", "--campaign", "Pilot")
    assert "2 units to decide" in output
    assert "1 decided" in output
    assert "1 unit to decide" in run("disputes", "--campaign", "Pilot", "--of", "judges")


def test_a_decision_stays_when_its_adjudicators_account_is_erased(there: Dispute) -> None:
    decided(there, there.units[0])
    name = forget(there.dora)
    decision = Decision.objects.get()
    assert decision.by.name == name != "dora"
    assert decision.by.user is None
