"""Options of measures from an address or a form, checked against what the campaign has."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from django import forms
from django.core.cache import caches
from django.db.models import Exists, OuterRef
from django.http import QueryDict

from analysis.campaigns.cache import state_of
from analysis.campaigns.evaluators import declared_for, stored_evaluators
from analysis.evaluation.build import measures_report
from analysis.evaluation.display import DISPLAY_OPTIONS, DisplayOptions
from analysis.evaluation.key_points import RECALL, VERIFICATION
from analysis.evaluation.slicing import SLICING
from analysis.forms import OptionsForm
from annotation.access import is_blind
from annotation.exposure.ledger import Note, collect_looks, deliver
from annotation.models import Campaign, Rater, Response, User
from annotation.people.membership import readable
from annotation.registry import get_protocol
from datasets.option_fields import Several, form_fields
from tandem.labels.selection import EXPOSED, RESAMPLES, SEED, ReportOptions, option_metadata
from tandem.options import Option, options_of, split_pairs, values_of
from tandem.scores.answers.refusals import FILE, refusal_list, refusal_lists
from tandem.scores.options import PRESETS, Options, format_value
from tandem.types import JSON, Progress, ignore_progress

MOST_CUTS, DEEPEST, MOST_SAMPLES = 6, 1000, 200
PEOPLE = "people"
#: Only the operator sets options that name files of the server or need an optional package.
OPERATORS = ("tokenizer", "alpha_ndcg")
NAMES = tuple(each.name for each in options_of(Options) if each.name not in OPERATORS)
TITLES = {
    "tandem": "Tandem's defaults",
    "crux": "CRUX",
    "long2rag": "Long²RAG",
    "garage": "GaRAGe",
    "clapnq": "CLAPnq",
}


@dataclass(frozen=True)
class ResolvedOptions:
    """Resolved options of a campaign's measures.

    `passages` names the rater whose ratings of passages count, with their campaign. The labels of
    `slices`, which are campaigns, divide the queries. `points` is the campaign that compares points
    of answers with the answers' context.
    """

    preset: str
    options: Options
    report_options: ReportOptions
    passages: tuple[str, Campaign] | None = None
    slices: tuple[Campaign, ...] = ()
    points: Campaign | None = None


@dataclass(frozen=True)
class MeasuresOptions:
    """The options of measures, declared once for form, API, command and documentation.

    `option` changes an option of `tandem.scores.options.Options`; a page has a field for each.
    """

    preset: str = field(
        default="tandem",
        metadata=option_metadata(
            "what one paper chose",
            hint="What one paper chose, where the papers leave a choice open.",
            values=TITLES,
        ),
    )
    option: tuple[str, ...] = field(
        default=(),
        metadata=option_metadata(
            "another choice, as K=V, such as eta=5; may be given several times",
            metavar="K=V",
            faces=("command", "api"),
        ),
    )
    passages: str = field(
        default="",
        metadata=option_metadata(
            "for report-coverage: whose ratings of passages decide which sub-questions count, as "
            "RATER@CAMPAIGN; people for people together",
            label="Count only sub-questions that passages answer",
            hint="Whose ratings of passages decide this.",
            metavar="RATER@CAMPAIGN",
        ),
    )
    points: str = field(
        default="",
        metadata=option_metadata(
            "for key-point-recall: the campaign of key-point-verification with points=answers over "
            "the same batch whose labels give KPP and KPF",
            label="Points of answers",
            hint="The campaign that compares answers' points with their context, for KPP and KPF.",
            metavar="CAMPAIGN",
        ),
    )
    slices: tuple[str, ...] = field(
        default=(),
        metadata=option_metadata(
            "a campaign of question-typing or grounding-relevance over the same batch, by whose "
            "labels the queries are sliced; may be given several times",
            label="Slice by the labels from",
            metavar="CAMPAIGN",
        ),
    )
    seed: int = field(default=0, metadata=SEED)
    resamples: int | None = field(default=None, metadata=RESAMPLES)
    exposed: bool = field(default=False, metadata=EXPOSED)


class MeasuresOptionError(ValueError):
    """The option `name` of the measures has an invalid value."""

    def __init__(self, name: str, error: Exception | str) -> None:
        super().__init__(str(error))
        self.name = name


def resolve_options(
    user: User, campaign: Campaign, given: MeasuresOptions, changes: Mapping[str, str]
) -> ResolvedOptions:
    """Return the options that a page or the API accepts, with names resolved for this account.

    `changes` are options of the measures as text. Raises MeasuresOptionError.
    """

    def resolved(name: str, get: Callable[[], Any]) -> Any:
        try:
            return get()
        except ValueError as error:
            raise MeasuresOptionError(name, error) from error

    return ResolvedOptions(
        given.preset,
        resolved("option", lambda: options_over_the_web(given.preset, changes)),
        ReportOptions(seed=given.seed, resamples=given.resamples, exposed=given.exposed),
        resolved("passages", lambda: find_passages(user, campaign, given.passages)),
        resolved("slices", lambda: find_slices(user, campaign, given.slices)),
        resolved("points", lambda: find_points(user, campaign, given.points)),
    )


def read_pairs(given: Iterable[str]) -> dict[str, str]:
    """Read options given as K=V. Raises ValueError."""
    return dict(split_pairs(given, lambda each: ValueError(f"{each!r} is not K=V, such as eta=5")))


def options_over_the_web(preset: str, given: Mapping[str, str]) -> Options:
    """Return a preset's options with changes given as text. Raises ValueError if out of bounds."""
    check_web_names(given)
    chosen = PRESETS[preset].changed(given)
    refusal_list(chosen.refusals)
    check_web_bounds(chosen)
    return chosen


def check_web_names(given: Mapping[str, str]) -> None:
    """Raise ValueError for an option that names a file of the server, before it is read."""
    for name in OPERATORS:
        if name in given:
            raise ValueError(f"{name} may be chosen by the command only")
    if given.get("refusals", "").startswith(FILE):
        raise ValueError("refusals of a file may be chosen by the command only")


def check_web_bounds(chosen: Options) -> None:
    """Raise ValueError for options that would take a page too long."""
    if len(chosen.cuts) > MOST_CUTS or max(chosen.cuts, default=1) > DEEPEST:
        raise ValueError(f"cuts are at most {MOST_CUTS} numbers up to {DEEPEST}")
    if chosen.samples > MOST_SAMPLES:
        raise ValueError(f"samples are at most {MOST_SAMPLES} here; the command takes more")


def available_passages(user: User, campaign: Campaign) -> dict[str, tuple[str, Campaign]]:
    """Return by name the raters whose passage ratings may decide which sub-questions count."""
    if campaign.protocol != "report-coverage":
        return {}
    found: dict[str, tuple[str, Campaign]] = {}
    beside = readable(user).filter(protocol="rubric-passage", batch=campaign.batch)
    for other in beside.order_by("name"):
        raters = Rater.objects.filter(
            assignments__item__campaign=other, assignments__responses__current=True
        ).exclude(kind=Rater.Kind.TRIAL)
        named = dict(raters.order_by("name").values_list("name", "kind"))
        together = [PEOPLE] if "human" in named.values() else []
        found |= {f"{name}@{other.name}": (name, other) for name in (*together, *named)}
    return found


def find_passages(user: User, campaign: Campaign, name: str) -> tuple[str, Campaign] | None:
    """Return the rater and the campaign of RATER@CAMPAIGN; None without a name.

    Raises ValueError if this account may not read such ratings.
    """
    if not name:
        return None
    offered = available_passages(user, campaign)
    if name not in offered:
        offered |= _evaluators_of_passages(campaign, offered.values())
    if name not in offered:
        there = ", ".join(offered) or "none that you may read"
        raise ValueError(f"There are no ratings of passages {name!r}; there are {there}.")
    _check_blind(user, offered[name][1])
    return offered[name]


def _evaluators_of_passages(
    campaign: Campaign, offered: Collection[tuple[str, Campaign]]
) -> dict[str, tuple[str, Campaign]]:
    """Return by name the evaluators of which a judge rated passages."""
    return {
        f"{each.name}@{other.name}": (each.name, other)
        for other in {other.pk: other for _, other in offered}.values()
        for each in stored_evaluators(campaign, other)
        if not {rater for rater, its in offered if its == other}.isdisjoint(each.judges)
    }


def available_points(user: User, campaign: Campaign) -> dict[str, Campaign]:
    """Return by name the campaigns whose labels add KPP and KPF to a key-point recall."""
    if campaign.protocol != RECALL:
        return {}
    beside = readable(user).filter(protocol=VERIFICATION, batch=campaign.batch)
    return {
        other.name: other
        for other in beside.select_related("batch").order_by("name")
        if get_protocol(other).reading == "answers"
    }


def find_points(user: User, campaign: Campaign, name: str) -> Campaign | None:
    """Return the campaign of this name; None without a name.

    Raises ValueError for one that is not available.
    """
    if not name:
        return None
    offered = available_points(user, campaign)
    if name not in offered:
        there = ", ".join(offered) or "none that you may read"
        raise ValueError(f"There are no points of answers in {name!r}; there are {there}.")
    _check_blind(user, offered[name])
    return offered[name]


def available_slices(user: User, campaign: Campaign) -> dict[str, Campaign]:
    """Return the campaigns by whose labels the queries may be sliced, by name."""
    said = Response.objects.filter(
        current=True,
        assignment__item__campaign=OuterRef("pk"),
        assignment__rater__kind__in=(Rater.Kind.HUMAN, Rater.Kind.REFERENCE),
    )
    beside = readable(user).filter(Exists(said), protocol__in=SLICING, batch=campaign.batch)
    return {other.name: other for other in beside.select_related("batch").order_by("name")}


def find_slices(user: User, campaign: Campaign, names: Iterable[str]) -> tuple[Campaign, ...]:
    """Return the campaigns of these names, each once. Raises ValueError for an unavailable one."""
    given = [name for name in dict.fromkeys(names) if name]
    if not given:
        return ()
    offered = available_slices(user, campaign)
    for name in given:
        if name not in offered:
            there = ", ".join(offered) or "none that you may read"
            raise ValueError(f"There are no slices by {name!r}; there are {there}.")
        _check_blind(user, offered[name])
    return tuple(offered[name] for name in given)


def _check_blind(user: User, campaign: Campaign) -> None:
    """Raise ValueError if the person has an open item and must not see others' labels yet."""
    if is_blind(user, campaign):
        raise ValueError(f"You have an open item in {campaign.name}; answer it first.")


def computed_measures(
    campaign: Campaign, resolved: ResolvedOptions, progress: Progress = ignore_progress
) -> JSON:
    """Return the current measures, from the cache if nothing has changed."""
    beside = resolved.passages and (resolved.passages[0], state_of(resolved.passages[1]))
    dividing = [(each.name, state_of(each)) for each in resolved.slices]
    points = resolved.points and state_of(resolved.points)
    said = (
        "measures",
        resolved.preset,
        asdict(resolved.options),
        asdict(resolved.report_options),
        beside,
        dividing,
        points,
        declared_for(campaign),
    )
    cache, (_, key) = caches["reports"], state_of(campaign, *said)
    found: tuple[JSON, list[Note]] | None = cache.get(key)
    if found is None:
        with collect_looks() as looks:
            report = measures_report(
                campaign,
                resolved.options,
                resolved.preset,
                resolved.report_options,
                resolved.passages,
                resolved.slices,
                resolved.points,
                progress,
            )
        found = report, looks
        cache.set(key, found)
    deliver(found[1])
    return found[0]


MEASURES_OPTIONS = options_of(MeasuresOptions)


class MeasuresForm(OptionsForm):
    """The measures' options from an address; `resolved` and `shown` once the form is valid."""

    def __init__(self, data: QueryDict, user: User, campaign: Campaign) -> None:
        super().__init__(data, auto_id="measures-%s")
        self.fields.update(form_fields((*MEASURES_OPTIONS, *DISPLAY_OPTIONS)))
        self.user, self.campaign, self.address = user, campaign, data
        preset = data.get("preset", "")
        own = PRESETS.get(preset, PRESETS["tandem"])
        for option in options_of(Options):
            if option.name in NAMES:
                self.fields[option.name] = option_field(option, getattr(own, option.name))
        passages, points = available_passages(user, campaign), available_points(user, campaign)
        self.has_passages, self.has_points = bool(passages), bool(points)
        self._offer("passages", "all count", passages)
        self._offer("points", "none: KPP and KPF have no value", points)
        slices = self.fields["slices"]
        assert isinstance(slices, Several)
        slices.choices = [(name, name) for name in available_slices(user, campaign)]

    def _offer(self, name: str, none: str, offered: Iterable[str]) -> None:
        field = self.fields[name]
        choices = [("", none), *((each, each) for each in offered)]
        self.fields[name] = forms.ChoiceField(
            label=field.label, help_text=field.help_text, required=False, choices=choices
        )

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        for name in self.address:
            if name not in self.fields:
                self.add_error(
                    None, f"There is no option {name!r}; there are {', '.join(self.fields)}."
                )
        if not self.errors:
            self._check(data)
        return data

    def _check(self, data: dict[str, Any]) -> None:
        changes = {name: data[name] for name in NAMES if data[name]}
        try:
            options = MeasuresOptions(**values_of(MEASURES_OPTIONS, data))
            self.resolved = resolve_options(self.user, self.campaign, options, changes)
        except MeasuresOptionError as error:
            self.add_error(None, _as_sentence(str(error)))
            return
        self.shown = DisplayOptions(**values_of(DISPLAY_OPTIONS, data))

    def options(self) -> list[forms.BoundField]:
        return [self[name] for name in NAMES]

    def changed(self) -> bool:
        """Return whether an option differs from the preset."""
        return any(self.address.get(name) for name in NAMES)


def option_field(option: Option, own: Any) -> forms.Field:
    """Return the field of an option; an empty one takes the preset's value."""
    about: dict[str, Any] = {"label": option.name, "required": False, "help_text": option.help}
    values = refusal_lists() if option.name == "refusals" else list(option.values)
    if option.kind == "flag":
        values = ["yes", "no"]
    if values:
        empty = ("", f"as the preset: {format_value(own)}")
        return forms.ChoiceField(choices=[empty, *((v, v) for v in values)], **about)
    widget = forms.TextInput(attrs={"placeholder": format_value(own)})
    return forms.CharField(max_length=60, widget=widget, **about)


def _as_sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}" + ("" if text.endswith(".") else ".")
