"""`campaign_people`: who answers in a campaign; sets members, exclusions and leases."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandError

from annotation.management.base import any_account_called, campaign_called, rater_called
from annotation.models import Campaign, Membership, Rater, User
from annotation.people import membership
from annotation.people.accounts import CampaignRater, campaign_raters
from annotation.people.leases import (
    MAX_LEASE,
    Ended,
    open_assignments,
    release,
    release_expired,
    set_lease,
)
from annotation.people.membership import PeopleError
from annotation.people.shares import share_statuses
from datasets.console import Command as BaseCommand
from datasets.console import refusing


class Command(BaseCommand):
    help = "Show the raters of a campaign, or change members, exclusions and leases by options."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("campaign", metavar="CAMPAIGN", help="the name of the campaign")
        parser.add_argument(
            "--pool",
            choices=Campaign.Pool.values,
            help=membership.POOL_HELP,
        )
        parser.add_argument(
            "--hold", type=int, metavar="MINUTES", help="the length of a lease; 0 for no end"
        )
        parser.add_argument(
            "--items-per-person",
            type=int,
            metavar="N",
            help="the most items for one person; 0 for no limit",
        )
        parser.add_argument("--add", metavar="NAME", help="give this account a role")
        parser.add_argument(
            "--role",
            choices=Membership.Role.values,
            default=Membership.Role.ANNOTATOR.value,
            help="the role that --add gives",
        )
        parser.add_argument(
            "--remove", metavar="NAME", help="remove this account from the campaign"
        )
        parser.add_argument("--exclude", metavar="RATER", help="exclude this rater; needs --reason")
        parser.add_argument("--reason", default="", metavar="TEXT", help="why; the report says it")
        parser.add_argument("--include", metavar="RATER", help="count this rater again")
        parser.add_argument(
            "--free", metavar="RATER", help="release the items reserved for this rater"
        )

    def run(self, **options: Any) -> None:
        campaign = campaign_called(options["campaign"])
        with refusing(PeopleError):
            said = list(_changes(campaign, options))
        for line in said or _facts(campaign):
            self.say(line)


def _changes(campaign: Campaign, options: dict[str, Any]) -> Iterator[str]:
    yield from _settings(campaign, options)
    if name := options["add"]:
        member = membership.add_member(campaign, _account(name), options["role"])
        yield f"{name} is {member.role} in {campaign.name}."
    if name := options["remove"]:
        membership.end_membership(campaign, _account(name))
        yield f"{name} no longer takes part in {campaign.name}."
    if name := options["exclude"]:
        exclusion = membership.exclude(campaign, _rater(name), options["reason"])
        yield f"{name} is excluded from {campaign.name}: {exclusion.reason}"
    if name := options["include"]:
        undone = membership.include(campaign, _rater(name))
        yield f"{name} {'counts again' if undone else 'was not excluded'} in {campaign.name}."
    if name := options["free"]:
        rows = open_assignments(campaign).filter(rater=_rater(name))
        yield f"Freed {sum(release(each, Ended.FREED) for each in rows)} leases of {name}."
    # After --add, so that an account added by the same command keeps its items.
    if options["pool"]:
        membership.set_pool(campaign, options["pool"])
        yield f"The pool of {campaign.name} is {campaign.pool}."


def _settings(campaign: Campaign, options: dict[str, Any]) -> Iterator[str]:
    if (minutes := options["hold"]) is not None:
        if minutes and not 5 <= minutes <= MAX_LEASE:
            raise CommandError(f"--hold is 0, or from 5 to {MAX_LEASE} minutes; correct it.")
        set_lease(campaign, minutes or None)
        release_expired(campaign)
        yield f"Leases last {f'{minutes} minutes' if minutes else 'without end'}."
    if (most := options["items_per_person"]) is not None:
        if most < 0:
            raise CommandError("--items-per-person is 0 or more; correct it.")
        membership.set_most_items(campaign, most or None)
        yield f"One person answers {f'at most {most} items' if most else 'as many as there are'}."


def _account(name: str) -> User:
    return any_account_called(name, "create it, or invite the person")


def _rater(name: str) -> Rater:
    return rater_called(name, "rater", "raters go by the names of exports")


def _facts(campaign: Campaign) -> Iterator[str]:
    hold = f"{campaign.hold_minutes} minutes" if campaign.hold_minutes else "without end"
    most = campaign.items_per_person or "no limit"
    yield f"pool {campaign.pool}; lease {hold}; items per person: {most}"
    for each in campaign.memberships.select_related("user").filter(ended_at=None):
        yield f"member {each.user.username}: {each.role}"
    for share in share_statuses(campaign):
        numbers = f"{share.done} of {share.allotted} items answered"
        yield f"share {share.account}: {share.share:g}, {numbers}"
    yield from map(_line, campaign_raters(campaign))


def _line(each: CampaignRater) -> str:
    out = f"; excluded: {each.excluded.reason}" if each.excluded else ""
    return f"{each.kind} {each.name}: {each.done} answered, {each.held} reserved{out}"
