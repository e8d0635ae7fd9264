"""Give what exists to teams: to the account that the audit trail names, else to the administrators.

A site on which only one account could have created anything gets one team, and notices nothing.
Annotators join the teams in whose campaigns they work. Where a team's campaign uses the batch or the
judge of another team, these are shared, so that running studies go on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from django.db import migrations, models

from audit.seals import hold_off_sealing

MADE = ("batch.loaded", "batch.derived", "campaign.made", "judge.made")
READERS = ("researcher", "admin")


def give_owners(apps: Any, schema_editor: Any) -> None:
    Owners(apps).give()


class Owners:
    """The teams of an upgraded site, over the models as they were at this migration."""

    def __init__(self, apps: Any) -> None:
        def model(name: str) -> Any:
            return apps.get_model(name)._default_manager

        self.teams, self.members = model("datasets.Team"), model("datasets.TeamMember")
        self.users, self.events = model("annotation.User"), model("audit.Event")
        self.uploads = model("datasets.Upload")
        self.batches, self.batch_shares = model("datasets.Batch"), model("datasets.BatchShare")
        self.campaigns, self.judges = model("annotation.Campaign"), model("judging.Judge")
        self.judge_shares, self.runs = model("judging.JudgeShare"), model("judging.JudgeRun")
        self.keys, self.key_shares = model("judging.Key"), model("judging.KeyShare")
        self.prices, self.memberships = model("judging.Price"), model("annotation.Membership")
        self.assignments = model("annotation.Assignment")
        makers = self.users.filter(role__in=READERS, is_guest=False)
        self.makers = {user.pk: user for user in makers.order_by("pk")}
        self.owned_by: dict[int, Any] = {}
        self.rest: Any = None

    def give(self) -> None:
        owned = {
            "batch": self.batches.order_by("pk"),
            "campaign": self.campaigns.order_by("pk"),
            "judge": self.judges.filter(base=None).order_by("pk"),
        }
        if not any(rows.exists() for rows in (*owned.values(), self.prices.all())):
            self._begin_anew()
            return
        hold_off_sealing()
        trail = self._trail()
        for kind, rows in owned.items():
            for each in rows.iterator():
                self._give(kind, each, trail.get((kind, str(each.pk))))
        for judge in self.judges.exclude(base=None).select_related("base"):
            self.judges.filter(pk=judge.pk).update(
                team=judge.base.team_id, made_by=judge.base.made_by_id
            )
        self._join_people()
        self._share()
        self._give_keys()
        self._copy_prices()

    def _begin_anew(self) -> None:
        """Everybody is in the one team of a site that has nothing yet."""
        people = self.users.filter(is_guest=False).exclude(role="admin").order_by("pk")
        if people:
            roles = iter(("owner",))
            team = self.teams.create(name="main")
            for user in people:
                researches = user.role == "researcher"
                role = next(roles, "manager") if researches else "member"
                self.members.create(team=team, user=user, role=role)

    def _trail(self) -> dict[tuple[str, str], int]:
        """Return the accounts that created what there is, by kind and id."""
        known = self.events.filter(event__in=MADE, who__isnull=False).order_by("pk")
        found = {
            (kind, key): who for kind, key, who in known.values_list("object_kind", "object_id", "who")
        }
        # A worker loads an upload; its person is named by the event of the upload.
        for batch, user in self.uploads.filter(batch__isnull=False).values_list("batch", "user"):
            found.setdefault(("batch", str(batch)), user)
        return found

    def _give(self, kind: str, each: Any, who: int | None) -> None:
        if not self.users.filter(pk=who).exists():
            who = None
        team = self._team_of(who)
        type(each)._default_manager.filter(pk=each.pk).update(team=team, made_by=who)
        campaign = each.pk if kind == "campaign" else None
        self._record("team.given", kind, each.pk, campaign, team=team.pk, maker=who)

    def _team_of(self, who: int | None) -> Any:
        if len(self.makers) == 1:
            (who,) = self.makers
        if who in self.makers:
            if who not in self.owned_by:
                user = self.makers[who]
                team = self.owned_by[who] = self.teams.create(name=self._free(user.username))
                self.members.create(team=team, user=user, role="owner")
            return self.owned_by[who]
        return self._rest()

    def _rest(self) -> Any:
        if self.rest is None:
            self.rest = self.teams.create(name=self._free("administrators"))
        return self.rest

    def _free(self, name: str) -> str:
        taken = set(self.teams.values_list("name", flat=True))
        taken |= set(self.users.values_list("username", flat=True)) - {name}
        return next(n for n in (name, *(f"{name[:145]}-{i}" for i in range(2, 999))) if n not in taken)

    def _join_people(self) -> None:
        """Let people go on: who works in a team's campaigns joins it, and may read no more."""
        people = self.users.filter(is_guest=False, is_active=True).exclude(role="admin")
        outside = [
            user
            for user in people.filter(role="researcher")
            if user.pk not in self.owned_by and len(self.makers) > 1
        ]
        if outside:
            self._rest()
        worked = self._worked()
        for user in people.order_by("pk"):
            if user.role == "researcher":
                if self.rest is not None:
                    self._join(self.rest, user)
                self._keep_work(user, worked[user.pk])
                continue
            teams = {campaign.team_id for campaign in worked[user.pk]}
            teams = teams or {(self.rest or self._single() or self._nowhere()).pk}
            for team in self.teams.filter(pk__in=teams):
                self._join(team, user)

    def _nowhere(self) -> Any:
        """Hold the accounts that belong nowhere, so that administrators find them."""
        return self._rest()

    def _single(self) -> Any:
        teams = list(self.teams.all()[:2])
        return teams[0] if len(teams) == 1 else None

    def _worked(self) -> dict[int, list[Any]]:
        rows = self.assignments.filter(rater__user__isnull=False, slot__isnull=False)
        pairs = rows.order_by().values_list("rater__user", "item__campaign").distinct()
        campaigns = {campaign.pk: campaign for campaign in self.campaigns.all()}
        found: dict[int, list[Any]] = defaultdict(list)
        for user, campaign in pairs:
            found[user].append(campaigns[campaign])
        return found

    def _join(self, team: Any, user: Any) -> None:
        self.members.get_or_create(team=team, user=user, defaults={"role": "member"})

    def _keep_work(self, user: Any, campaigns: Iterable[Any]) -> None:
        """Let a researcher go on in the campaigns of another team, and in no others of it."""
        for campaign in campaigns:
            if not self.members.filter(team=campaign.team_id, user=user).exists():
                self.memberships.get_or_create(
                    campaign=campaign, user=user, defaults={"role": "researcher"}
                )

    def _share(self) -> None:
        for campaign in self.campaigns.select_related("batch"):
            if campaign.team_id != campaign.batch.team_id:
                self._share_one(self.batch_shares, "batch", campaign.batch, campaign, "read")
        runs = self.runs.filter(judge__base=None).exclude(judge__team=models.F("campaign__team"))
        for run in runs.select_related("judge", "campaign"):
            self._share_one(self.judge_shares, "judge", run.judge, run.campaign, "manage")

    def _share_one(self, shares: Any, kind: str, of: Any, campaign: Any, right: str) -> None:
        _, new = shares.get_or_create(
            of=of, team_id=campaign.team_id, defaults={"right": right}
        )
        if new:
            self._record("team.shared", kind, of.pk, None, team=campaign.team_id, right=right)

    def _give_keys(self) -> None:
        """The team whose judge first used a key has it, and others whose judges use it, too."""
        used = self.judges.filter(base=None).exclude(api_key_env="").order_by("pk")
        for variable, team, maker in used.values_list("api_key_env", "team", "made_by"):
            key, _ = self.keys.get_or_create(
                variable=variable, defaults={"team_id": team, "made_by_id": maker}
            )
            if key.team_id != team:
                self.key_shares.get_or_create(
                    of=key, team_id=team, defaults={"right": "manage"}
                )

    def _copy_prices(self) -> None:
        """Prices were everybody's: each team gets them."""
        first, *others = self.teams.order_by("pk") or [self._rest()]
        for price in self.prices.all():
            self.prices.filter(pk=price.pk).update(team=first)
            for team in others:
                price.pk, price.team = None, team
                price.save(force_insert=True)

    def _record(self, event: str, kind: str, key: int, campaign: int | None, **facts: Any) -> None:
        self.events.create(
            event=event,
            campaign=campaign,
            object_kind=kind,
            object_id=str(key),
            address="command",
            facts=facts,
        )


class Migration(migrations.Migration):
    dependencies = [
        ("audit", "0001_initial"),
        ("annotation", "0017_teams"),
        ("datasets", "0010_teams"),
        ("judging", "0008_teams"),
    ]

    operations = [migrations.RunPython(give_owners, migrations.RunPython.noop)]
