"""Forms to try a judge on an item, start a run or trials, or change a run's speed."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django import forms

from annotation.models import Campaign, User
from annotation.people.membership import readable
from datasets.option_fields import set_rows
from datasets.text import as_sentence
from judging.forms import MOST_TRIED
from judging.judges import MAX_PROMPT_LENGTH
from judging.models import JudgeRun
from judging.params import MOST_WORKERS
from judging.prompts.perturbations import KINDS
from judging.prompts.template import PromptError, read_prompt
from judging.runs.planning import LEAST_UNITS, SHARE
from judging.trials.runs import TrialSelection

REUSE = (
    (JudgeRun.Reuse.NEVER, "No: ask everything again"),
    (JudgeRun.Reuse.CAMPAIGN, "Reuse answers to equal requests from runs over this campaign"),
    (JudgeRun.Reuse.ALL, "Reuse answers to equal requests from all runs"),
)


class CampaignForm(forms.Form):
    """The choice of a campaign that the account may read, of one `protocol` if it is given."""

    campaign = forms.ModelChoiceField(Campaign.objects.none(), empty_label=None)

    def __init__(self, *args: Any, user: User, protocol: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        found = readable(user)
        set_rows(self, "campaign", found.filter(protocol=protocol) if protocol else found)


class TryForm(CampaignForm):
    """The item to try a judge on: a random one if no number is given.

    `form_id` is the form that the fields belong to, if they stand outside it.
    """

    item = forms.IntegerField(
        required=False,
        min_value=1,
        help_text="Its number in the campaign, from 1. Empty: a random item.",
    )

    def __init__(self, *args: Any, form_id: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if form_id:
            for field in self.fields.values():
                field.widget.attrs["form"] = form_id


class StartForm(forms.Form):
    """The limits of a run."""

    limit = forms.IntegerField(
        label="Maximum requests",
        required=False,
        min_value=1,
        max_value=2**31 - 1,
        help_text="Empty: all open ones. Try 20 first.",
    )
    most_tokens = forms.IntegerField(
        label="Maximum tokens",
        required=False,
        min_value=1,
        max_value=2**53,
        help_text="Prompts and answers together.",
    )
    most_cost = forms.DecimalField(
        label="Maximum cost in US dollars",
        required=False,
        min_value=Decimal("0.000001"),
        max_digits=12,
        decimal_places=6,
        help_text="Needs a price of the model.",
    )
    concurrency = forms.IntegerField(
        label="Requests at once",
        required=False,
        min_value=1,
        max_value=MOST_TRIED,
        help_text="The maximum. The run finds out how many the server can handle.",
    )
    workers = forms.IntegerField(
        label="Workers at once",
        required=False,
        min_value=1,
        max_value=MOST_WORKERS,
        help_text="The maximum of worker processes, on any machines. Empty: the judge’s, or 1.",
    )
    reuse = forms.ChoiceField(
        label="Earlier answers",
        choices=REUSE,
        initial=JudgeRun.Reuse.NEVER,
        widget=forms.RadioSelect,
    )


class TrialsForm(forms.Form):
    """Which trials of a judge to run, over how many items."""

    kinds = forms.MultipleChoiceField(
        label="Trials",
        choices=[(name, kind.title) for name, kind in KINDS.items()],
        error_messages={"required": "Choose at least one trial."},
    )
    items = forms.IntegerField(
        label="Items",
        required=False,
        min_value=1,
        max_value=2**31 - 1,
        help_text="Of those that the judge has answered. Empty: enough for "
        f"{100 * SHARE:g} % of its units, and at least {LEAST_UNITS} units.",
    )
    seed = forms.IntegerField(
        label="Seed",
        required=False,
        min_value=0,
        max_value=2**31 - 1,
        help_text="Of the sample. With the same seed, more items include the earlier ones.",
    )
    prompt = forms.CharField(
        label="Your own rewording",
        required=False,
        strip=False,
        max_length=MAX_PROMPT_LENGTH,
        widget=forms.Textarea(attrs={"rows": 8, "spellcheck": "false"}),
        help_text="For “Guideline in other words”: a whole prompt, which a judge with a prompt of "
        "its own needs. Empty: the one that comes with the protocol.",
    )

    def clean_prompt(self) -> str:
        text = str(self.cleaned_data["prompt"]).replace("\r\n", "\n")
        if not text.strip():
            return ""
        try:
            read_prompt(text)
        except PromptError as error:
            raise forms.ValidationError(as_sentence(error)) from error
        return text

    def selection(self) -> TrialSelection:
        """Return the selection from the valid fields. Invalid fields count as empty."""
        data = self.cleaned_data
        return TrialSelection(
            tuple(data.get("kinds") or ()),
            data.get("items"),
            data.get("seed") or 0,
            data.get("prompt") or "",
        )


class SpeedForm(forms.Form):
    """New numbers of requests and of workers at once for an active run."""

    concurrency = forms.IntegerField(label="Requests at once", min_value=1, max_value=MOST_TRIED)
    workers = forms.IntegerField(label="Workers at once", min_value=1, max_value=MOST_WORKERS)
