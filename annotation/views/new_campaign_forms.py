"""The forms of a new campaign: its task, then its design.

They show only the options of the protocol, under the command's names. An error in the design is
shown at the field that caused it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django import forms

from annotation.campaign_setup.dry_run import MOST_PEOPLE
from annotation.campaign_setup.expected_widths import Assumptions
from annotation.campaigns.design import LONGEST_KEY, MOST_CHOSEN, Design, read_pairs
from annotation.models import Campaign, User
from annotation.people.membership import readable, readable_judges
from annotation.prerequisites import RULES
from annotation.protocols import PROTOCOLS
from annotation.views.settings_forms import SettingsForm
from datasets.models import Batch
from datasets.teams import managed_teams, visible_batches
from tandem.options import options_of, values_of
from tandem.protocols.schema import Schema

ITEM_ORDERS = (
    ("fixed", "The batch’s order, or that of chosen items"),
    ("random", "Random, a different order for each person"),
    ("blocked", "Items of a query together, the queries in random order"),
)
ORDERS = (("", "The protocol’s order"), ("fixed", "Fixed"), ("random", "Random"))
SAMPLINGS = (
    ("", "The protocol’s rule"),
    ("shared", "One sample of {many} for all people"),
    ("own", "A separate sample for each person"),
    ("all", "Every {one}"),
)
POINTS_OF = (("answers", "Points of the answers, against the context of each"),)
ASSUMED = options_of(Assumptions)


class TaskForm(forms.Form):
    """The task and the batch of a new campaign, on which the rest of its form depends."""

    protocol = forms.ChoiceField(label="Task")
    batch = forms.ModelChoiceField(Batch.objects.none(), empty_label=None, to_field_name="name")

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        batches = self.fields["batch"]
        assert isinstance(batches, forms.ModelChoiceField)
        batches.queryset = visible_batches(user)
        field = self.fields["protocol"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [(name, protocol.title) for name, protocol in PROTOCOLS.items()]


class CampaignForm(SettingsForm):
    """A new campaign; `design` and `settings` read a valid form."""

    SEVERAL = ("variables", "judge_variables")
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
    development = forms.FloatField(
        label="Share of queries for development",
        required=False,
        min_value=0,
        max_value=1,
        help_text="For tuning prompts. Evaluations of judges leave these queries out.",
    )
    audit = forms.FloatField(
        label="Share of queries for an audit",
        required=False,
        min_value=0,
        max_value=1,
        help_text="Left aside until the audit.",
    )
    seed = forms.IntegerField(
        initial=0,
        min_value=0,
        max_value=2**31 - 1,
        help_text="It alone determines the sample.",
    )
    chosen = forms.CharField(
        label="Only these items",
        required=False,
        strip=False,
        max_length=MOST_CHOSEN * LONGEST_KEY,
        widget=forms.Textarea(attrs={"rows": "6", "spellcheck": "false", "class": "code"}),
        help_text="Ids of items, one a line, the most urgent first. Empty: all items, or the "
        "sample above. Figures describe chosen items alone, and results say so.",
    )
    items = forms.ChoiceField(
        label="Order of items", choices=ITEM_ORDERS, initial="fixed", widget=forms.RadioSelect
    )
    order = forms.ChoiceField(label="Order within an item", choices=ORDERS, required=False)
    variables = forms.MultipleChoiceField(
        label="What is asked", required=False, widget=forms.CheckboxSelectMultiple
    )
    judge_variables = forms.MultipleChoiceField(
        label="What judges are asked, if something else",
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )
    continues = forms.ChoiceField(
        label="Continues",
        required=False,
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

    def __init__(self, *args: Any, user: User, protocol: str, batch: Batch, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user, self.batch, self.protocol = user, batch, PROTOCOLS[protocol]
        teams = managed_teams(user)
        if len(teams) > 1:
            own = teams.filter(pk=batch.team_id).first()
            self.fields["team"] = forms.ModelChoiceField(
                teams, initial=own, empty_label=None, to_field_name="name"
            )
        self.offer_practice(user)
        self._offer_variables()
        self._offer_continued()
        for name, field in self._option_fields():
            self.fields[name] = field
        for option in ASSUMED:
            self.fields[option.name] = forms.FloatField(
                label=option.label, required=False, initial=option.default
            )

    def _offer_continued(self) -> None:
        field = self.fields["continues"]
        assert isinstance(field, forms.ChoiceField)
        same = readable(self.user).filter(protocol=self.protocol.name).order_by("name")
        names = same.values_list("name", flat=True)
        field.choices = [("", "No campaign"), *((name, name) for name in names)]

    def _offer_variables(self) -> None:
        field = self.fields["variables"]
        assert isinstance(field, forms.MultipleChoiceField)
        own = {v.name: v for v in reversed(self.protocol.variables)}
        names = list(dict.fromkeys(v.name for v in self.protocol.variables))
        field.choices = [(name, f"{own[name].question} ({name})") for name in names]
        field.initial = [name for name in names if not own[name].optional]
        of_judges = self.fields["judge_variables"]
        assert isinstance(of_judges, forms.MultipleChoiceField)
        of_judges.choices = field.choices
        if len(names) == 1:
            del self.fields["judge_variables"]

    def _option_fields(self) -> Iterator[tuple[str, forms.Field]]:
        """Yield a field for each option that this protocol uses."""
        protocol, first = self.protocol, self._prerequisites()
        if protocol.sampled:
            yield from _sampling_fields(*Schema(protocol, protocol.variables).noun)
        if "passages" in protocol.needs:
            yield (
                "passages",
                _text(
                    "Passages shown",
                    "all, relevant, or relevant:CAMPAIGN for the passages that people "
                    "in that campaign found relevant.",
                    initial="all",
                ),
            )
        if protocol.readings:
            points = [("", "Points of the query, against their source"), *POINTS_OF]
            yield "points", forms.ChoiceField(label="Points", required=False, choices=points)
        if first is not None:
            yield (
                "prerequisite",
                forms.ChoiceField(
                    label="Comes after",
                    required=False,
                    choices=[("", "Nothing"), *first],
                    help_text="An item waits until its query is done in that campaign, "
                    "which also gives the splits.",
                ),
            )
        if protocol.sampled and first:
            judges = readable_judges(self.user).values_list("name", flat=True)
            names = [(name, name) for name in judges]
            yield (
                "strata",
                forms.ChoiceField(
                    label="Stratify by labels from",
                    required=False,
                    choices=[("", "People"), *names],
                ),
            )
        if protocol.name == "grounded-answer":
            gates = [("", "All answers"), ("gap", "Answers whose sentences leave a gap")]
            yield "gate", forms.ChoiceField(label="Second round of", required=False, choices=gates)
        if any(variable.name == "category" for variable in protocol.variables):
            yield "categories", _text("Categories", "Separated by commas. Empty: the 25 of GaRAGe.")
        yield (
            "validates",
            _text(
                "Shows labels from a judge",
                "JUDGE, or JUDGE@CAMPAIGN: people confirm or correct the judge’s labels. "
                "Agreement leaves these people’s labels out.",
            ),
        )

    def _prerequisites(self) -> list[tuple[str, str]] | None:
        """Return the possible prerequisites, or None if the protocol allows none."""
        follows = RULES.get(self.protocol.name)
        if follows is None:
            return None
        possible = readable(self.user).filter(batch=self.batch, protocol__in=follows.after)
        return [(name, name) for name in possible.order_by("name").values_list("name", flat=True)]

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

    def own(self) -> list[forms.BoundField]:
        """Return the fields that depend on the protocol, in their order."""
        names = (
            "sampling",
            "per_passage",
            "judge_sampling",
            "passages",
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


def _sampling_fields(one: str, many: str) -> Iterator[tuple[str, forms.Field]]:
    choices = [(name, text.format(one=one, many=many)) for name, text in SAMPLINGS]
    label = f"{many.capitalize()} of an item"
    yield "sampling", forms.ChoiceField(label=label, choices=choices, required=False)
    yield (
        "per_passage",
        forms.IntegerField(
            label=f"{many.capitalize()} sampled", initial=2, min_value=1, max_value=2**31 - 1
        ),
    )
    for_judges = [("", f"The same {many} as people"), ("all", f"Every {one}")]
    yield (
        "judge_sampling",
        forms.ChoiceField(
            label=f"{many.capitalize()} for judges", choices=for_judges, required=False
        ),
    )


def _text(label: str, help_text: str, initial: str = "") -> forms.CharField:
    return forms.CharField(
        label=label, required=False, max_length=2000, initial=initial, help_text=help_text
    )
