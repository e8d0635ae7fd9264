"""System rankings: systems by measures for each evaluator, in pairs, and rank correlations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from analysis.evaluation.inputs import (
    JOINT_EVALUATORS,
    JUDGE,
    MEAN_OF_PEOPLE,
    PEOPLE,
    TEXTS,
    Part,
    QuerySample,
    Rows,
)
from tandem.document import letter_of
from tandem.labels.reference import HUMAN
from tandem.labels.selection import ReportOptions
from tandem.scores.agreement import (
    FEWEST_OF_EVALUATORS,
    Ordering,
    Setting,
    orderings,
    powered_mean,
    powered_pairs,
    settings,
    settings_by_mean,
    with_correlations_within,
)
from tandem.scores.base import Measure, MeasureValues, reason_of, rows_of, values_of
from tandem.statistics import (
    Bounds,
    Estimate,
    Floats,
    PairedTest,
    correlation_estimates,
    undefined,
)
from tandem.types import JSON

LEVEL = 0.05
POWERED = "powered"
TESTS = {
    POWERED: "two-sided t test of the prediction-powered mean difference by query",
    MEAN_OF_PEOPLE: "",
    "": "two-sided paired t test of the differences by query, as the intervals are t by query",
}
#: The measures of rankings, which are compared with each other at every cut.
RANKED = ("contexts", "rankings")


def system_rankings(measures: JSON, raters: Sequence[JSON]) -> JSON:
    """Return every ranking: under people, each judge, both together, the batch alone, each rater.

    `letters` name the systems. `higher_than` lists the systems that a system is significantly above
    by a measure, at `level`, Holm-adjusted over all pairs of systems of that measure and evaluator.
    It is null if the system was not tested: the oracle is not tested by a measure relative to it. A
    board's tests and intervals both use t on the values of queries, so they cannot contradict each
    other.
    """
    systems = list(dict.fromkeys(s for of in measures.values() for s in of["systems"]))
    letters = {system: letter_of(n).upper() for n, system in enumerate(systems)}
    kinds = {rater["name"]: rater["kind"] for rater in raters}
    boards = [_board(by, kind, measures, systems) for by, kind in _evaluators(measures, kinds)]
    return {"level": LEVEL, "letters": letters, "boards": boards}


def _evaluators(measures: JSON, kinds: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the evaluators with their kinds, in the order of the boards."""
    said = [each for of in measures.values() for each in of["systems"].values()]
    named = list(dict.fromkeys(name for each in said for name in each["raters"]))
    of_kind = {kind: [name for name in named if kinds.get(name) == kind] for kind in kinds.values()}
    if any(each[PEOPLE] for each in said):
        yield PEOPLE, PEOPLE
    for judge in of_kind.get(JUDGE, []):
        yield judge, JUDGE
    for judge in dict.fromkeys(name for of in measures.values() for name in of["powered"]):
        yield judge, POWERED
    for together in (TEXTS, MEAN_OF_PEOPLE):
        if any(each.get(together) for each in said):
            yield together, together
    for kind in ("reference", HUMAN):
        for name in of_kind.get(kind, []):
            yield name, kind


def _board(by: str, kind: str, measures: JSON, systems: Sequence[str]) -> JSON:
    rows = {system: dict(_row(by, kind, measures, system)) for system in systems}
    return {
        "by": by,
        "kind": kind,
        "test": TESTS.get(kind, TESTS[""]),
        "systems": {system: row for system, row in rows.items() if row},
    }


def _row(by: str, kind: str, measures: JSON, system: str) -> Iterator[tuple[str, JSON]]:
    for name, of in measures.items():
        if found := _estimate_by(of, by, kind, system):
            pairs = _pairs(of, by, kind)
            tested = any(system in (pair["a"], pair["b"]) for pair in pairs)
            higher = _higher(pairs, system) if tested else None
            yield name, {**found, "higher_than": higher}


def _estimate_by(of: JSON, by: str, kind: str, system: str) -> JSON | None:
    found: JSON | None
    if kind == POWERED:
        found = of["powered"].get(by, {}).get("systems", {}).get(system)
        return found
    estimates = of["systems"].get(system, {**dict.fromkeys(JOINT_EVALUATORS), "raters": {}})
    found = estimates.get(by) if kind in JOINT_EVALUATORS else estimates["raters"].get(by)
    return found


def _pairs(of: JSON, by: str, kind: str) -> list[JSON]:
    found: list[JSON] = (
        of["powered"].get(by, {}).get("pairs", [])
        if kind == POWERED
        else of["settings"].get(by, [])
    )
    return found


def _higher(pairs: Sequence[JSON], system: str) -> list[str]:
    """Return the systems whose mean is significantly lower than a system's."""
    found = []
    for pair in pairs:
        p, difference = pair["adjusted_p_value"], pair["difference"]["value"]
        if p is None or p >= LEVEL or not difference:
            continue
        above, below = (pair["a"], pair["b"]) if difference > 0 else (pair["b"], pair["a"])
        if above == system:
            found.append(below)
    return found


def orders_as_json(found: Sequence[Ordering]) -> list[JSON]:
    """Return each pair with its tau-b, and tau_AP if one of them is the reference."""
    return [
        {"a": each.a, "b": each.b, "kendall": each.kendall.as_json()}
        | ({} if each.tau_ap is None else {"tau_ap": each.tau_ap.as_json()})
        | {f"{name}_within": estimate.as_json() for name, estimate in each.within.items()}
        for each in found
    ]


def matrix_of(pairs: Sequence[JSON]) -> JSON | None:
    """Return the taus as a square matrix over everything compared, null for pairs without a tau.

    None without pairs.
    """
    if not pairs:
        return None
    names = list(dict.fromkeys(pair[side] for side in ("a", "b") for pair in pairs))
    taus = {(pair["a"], pair["b"]): pair["kendall"]["value"] for pair in pairs}
    square = [[1.0 if a == b else taus.get((a, b), taus.get((b, a))) for b in names] for a in names]
    return {"evaluators": names, "kendall": square}


def pairs_as_json(found: Sequence[Setting], bounds: Bounds) -> list[JSON]:
    """Return pairs of systems, with differences cut to their possible range."""
    most = bounds[1] - bounds[0]
    return [
        {
            "a": each.a,
            "b": each.b,
            "difference": each.test.difference.within(-most, most).as_json(),
            **p_values(each),
            "method": each.test.method,
        }
        for each in found
    ]


def p_values(of: Setting) -> JSON:
    """Return a pair's p-value before and after adjustment, or the reason for its absence."""
    found = {"p_value": of.test.p_value, "adjusted_p_value": of.adjusted_p_value}
    return found if of.test.reason is None else {**found, "reason": of.test.reason}


@dataclass
class Tables:
    """The table (Q, S) of each measure and rater, in `values`; `systems` names its columns.

    `queries` are the ids of its rows, and `sample` says which of them combine people and judges.
    `oracles` are the systems by which the others are measured, and are ranked separately. `unknown`
    gives by measure, rater and system the reason for a missing figure, whose rows do not count.
    """

    sample: QuerySample
    oracles: frozenset[str] = frozenset()
    values: dict[str, dict[str, Floats]] = field(default_factory=dict)
    systems: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    queries: dict[str, tuple[str, ...]] = field(default_factory=dict)
    cuts: set[str] = field(default_factory=set)
    bounds: dict[str, Bounds] = field(default_factory=dict)
    unknown: dict[tuple[str, str, str], str] = field(default_factory=dict)
    _by_oracle: set[str] = field(default_factory=set)
    _forms: dict[str, list[str]] = field(default_factory=dict)

    def add(self, name: str, measure: Measure, part: Part, found: MeasureValues) -> None:
        """Add a part's values (N,). Contexts come one system at a time, all others at once.

        A part that is not a cut of rankings is a form of the measure.
        """
        tables, named = self.values.setdefault(name, {}), self.systems.setdefault(name, {})
        made = table_of(values_of(found), part.rows)
        for column, system in enumerate(part.rows.system_names):
            if reason := reason_of(rows_of(found, part.rows.columns == column)):
                self.unknown[name, part.rater, system] = reason
                made[:, column] = np.nan
        if measure.by_oracle:
            self._by_oracle.add(name)
        before = tables.get(part.rater)
        tables[part.rater] = made if before is None else np.column_stack([before, made])
        self.kinds[part.rater] = part.kind
        self.queries[name] = part.rows.ids
        self.bounds[name] = measure.bounds
        named.setdefault(part.rater, []).extend(part.rows.system_names)
        if part.family in RANKED and part.suffix:
            self.cuts.add(name)
        elif name not in (forms := self._forms.setdefault(measure.name, [])):
            forms.append(name)

    def evaluators(self, name: str, report_options: ReportOptions) -> list[JSON]:
        """Return for each pair of raters whether they order the systems alike by a measure.

        This needs six systems besides the oracle, since tau of fewer says next to nothing; within
        queries it needs three. A person is not compared with people together, whose order is the
        reference of tau_AP. If queries have splits, only evaluation queries count.
        """
        return orders_as_json(self._orderings(name, report_options))

    def _orderings(self, name: str, report_options: ReportOptions) -> list[Ordering]:
        named = self.systems.get(name, {})
        tables = {rater: of for rater, of in self.values.get(name, {}).items() if rater != TEXTS}
        if len({tuple(named[rater]) for rater in tables}) != 1:
            return []
        kept = self.sample.among(self.queries[name])
        held = {rater: self._without_oracle(name, rater)[kept] for rater in tables}
        why = {rater: self._why(name, rater) for rater in tables}
        unknown = {rater: reason for rater, reason in why.items() if reason}
        found = orderings(
            held,
            report_options.resamples,
            report_options.seed,
            unknown,
            FEWEST_OF_EVALUATORS,
            reference=PEOPLE,
        )
        inside = {PEOPLE, HUMAN}
        return [
            with_correlations_within(each, held, unknown, PEOPLE)
            for each in found
            if {self.kinds[each.a], self.kinds[each.b]} != inside
        ]

    def _without_oracle(self, name: str, rater: str) -> Floats:
        """Return a table without the oracle, which ranks first by measures relative to it."""
        kept = [system not in self.oracles for system in self.systems[name][rater]]
        return self.values[name][rater][:, kept]

    def _why(self, name: str, rater: str) -> str | None:
        """Return the reason why a rater has no figure for a system other than the oracle."""
        named = self.systems[name][rater]
        return self._unknown(name, (rater,), [s for s in named if s not in self.oracles])

    def _unknown(self, name: str, raters: Iterable[str], systems: Iterable[str]) -> str | None:
        """Return the first reason why one of the raters has no figure for one of the systems."""
        every = [(name, rater, system) for rater in raters for system in systems]
        return next((self.unknown[each] for each in every if each in self.unknown), None)

    def forms(self, name: str, report_options: ReportOptions) -> list[JSON]:
        """Compare the order of systems and reports by a measure with that by its later forms.

        Examples of forms are people's yes and no, and a judge's ratings cut at eta; `a` uses this
        form and `b` the other. Kendall's tau-b is of the systems' means, and Spearman's correlation
        of the values of queries and systems, of which there are more. Single people are left out.
        One rater's own forms are under `metrics`. If queries have splits, only evaluation queries
        count.
        """
        forms = next((each for each in self._forms.values() if name in each), [name])
        later = forms[forms.index(name) :]
        places = [
            (form, rater)
            for form in later
            for rater, table in self.values.get(form, {}).items()
            if self.kinds[rater] not in (HUMAN, TEXTS) and np.isfinite(table).any()
        ]
        if len(later) < 2 or len({tuple(self.systems[f][rater]) for f, rater in places}) != 1:
            return []
        # By number, since a rater may have any name.
        held = {
            str(n): self._without_oracle(form, rater)[self.sample.among(self.queries[form])]
            for n, (form, rater) in enumerate(places)
        }
        why = {str(n): self._why(form, rater) for n, (form, rater) in enumerate(places)}
        unknown = {place: reason for place, reason in why.items() if reason}
        drawn = report_options.resamples, report_options.seed
        made = []
        for each in orderings(held, *drawn, unknown, FEWEST_OF_EVALUATORS):
            (own, a), (form, b) = places[int(each.a)], places[int(each.b)]
            if own == name != form and a != b:
                spearman = _spearman(held[each.a], held[each.b], report_options)
                found = {"kendall": each.kendall.as_json(), "spearman": spearman.as_json()}
                made.append({"a": a, "form": form, "b": b, **found})
        return made

    def settings(self, name: str) -> dict[str, list[JSON]]:
        """Return the paired tests of the systems under each rater, of whole rankings only.

        They are t tests like the intervals of the means, so that the letters of a board agree with
        its intervals. Wilcoxon's test is given beside them. The oracle is not tested by a measure
        relative to it.
        """
        if name in self.cuts:
            return {}
        made = {}
        for rater, table in self.values.get(name, {}).items():
            columns = dict(zip(self.systems[name][rater], table.T, strict=True))
            tested = {s: columns[s] for s in self._tested(name, columns)}
            means, ranks = (
                [self._untested_if_unknown(name, (rater,), each) for each in compare(tested)]
                for compare in (settings_by_mean, settings)
            )
            if means:
                tests = pairs_as_json(means, self.bounds[name])
                beside = ({"wilcoxon": p_values(rank)} for rank in ranks)
                made[rater] = [each | more for each, more in zip(tests, beside, strict=True)]
        return made

    def _tested(self, name: str, systems: Iterable[str]) -> list[str]:
        """Return the systems that are tested against each other by a measure."""
        apart = self.oracles if name in self._by_oracle else frozenset()
        return [each for each in systems if each not in apart]

    def _untested_if_unknown(self, name: str, raters: Sequence[str], pair: Setting) -> Setting:
        """Return a pair of systems, without its test if a rater has no figure for one of them."""
        reason = self._unknown(name, raters, (pair.a, pair.b))
        if reason is None:
            return pair
        n, method = pair.test.difference.n, pair.test.difference.method
        test = PairedTest(undefined(reason, n, method), None, pair.test.method, reason)
        return Setting(pair.a, pair.b, test, None)

    def powered(self, name: str) -> JSON:
        """Return by judge the joint estimates of people and that judge, by system and by pair.

        Pairs are of whole rankings only, as in `settings`.
        """
        named, of = self.systems.get(name, {}), self.values.get(name, {})
        if PEOPLE not in of:
            return {}
        judges = [rater for rater in of if self.kinds[rater] == JUDGE]
        return {rater: self._powered(name, named[rater], rater) for rater in judges}

    def _powered(self, name: str, systems: list[str], judge: str) -> JSON:
        of, known = self.values[name], self.systems[name][PEOPLE]
        both = [each for each in systems if each in known]
        human, machine = (
            of[rater][:, [self.systems[name][rater].index(each) for each in both]]
            for rater in (PEOPLE, judge)
        )
        labelled = self.sample.labelled(self.queries[name], human, machine)
        bounds, raters = self.bounds[name], (PEOPLE, judge)
        means = {
            system: powered_mean(
                replace(labelled, reason=labelled.reason or self._unknown(name, raters, (system,))),
                column,
                bounds,
            )
            for column, system in enumerate(both)
        }
        tested = [] if name in self.cuts else self._tested(name, both)
        columns = [both.index(each) for each in tested]
        alone = replace(
            labelled, human=labelled.human[:, columns], judge=labelled.judge[:, columns]
        )
        pairs = [
            self._untested_if_unknown(name, raters, each) for each in powered_pairs(alone, tested)
        ]
        return {
            "systems": {
                system: {**each.as_json(), "effective_labels": worth}
                for system, (each, worth) in means.items()
            },
            "pairs": pairs_as_json(pairs, bounds),
        }

    def metrics(self, report_options: ReportOptions) -> dict[str, list[JSON]]:
        """Compare the systems' orders by measures, cuts and forms, under each rater.

        Measures that ask no rater are given beside each rater's measures of rankings.
        """
        cut = [name for name in self.values if name in self.cuts]
        made: dict[str, list[JSON]] = {}
        for names in (cut, *(forms for forms in self._forms.values() if len(forms) > 1)):
            raters = dict.fromkeys(r for name in names for r in self.values[name] if r != TEXTS)
            for rater in raters:
                tables = self._by(rater, names)
                if names is not cut:
                    # People together are included even if no person used a form.
                    tables = {name: of for name, of in tables.items() if np.isfinite(of).any()}
                why = {
                    n: self._unknown(n, (rater,), self.systems[n].get(rater, ())) for n in tables
                }
                unknown = {name: reason for name, reason in why.items() if reason}
                found = orderings(tables, report_options.resamples, report_options.seed, unknown)
                if found:
                    made.setdefault(rater, []).extend(orders_as_json(found))
        return made

    def _by(self, rater: str, names: list[str]) -> dict[str, Floats]:
        """Return the tables of measures under a rater, or otherwise from the batch alone."""
        tables = {name: self.values[name] for name in names}
        known = {name: of.get(rater, of.get(TEXTS)) for name, of in tables.items()}
        return {name: table for name, table in known.items() if table is not None}


def table_of(values: Floats, rows: Rows) -> Floats:
    """Return the mean value of each query and system, (Q, S), NaN = none."""
    numbers = rows.numbers
    shape = (int(numbers.max(initial=-1)) + 1, len(rows.system_names))
    known = np.isfinite(values)
    cells = numbers[known] * shape[1] + rows.columns[known]
    sums, sizes = (
        np.bincount(cells, weights, minlength=shape[0] * shape[1])
        for weights in (values[known], None)
    )
    made = np.full(shape[0] * shape[1], np.nan)
    np.divide(sums, sizes, out=made, where=sizes > 0)
    return made.reshape(shape)


def _spearman(one: Floats, other: Floats, report_options: ReportOptions) -> Estimate:
    """Return the rank correlation of two tables (Q, S) of the same queries and systems."""
    queries = np.repeat(np.arange(len(one)), one.shape[1])
    return correlation_estimates(
        one.ravel(),
        other.ravel(),
        queries,
        ("spearman",),
        " over queries and systems",
        draws=report_options.resamples,
        seed=report_options.seed,
    )["spearman"]
