"""The functions of `tandem`: a table in, results out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from tandem.labels.resampling import Sample
from tandem.labels.selection import ReportOptions
from tandem.labels.tables import Reading, Table, frame_of
from tandem.results import AltTest, Report, Scores, Variable, alt_test_of, chosen_name
from tandem.sections.agreement import agreement as agreement_of
from tandem.sections.build import frame_report
from tandem.sections.systems import scores
from tandem.statistics import Level

Scales = Mapping[str, str | Sequence[Any]]
"""By variable the codes in their order, or text such as `1,2,3:ordinal`."""
Reference = Literal["human", "adjudicated"]
_REFERENCES: Mapping[str, Literal["majority", "adjudicated"]] = {
    "human": "majority",
    "adjudicated": "adjudicated",
}


def report(
    table: Table,
    *,
    reference: Reference = "human",
    levels: Mapping[str, Level] | None = None,
    scales: Scales | None = None,
    wide: str | None = None,
    protocol: str | Path | None = None,
    resamples: int | None = None,
    seed: int = 0,
    epsilon: float = 0.2,
    variables: Iterable[str] = (),
    raters: Iterable[str] = (),
    judges: Iterable[str] = (),
    exposed: bool = False,
    check: bool = False,
) -> Report:
    """Create the report of a table of labels: agreement among people, and of judges with them.

    Judges are compared with the `reference`: `human` for people together, or `adjudicated` for
    adjudicators' decisions as well. `levels` gives the level of variables, which is nominal unless
    a protocol says otherwise. `scales` gives the codes of variables in their order, as a list or as
    text such as `1,2,3:ordinal`; ordered categories of a data frame need none. `wide` is the
    variable of a table with one column for each rater. `protocol` is a team's protocol in a file,
    which declares the variables. `resamples` defaults to the number that
    suits the queries. `variables`, `raters` and `judges` select labels. Labels whose column
    `exposed` is true, since their rater could see others' labels of the unit, count only with
    `exposed`, here and in the other functions. With `check` other libraries compute the figures
    again, in a process of their own. Raises TableError, InputError, UnknownOptionError, TypeError
    and ValueError.
    """
    options = _options(resamples, seed, epsilon, reference, variables, raters, judges, exposed)
    frame, protocol = frame_of(table, Reading.of(levels, scales, wide, protocol), options)
    head = {"campaign": None, "protocol": protocol, "batch": None}
    made = frame_report(head, frame, options, list(frame.variables), None, check)
    return Report({**made, "hints": []}, lambda: frame, options)


def agreement(
    table: Table,
    variable: str = "",
    *,
    levels: Mapping[str, Level] | None = None,
    scales: Scales | None = None,
    wide: str | None = None,
    protocol: str | Path | None = None,
    resamples: int | None = None,
    seed: int = 0,
    exposed: bool = False,
) -> Variable:
    """Return how well people agree on a variable, which need not be named if it is the only one.

    Raises as `report` does, and KeyError for an unknown variable.
    """
    options = _options(resamples, seed, exposed=exposed)
    frame, _ = frame_of(table, Reading.of(levels, scales, wide, protocol), options)
    labels = frame.variables[chosen_name("variable", variable, frame.variables)]
    block = {
        "measurement": labels.scale.level,
        "categories": [c for c in labels.scale.categories if c not in labels.scale.foreign],
        "agreement": agreement_of(Sample(labels, resamples, seed), False),
        "judges": {},
    }
    return Variable(labels.name, block, lambda: labels, options)


def alternative_test(
    table: Table,
    judge: str = "",
    *,
    epsilon: float = 0.2,
    variable: str = "",
    levels: Mapping[str, Level] | None = None,
    scales: Scales | None = None,
    wide: str | None = None,
    protocol: str | Path | None = None,
    exposed: bool = False,
) -> AltTest:
    """Run the alternative annotator test: may a judge replace a person at this `epsilon`?

    Judge and variable need not be named if they are the only ones. Raises as `report` does, and
    KeyError for unknown names.
    """
    options = _options(None, 0, epsilon, exposed=exposed)
    frame, _ = frame_of(table, Reading.of(levels, scales, wide, protocol), options)
    labels = frame.variables[chosen_name("variable", variable, frame.variables)]
    return alt_test_of(labels, judge, epsilon, options)


def measures(
    table: Table,
    *,
    scales: Scales | None = None,
    wide: str | None = None,
    resamples: int | None = None,
    seed: int = 0,
    exposed: bool = False,
) -> Scores:
    """Return by name the scores of systems that need only labels, such as `coverage`.

    Measures that need texts or rankings need a batch: `tandem measures` has them. Raises as
    `report` does.
    """
    options = _options(resamples, seed, exposed=exposed)
    frame, _ = frame_of(table, Reading.of(scales=scales, wide=wide), options)
    found = scores(frame, options.resamples, options.seed, None)
    return Scores.from_json(found)


def _options(
    resamples: int | None,
    seed: int,
    epsilon: float = 0.2,
    reference: Reference = "human",
    variables: Iterable[str] = (),
    raters: Iterable[str] = (),
    judges: Iterable[str] = (),
    exposed: bool = False,
) -> ReportOptions:
    whole = isinstance(seed, int) and isinstance(resamples, int | None)
    if not whole or (resamples is not None and resamples < 1) or seed < 0:
        raise ValueError("resamples is a whole number of at least 1, and seed of at least 0")
    if not math.isfinite(epsilon) or not 0 <= epsilon <= 1:
        raise ValueError("epsilon is a number from 0 to 1")
    if reference not in _REFERENCES:
        raise ValueError(f"reference is {' or '.join(map(repr, _REFERENCES))}")
    return ReportOptions(
        seed=seed,
        resamples=resamples,
        epsilon=epsilon,
        variables=tuple(variables),
        raters=tuple(raters),
        judges=tuple(judges),
        reference=_REFERENCES[reference],
        exposed=exposed,
    )
