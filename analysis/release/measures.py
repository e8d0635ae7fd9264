"""The measures of a released campaign, as `verify` computes them from its labels and batch alone.

The values of each measure for each system are compared: by people together, by the mean of people,
by each rater, and from texts if no rater is asked. Intervals, slices and tests are not compared.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from analysis.evaluation.inputs import (
    JOINT_EVALUATORS,
    AskedContent,
    DeclaredContent,
    Part,
    evaluators_beside,
)
from analysis.evaluation.layout import Layout
from analysis.evaluation.parts_by_protocol import parts_of
from analysis.evaluation.system_values import Persons
from analysis.release.layout import MEASURES
from annotation.protocols.base import Protocol
from annotation.protocols.items import judge_once
from datasets.text import sentences_of
from tandem.files.rows import Query
from tandem.labels.evaluators import Evaluator
from tandem.labels.frame import Frame
from tandem.protocols.base import ItemSpec
from tandem.scores import MEASURES as BY_NAME
from tandem.scores.answers.refusals import FILE, refusal_list
from tandem.scores.base import Measure, MeasureValues, estimate, rows_of
from tandem.scores.options import WHITESPACE, Options, tokenizer
from tandem.types import JSON

Place = tuple[str, str, str]
"""A measure, a system and an evaluator."""
Values = dict[Place, float | None]
TOLERANCE = 1e-9


def asked_content(facts: JSON, task: Protocol | None) -> AskedContent | None:
    """Return a campaign's content from the release's facts. None if an older release lacks them.

    The measures are those that its `task` declares, if it is known.
    """
    if "options" not in facts:
        return None
    bare = facts["queries_without_passages"]
    points = facts["options"].get("points") or ""
    shown = None if bare is None else frozenset(bare)
    return AskedContent(facts["protocol"], points, shown, _declared(facts, task) if task else None)


def _declared(facts: JSON, task: Protocol) -> DeclaredContent | None:
    asked = {(each["name"], each["unit"]) for each in facts["variables"]}
    variables = tuple(v for v in task.variables if (v.name, v.kind) in asked)

    def items(query: Query) -> Iterable[ItemSpec]:
        reports = [replace(each, sentences=sentences_of(each)) for each in query.reports]
        query = replace(query, reports=tuple(reports))
        made = task.make_items(query, variables)
        return judge_once(query, made) if facts["options"].get("same") else made

    return DeclaredContent.of(task, variables, items)


def computed(
    asked: AskedContent,
    frame: Frame,
    queries: Sequence[Query],
    options: Options,
    evaluators: Sequence[Evaluator] = (),
) -> Values:
    """Return the value of each measure, system and evaluator."""
    found, persons = Values(), Persons()
    layout, labels = Layout.from_queries(queries), evaluators_beside(frame, None, evaluators)
    for part in parts_of(asked, queries, labels.frame, options, None, layout):
        for measure in part.measures:
            if not labels.counts(measure, part):
                continue
            values = part.compute(measure, options)
            name = f"{measure.name}{part.suffix}"
            persons.add(name, measure, part, values)
            found |= _by_system(name, measure, part, values)
    for name, measure, part, values in persons.together():
        found |= _by_system(name, measure, part, values)
    return found


def _by_system(name: str, measure: Measure, part: Part, values: MeasureValues) -> Values:
    rows, found = part.rows, Values()
    for column, system in enumerate(rows.system_names):
        kept = rows.columns == column
        # Only the value is compared, which needs no resamples.
        made = estimate(measure, rows_of(values, kept), rows.numbers[kept], draws=1)
        found[name, system, part.rater] = made.value
    return found


def reported_values(measures: Mapping[str, Any]) -> Values:
    """Return the values in the measures file of the release."""
    found = Values()
    for name, of in measures.items():
        for system, said in of["systems"].items():
            together = {each: said.get(each) for each in JOINT_EVALUATORS}
            for evaluator, value in {**together, **said["raters"]}.items():
                if value is not None:
                    found[name, system, evaluator] = value["value"]
    return found


def read_options(
    file: JSON, refusals: Path, tokens: str = "", declaration: type[Options] = Options
) -> dict[str, Any]:
    """Return the values of the options that a file states, by name.

    `refusals` is the release's copy of a list of refusals. A tokenizer's file is not in a release:
    `tokens` names it, or what is counted instead. Raises ValueError for another list of refusals.
    """
    known = {each.name for each in fields(declaration)}
    said: dict[str, Any] = {n: of["value"] for n, of in file["options"].items() if n in known}
    said |= {n: tuple(v) for n, v in said.items() if isinstance(v, list)}
    if said.get("refusals", "").endswith(")"):
        name, said["refusals"] = said["refusals"], f"{FILE}{refusals}"
        if refusal_list(said["refusals"]).name.partition(" (")[2] != name.partition(" (")[2]:
            raise ValueError(f"{refusals.name} is not the list of refusals {name!r}")
    if not counts_tokens(file):
        said["tokenizer"] = tokens or WHITESPACE
    return said


def other_tokenizer(file: JSON, tokens: str) -> str:
    """Return the name of the tokenizer that a file states, if it is another than this one."""
    if counts_tokens(file):
        return ""
    stated: str = file["options"]["tokenizer"]["value"]
    return "" if tokenizer(tokens).name.partition(" (")[2] == stated.partition(" (")[2] else stated


def counts_tokens(file: JSON) -> bool:
    """Return whether the tokens of a file of measures can be counted without the user's file."""
    return bool(file["options"].get("tokenizer", {}).get("value", WHITESPACE) == WHITESPACE)


def without_tokens(values: Values) -> Values:
    """Return the values of the measures that count no tokens."""
    counting = {name for name, measure in BY_NAME.items() if "tokenizer" in measure.options}
    return {
        place: value
        for place, value in values.items()
        if place[0].partition("@")[0] not in counting
    }


def declared_in(file: JSON) -> Iterator[str]:
    """Yield the measures that the campaign's protocol declares."""
    yield from (name for name, of in file["measures"].items() if "reports" in of)


def differences(
    file: JSON, now: Values, with_tokens: bool = False, without: Collection[str] = ()
) -> Iterator[str]:
    """Yield a description of each value in the file that does not follow from the labels.

    Without the user's file of a tokenizer, measures that count tokens are left out, and so are
    those `without` which the file is compared.
    """
    reported = reported_values(file["measures"])
    before = {place: value for place, value in reported.items() if place[0] not in without}
    if not (with_tokens or counts_tokens(file)):
        before, now = without_tokens(before), without_tokens(now)
    for place in dict.fromkeys((*before, *now)):
        one, other = before.get(place), now.get(place)
        if not np.isclose(_number(one), _number(other), rtol=0, atol=TOLERANCE, equal_nan=True):
            name, system, evaluator = place
            who = JOINT_EVALUATORS.get(evaluator, evaluator)
            yield (
                f"{name} of {system or 'no system'} by {who}: {_format_value(one)} in {MEASURES}, "
                f"{_format_value(other)} by the labels"
            )


def _number(value: float | None) -> float:
    return np.nan if value is None else value


def _format_value(value: float | None) -> str:
    return "no value" if value is None else f"{value:g}"
