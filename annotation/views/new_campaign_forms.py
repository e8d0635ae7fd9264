"""The forms of a new campaign: its task, then its design.

They show only the options of the protocol, under the command's names. An error in the design is
shown at the field that caused it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from django import forms

from annotation.campaign_setup.dry_run import MOST_PEOPLE
from annotation.campaign_setup.expected_widths import Assumptions
from annotation.campaigns.design import Design, read_pairs
from annotation.models import Campaign, User
from annotation.people.membership import readable, readable_judges
from annotation.prerequisites import RULES
from annotation.protocol_files import task_called, task_name
from annotation.protocols import PROTOCOLS
from annotation.protocols.base import Protocol
from annotation.protocols.items import CITATION
from annotation.views.settings_forms import SettingsForm
from datasets.access import TeamError, managed_teams, team_for, visible_batches
from datasets.models import Batch, Team
from datasets.option_fields import form_fields, set_choices, set_rows
from tandem.options import Option, options_of, values_of
from tandem.protocols.base import kinds_of
from tandem.protocols.schema import Schema

DESIGN = tuple(option.on_page for option in options_of(Design))
ASSUMED = options_of(Assumptions)


class TaskForm(forms.Form):
    """The task and the batch of a new campaign, on which the rest of its form depends.

    The cleaned `protocol` is a `Protocol`: of the site, or of the team that the campaign is for.
    """

    protocol = forms.CharField(label="Task", max_length=100)
    batch = forms.ModelChoiceField(Batch.objects.none(), empty_label=None, to_field_name="name")
    team = forms.CharField(required=False)

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user
        set_rows(self, "batch", visible_batches(user))

    def clean(self) -> dict[str, Any]:
        found = self.cleaned_data
        name, batch = found.get("protocol", ""), found.get("batch")
        if name in PROTOCOLS:
            found["protocol"] = PROTOCOLS[name]
        elif name and batch is not None:
            team = default_team(self.user, batch, found.get("team") or "")
            task = task_called(name, team)
            if task is None or task.stored is None:
                self.add_error("protocol", "Choose one of the tasks.")
            found["protocol"] = task
        return found


def default_team(user: User, batch: Batch, name: str = "") -> Team | None:
    """Return the team that a campaign over a batch would be for; None before one is chosen."""
    try:
        return team_for(user, name, like=batch.team)
    except TeamError:
        return None


class CampaignForm(SettingsForm):
    """A new campaign; `design` and `settings` read a valid form."""

    SEVERAL = tuple(option.name for option in DESIGN if option.kind == "names")
    """The fields with several values."""
    name = forms.CharField(max_length=200, help_text="Unique among campaigns; people see it.")
    pool = forms.ChoiceField(
        label="Who takes part",
        required=False,
        choices=Campaign.Pool.choices,
        initial=Campaign.pool.field.get_default(),
        widget=forms.RadioSelect,
        help_text="You add people once the campaign is created. It can be opened to all later.",
    )
    raters_per_item = forms.IntegerField(
        label="People per item",
        min_value=0,
        max_value=1000,
        initial=2,
        help_text="Agreement needs at least two. 0: only judges are asked.",
    )
    overlap = forms.FloatField(
        label="Overlap",
        initial=1,
        min_value=0,
        max_value=1,
        help_text="Share of items that get all these people. The other items get one person. "
        "0.1 measures agreement cheaply.",
    )
    human_share = forms.FloatField(
        label="Share of queries for people",
        initial=1,
        min_value=0,
        max_value=1,
        help_text="A random sample. Judges answer all queries, and estimates combine both.",
    )
    continues = forms.ChoiceField(
        label="Continues",
        required=False,
        choices=[("", "No campaign")],
        help_text="Answers of that campaign are carried over where texts and questions are the "
        "same to the letter. People and judges are asked only for what is new.",
    )
    people = forms.IntegerField(
        label="People expected",
        required=False,
        min_value=1,
        max_value=MOST_PEOPLE,
        help_text="For the preview. Empty: the number of people per item.",
    )

    def __init__(
        self, *args: Any, user: User, protocol: Protocol, batch: Batch, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.user, self.batch, self.protocol = user, batch, protocol
        teams = managed_teams(user)
        if len(teams) > 1:
            own = teams.filter(pk=batch.team_id).first()
            self.fields["team"] = forms.ModelChoiceField(
                teams, initial=own, empty_label=None, to_field_name="name"
            )
        self.offer_practice(user)
        same = readable(user).filter(protocol=protocol.name).order_by("name")
        self.offer("continues", same.values_list("name", flat=True))
        self.fields |= form_fields(self._design_options(), names_errors=False)
        self._offer_variables()
        if "prerequisite" in self.fields:
            self.offer("prerequisite", self._prerequisites)
        if "strata" in self.fields:
            self.offer("strata", readable_judges(user).values_list("name", flat=True))
        for option in ASSUMED:
            self.fields[option.name] = forms.FloatField(
                label=option.label, required=False, initial=option.default
            )

    def _offer_variables(self) -> None:
        own = {v.name: v for v in reversed(self.protocol.variables)}
        names = list(dict.fromkeys(v.name for v in self.protocol.variables))
        choices = [(name, f"{own[name].question} ({name})") for name in names]
        set_choices(self, "variables", choices)
        self.fields["variables"].initial = [name for name in names if not own[name].optional]
        if "judge_variables" in self.fields:
            set_choices(self, "judge_variables", choices)

    def _design_options(self) -> Iterator[Option]:
        """Yield the options that this protocol uses, worded for its units."""
        protocol = self.protocol
        names = {variable.name for variable in protocol.variables}
        used = {
            **dict.fromkeys(("sampling", "per_passage", "judge_sampling"), protocol.sampled),
            "judge_variables": len(names) > 1,
            "passages": "passages" in protocol.needs,
            "points": bool(protocol.readings),
            "prerequisite": protocol.name in RULES,
            "strata": protocol.sampled and bool(self._prerequisites),
            "gate": protocol.name == "grounded-answer",
            "categories": "category" in names,
            "same": CITATION in kinds_of(protocol.variables),
        }
        one, many = Schema(protocol, protocol.variables).noun
        for option in DESIGN:
            if used.get(option.name, True):
                yield option.worded(one=one, many=many, Many=many.capitalize())

    @cached_property
    def _prerequisites(self) -> list[str]:
        """The campaigns that may come first; none if the protocol follows no other."""
        after = RULES[self.protocol.name].after if self.protocol.name in RULES else ()
        possible = readable(self.user).filter(batch=self.batch, protocol__in=after)
        return list(possible.order_by("name").values_list("name", flat=True))

    def design(self) -> Design:
        """Return the design. Raises DesignError."""
        data = self.cleaned_data
        options = {
            option.name: value
            for option in options_of(Design)
            if (value := self._option(option.name)) not in (None, "", ())
        }
        return Design(data["raters_per_item"], data["overlap"], data["human_share"], **options)

    def _option(self, name: str) -> Any:
        value = self.cleaned_data.get(name)
        if name == "judge_variables":
            return tuple(value or ())
        if name == "variables":
            # The protocol's own variables need no option.
            usual = self.fields["variables"].initial
            return () if not value or sorted(value) == sorted(usual) else tuple(value)
        if name == "chosen":
            return self.chosen_items(value)
        if name == "categories":
            return read_pairs([f"categories={value}"])["categories"] if value else ()
        return value.strip() if isinstance(value, str) else value

    @staticmethod
    def chosen_items(text: str | None) -> tuple[str, ...]:
        lines = (text or "").replace("\r\n", "\n").split("\n")
        return tuple(line for line in lines if line.strip())

    def assumptions(self) -> Assumptions:
        """Return the assumptions of the preview. Raises AssumptionError."""
        return Assumptions(**values_of(ASSUMED, self.cleaned_data))

    @property
    def task(self) -> str:
        """The name of the task, as addresses and `create_campaign` have it."""
        return task_name(self.protocol)

    def own(self) -> list[forms.BoundField]:
        """Return the fields that depend on the protocol, in their order."""
        names = (
            "sampling",
            "per_passage",
            "judge_sampling",
            "passages",
            "same",
            "points",
            "prerequisite",
            "strata",
            "gate",
            "categories",
            "validates",
        )
        return [self[name] for name in names if name in self.fields]

    def assumed(self) -> list[forms.BoundField]:
        return [self[option.name] for option in ASSUMED]
