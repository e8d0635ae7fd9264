"""Forms of campaigns, settings, gold answers and people.

The form of a new campaign shows only what its protocol uses, in the words of the command. An error
in the design is shown at the field that it is about.
"""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from django import forms
from django.contrib.auth.password_validation import password_validators_help_texts
from django.core.files.uploadedfile import UploadedFile
from django.utils import timezone

from annotation.campaign_setup.dry_run import MOST_PEOPLE, Assumptions
from annotation.campaigns.design import Design, read_pairs
from annotation.campaigns.settings import LONGEST_GUIDELINE, CampaignSettings, read_deadline
from annotation.gold.scoring import MAX_ADMISSION_REASON
from annotation.imports.gold import Known, set_known
from annotation.models import MAX_REASON, Campaign, Membership, Rater, User
from annotation.people.leases import MAX_LEASE
from annotation.people.membership import readable
from annotation.prerequisites import RULES
from annotation.protocols import PROTOCOLS
from datasets.models import Batch
from datasets.options import options_of
from datasets.rows import InputError

_OPTION = re.compile(r"^option ([a-z_]+)")
STARTS: Mapping[str, str] = {
    "a campaign called": "name",
    "its name": "name",
    "raters per item": "raters_per_item",
    "overlap": "overlap",
    "human share": "human_share",
    "development and audit": "development",
    "the roles of queries": "development",
    "deadline": "deadline",
    "its deadline": "deadline",
    "language": "language",
    "the guideline": "guideline",
    "gold every": "gold_every",
    "practice names": "practice_of",
    "a campaign's own practice": "practice_of",
    "qualify": "qualify",
    "people are": "people",
    "kappa is": "kappa",
    "prevalence is": "prevalence",
    "icc is": "icc",
    "correlation is": "correlation",
}


def field_of(error: Exception, fields: Iterable[str]) -> str | None:
    """The field that an error names; None where it names none, or one that is not there."""
    said, known = str(error), set(fields)
    option = _OPTION.match(said)
    name = (
        option[1]
        if option
        else next((field for start, field in STARTS.items() if said.startswith(start)), "")
    )
    return name if name in known else None


def sentence(error: Exception) -> str:
    said = str(error)
    return f"{said[:1].upper()}{said[1:]}."


def add_to(form: forms.Form, error: Exception) -> None:
    """Shows an error where it belongs."""
    form.add_error(field_of(error, form.fields), sentence(error))


class TermsForm(forms.Form):
    """An empty field takes a thing away."""

    deadline = forms.CharField(
        required=False,
        max_length=40,
        widget=forms.TextInput(attrs={"type": "datetime-local"}),
        help_text="By the server's clock, in its time zone. What comes later is kept as a draft.",
    )
    language = forms.CharField(
        required=False,
        max_length=35,
        help_text="Of the texts, as a tag such as en or pt-BR: for hyphens and screen readers.",
    )
    gold_every = forms.IntegerField(
        label="One gold item in",
        required=False,
        min_value=0,
        max_value=999,
        help_text="So many items of a person, at a drawn place. 0 or empty: none.",
    )
    practice_of = forms.ChoiceField(
        label="Practice of another campaign",
        required=False,
        help_text="People do that one's practice items first. Its own practice comes by itself.",
    )
    qualify = forms.FloatField(
        label="Share right to go on",
        required=False,
        min_value=0,
        max_value=1,
        help_text="Of the practice's known answers, such as 0.8. Empty: doing them is enough.",
    )
    guideline = forms.CharField(
        required=False,
        strip=False,
        max_length=LONGEST_GUIDELINE,
        widget=forms.Textarea(attrs={"rows": 14}),
        help_text="Markdown, for people and judges. Empty: the protocol's own. Each change is a "
        "new version; every answer keeps which one it was given to.",
    )

    def offer_practice(self, user: User, campaign: Campaign | None = None) -> None:
        """The campaigns that have practice items and that this person may read."""
        others = readable(user).filter(items__use="practice").distinct()
        if campaign is not None:
            others = others.exclude(pk=campaign.pk)
        names = list(others.order_by("name").values_list("name", flat=True))
        standing = campaign.practice_of if campaign else None
        if standing and standing.pk != getattr(campaign, "pk", None) and standing.name not in names:
            names.append(standing.name)
        field = self.fields["practice_of"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [("", "No"), *((name, name) for name in names)]

    def terms(self, standing: Campaign | None = None) -> CampaignSettings:
        """What a valid form says. Raises DesignError where the deadline is no moment.

        Of a campaign that stands, an empty field takes away what it had.
        """
        data = self.cleaned_data
        deadline = read_deadline(data["deadline"]) if data["deadline"] else None
        if standing is not None and data["deadline"] == initial_of(standing)["deadline"]:
            deadline = standing.deadline  # with its seconds, which the form does not show
        own = standing is not None and standing.practice_of_id == standing.pk
        practice: str | None = data["practice_of"]
        return CampaignSettings(
            deadline=deadline,
            language=data["language"],
            guideline=data["guideline"],
            gold_every=data["gold_every"] or 0,
            practice_of=None if own and not practice else practice,
            qualify=data["qualify"] or None,
            no_deadline=deadline is None,
            no_qualify=not data["qualify"],
        )


def seen_of(campaign: Campaign) -> str:
    """A digest of the terms as the form shows them, by which it is known what somebody had seen."""
    told = json.dumps(initial_of(campaign), sort_keys=True)
    return hashlib.sha256(told.encode()).hexdigest()[:20]


def differing(form: TermsForm, campaign: Campaign) -> Iterator[str]:
    """What stands of the terms, in words, where a form says something else."""
    for name, stands in initial_of(campaign).items():
        label = str(form[name].label)
        if str(form[name].value() or "").replace("\r\n", "\n") == str(stands or ""):
            continue
        if name == "guideline":
            yield f"{label}: version {campaign.guidelines.count()} below" if stands else label
        else:
            yield f"{label}: {stands or 'none'}"


def initial_of(campaign: Campaign) -> dict[str, Any]:
    """What the form says of a campaign that stands."""
    deadline = campaign.deadline
    other = campaign.practice_of if campaign.practice_of_id != campaign.pk else None
    return {
        "deadline": timezone.localtime(deadline).strftime("%Y-%m-%dT%H:%M") if deadline else "",
        "language": campaign.language,
        "gold_every": campaign.gold_every or None,
        "practice_of": other.name if other else "",
        "qualify": campaign.qualify,
        "guideline": campaign.guideline,
    }


LARGEST = 7 * 1024 * 1024
"""A little less than a form may have: more than that the site reads of nobody."""
USES = (
    ("gold", "Gold: mixed in among the others, never told apart"),
    ("practice", "Practice: first of all, with feedback"),
)


class KnownForm(forms.Form):
    use = forms.ChoiceField(
        label="Their items become", choices=USES, widget=forms.RadioSelect, initial="gold"
    )
    file = forms.FileField(
        label="Labels file",
        help_text="JSON Lines or CSV: item, unit, variable, value, rater. meta.reason is told in "
        "the feedback.",
    )

    def clean_file(self) -> UploadedFile[Any]:
        file: UploadedFile[Any] = self.cleaned_data["file"]
        if (file.size or 0) > LARGEST:
            raise forms.ValidationError("It is larger than 7 MB; use set_known on the server.")
        return file


class AdmitForm(forms.Form):
    rater = forms.IntegerField(widget=forms.HiddenInput, min_value=1, max_value=2**31 - 1)
    reason = forms.CharField(max_length=MAX_ADMISSION_REASON)


def take_file(campaign: Campaign, file: UploadedFile[Any], use: str) -> Known:
    """The known answers of a file that was sent. Raises InputError, in which it has its own name.

    It is read from a place of our own: what somebody calls a file is no path.
    """
    is_csv = (file.name or "").lower().endswith(".csv")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "known.csv" if is_csv else "known.jsonl")
        with path.open("wb") as written:
            for chunk in file.chunks():
                written.write(chunk)
        return set_known([path], campaign, use)


def told(error: InputError) -> str:
    """An error about the file without the place where it was read."""
    where = f"Line {error.place.line}: " if error.place.line else ""
    return f"{where}{error.wrong}; {error.mend}."


ROLES = (
    (User.Role.ANNOTATOR, "Annotator: labels, and sees their own work"),
    (User.Role.RESEARCHER, "Researcher: labels too, and reads campaigns and reports"),
    (User.Role.ADMIN, "Admin: looks after people and reads everything; does not label"),
)
CAMPAIGN_ROLES = (
    (Membership.Role.ANNOTATOR, "Annotator: is given items"),
    (Membership.Role.ADJUDICATOR, "Adjudicator: decides where people disagree, is given no items"),
    (Membership.Role.RESEARCHER, "Researcher: reads its people, answers and reports"),
)
POOLS = (
    (Campaign.Pool.OPEN, "Open: every account that may label takes part"),
    (Campaign.Pool.NAMED, "Named: only its members take part, and only they and admins see it"),
)


class InviteForm(forms.Form):
    """Whom to invite, and to what."""

    role = forms.ChoiceField(label="Account", choices=ROLES, widget=forms.RadioSelect)
    campaign = forms.ModelChoiceField(
        Campaign.objects.none(),
        required=False,
        empty_label="No campaign in particular",
        help_text="Whoever has an account already can take part with it by the same link.",
    )
    campaign_role = forms.ChoiceField(
        label="Role in the campaign", choices=CAMPAIGN_ROLES, widget=forms.RadioSelect
    )
    note = forms.CharField(
        label="For whom",
        required=False,
        max_length=150,
        help_text="For your own list of invitations. It stands in no export.",
    )

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["campaign"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = readable(user)


class CampaignInviteForm(forms.Form):
    """Whom to invite to a campaign."""

    campaign_role = forms.ChoiceField(
        label="Role here", choices=CAMPAIGN_ROLES[:2], initial=Membership.Role.ANNOTATOR
    )
    note = forms.CharField(label="For whom", required=False, max_length=150)


class JoinForm(forms.Form):
    """What an invited person chooses."""

    name = forms.CharField(
        max_length=150,
        error_messages={"required": "Choose a name to log in with."},
        help_text="To log in with. Your answers stand under a pseudonym, not under this name.",
        widget=forms.TextInput(attrs={"autocomplete": "username", "autocapitalize": "none"}),
    )
    password = forms.CharField(
        strip=False,
        max_length=4096,
        error_messages={"required": "Choose a password."},
        help_text=" ".join(password_validators_help_texts()),
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
    again = forms.CharField(
        label="The password again",
        strip=False,
        max_length=4096,
        error_messages={"required": "Type the password a second time."},
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )

    def clean(self) -> dict[str, Any]:
        found = super().clean() or {}
        given = found.get("password"), found.get("again")
        if None not in given and given[0] != given[1]:
            self.add_error("again", "The two passwords differ; type both again.")
        return found


class SettingsForm(forms.Form):
    """Who takes part in a campaign, how much, and how long a place is held."""

    pool = forms.ChoiceField(choices=POOLS, widget=forms.RadioSelect)
    hold_minutes = forms.IntegerField(
        label="A place is held, in minutes",
        required=False,
        min_value=5,
        max_value=MAX_LEASE,
        help_text="After the last sign of life it goes to somebody else. Empty: it is held for "
        "good. 1440 is a day.",
    )
    items_per_person = forms.IntegerField(
        label="Items for one person",
        required=False,
        min_value=1,
        max_value=10**6,
        help_text="The most that one person answers. Empty: as many as there are.",
    )


class MemberForm(forms.Form):
    """A role for an account that is there."""

    account = forms.CharField(
        max_length=150, error_messages={"required": "Give the name of an account."}
    )
    role = forms.ChoiceField(
        label="Role here", choices=CAMPAIGN_ROLES, initial=Membership.Role.ANNOTATOR
    )


class ReasonForm(forms.Form):
    reason = forms.CharField(
        max_length=MAX_REASON, error_messages={"required": "Give a reason; the report says it."}
    )


class ProlificForm(forms.Form):
    """A campaign as a study on Prolific."""

    study_id = forms.CharField(
        label="Study id", max_length=64, help_text="The last part of its address on Prolific."
    )
    completion_code = forms.CharField(
        max_length=64, help_text="Shown to whoever has answered all items that they were given."
    )
    most_people = forms.IntegerField(
        label="People",
        min_value=1,
        max_value=10_000,
        help_text="As many as the study has places on Prolific; no more are let in.",
    )


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
        label="People on an item",
        min_value=1,
        max_value=1000,
        initial=2,
        help_text="Two is the least for agreement.",
    )
    overlap = forms.FloatField(
        label="Share of items with all of them",
        initial=1,
        min_value=0,
        max_value=1,
        help_text="The others get one person. 0.1 measures agreement cheaply.",
    )
    human_share = forms.FloatField(
        label="Share of queries for people",
        initial=1,
        min_value=0,
        max_value=1,
        help_text="Drawn at random; judges are asked all, and estimates join both.",
    )
    development = forms.FloatField(
        label="Share of queries for development",
        required=False,
        min_value=0,
        max_value=1,
        help_text="Prompts may be tuned on them; they stay out of what judges are measured by.",
    )
    audit = forms.FloatField(
        label="Share of queries kept for an audit",
        required=False,
        min_value=0,
        max_value=1,
        help_text="They stay aside for a later look.",
    )
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
        label="People expected",
        required=False,
        min_value=1,
        max_value=MOST_PEOPLE,
        help_text="For the dry run. Empty: as many as an item asks for.",
    )
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
        if protocol.sampled:
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
            yield (
                "passages",
                _text(
                    "Passages shown",
                    "all, relevant, or relevant:CAMPAIGN for what people of that "
                    "campaign found relevant.",
                    initial="all",
                ),
            )
        if protocol.readings:
            points = [("", "The query's, against their source"), *POINTS_OF]
            yield "points", forms.ChoiceField(label="Points", required=False, choices=points)
        if first is not None:
            yield (
                "prerequisite",
                forms.ChoiceField(
                    label="Comes after",
                    required=False,
                    choices=[("", "Nothing"), *first],
                    help_text="An item waits until its query is done there. Roles are that one's.",
                ),
            )
        if protocol.sampled and first:
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
        yield (
            "validates",
            _text(
                "Shows the verdicts of a judge",
                "JUDGE, or JUDGE@CAMPAIGN: people confirm or correct "
                "what it said, and their labels stay out of agreement.",
            ),
        )

    def _before(self) -> list[tuple[str, str]] | None:
        """The campaigns that this one could follow; None where its protocol follows none."""
        follows = RULES.get(self.protocol.name)
        if follows is None:
            return None
        fit = readable(self.user).filter(batch=self.batch, protocol__in=follows.after)
        return [(name, name) for name in fit.order_by("name").values_list("name", flat=True)]

    def design(self) -> Design:
        """Raises DesignError."""
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
            # All that a protocol asks by itself is no choice.
            usual = self.fields["variables"].initial
            return () if not value or sorted(value) == sorted(usual) else tuple(value)
        if name == "categories":
            return read_pairs([f"categories={value}"])["categories"] if value else ()
        return value.strip() if isinstance(value, str) else value

    def assumptions(self) -> Assumptions:
        """Raises AssumptionError."""
        given = {name: self.cleaned_data.get(name) for name in ASSUMED}
        return Assumptions(**{name: value for name, value in given.items() if value is not None})

    def own(self) -> list[forms.BoundField]:
        """The fields that depend on the protocol, in their order."""
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


def _text(label: str, help_text: str, initial: str = "") -> forms.CharField:
    return forms.CharField(
        label=label, required=False, max_length=2000, initial=initial, help_text=help_text
    )
