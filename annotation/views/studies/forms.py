"""The form of a new campaign: only what its protocol heeds, in the words of the command."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django import forms

from annotation.design import Design, design_of
from annotation.expecting import Assumptions
from annotation.follows import FOLLOWS
from annotation.models import Rater, User
from annotation.people.members import readable
from annotation.protocols import PROTOCOLS
from annotation.rehearsing import MOST_PEOPLE
from annotation.views.studies.terms import TermsForm
from datasets.models import Batch

ITEM_ORDERS = (
    ("fixed", "The batch's order"),
    ("random", "At random, another order for each person"),
    ("blocked", "All items of a query together, the queries at random"),
)
ORDERS = (("", "As the protocol has it"), ("fixed", "Fixed"), ("random", "At random"))
SAMPLINGS = (
    ("", "As the protocol has it"),
    ("shared", "The same drawn units for everybody"),
    ("own", "Each person a draw of his own"),
    ("all", "Every unit"),
)
POINTS_OF = (("answers", "Those that answers make, against the context of each"),)
OPTIONS = (
    "seed", "variables", "categories", "sampling", "per_passage", "order", "items", "passages",
    "prerequisite", "strata", "validates", "gate", "points", "development", "audit",
)  # fmt: skip
ASSUMED = ("kappa", "prevalence", "icc", "correlation")


class ChoiceForm(forms.Form):
    """What a campaign is about: the rest of its form depends on it."""

    protocol = forms.ChoiceField(label="Task")
    batch = forms.ModelChoiceField(
        Batch.objects.order_by("name"), empty_label=None, to_field_name="name"
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["protocol"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [(name, protocol.title) for name, protocol in PROTOCOLS.items()]


class CampaignForm(TermsForm):
    """A campaign as somebody designs it in the browser; `design` once it is valid."""

    name = forms.CharField(max_length=200, help_text="New among all campaigns; people see it.")
    raters_per_item = forms.IntegerField(
        label="People on an item", min_value=1, max_value=1000, initial=2,
        help_text="Two is the least for agreement.",
    )  # fmt: skip
    overlap = forms.FloatField(
        label="Share of items with all of them", initial=1, min_value=0, max_value=1,
        help_text="The others get one person. 0.1 measures agreement cheaply.",
    )  # fmt: skip
    human_share = forms.FloatField(
        label="Share of queries for people", initial=1, min_value=0, max_value=1,
        help_text="Drawn at random; judges are asked all, and estimates join both.",
    )  # fmt: skip
    development = forms.FloatField(
        label="Share of queries for development", required=False, min_value=0, max_value=1,
        help_text="Prompts may be tuned on them; they stay out of what judges are measured by.",
    )  # fmt: skip
    audit = forms.FloatField(
        label="Share of queries kept for an audit", required=False, min_value=0, max_value=1,
        help_text="They stay aside for a later look.",
    )  # fmt: skip
    seed = forms.IntegerField(
        initial=0, min_value=0, max_value=2**31 - 1, help_text="All draws depend on it alone."
    )
    items = forms.ChoiceField(
        label="Order of items", choices=ITEM_ORDERS, initial="fixed", widget=forms.RadioSelect
    )
    order = forms.ChoiceField(label="Order within an item", choices=ORDERS, required=False)
    variables = forms.MultipleChoiceField(
        label="What is asked", required=False, widget=forms.CheckboxSelectMultiple
    )
    people = forms.IntegerField(
        label="People expected", required=False, min_value=1, max_value=MOST_PEOPLE,
        help_text="For the dry run. Empty: as many as an item asks for.",
    )  # fmt: skip
    kappa = forms.FloatField(label="True kappa", required=False)
    prevalence = forms.FloatField(label="Share of yes", required=False)
    icc = forms.FloatField(label="Likeness of units of a query", required=False)
    correlation = forms.FloatField(label="Correlation of judge and people", required=False)

    def __init__(self, *args: Any, user: User, protocol: str, batch: Batch, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user, self.batch, self.protocol = user, batch, PROTOCOLS[protocol]
        self.offer_practice(user)
        self._offer_variables()
        for name, field in self._own_fields():
            self.fields[name] = field
        for name in ASSUMED:
            self.fields[name].initial = getattr(Assumptions(), name)

    def _offer_variables(self) -> None:
        field = self.fields["variables"]
        assert isinstance(field, forms.MultipleChoiceField)
        own = {v.name: v for v in reversed(self.protocol.variables)}
        names = list(dict.fromkeys(v.name for v in self.protocol.variables))
        field.choices = [(name, f"{own[name].question} ({name})") for name in names]
        field.initial = [name for name in names if not own[name].optional]

    def _own_fields(self) -> Iterator[tuple[str, forms.Field]]:
        """The options that this protocol heeds."""
        protocol, first = self.protocol, self._before()
        if protocol.drawn:
            yield (
                "sampling",
                forms.ChoiceField(label="Units of an item", choices=SAMPLINGS, required=False),
            )
            yield (
                "per_passage",
                forms.IntegerField(
                    label="Units drawn", initial=2, min_value=1, max_value=2**31 - 1
                ),
            )
        if "passages" in protocol.needs:
            yield "passages", _text(
                "Passages shown", "all, relevant, or relevant:CAMPAIGN for what people of that "
                "campaign found relevant.", initial="all",
            )  # fmt: skip
        if protocol.readings:
            points = [("", "The query's, against their source"), *POINTS_OF]
            yield "points", forms.ChoiceField(label="Points", required=False, choices=points)
        if first is not None:
            yield "prerequisite", forms.ChoiceField(
                label="Comes after", required=False, choices=[("", "Nothing"), *first],
                help_text="An item waits until its query is done there. Roles are that one's.",
            )  # fmt: skip
        if protocol.drawn and first:
            judges = Rater.objects.filter(kind=Rater.Kind.JUDGE).order_by("name")
            names = [(name, name) for name in judges.values_list("name", flat=True)]
            yield (
                "strata",
                forms.ChoiceField(
                    label="Draw by the labels of", required=False, choices=[("", "People"), *names]
                ),
            )
        if protocol.name == "grounded-answer":
            gates = [("", "All answers"), ("gap", "Answers whose sentences leave a gap")]
            yield "gate", forms.ChoiceField(label="Second round of", required=False, choices=gates)
        if any(variable.name == "category" for variable in protocol.variables):
            yield "categories", _text("Categories", "Parted by commas. Empty: the 25 of GaRAGe.")
        yield "validates", _text(
            "Shows the verdicts of a judge", "JUDGE, or JUDGE@CAMPAIGN: people confirm or correct "
            "what it said, and their labels stay out of agreement.",
        )  # fmt: skip

    def _before(self) -> list[tuple[str, str]] | None:
        """The campaigns that this one could follow; None where its protocol follows none."""
        follows = FOLLOWS.get(self.protocol.name)
        if follows is None:
            return None
        fit = readable(self.user).filter(batch=self.batch, protocol__in=follows.after)
        return [(name, name) for name in fit.order_by("name").values_list("name", flat=True)]

    def design(self) -> Design:
        """By the command's own arguments, so that both refuse the same. Raises DesignError."""
        data = self.cleaned_data
        pairs = [f"{name}={said}" for name in OPTIONS if (said := self._said(name))]
        return design_of(data["raters_per_item"], data["overlap"], data["human_share"], pairs)

    def _said(self, name: str) -> str:
        value = self.cleaned_data.get(name)
        if name == "variables":
            # All that a protocol asks by itself is no choice.
            usual = self.fields["variables"].initial
            return "" if not value or sorted(value) == sorted(usual) else ",".join(value)
        return "" if value is None or value == "" else str(value).strip()

    def assumptions(self) -> Assumptions:
        """Raises AssumptionError."""
        given = {name: self.cleaned_data.get(name) for name in ASSUMED}
        return Assumptions(**{name: value for name, value in given.items() if value is not None})

    def own(self) -> list[forms.BoundField]:
        """The fields that depend on the protocol, in their order."""
        names = (
            "sampling", "per_passage", "passages", "points", "prerequisite", "strata", "gate",
            "categories", "validates",
        )  # fmt: skip
        return [self[name] for name in names if name in self.fields]

    def assumed(self) -> list[forms.BoundField]:
        return [self[name] for name in ASSUMED]


def _text(label: str, help_text: str, initial: str = "") -> forms.CharField:
    return forms.CharField(
        label=label, required=False, max_length=2000, initial=initial, help_text=help_text
    )
