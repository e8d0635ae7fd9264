"""The results of the functions of `tandem`: the report's JSON under short names.

Every number is an `Estimate`. `json` is always the complete block, as `report` writes it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

from tandem import statistics
from tandem.document import count
from tandem.labels.frame import Frame, VariableFrame
from tandem.labels.resampling import Sample
from tandem.labels.selection import ReportOptions
from tandem.sections.alt_test import alternative, forms_of
from tandem.sections.floor import floor
from tandem.similar import did_you_mean
from tandem.types import JSON

DIGITS = 3
FIELDS = ("value", "low", "high", "n", "method")


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

    def __float__(self) -> float:
        """Return the value. Raises ValueError, with the reason, if there is none."""
        if self.value is None:
            raise ValueError(self.reason)
        return self.value


@dataclass(frozen=True)
class AltTest:
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


class Comparison:
    """A judge compared with people or one person:

    `kappa`, `percent`, and `alpha` over all raters.
    """

    def __init__(self, judge: str, against: str, json: JSON) -> None:
        self.judge, self.whom, self.json = judge, against, json

    @property
    def kappa(self) -> Estimate:
        """Cohen's kappa."""
        return Estimate.from_json(self.json["cohen_kappa"])

    @property
    def percent(self) -> Estimate:
        """The share of equal labels."""
        return Estimate.from_json(self.json["percent"])

    @property
    def alpha(self) -> Estimate | None:
        """Krippendorff's alpha; None with fewer than two people."""
        found = self.json.get("krippendorff_alpha")
        return None if found is None else Estimate.from_json(found)

    def __repr__(self) -> str:
        return f"Comparison({self.judge!r} against {self.whom!r}, kappa={self.kappa!r})"


class Judge:
    """A judge of one variable, compared with people."""

    def __init__(
        self, name: str, json: JSON, labels: VariableFrame, options: ReportOptions
    ) -> None:
        self.name, self.json = name, json
        self._labels, self._options = labels, options

    def against(self, whom: str = "") -> Comparison:
        """Compare the judge with people together, one person, or adjudicators' decisions.

        People together are `majority`, or `mean` at the interval level; each name is valid only if
        it applies. Raises KeyError for other names.
        """
        together = str(self.json["reference"])
        blocks = {together: self.json["agreement"], **self.json.get("pairs", {})}
        if isinstance(self.json.get("adjudicated"), dict):
            decided = self.json["adjudicated"]
            blocks["adjudicated"] = decided.get("agreement", decided)
        name = _check_known("reference", whom or together, blocks)
        return Comparison(self.name, name, blocks[name])

    def alt_test(self, epsilon: float | None = None) -> AltTest:
        """Run the alternative annotator test at an epsilon, by default the report's."""
        own = self._options.epsilon
        if epsilon is None or epsilon == own:
            return AltTest.from_json(self.json["alt_test"])
        if not 0 <= epsilon <= 1:
            raise ValueError("epsilon is a number from 0 to 1")
        return alt_test_of(self._labels, self.name, epsilon, self._options)

    def __repr__(self) -> str:
        return f"Judge({self.name!r} on {self._labels.name!r}, kappa={self.against().kappa!r})"


class Variable:
    """One variable: the agreement of people on it, and each judge."""

    def __init__(
        self, name: str, json: JSON, labels: VariableFrame, options: ReportOptions
    ) -> None:
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
        return self._of_people("krippendorff_alpha")

    @property
    def kappa(self) -> Estimate:
        """Fleiss' kappa of people."""
        return self._of_people("fleiss_kappa")

    @property
    def randolph_kappa(self) -> Estimate:
        return self._of_people("randolph_kappa")

    @property
    def gwet(self) -> Estimate:
        """Gwet's AC1 of nominal variables, AC2 of ordered ones, of people."""
        return self._of_people("gwet_ac")

    @property
    def percent(self) -> Estimate:
        """The mean share of agreeing pairs of people."""
        return self._of_people("percent")

    def _of_people(self, name: str) -> Estimate:
        return Estimate.from_json(self.json["agreement"][name])

    def judge(self, name: str = "") -> Judge:
        """Return a judge; the only one needs no name. Raises KeyError for others."""
        name = chosen_name("judge", name, self.json["judges"])
        return Judge(name, self.json["judges"][name], self._labels, self._options)

    def __repr__(self) -> str:
        who = f"{count(self.people, 'person', 'people')}, {count(len(self.judges), 'judge')}"
        return f"Variable({self.name!r}, {self.measurement}, {who}, alpha={self.alpha!r})"


class Score(Mapping[str, dict[str, Estimate]]):
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

    def __repr__(self) -> str:
        return f"Score({self.name!r}, {count(len(self), 'system')}: {', '.join(self)})"


class Report(Mapping[str, Variable]):
    """A report: its variables by name, `scores`, `warnings`, and the whole as `json`.

    A notebook shows it like the site's page.
    """

    def __init__(self, json: JSON, frame: Frame, options: ReportOptions) -> None:
        self.json = json
        self._frame, self._options = frame, options

    def __getitem__(self, variable: str) -> Variable:
        name = _check_known("variable", variable, self.json["variables"])
        labels = self._frame.variables[name]
        return Variable(name, self.json["variables"][name], labels, self._options)

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
    def scores(self) -> dict[str, Score]:
        return {name: Score(name, block) for name, block in self.json["scores"].items()}

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
