"""The registry of rules, and the matters that they find in a campaign for an account."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analysis.attention.base import SEVERITIES, Facts, Matter, Rule, facts_of
from analysis.attention.rules import judges, labels, people, schedule
from annotation.access import is_blind
from annotation.exposure.ledger import FEWEST_UNITS, saw_figures
from annotation.models import Campaign, User
from annotation.people.membership import may_manage

RULES: tuple[Rule, ...] = (
    Rule("no-worker", "judges", judges.waiting),
    Rule("paused", "judges", judges.paused),
    Rule("interrupted", "judges", judges.interrupted),
    Rule("deadline", "design", schedule.deadline),
    Rule("nobody", "people", people.no_members),
    Rule("consent", "people", people.consent),
    Rule("odd-rater", "people", people.unusual_people, tells_answers=True),
    Rule("failed-answers", "judges", judges.failed),
    Rule("budget", "judges", judges.budget),
    Rule("low-agreement", "labels", labels.low_agreement, tells_answers=True),
    Rule("below-baseline", "judges", judges.below_baseline, tells_answers=True),
    Rule("disputes", "labels", labels.disputes, tells_answers=True),
    Rule("guideline-changed", "design", labels.guideline_changed),
    Rule("batch-behind", "design", labels.batch_behind),
    Rule("gold-missing", "design", schedule.gold_missing),
    Rule("idle-slots", "people", people.idle),
    Rule("thin-rater", "people", people.too_few_shared_units),
    Rule("complete", "design", schedule.complete),
)


def matters(facts: Facts, manages: bool = True, blind: bool = False) -> list[Matter]:
    """Return the matters that need attention, most urgent first.

    An account that does not manage the campaign gets no actions that change it; one that is `blind`
    does not learn how others answered.
    """
    found = _find_matters(facts, manages, blind)
    return sorted(found, key=lambda matter: SEVERITIES.index(matter.severity))


def _find_matters(facts: Facts, manages: bool, blind: bool) -> Iterator[Matter]:
    for rule in RULES:
        if blind and rule.tells_answers:
            continue
        for each in rule.find(facts):
            actions = tuple(action for action in each.actions if manages or not action.changes)
            yield Matter(rule.code, rule.topic, each.severity, each.text, actions)


def matters_for(user: User, campaign: Campaign, *topics: str) -> list[Matter]:
    """Return the matters that need attention in a readable campaign, and record the look.

    `topics` restricts them.
    """
    (facts,) = facts_of([campaign.pk])
    manages = may_manage(user, campaign.pk)
    found = matters(facts, manages, is_blind(user, campaign))
    shown = [each for each in found if not topics or each.topic in topics]
    note_look(facts, shown)
    return shown


def note_look(facts: Facts, shown: Sequence[Matter]) -> None:
    """Record in the ledger the figures over people's answers that these matters show."""
    revealing = {rule.code for rule in RULES if rule.tells_answers}
    units = [each["units"] for each in (facts.report or {}).get("variables", ())]
    units.append((facts.checks or {}).get("units", 0))
    enough = [number for number in units if number >= FEWEST_UNITS]
    if enough and any(each.code in revealing for each in shown):
        saw_figures("overview", facts.campaign, min(enough))
