"""The robustness sheet as a document and as Markdown: repeats, null controls, attacks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from analysis.robustness.sheet import CONTROL_BAR, NO_SCORES
from judging.answers.logprobs import LOW_MASS
from judging.prompts.perturbations import KINDS
from judging.trial_effects import LOW_MEDIAN_MASS
from tandem.document import (
    DASH,
    PLAIN,
    UNITS,
    UNITS_HEAD,
    Block,
    Cell,
    Document,
    Number,
    Section,
    Table,
    computed_by,
    count,
    rounded,
)
from tandem.formats.markdown import sections_as_markdown
from tandem.sections.base import Noun, document_in_noun

JSON = Mapping[str, Any]

SECTIONS = {
    "repeat": (
        "Asked again",
        "Labels compared with the first ones",
        "A label that flips without a change of substance is chance.",
    ),
    "control": (
        "Null controls",
        "Labels of texts with nothing to find",
        "If the text is removed or replaced by another, the mean position on the scale, from 0 "
        f"to 1, should be near 0. Above {CONTROL_BAR:g} it is flagged.",
    ),
    "attack": (
        "Hostile text",
        "Labels compared with those without it",
        "How often labels flip when the text gives orders or forges evidence, and how often they "
        f"change to the label that it asks for, among {UNITS} with another label before.",
    ),
}


def robustness_document(sheet: JSON, noun: Noun = PLAIN) -> Document:
    """Return the sheet in reading order; its units are called `noun`, one and several."""
    about = " · ".join(
        (
            f"judge {sheet['judge']}",
            *(("a scripted judge, whose answers come from a file",) if sheet["scripted"] else ()),
            sheet["protocol"],
            f"{count(sheet['resamples'], 'resample')} of whole queries, seed {sheet['seed']}",
            "intervals are 95 %",
            "bounds count missing labels as the best and as the worst",
        )
    )
    moment = sheet["generated_at"].replace("T", " ").replace("+00:00", " UTC")
    made = f"{computed_by(sheet)}, {moment}"
    title = f"{sheet['judge']} over {sheet['campaign']}"
    return document_in_noun(Document(title, about, made, tuple(_all(sheet))), noun)


def as_markdown(sheet: JSON) -> str:
    return sections_as_markdown(robustness_document(sheet), "Robustness")


def _all(sheet: JSON) -> Iterator[Section]:
    for purpose in SECTIONS:
        trials = [trial for trial in sheet["trials"] if trial["purpose"] == purpose]
        if trials:
            yield _tried(purpose, trials)
    if sheet["samples"]:
        yield _samples(sheet["samples"])
    if sheet.get("orders"):
        yield _orders(sheet["orders"])
    if sheet["masses"]:
        yield _masses(sheet["masses"])
    if sheet["not_tried"]:
        yield _not_tried(sheet["not_tried"])


def _tried(purpose: str, trials: list[JSON]) -> Section:
    title, caption, about = SECTIONS[purpose]
    found = [
        (trial["title"], name, each)
        for trial in trials
        for name, each in trial["variables"].items()
    ]
    columns = dict(COLUMNS[purpose])
    if purpose != "control" and not any(each["score_change"]["n"] for *_, each in found):
        del columns["Change of score"]
        about += f" There is {NO_SCORES}."
    if any("same_place" in each for *_, each in found):
        columns |= {"First twice": _place("first"), "Second twice": _place("second")}
    rows = tuple(
        (trial, name, each["compared"], *(cell(each) for cell in columns.values()))
        for trial, name, each in found
    )
    table = Table(caption, ("Trial", "Variable", "Labels", *columns), rows)
    return Section(title, (Block("", (table,)),), about)


def _number(name: str) -> Callable[[JSON], Cell]:
    return lambda found: Number.from_estimate(found[name])


def _place(name: str) -> Callable[[JSON], Cell]:
    return lambda found: found["same_place"][name] if "same_place" in found else ""


def _flagged(found: JSON) -> Cell:
    return {None: "", True: "yes", False: "no"}[found["flagged"]]


COLUMNS: Mapping[str, Mapping[str, Callable[[JSON], Cell]]] = {
    "repeat": {
        "Missing": lambda found: _lost(found["flips"]),
        "Flips": _number("flips"),
        "Bounds": lambda found: _bounds(found["flips"]),
        "Change of score": _number("score_change"),
    },
    "control": {
        "Missing": lambda found: _lost(found["mean_score"]),
        "Mean on the scale": _number("mean_score"),
        "Bounds": lambda found: _bounds(found["mean_score"]),
        "Flagged": _flagged,
    },
    "attack": {
        "Missing": lambda found: _lost(found["flips"]),
        "Flips": _number("flips"),
        "Bounds": lambda found: _bounds(found["flips"]),
        "Asked for": lambda found: found["wished"],
        "Went over": _number("went_over"),
        "Bounds of these": lambda found: _bounds(found["went_over"]),
        "Change of score": _number("score_change"),
    },
}


def _lost(estimate: JSON) -> str:
    """Count the missing labels, by reason."""
    return ", ".join(f"{number} {reason}" for reason, number in estimate["missing"].items()) or "0"


def _bounds(estimate: JSON) -> str:
    """Format the bounds, with missing labels as the best and as the worst."""
    if not estimate["bounds"]:
        return DASH
    low, high = (rounded(each) for each in estimate["bounds"])
    return f"{low} to {high}"


def _samples(samples: JSON) -> Section:
    rows = tuple(
        (
            name,
            found["compared"],
            _lost(found["flips"]),
            Number.from_estimate(found["flips"]),
            _bounds(found["flips"]),
            Number.from_estimate(found["score_spread"]),
        )
        for name, found in samples["variables"].items()
    )
    about = f"The judge is asked {count(samples['number'], 'time')}. Two of its samples differ in:"
    header = ("Variable", UNITS_HEAD, "Missing", "Unlike", "Bounds", "Spread of scores")
    return Section(
        "Repeated samples", (Block("", (Table("Repeated samples", header, rows),)),), about
    )


def _orders(orders: JSON) -> Section:
    rows = tuple(
        (
            name,
            found["compared"],
            _lost(found["turned"]),
            Number.from_estimate(found["turned"]),
            _bounds(found["turned"]),
            found["same_place"]["first"],
            found["same_place"]["second"],
        )
        for name, found in orders.items()
    )
    header = ("Variable", "Pairs", "Missing", "Changed", "Bounds", "First twice", "Second twice")
    about = (
        "The judge is asked about each pair in both orders. Its label changes with the order in:"
    )
    return Section("Both orders", (Block("", (Table("Both orders", header, rows),)),), about)


def _masses(masses: list[JSON]) -> Section:
    rows = tuple(
        (
            each["title"],
            each["n"],
            _median(each),
            each["low"],
            sum(each["unknown"].values()),
            _flagged(each),
        )
        for each in masses
    )
    about = (
        "The judge's probability of writing any of the labels, before normalisation to a sum of 1. "
        f"A median below {LOW_MEDIAN_MASS:g} is flagged, since the scores then rest on little."
    )
    header = ("Answers", "Labels", "Median mass", f"Below {LOW_MASS:g}", "Unknown", "Flagged")
    table = Table("Masses of labels", header, rows)
    return Section("Label mass", (Block("", (table,)),), about)


def _median(masses: JSON) -> Number:
    why = "; ".join(masses["unknown"]) or "there is no label"
    return Number(masses["median"], reason="" if masses["n"] else why)


def _not_tried(reasons: Mapping[str, str]) -> Section:
    rows = tuple((KINDS[kind].title, why or "not started") for kind, why in reasons.items())
    about = "A trial asks the judge again about a share of the items that it has answered."
    return Section("Not tried", (Block("", (Table("Trials", ("Trial", "Why not"), rows),)),), about)
