"""Forms of campaigns, their settings, and gold answers.

The form of a new campaign shows only the options of its protocol, under the command's names. An
error in the design appears at the field that caused it.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.utils import timezone

from annotation.campaign_setup.dry_run import MOST_PEOPLE, Assumptions
from annotation.campaigns.design import Design, DesignError, read_pairs
from annotation.campaigns.settings import (
    ASKED,
    LONGEST_GUIDELINE,
    WHOLE,
    CampaignSettings,
    consent_of,
    read_deadline,
    shown_guideline,
)
from annotation.gold.scoring import MAX_ADMISSION_REASON
from annotation.imports.gold import GoldCounts, set_known
from annotation.models import Campaign, Rater, User
from annotation.people.background import (
    LONGEST_SOURCE,
    BackgroundError,
    Question,
    as_toml,
    questions_of,
    read_toml,
)
from annotation.people.consent import LONGEST_CONSENT
from annotation.people.membership import readable
from annotation.people.shares import ShareError, current_shares, read_shares, written_shares
from annotation.prerequisites import RULES
from annotation.protocols import PROTOCOLS
from datasets.models import Batch
from datasets.options import options_of
from datasets.rows import InputError
from datasets.teams import managed_teams, visible_batches
from datasets.text import as_sentence

SHOWN = (
    (ASKED, "What is about the variables that this campaign asks"),
    (WHOLE, "All of it"),
)
REVOKED_ANSWERS = (
    ("keep", "Keep the answers, for an audit or in case the person agrees again"),
    ("delete", "Delete the answers, with the background that the person gave"),
)


def add_design_error(form: forms.Form, error: DesignError) -> None:
    """Add an error of the design or the settings to its field, or to the form if it has none."""
    form.add_error(error.field if error.field in form.fields else None, as_sentence(error))


class SettingsForm(forms.Form):
    """The settings of a campaign. An empty field removes a setting."""

    deadline = forms.CharField(
        required=False,
        max_length=40,
        widget=forms.TextInput(attrs={"type": "datetime-local"}),
        help_text="In the server's time zone. Answers submitted later are kept as drafts.",
    )
    language = forms.CharField(
        required=False,
        max_length=35,
        help_text="Language tag of the texts, such as en or pt-BR, for hyphens and screen readers.",
    )
    text_view = forms.ChoiceField(
        label="Texts in Markdown",
        required=False,
        choices=(("", "As they were written"), ("rendered", "Rendered")),
        help_text="What annotators see at first; each can switch. Highlights count the same.",
    )
    gold_every = forms.IntegerField(
        label="Gold item every N items",
        required=False,
        min_value=0,
        max_value=999,
        help_text="One gold item at a random place in every N items of a person. 0 or empty: none.",
    )
    practice_of = forms.ChoiceField(
        label="Practice of another campaign",
        required=False,
        help_text="People do its practice items first. Leave “No” if this campaign has its own.",
    )
    qualify = forms.FloatField(
        label="Pass mark",
        required=False,
        min_value=0,
        max_value=1,
        help_text="Share of correct practice answers, such as 0.8. Empty: any share will do.",
    )
    guideline = forms.CharField(
        required=False,
        strip=False,
        max_length=LONGEST_GUIDELINE,
        widget=forms.Textarea(attrs={"rows": 14}),
        help_text="Markdown, for people and judges. Empty: the protocol's own. Each change creates "
        "a new version, and every answer records the version that it followed.",
    )

    consent = forms.CharField(
        label="Consent text",
        required=False,
        strip=False,
        max_length=LONGEST_CONSENT,
        widget=forms.Textarea(attrs={"rows": 8}),
        help_text="Markdown that people agree to before their first item. Each change is a new "
        "version, and asks everybody again. Empty: no consent is asked for.",
    )
    revoked = forms.ChoiceField(
        label="When a person revokes their consent",
        required=False,
        choices=REVOKED_ANSWERS,
        widget=forms.RadioSelect,
        initial="keep",
        help_text="Reports and exports leave the answers out in either case.",
    )
    background = forms.CharField(
        label="Background questions",
        required=False,
        strip=False,
        max_length=LONGEST_SOURCE,
        widget=forms.Textarea(attrs={"rows": 8, "spellcheck": "false", "class": "code"}),
        help_text="TOML, one table for each question: [first_language], then question = "
        "“Your first language?”, kind = “choice”, choices = [“German”, “another”], required = "
        "true, all with straight quotes. Kinds: choice, several, text, number. People answer "
        "once, before their first item.",
    )

    pay = forms.CharField(
        required=False,
        max_length=60,
        help_text="For the table of pay and time: 0.35 EUR per item, 14 EUR per hour, or 20 EUR "
        "per person.",
    )
    shares = forms.CharField(
        label="Fixed shares",
        required=False,
        max_length=5000,
        help_text="Who gives which share of all answers, by account: ada=0.25, ben=0.25. What is "
        "left is for everybody else. Empty: whoever comes first.",
    )
    guideline_shown = forms.ChoiceField(
        label="Of the protocol’s guideline, people and judges see",
        required=False,
        choices=SHOWN,
        widget=forms.RadioSelect,
        initial=ASKED,
    )

    def clean_shares(self) -> dict[str, float]:
        pairs = [each for each in self.cleaned_data["shares"].split(",") if each.strip()]
        try:
            return read_shares(pairs)
        except ShareError as error:
            raise forms.ValidationError(as_sentence(error)) from error

    def clean_background(self) -> tuple[Question, ...]:
        try:
            return read_toml(self.cleaned_data["background"].replace("\r\n", "\n"))
        except BackgroundError as error:
            raise forms.ValidationError(as_sentence(error)) from error

    def offer_practice(self, user: User, campaign: Campaign | None = None) -> None:
        """Offer the campaigns with practice items that this user may read."""
        others = readable(user).filter(items__use="practice").distinct()
        if campaign is not None:
            others = others.exclude(pk=campaign.pk)
        names = list(others.order_by("name").values_list("name", flat=True))
        current = campaign.practice_of if campaign else None
        if current and current.pk != getattr(campaign, "pk", None) and current.name not in names:
            names.append(current.name)
        field = self.fields["practice_of"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [("", "No"), *((name, name) for name in names)]

    def settings(self, campaign: Campaign | None = None) -> CampaignSettings:
        """Return the settings of a valid form. Raises DesignError if the deadline is no date.

        For an existing campaign, an empty field removes the setting.
        """
        data = self.cleaned_data
        deadline = read_deadline(data["deadline"]) if data["deadline"] else None
        if campaign is not None and data["deadline"] == initial_settings(campaign)["deadline"]:
            deadline = campaign.deadline  # with its seconds, which the form does not show
        own = campaign is not None and campaign.practice_of_id == campaign.pk
        practice: str | None = data["practice_of"]
        return CampaignSettings(
            deadline=deadline,
            language=data["language"],
            text_view=data["text_view"] or "source",
            guideline=data["guideline"],
            gold_every=data["gold_every"] or 0,
            practice_of=None if own and not practice else practice,
            qualify=data["qualify"] or None,
            consent=data["consent"],
            revoked=data["revoked"] or None,
            background=data["background"],
            pay=data["pay"],
            shares=data["shares"],
            guideline_shown=data["guideline_shown"] or None,
            no_deadline=deadline is None,
            no_qualify=not data["qualify"],
        )


def settings_digest(campaign: Campaign) -> str:
    """Return a digest of the settings as the form shows them, to detect a change meanwhile."""
    shown = json.dumps(initial_settings(campaign), sort_keys=True)
    return hashlib.sha256(shown.encode()).hexdigest()[:20]


def describe_differences(form: SettingsForm, campaign: Campaign) -> Iterator[str]:
    """Yield the current settings that differ from the submitted form, as text."""
    for name, current in initial_settings(campaign).items():
        label = str(form[name].label)
        if str(form[name].value() or "").replace("\r\n", "\n") == str(current or ""):
            continue
        if name in ("consent", "background"):
            yield f"{label}: changed"
        elif name == "guideline":
            yield f"{label}: version {campaign.guidelines.count()} below" if current else label
        else:
            yield f"{label}: {current or 'none'}"


def initial_settings(campaign: Campaign) -> dict[str, Any]:
    """Return the values with which the form of an existing campaign is filled."""
    deadline = campaign.deadline
    other = campaign.practice_of if campaign.practice_of_id != campaign.pk else None
    return {
        "deadline": timezone.localtime(deadline).strftime("%Y-%m-%dT%H:%M") if deadline else "",
        "language": campaign.language,
        "text_view": "" if campaign.text_view == "source" else campaign.text_view,
        "gold_every": campaign.gold_every or None,
        "practice_of": other.name if other else "",
        "qualify": campaign.qualify,
        "guideline": campaign.guideline,
        "consent": consent_of(campaign),
        "revoked": campaign.revoked,
        "background": as_toml(questions_of(campaign)),
        "pay": campaign.pay,
        "shares": written_shares(current_shares(campaign)),
        "guideline_shown": shown_guideline(campaign),
    }


MAX_GOLD_FILE = 7 * 1024 * 1024
"""Bytes of a file of gold answers, just under the limit of a request."""
GOLD_USES = (
    ("gold", "Gold: mixed in among the others, and looks like them"),
    ("practice", "Practice: comes first, with feedback"),
)


class GoldForm(forms.Form):
    use = forms.ChoiceField(
        label="Use their items as", choices=GOLD_USES, widget=forms.RadioSelect, initial="gold"
    )
    file = forms.FileField(
        label="Labels file",
        help_text="JSON Lines or CSV: item, unit, variable, value, rater. The feedback shows "
        "meta.reason.",
    )

    def clean_file(self) -> UploadedFile[Any]:
        file: UploadedFile[Any] = self.cleaned_data["file"]
        if (file.size or 0) > MAX_GOLD_FILE:
            raise forms.ValidationError("This file exceeds 7 MB; use set_known on the server.")
        return file


class AdmitForm(forms.Form):
    rater = forms.IntegerField(widget=forms.HiddenInput, min_value=1, max_value=2**31 - 1)
    reason = forms.CharField(max_length=MAX_ADMISSION_REASON)


def store_gold_file(campaign: Campaign, file: UploadedFile[Any], use: str) -> GoldCounts:
    """Store the gold answers of an uploaded file. Raises InputError if a line is wrong.

    The file is read from a temporary path, since an uploaded name is not trusted as a path.
    """
    is_csv = (file.name or "").lower().endswith(".csv")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "gold.csv" if is_csv else "gold.jsonl")
        with path.open("wb") as written:
            for chunk in file.chunks():
                written.write(chunk)
        return set_known([path], campaign, use)


def describe_file_error(error: InputError) -> str:
    """Return the message of an error in the file, without the temporary path."""
    where = f"Line {error.place.line}: " if error.place.line else ""
    return f"{where}{error.wrong}; {error.mend}."


ITEM_ORDERS = (
    ("fixed", "The batch's order"),
    ("random", "Random, a different order for each person"),
    ("blocked", "Items of a query together, the queries in random order"),
)
ORDERS = (("", "The protocol's order"), ("fixed", "Fixed"), ("random", "Random"))
SAMPLINGS = (
    ("", "The protocol's rule"),
    ("shared", "One sample of units for all people"),
    ("own", "A separate sample for each person"),
    ("all", "Every unit"),
)
POINTS_OF = (("answers", "Points of the answers, against the context of each"),)
ASSUMED = ("kappa", "prevalence", "icc", "correlation")


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

    name = forms.CharField(max_length=200, help_text="Unique among campaigns; people see it.")
    raters_per_item = forms.IntegerField(
        label="People per item",
        min_value=1,
        max_value=1000,
        initial=2,
        help_text="Agreement needs at least two.",
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
    items = forms.ChoiceField(
        label="Order of items", choices=ITEM_ORDERS, initial="fixed", widget=forms.RadioSelect
    )
    order = forms.ChoiceField(label="Order within an item", choices=ORDERS, required=False)
    variables = forms.MultipleChoiceField(
        label="What is asked", required=False, widget=forms.CheckboxSelectMultiple
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
    kappa = forms.FloatField(label="True kappa", required=False)
    prevalence = forms.FloatField(label="Share of yes", required=False)
    icc = forms.FloatField(label="Correlation within a query", required=False)
    correlation = forms.FloatField(label="Correlation of judge and people", required=False)

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
        for name in ASSUMED:
            self.fields[name].initial = getattr(Assumptions(), name)

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

    def _option_fields(self) -> Iterator[tuple[str, forms.Field]]:
        """Yield a field for each option that this protocol uses."""
        protocol, first = self.protocol, self._prerequisites()
        if protocol.sampled:
            yield from _sampling_fields()
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
            judges = Rater.objects.filter(kind=Rater.Kind.JUDGE).order_by("name")
            names = [(name, name) for name in judges.values_list("name", flat=True)]
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
                "JUDGE, or JUDGE@CAMPAIGN: people confirm or correct the judge's labels. "
                "Agreement leaves these people's labels out.",
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
        if name == "variables":
            # The protocol's own variables need no option.
            usual = self.fields["variables"].initial
            return () if not value or sorted(value) == sorted(usual) else tuple(value)
        if name == "categories":
            return read_pairs([f"categories={value}"])["categories"] if value else ()
        return value.strip() if isinstance(value, str) else value

    def assumptions(self) -> Assumptions:
        """Return the assumptions of the preview. Raises AssumptionError."""
        values = {name: self.cleaned_data.get(name) for name in ASSUMED}
        return Assumptions(**{name: value for name, value in values.items() if value is not None})

    def own(self) -> list[forms.BoundField]:
        """Return the fields that depend on the protocol, in their order."""
        names = (
            "sampling",
            "per_passage",
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
        return [self[name] for name in ASSUMED]


def _sampling_fields() -> Iterator[tuple[str, forms.Field]]:
    yield (
        "sampling",
        forms.ChoiceField(label="Units of an item", choices=SAMPLINGS, required=False),
    )
    yield (
        "per_passage",
        forms.IntegerField(label="Units sampled", initial=2, min_value=1, max_value=2**31 - 1),
    )


def _text(label: str, help_text: str, initial: str = "") -> forms.CharField:
    return forms.CharField(
        label=label, required=False, max_length=2000, initial=initial, help_text=help_text
    )
