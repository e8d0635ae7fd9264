"""Rules about people: no members, unusual labels, too few shared units, idle slots."""

from __future__ import annotations

from collections.abc import Iterator

from analysis.attention.base import Action, Facts, Finding, count
from annotation.models import Campaign
from annotation.presentation import schema
from annotation.progress.flags import TITLES
from tandem.document import join_words
from tandem.sections.verdict import THIN

FAR_OFF = "rater_far_off"


def no_members(facts: Facts) -> Iterator[Finding]:
    """Find an open campaign that only members may answer, and that has no member."""
    campaign = facts.campaign
    closed_pool = campaign.pool == Campaign.Pool.NAMED
    if campaign.takes_answers and closed_pool and not facts.members and facts.places.open:
        invite = Action("Add people", "campaign-people", (campaign.pk,), {"add": 1}, changes=True)
        text = "Only members may answer, and nobody is a member."
        yield Finding("warning", text, (invite,))


def unusual_people(facts: Facts) -> Iterator[Finding]:
    """Find people whose labels differ from the others', or whose work has quality flags."""
    for name, reasons in _reasons(facts).items():
        labels = (facts.report or {}).get("people", {}).get(name)
        key = facts.rater_keys.get(name)
        why = "; ".join(reasons)
        text = f"{name} ({count(labels, 'label')}): {why}." if labels else f"{name}: {why}."
        yield Finding("warning", text, _look(facts.campaign, key))


def _reasons(facts: Facts) -> dict[str, list[str]]:
    report = facts.report or {}
    far: dict[str, list[str]] = {}
    for warning in report.get("warnings", ()):
        if warning["code"] == FAR_OFF and warning["rater"] in report["people"]:
            far.setdefault(warning["rater"], []).append(warning["variable"])
    several = len(report.get("variables", ())) > 1
    reason = "agrees less with the others than they do with each other"
    found = {
        name: [f"{reason} on {join_words(of)}" if several else reason] for name, of in far.items()
    }
    for flag in (facts.checks or {}).get("flags", ()):
        # A worker of another version may have stored flags that are unknown here.
        if flag["code"] not in TITLES:
            continue
        # The report already says so, on the basis of all labels.
        if flag["code"] == "apart" and flag["name"] in found:
            continue
        title = TITLES[flag["code"]]
        title = title[:1].lower() + title[1:]
        reasons = found.setdefault(flag["name"], [])
        if title not in reasons:
            reasons.append(title)
    return found


def _look(campaign: Campaign, rater: int | None) -> tuple[Action, ...]:
    if rater is None:
        return (Action("Look", "campaign-progress", (campaign.pk,), anchor="quality-head"),)
    of = (campaign.pk, rater)
    return (
        Action("Look", "campaign-rater", of),
        Action("Exclude", "campaign-rater", of, anchor="out-head", changes=True),
    )


def too_few_shared_units(facts: Facts) -> Iterator[Finding]:
    """Find people who share too few units with anyone to measure agreement."""
    odd_ones = _reasons(facts)
    names = sorted(
        {
            name
            for variable in (facts.report or {}).get("variables", ())
            for name in variable["thin"]
            if name not in odd_ones
        }
    )
    if names:
        who = names[0] if len(names) == 1 else f"{len(names)} people"
        verb = "shares" if len(names) == 1 else "share"
        noun = schema(facts.campaign).noun[1]
        text = f"{who} {verb} fewer than {THIN} {noun} with anybody, too few to say how they agree."
        look = Action("Look", "campaign-progress", (facts.campaign.pk,), anchor="people-head")
        yield Finding("hint", text, (look,))


def consent(facts: Facts) -> Iterator[Finding]:
    """Find people who answered and have not agreed to the campaign's consent text."""
    if number := facts.unconsented:
        who = "1 person has" if number == 1 else f"{number} people have"
        text = f"{who} answered without a valid consent: not given, or revoked."
        people = Action("People", "campaign-people", (facts.campaign.pk,))
        yield Finding("warning", text, (people,))


def idle(facts: Facts) -> Iterator[Finding]:
    """Find slots that have been reserved for a week."""
    if facts.idle and facts.campaign.takes_answers:
        text = f"{count(facts.idle, 'slot')} {'has' if facts.idle == 1 else 'have'} been reserved"
        release = Action(
            "Release", "campaign-people", (facts.campaign.pk,), anchor="answering", changes=True
        )
        yield Finding("hint", f"{text} for a week or longer, without an answer.", (release,))
