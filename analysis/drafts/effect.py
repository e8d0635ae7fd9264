"""Before and after a draft: how a judge agrees with people on the same units."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from analysis.campaigns.cache import state_of
from analysis.campaigns.report_job import campaign_of, may_see
from annotation.adjudication.disputes import counted_labels
from annotation.exposure.ledger import saw_answers
from annotation.models import Campaign, Rater
from datasets.work import Kind, Options, Progress, Result
from datasets.work.guard import for_workers
from judging.models import Judge, JudgeRun
from judging.trial_effects import Labels, count_missing, labels_by, variables_of
from tandem.labels.categories import categories_of
from tandem.labels.resampling import MAX_CATEGORIES
from tandem.protocols.base import Variable
from tandem.statistics import Ints, compared_judges
from tandem.types import JSON

EFFECT = "draft"
LOOK = "draft"
MOST = 200
"""The maximum number of changed units of a kind on a page."""
RIGHT, WRONG, OTHER = "wrong to right", "right to wrong", "otherwise"
TURNS = (RIGHT, WRONG, OTHER)


@dataclass(frozen=True)
class Change:
    """A unit (primary key) whose label changed: people's majority, and the judge's two labels."""

    unit: int
    people: str
    before: str
    after: str

    @property
    def turn(self) -> str:
        if self.people == self.after:
            return RIGHT
        return WRONG if self.people == self.before else OTHER


@for_workers
def effect_of(
    campaign: Campaign, trial: Judge, resamples: int | None = None, seed: int = 0
) -> JSON:
    """Compare a trial of a draft with its judge, by variable, as JSON.

    `measures` have the judge's mean kappa and share of equal labels with each person, before and
    after, and the difference with its interval over queries. `changes` lists the units whose label
    changed, by whether people's majority says it became right or wrong, and `turns` counts them.
    `missing` counts units without an answer to the trial, by reason.
    """
    if trial.base is None:
        raise ValueError(f"{trial} is not a trial")
    before, after = labels_by(campaign, trial.base), labels_by(campaign, trial)
    found = {
        name: _of_variable(campaign, variable, before, after, resamples, seed)
        for name, variable in variables_of(campaign).items()
    }
    shown = {each["unit"] for of in found.values() for turn in of["changes"].values()
             for each in turn}  # fmt: skip
    units = {key.unit for key in after}
    saw_answers(LOOK, campaign, units=sorted(units | shown))
    return {
        "judge": trial.base.rater.name,
        "trial": trial.rater.name,
        "units": len(units),
        "missing": count_missing(campaign, trial),
        "variables": found,
    }


def _of_variable(
    campaign: Campaign,
    variable: Variable,
    before: Labels,
    after: Labels,
    resamples: int | None,
    seed: int,
) -> JSON:
    place = (variable.kind, variable.name)
    keys = [key for key in after if (key.kind, key.variable) == place and key in before]
    said = people_of(campaign, variable, [key.unit for key in keys])
    keys = [key for key in keys if key.unit in said]
    values = [value for votes in said.values() for value in votes.values()]
    values += [labels[key].value for labels in (before, after) for key in keys]
    codes = {code: n for n, code in enumerate(categories_of(variable, values))}
    raters = sorted({rater for votes in said.values() for rater in votes})
    people = np.full((len(keys), len(raters)), -1, np.int64)
    for row, key in enumerate(keys):
        for rater, value in said[key.unit].items():
            people[row, raters.index(rater)] = codes.get(value, -1)
    queries = {query: n for n, query in enumerate(sorted({after[key].query for key in keys}))}
    clusters = np.array([queries[after[key].query] for key in keys], np.int64)
    judged = {of: _codes([labels[key].value for key in keys], codes)
              for of, labels in (("before", before), ("after", after))}  # fmt: skip
    given = {unit: [value for value in votes.values() if value in codes]
             for unit, votes in said.items()}  # fmt: skip
    pairs = [(key.unit, before[key].value, after[key].value) for key in keys]
    changes = list(_changes(pairs, given))
    measures: JSON = {}
    if len(codes) <= MAX_CATEGORIES:
        compared = compared_judges(
            judged["after"], judged["before"], people, clusters, max(1, len(codes)),
            named="the judge before", draws=resamples, seed=seed,
        )  # fmt: skip
        measures = {
            name: {"before": of.other.as_json(), "after": of.one.as_json(),
                   "difference": of.difference.as_json()}
            for name, of in compared.items()
        }  # fmt: skip
    return {
        "units": len(keys),
        "queries": len(queries),
        "people": len(raters),
        "measures": measures,
        "turns": {turn: sum(each.turn == turn for each in changes) for turn in TURNS},
        "changes": {
            turn: [asdict(each) for each in changes if each.turn == turn][:MOST] for turn in TURNS
        },
    }


def people_of(
    campaign: Campaign, variable: Variable, units: Sequence[int]
) -> Mapping[int, dict[str, str]]:
    """Return people's current labels of a variable, by unit and rater."""
    found: dict[int, dict[str, str]] = defaultdict(dict)
    labels = counted_labels(campaign).filter(
        variable=variable.name,
        response__assignment__rater__kind=Rater.Kind.HUMAN,
    )
    keys = set(units)
    rows = labels.values_list("unit", "response__assignment__rater__name", "value")
    for unit, rater, value in rows.iterator(chunk_size=5000):
        if unit in keys:
            found[unit][rater] = value
    return found


def _codes(values: Sequence[str], codes: Mapping[str, int]) -> Ints:
    return np.array([codes.get(value, -1) for value in values], np.int64)


def _changes(
    pairs: Sequence[tuple[int, str, str]], said: Mapping[int, Sequence[str]]
) -> Iterator[Change]:
    for unit, before, after in pairs:
        if before != after:
            yield Change(unit, _majority(said[unit]), before, after)


def _majority(values: Sequence[str]) -> str:
    """Return the most frequent category, empty on a tie or without any."""
    most = Counter(values).most_common(2)
    tied = not most or (len(most) == 2 and most[0][1] == most[1][1])
    return "" if tied else most[0][0]


def question(campaign: Campaign, trial: Judge) -> dict[str, Any]:
    """Return the question of a draft's effect, for `datasets.work.ask`."""
    return {"campaign": campaign.pk, "trial": trial.pk}


def _state(options: Options) -> Any:
    runs = JudgeRun.objects.filter(judge=options["trial"]).order_by("pk")
    return [state_of(campaign_of(options)), list(runs.values_list("pk", "state", "done"))]


def _carry_out(options: Options, progress: Progress) -> Result:
    trial = Judge.objects.select_related("rater", "base__rater").get(pk=options["trial"])
    return Result.of(effect_of(campaign_of(options), trial))


EFFECT_KIND = Kind(EFFECT, "Effect of a draft", _state, _carry_out, may_see, listed=False)
