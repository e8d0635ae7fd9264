"""The results of the functions of `tandem`: the report's JSON under short names.

Every number is an `Estimate`. `json` is always the complete block, as `report` writes it. A
notebook shows each result as a table, and `to_frame` gives its numbers as a data frame.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

from tandem import statistics
from tandem.display import Figure, Result, figures_of
from tandem.document import Cell, Number, RaterName, Table, count
from tandem.figures.files import Look
from tandem.formats.html import cell_html
from tandem.labels.frame import Frame, VariableFrame
from tandem.labels.resampling import Sample
from tandem.labels.selection import ReportOptions
from tandem.sections.alt_test import alternative, forms_of
from tandem.sections.floor import floor
from tandem.similar import did_you_mean
from tandem.statistics import ALPHA, AMONG, EQUAL, FLEISS, KAPPA
from tandem.types import JSON

DIGITS = 3
FIELDS = ("value", "low", "high", "n", "method")
LabelSource = Callable[[], VariableFrame]


@dataclass(frozen=True, repr=False)
class Estimate(statistics.Estimate):
    """A value with its 95 % interval, over n units, and how it was computed.

    `value` is None exactly if `reason` is set.
    """

    @classmethod
    def from_json(cls, block: Mapping[str, Any]) -> Estimate:
        """Return an estimate of the report's JSON."""
        value, low, high, n, method = (block[name] for name in FIELDS)
        return cls(value, low, high, n, method, block.get("reason"))

    def __repr__(self) -> str:
        if self.value is None:
            return f"Estimate(None, n={self.n}, reason={self.reason!r})"
        low, high = (x if x is None else f"{x:.{DIGITS}f}" for x in (self.low, self.high))
        value = f"{self.value:.{DIGITS}f}"
        return f"Estimate({value}, low={low}, high={high}, n={self.n}, method={self.method!r})"

    def _repr_html_(self) -> str:
        return cell_html(Number.from_estimate(vars(self)))

    def __float__(self) -> float:
        """Return the value. Raises ValueError, with the reason, if there is none."""
        if self.value is None:
            raise ValueError(self.reason)
        return self.value


@dataclass(frozen=True)
class AltTest(Result):
    """The alternative annotator test of a judge.

    `passes` is None if the test cannot tell at this epsilon, because there are too few queries or a
    floor that does not read the texts passes, too; `verdict` says which. `answer` is `shown`,
    `shown-worse` or `not-shown`, at `answer_epsilon`, which such a floor may have set. `json` is
    the report's block.
    """

    epsilon: float
    passes: bool | None
    verdict: str
    winning_rate: float | None
    advantage_probability: float | None
    json: JSON

    @property
    def answer(self) -> str | None:
        """What the test shows; None where it is undefined."""
        outcome: str | None = self.json["answer"]["outcome"]
        return outcome

    @property
    def answer_epsilon(self) -> float | None:
        """The epsilon of the answer; None if a floor passes at every epsilon."""
        epsilon: float | None = self.json["answer"].get("epsilon")
        return epsilon

    @classmethod
    def from_json(cls, block: JSON) -> AltTest:
        rate, advantage = block["winning_rate"], block["advantage_probability"]
        return cls(block["epsilon"], block["passed"], str(block["verdict"]), rate, advantage, block)

    def _report(self) -> JSON:
        return {"alt_test": self.json}

    def _table(self) -> Table:
        winning, advantage = Number(self.winning_rate), Number(self.advantage_probability)
        row = (f"{self.epsilon:g}", str(self.answer), winning, advantage, self.verdict)
        head = ("Epsilon", "Answer", "Winning rate", "Advantage", "Verdict")
        return Table("Alternative annotator test", head, (row,))

    def __repr__(self) -> str:
        rate = "None" if self.winning_rate is None else f"{self.winning_rate:.{DIGITS}f}"
        return (
            f"AltTest(epsilon={self.epsilon:g}, answer={self.answer!r}, "
            f"verdict={self.verdict!r}, winning_rate={rate})"
        )


def alt_test_of(
    labels: VariableFrame, judge: str, epsilon: float, options: ReportOptions
) -> AltTest:
    """Test a judge of a variable's labels. Raises KeyError for an unknown judge."""
    columns = {labels.raters[n].name: n for n in labels.columns("judge")}
    column = columns[chosen_name("judge", judge, columns)]
    sample = Sample(labels, options.resamples, options.seed)
    beside = floor(sample, (epsilon,))
    forms = forms_of(sample, beside.reason or beside.codes)
    return AltTest.from_json(alternative(sample, labels.codes[:, column], (epsilon,), forms))


class Comparison(Result):
    """A judge compared with people or one person:

    `kappa`, `percent`, and `alpha` over all raters.
    """

    def __init__(self, judge: str, against: str, json: JSON) -> None:
        self.judge, self.whom, self.json = judge, against, json

    @property
    def kappa(self) -> Estimate:
        """Cohen's kappa."""
        return Estimate.from_json(self.json[KAPPA.key])

    @property
    def percent(self) -> Estimate:
        """The share of equal labels."""
        return Estimate.from_json(self.json[EQUAL.key])

    @property
    def alpha(self) -> Estimate | None:
        """Krippendorff's alpha; None with fewer than two people."""
        found = self.json.get(ALPHA.key)
        return None if found is None else Estimate.from_json(found)

    def _report(self) -> JSON:
        return {"judges": {self.judge: {"pairs": {self.whom: self.json}}}}

    def _table(self) -> Table:
        caption = f"{self.judge} compared with {self.whom}"
        return _comparisons(caption, "Compared with", {RaterName(self.whom): self})

    def __repr__(self) -> str:
        return f"Comparison({self.judge!r} against {self.whom!r}, kappa={self.kappa!r})"


def _comparisons(caption: str, head: str, found: Mapping[RaterName, Comparison]) -> Table:
    rows = tuple(
        (name, *(_cell(each) for each in (of.kappa, of.percent, of.alpha)))
        for name, of in found.items()
    )
    return Table(caption, (head, KAPPA.name, "Share equal", ALPHA.name), rows)


def _cell(estimate: Estimate | None) -> Cell:
    return "" if estimate is None else Number.from_estimate(vars(estimate))


class Judge(Result):
    """A judge of one variable, compared with people."""

    def __init__(
        self, name: str, variable: str, json: JSON, labels: LabelSource, options: ReportOptions
    ) -> None:
        self.name, self.variable, self.json = name, variable, json
        self._labels, self._options = labels, options

    def against(self, whom: str = "") -> Comparison:
        """Compare the judge with people together, one person, or adjudicators' decisions.

        People together are `majority`, or `mean` at the interval level; each name is valid only if
        it applies. Raises KeyError for other names.
        """
        blocks = self._blocks()
        name = _check_known("reference", whom or str(self.json["reference"]), blocks)
        return Comparison(self.name, name, blocks[name])

    def _blocks(self) -> dict[str, JSON]:
        blocks = {str(self.json["reference"]): self.json["agreement"], **self.json.get("pairs", {})}
        if isinstance(self.json.get("adjudicated"), dict):
            decided = self.json["adjudicated"]
            blocks["adjudicated"] = decided.get("agreement", decided)
        return blocks

    def alt_test(self, epsilon: float | None = None) -> AltTest:
        """Run the alternative annotator test at an epsilon, by default the report's."""
        own = self._options.epsilon
        if epsilon is None or epsilon == own:
            return AltTest.from_json(self.json["alt_test"])
        if not 0 <= epsilon <= 1:
            raise ValueError("epsilon is a number from 0 to 1")
        return alt_test_of(self._labels(), self.name, epsilon, self._options)

    def _report(self) -> JSON:
        return _within(self.variable, {"judges": {self.name: self.json}})

    def _table(self) -> Table:
        found = {RaterName(whom): self.against(whom) for whom in self._blocks()}
        return _comparisons(f"{self.name} on {self.variable}", "Compared with", found)

    def __repr__(self) -> str:
        return f"Judge({self.name!r} on {self.variable!r}, kappa={self.against().kappa!r})"


def _within(variable: str, block: JSON) -> JSON:
    return {"variables": {variable: block}}


class Variable(Result):
    """One variable: the agreement of people on it, and each judge."""

    def __init__(self, name: str, json: JSON, labels: LabelSource, options: ReportOptions) -> None:
        self.name, self.json = name, json
        self._labels, self._options = labels, options

    @property
    def measurement(self) -> str:
        return str(self.json["measurement"])

    @property
    def categories(self) -> list[str]:
        return list(self.json["categories"])

    @property
    def units(self) -> int:
        """The number of units that people labelled."""
        return int(self.json["agreement"]["units"])

    @property
    def people(self) -> int:
        return int(self.json["agreement"]["raters"])

    @property
    def judges(self) -> list[str]:
        return list(self.json["judges"])

    @property
    def alpha(self) -> Estimate:
        """Krippendorff's alpha of people."""
        return self.coefficients[ALPHA.key]

    @property
    def kappa(self) -> Estimate:
        """Fleiss' kappa of people."""
        return self.coefficients[FLEISS.key]

    @property
    def randolph_kappa(self) -> Estimate:
        return self.coefficients["randolph_kappa"]

    @property
    def gwet(self) -> Estimate:
        """Gwet's AC1 of nominal variables, AC2 of ordered ones, of people."""
        return self.coefficients["gwet_ac"]

    @property
    def percent(self) -> Estimate:
        """The mean share of agreeing pairs of people."""
        return self.coefficients["percent"]

    @property
    def coefficients(self) -> dict[str, Estimate]:
        """Every coefficient of people, by its key in the report."""
        found = self.json["agreement"]
        return {name: Estimate.from_json(found[name]) for name in AMONG if name in found}

    def judge(self, name: str = "") -> Judge:
        """Return a judge; the only one needs no name. Raises KeyError for others."""
        name = chosen_name("judge", name, self.json["judges"])
        block = self.json["judges"][name]
        return Judge(name, self.name, block, self._labels, self._options)

    def _report(self) -> JSON:
        return _within(self.name, self.json)

    def _table(self) -> Table:
        rows: list[tuple[Cell, ...]] = [
            (f"People: {each.head or each.name}", _cell(self.coefficients[each.key]))
            for each in sorted(AMONG.values(), key=lambda each: each.rank)
            if each.rank
        ]
        for name in self.judges:
            found = self.judge(name).against()
            rows.append((f"{name} with {found.whom}: Cohen's kappa", _cell(found.kappa)))
        return Table(self.name, ("Agreement", "Estimate"), tuple(rows))

    def __repr__(self) -> str:
        who = f"{count(self.people, 'person', 'people')}, {count(len(self.judges), 'judge')}"
        return f"Variable({self.name!r}, {self.measurement}, {who}, alpha={self.alpha!r})"


class Score(Result, Mapping[str, dict[str, Estimate]]):
    """A score such as `coverage`: each rater's estimate by system, and people's `mean`."""

    def __init__(self, name: str, json: JSON) -> None:
        self.name, self.json = name, json

    def __getitem__(self, system: str) -> dict[str, Estimate]:
        of = self.json["systems"][_check_known("system", system, self.json["systems"])]
        return {rater: Estimate.from_json(block) for rater, block in of.items()}

    def __iter__(self) -> Iterator[str]:
        return iter(self.json["systems"])

    def __len__(self) -> int:
        return len(self.json["systems"])

    def _mean(self, system: str) -> Cell:
        return _cell(self[system].get("mean")) if system in self else ""

    def _report(self) -> JSON:
        return {"scores": {self.name: self.json}}

    def _table(self) -> Table:
        raters = list(dict.fromkeys(rater for system in self for rater in self[system]))
        rows = tuple(
            (system, *(_cell(of.get(rater)) for rater in raters)) for system, of in self.items()
        )
        return Table(self.name, ("System", *raters), rows)

    def __repr__(self) -> str:
        return f"Score({self.name!r}, {count(len(self), 'system')}: {', '.join(self)})"


class Scores(Result, dict[str, Score]):
    """Scores by name, such as `coverage`. A notebook shows people's mean of each system."""

    @classmethod
    def from_json(cls, blocks: Mapping[str, JSON]) -> Scores:
        return cls({name: Score(name, block) for name, block in blocks.items()})

    def _report(self) -> JSON:
        return {"scores": {name: score.json for name, score in self.items()}}

    def _table(self) -> Table:
        systems = list(dict.fromkeys(system for score in self.values() for system in score))
        rows = tuple((system, *(of._mean(system) for of in self.values())) for system in systems)
        return Table("People's mean scores", ("System", *self), rows)


class Report(Result, Mapping[str, Variable]):
    """A report: its variables by name, `scores`, `warnings`, and the whole as `json`.

    A notebook shows it like the site's page. `frame` returns its labels, which only tests with
    other options than the report's need.
    """

    def __init__(self, json: JSON, frame: Callable[[], Frame], options: ReportOptions) -> None:
        self.json, self.options = json, options
        self._frame = frame

    def __getitem__(self, variable: str) -> Variable:
        name = _check_known("variable", variable, self.json["variables"])

        def labels() -> VariableFrame:
            return self._frame().variables[name]

        return Variable(name, self.json["variables"][name], labels, self.options)

    def __iter__(self) -> Iterator[str]:
        return iter(self.json["variables"])

    def __len__(self) -> int:
        return len(self.json["variables"])

    @property
    def people(self) -> list[str]:
        return self._raters("human")

    @property
    def judges(self) -> list[str]:
        return self._raters("judge")

    def _raters(self, kind: str) -> list[str]:
        return [rater["name"] for rater in self.json["raters"] if rater["kind"] == kind]

    @property
    def warnings(self) -> list[JSON]:
        """Warnings about the numbers, each with `code`, `variable`, `rater` and `text`."""
        return list(self.json["warnings"])

    @cached_property
    def scores(self) -> Scores:
        return Scores.from_json(self.json["scores"])

    def judge(self, name: str = "", variable: str = "") -> Judge:
        """Return a judge of a variable, which need not be named if it is the only one.

        Raises KeyError for unknown names.
        """
        return self[chosen_name("variable", variable, self.json["variables"])].judge(name)

    def text(self, format: str = "md") -> str:
        """Return the report as `json`, `md`, `csv`, `latex` or `html`. Raises KeyError."""
        from tandem.formats import FORMATS

        return FORMATS[_check_known("format", format, FORMATS)].render(self.json)

    def save(self, path: str | Path) -> Path:
        """Write the report to a file, in the format of its suffix, such as `report.html`.

        Raises KeyError for an unknown suffix, and OSError.
        """
        from tandem.formats import FORMATS

        formats = {each.suffix: each for each in FORMATS.values()}
        suffix = _check_known("ending", Path(path).suffix.removeprefix("."), formats)
        Path(path).write_text(formats[suffix].render(self.json), "utf-8")
        return Path(path)

    @property
    def figures(self) -> dict[str, list[str]]:
        """The figures that the report has data for, each with what it can show."""
        return dict(figures_of(self.json))

    def figure(self, name: str, of: str = "", *, look: Look | None = None) -> Figure:
        """Return a figure by its name in `figures`, as a drawing that a notebook shows.

        `of` is the variable or score that it shows, by default the first. `look` chooses black and
        white, or the width of a paper's column. Raises FigureError if there is no such figure.
        """
        return Figure(self.json, name, of, look or Look())

    def _report(self) -> JSON:
        return self.json

    def _latex(self) -> str:
        return self.text("latex")

    def _repr_html_(self) -> str:
        # In an iframe, since the style sheet is for whole pages.
        page = escape(self.text("html"))
        style = "width: 100%; height: 40rem; border: 0"
        return f'<iframe title="Report" sandbox srcdoc="{page}" style="{style}"></iframe>'

    def __repr__(self) -> str:
        parts = (
            count(len(self), "variable"),
            count(len(self.people), "person", "people"),
            count(len(self.judges), "judge"),
            count(self.json["queries"], "query", "queries"),
            count(self.json["inputs"]["labels"], "label"),
        )
        return f"Report({', '.join(parts)})"


def chosen_name(what: str, name: str, existing: Collection[str]) -> str:
    """Return the name if it exists or, without a name, the only existing one. Raises KeyError."""
    if name:
        return _check_known(what, name, existing)
    if len(existing) != 1:
        which = f"name one of {', '.join(existing)}" if existing else "there is none"
        raise KeyError(f"which {what}? {which}")
    return next(iter(existing))


def _check_known(what: str, name: str, existing: Collection[str]) -> str:
    if name in existing:
        return name
    hint = did_you_mean(name, existing, f"there are {', '.join(existing) or 'none'}")
    raise KeyError(f"there is no {what} {name!r}; {hint}")
