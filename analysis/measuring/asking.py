"""What somebody may ask of the measures over the web: options within bounds, readable campaigns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields

from django.core.cache import caches
from django.db.models import Exists, OuterRef

from analysis.choices import Choices
from analysis.computed import state_of
from analysis.measures.answers.refusal_lists import FILE, refusal_list
from analysis.measures.options import PRESETS, Options
from analysis.measuring.answer_points import RECALL, VERIFICATION
from analysis.measuring.computing import JSON, measures_report
from analysis.measuring.slicing import SLICING
from annotation.models import Campaign, Rater, Response, User
from annotation.people.membership import readable
from annotation.preparation.registry import declared
from annotation.views.access import is_blind

MOST_CUTS, DEEPEST, MOST_SAMPLES = 6, 1000, 200
PEOPLE = "people"
#: What names files of the server, or needs a package that it may lack, is the operator's.
OPERATORS = ("tokenizer", "alpha_ndcg")
NAMES = tuple(each.name for each in fields(Options) if each.name not in OPERATORS)


@dataclass(frozen=True)
class Asked:
    """How the measures of a campaign are computed. `passages` are a rater and its campaign.

    `slices` are campaigns whose labels divide the queries, `points` one in which points of answers
    are held against their context.
    """

    preset: str
    options: Options
    choices: Choices
    passages: tuple[str, Campaign] | None = None
    slices: tuple[Campaign, ...] = ()
    points: Campaign | None = None


def options_over_the_web(preset: str, given: Mapping[str, str]) -> Options:
    """A preset's options with others given as words. Raises ValueError for one out of bounds."""
    for name in OPERATORS:
        if name in given:
            raise ValueError(f"{name} may be chosen by the command only")
    chosen = PRESETS[preset].changed(given)
    if chosen.refusals.startswith(FILE):
        raise ValueError("refusals of a file may be chosen by the command only")
    refusal_list(chosen.refusals)
    if len(chosen.cuts) > MOST_CUTS or max(chosen.cuts, default=1) > DEEPEST:
        raise ValueError(f"cuts are at most {MOST_CUTS} numbers up to {DEEPEST}")
    if chosen.samples > MOST_SAMPLES:
        raise ValueError(f"samples are at most {MOST_SAMPLES} here; the command takes more")
    return chosen


def passages_offered(user: User, campaign: Campaign) -> dict[str, tuple[str, Campaign]]:
    """Whose ratings of passages may say which sub-questions of reports count, by RATER@CAMPAIGN."""
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


def passages_called(user: User, campaign: Campaign, name: str) -> tuple[str, Campaign] | None:
    """The rater and the campaign of RATER@CAMPAIGN; None where no name is given.

    Raises ValueError where there are none for this account.
    """
    if not name:
        return None
    offered = passages_offered(user, campaign)
    if name not in offered:
        there = ", ".join(offered) or "none that you may read"
        raise ValueError(f"There are no ratings of passages {name!r}; there are {there}.")
    _check_blind(user, offered[name][1])
    return offered[name]


def points_offered(user: User, campaign: Campaign) -> dict[str, Campaign]:
    """The campaigns that may give KPP and KPF to one of key-point recall, by name."""
    if campaign.protocol != RECALL:
        return {}
    beside = readable(user).filter(protocol=VERIFICATION, batch=campaign.batch)
    return {
        other.name: other
        for other in beside.select_related("batch").order_by("name")
        if declared(other).reading == "answers"
    }


def points_called(user: User, campaign: Campaign, name: str) -> Campaign | None:
    """The campaign of this name; None where none is given.

    Raises ValueError for one that is not offered.
    """
    if not name:
        return None
    offered = points_offered(user, campaign)
    if name not in offered:
        there = ", ".join(offered) or "none that you may read"
        raise ValueError(f"There are no points of answers in {name!r}; there are {there}.")
    _check_blind(user, offered[name])
    return offered[name]


def slices_offered(user: User, campaign: Campaign) -> dict[str, Campaign]:
    """The campaigns by whose labels the queries may be sliced, by name."""
    said = Response.objects.filter(
        current=True,
        assignment__item__campaign=OuterRef("pk"),
        assignment__rater__kind__in=(Rater.Kind.HUMAN, Rater.Kind.REFERENCE),
    )
    beside = readable(user).filter(Exists(said), protocol__in=SLICING, batch=campaign.batch)
    return {other.name: other for other in beside.select_related("batch").order_by("name")}


def slices_called(user: User, campaign: Campaign, names: Iterable[str]) -> tuple[Campaign, ...]:
    """The campaigns of these names, each once. Raises ValueError for one that is not offered."""
    given = [name for name in dict.fromkeys(names) if name]
    if not given:
        return ()
    offered = slices_offered(user, campaign)
    for name in given:
        if name not in offered:
            there = ", ".join(offered) or "none that you may read"
            raise ValueError(f"There are no slices by {name!r}; there are {there}.")
        _check_blind(user, offered[name])
    return tuple(offered[name] for name in given)


def _check_blind(user: User, campaign: Campaign) -> None:
    """Raises ValueError for whoever must not see a campaign's labels before his own."""
    if is_blind(user, campaign):
        raise ValueError(f"You have an open item in {campaign.name}; answer it first.")


def computed_measures(campaign: Campaign, asked: Asked) -> JSON:
    """The measures as they are now, from before where nothing has changed since."""
    beside = asked.passages and (asked.passages[0], state_of(asked.passages[1]))
    dividing = [(each.name, state_of(each)) for each in asked.slices]
    points = asked.points and state_of(asked.points)
    said = (
        "measures", asked.preset, asdict(asked.options), asdict(asked.choices), beside, dividing,
        points,
    )  # fmt: skip
    cache, (_, key) = caches["reports"], state_of(campaign, *said)
    found: JSON | None = cache.get(key)
    if found is None:
        found = measures_report(
            campaign,
            asked.options,
            asked.preset,
            asked.choices,
            asked.passages,
            asked.slices,
            asked.points,
        )
        cache.set(key, found)
    return found
