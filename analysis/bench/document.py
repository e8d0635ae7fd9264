"""The bench as a document: one table of the judges, and below it how similarly they err."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal

from analysis.bench.numbers import NO_TRIALS
from analysis.campaigns.people_sample import describe_chosen
from judging.answer_files import FAKE
from judging.costs import format_dollars
from tandem.document import (
    DASH,
    PLAIN,
    UNITS,
    UNITS_HEAD,
    Block,
    Cell,
    Document,
    Number,
    RaterName,
    Section,
    Table,
    computed_by,
    count,
)
from tandem.formats.markdown import sections_as_markdown
from tandem.sections.base import Noun, document_in_noun, slotted
from tandem.statistics import EQUAL, KAPPA
from tandem.types import JSON

NOT_TIMED = "no call was timed"
Column = Callable[[JSON, str, JSON], Cell]
"""Returns a cell from a judge, a variable, and the judge's figures for that variable."""
ABOUT = (
    "Kappa, with quadratic weights where categories have an order, and equal labels compare the "
    "judge with people's joint label. The difference to people "
    "is the judge's agreement with each person minus people's with each other, so 0 is as good as "
    "a person. The baseline is word overlap, compared without weights. Seconds are per request."
)
ABOUT_TRIALS = "Flips and attack are from the worst trial of each judge with trials."
ABOUT_ERRORS = (
    f"The correlation of two judges' errors among {UNITS} with the same label from people: 0 if "
    f"errors are independent, 1 if both err on the same {UNITS}. m judges with a mean correlation "
    "r are worth as many as m / (1 + (m - 1) r) judges whose errors are independent, if their "
    "votes are averaged."
)


def bench_document(found: JSON, noun: Noun = PLAIN) -> Document:
    """Arrange the numbers as a document. `noun` is the units' name in singular and plural."""
    about = " · ".join(
        (
            found["protocol"],
            found["batch"],
            f"{count(found['resamples'], 'resample')} of whole queries, seed {found['seed']}",
            "intervals are 95 %",
        )
    )
    moment = found["generated_at"].replace("T", " ").replace("+00:00", " UTC")
    made = f"{computed_by(found)}, {moment}"
    title = f"Judges of {found['campaign']}"
    return document_in_noun(Document(title, about, made, tuple(_sections(found))), noun)


def as_markdown(found: JSON) -> str:
    return sections_as_markdown(bench_document(found), "Bench")


def _sections(found: JSON) -> Iterator[Section]:
    points = [f"{judge['name']}: {FAKE}" for judge in found["judges"] if judge["scripted"]]
    if items := found.get("chosen_items"):
        points.insert(0, describe_chosen(items))
    if points:
        yield Section("Warnings", (), points=tuple(points))
    tried = any(judge["robustness"] for judge in found["judges"])
    about = f"{ABOUT} {ABOUT_TRIALS}" if tried else ABOUT
    about += "".join(
        f" In measures, {', '.join(each['judges'])} count as one evaluator, {each['name']}."
        for each in found.get("evaluators", ())
        if len(each["judges"]) > 1
    )
    yield Section("Judges", (Block("", (_judges(found),)),), about)
    if len(found["judges"]) > 1:
        yield _errors(found)


def _judges(found: JSON) -> Table:
    """Return the table, with columns for several variables and for trials, if any."""
    columns = dict(COLUMNS)
    if len(found["variables"]) == 1:
        del columns["Variable"]
    if not any(judge["robustness"] for judge in found["judges"]):
        del columns["Flips"], columns["Attack"]
    rows = tuple(
        (_name(judge), *(cell(judge, name, of) for cell in columns.values()))
        for name, block in found["variables"].items()
        for judge in found["judges"]
        if (of := block["judges"].get(judge["name"]))
    )
    return Table("Judges compared with people", ("Judge", *columns), rows)


def _number(*path: str) -> Column:
    def cell(judge: JSON, variable: str, of: JSON) -> Cell:
        for name in path:
            of = of[name]
        return Number.from_estimate(of)

    return cell


def _kappa(part: str) -> Column:
    """Return the cell of a variable's own coefficient; where it is a share, of Cohen's kappa."""

    def cell(judge: JSON, variable: str, of: JSON) -> Cell:
        key = of.get("coefficient", KAPPA.key)
        return Number.from_estimate(of[part][KAPPA.key if key == EQUAL.key else key])

    return cell


def _trial(purpose: str) -> Column:
    def cell(judge: JSON, variable: str, of: JSON) -> Cell:
        found = (judge["robustness"] or {}).get(variable, {}).get(purpose)
        return Number(None, reason=NO_TRIALS) if found is None else Number.from_estimate(found)

    return cell


def _missing(judge: JSON, variable: str, of: JSON) -> Cell:
    return ", ".join(f"{n} {reason}" for reason, n in of["missing"].items()) or "0"


def _cost(judge: JSON, variable: str, of: JSON) -> Cell:
    if judge["cost"] is None:
        return Number(None, reason=judge["unknown"])
    return format_dollars(Decimal(judge["cost"]))


def _seconds(judge: JSON, variable: str, of: JSON) -> Cell:
    seconds = judge["seconds"]
    return Number(seconds["mean"], digits=2) if seconds else Number(None, reason=NOT_TIMED)


COLUMNS: Mapping[str, Column] = {
    "Variable": lambda judge, variable, of: variable,
    UNITS_HEAD: lambda judge, variable, of: of["units"],
    "Kappa": _kappa("agreement"),
    "Equal labels": _number("agreement", EQUAL.key),
    "Difference": _kappa("gap"),
    "Over baseline": _number("floor", "judge_minus_floor"),
    "Missing": _missing,
    "Flips": _trial("repeat"),
    "Attack": _trial("attack"),
    "Cost": _cost,
    "Seconds": _seconds,
}


def _name(judge: JSON) -> RaterName:
    return RaterName(f"{judge['name']} (scripted)" if judge["scripted"] else judge["name"], "judge")


def _errors(found: JSON) -> Section:
    errors = {name: of["errors"] for name, of in found["variables"].items()}
    known = {name: of for name, of in errors.items() if "matrix" in of and len(of["judges"]) > 1}
    whole = Table(
        "Independent judges",
        ("Variable", UNITS_HEAD, "Judges", "Mean correlation", "Independent judges"),
        tuple(
            (
                name,
                of["units"],
                len(of["judges"]),
                Number.from_estimate(of["mean_correlation"]),
                Number.from_estimate(of["effective_judges"]),
            )
            for name, of in known.items()
        ),
    )
    blocks = [Block("", (whole,))] if known else []
    names = {judge["name"]: _name(judge) for judge in found["judges"]}
    blocks += [Block(name, (_matrix(of, names),)) for name, of in known.items()]
    lacking = tuple(
        f"{name}: {slotted(of['reason'])}." for name, of in errors.items() if "reason" in of
    )
    return Section("How alike judges err", tuple(blocks), ABOUT_ERRORS, points=lacking)


def _matrix(errors: JSON, names: Mapping[str, RaterName]) -> Table:
    judges = [names[name] for name in errors["judges"]]
    rows = tuple(
        (
            name,
            Number.from_estimate(rate),
            *(DASH if n == m else Number.from_estimate(each) for m, each in enumerate(row)),
        )
        for n, (name, rate, row) in enumerate(
            zip(judges, errors["rates"], errors["matrix"], strict=True)
        )
    )
    return Table("Correlation of errors", ("Judge", "Errs on", *judges), rows)
