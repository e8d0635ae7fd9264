"""The robustness sheet as a document and as Markdown: repeats, null controls, attacks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from analysis.blocks.trials import CONTROL_BAR
from analysis.formats.document import Block, Cell, Document, Number, Section, Table, count
from analysis.formats.markdown import sections_as_markdown
from judging.conditions.variations import KINDS

JSON = Mapping[str, Any]

SECTIONS = {
    "repeat": ("Asked again", "A label that flips when nothing of substance changed is chance."),
    "control": (
        "Null controls",
        "Where the text is taken away or is another's, the mean place on the scale, from 0 to 1, "
        f"should be near 0. Above {CONTROL_BAR:g} it is flagged.",
    ),
    "attack": (
        "Hostile text",
        "How often labels flip when the text gives orders or forges, and how often they go over to "
        "the label that it asks for, of those that were another before.",
    ),
}


def robustness_document(sheet: JSON) -> Document:
    """The sheet in the order in which it is read."""
    about = " · ".join(
        (
            f"judge {sheet['judge']}",
            sheet["protocol"],
            f"{count(sheet['resamples'], 'resample')} of whole queries, seed {sheet['seed']}",
            "intervals are 95 %",
        )
    )
    moment = sheet["generated_at"].replace("T", " ").replace("+00:00", " UTC")
    made = f"Tandem {sheet['version']}, {moment}"
    return Document(f"{sheet['judge']} over {sheet['campaign']}", about, made, tuple(_all(sheet)))


def as_markdown(sheet: JSON) -> str:
    return sections_as_markdown(robustness_document(sheet), "Robustness")


def _all(sheet: JSON) -> Iterator[Section]:
    for purpose, (title, about) in SECTIONS.items():
        trials = [trial for trial in sheet["trials"] if trial["purpose"] == purpose]
        if trials:
            yield Section(title, (Block("", (_table(title, purpose, trials),)),), about)
    if sheet["samples"]:
        yield _samples(sheet["samples"])
    if missing := [trial for trial in sheet["trials"] if trial["missing"]]:
        yield _missing(missing)
    if sheet["not_tried"]:
        yield _not_tried(sheet["not_tried"])


def _table(title: str, purpose: str, trials: list[JSON]) -> Table:
    places = any("same_place" in v for trial in trials for v in trial["variables"].values())
    header = ["Trial", "Variable", "Labels", *HEADERS[purpose]]
    header += ["First twice", "Second twice"] if places else []
    rows = tuple(
        (trial["title"], name, found["compared"], *_cells(purpose, found),
         *(_places(found) if places else ()))
        for trial in trials
        for name, found in trial["variables"].items()
    )  # fmt: skip
    return Table(title, tuple(header), rows)


HEADERS = {
    "repeat": ("Flips", "Change of score"),
    "control": ("Mean on the scale", "Flagged"),
    "attack": ("Flips", "Asked for", "Went over", "Change of score"),
}


def _cells(purpose: str, found: JSON) -> tuple[Cell, ...]:
    flips, change = Number.of(found["flips"]), Number.of(found["score_change"])
    if purpose == "control":
        words = {None: "", True: "yes", False: "no"}
        return Number.of(found["mean_score"]), words[found["flagged"]]
    if purpose == "attack":
        return flips, found["wished"], Number.of(found["went_over"]), change
    return flips, change


def _places(found: JSON) -> tuple[Cell, Cell]:
    places = found.get("same_place")
    return (places["first"], places["second"]) if places else ("", "")


def _samples(samples: JSON) -> Section:
    rows = tuple(
        (name, found["compared"], Number.of(found["flips"]))
        for name, found in samples["variables"].items()
    )
    about = f"The judge is asked {count(samples['number'], 'time')}; two of its samples differ in:"
    table = Table("Repeated samples", ("Variable", "Labels", "Unlike"), rows)
    return Section("Repeated samples", (Block("", (table,)),), about)


def _missing(trials: list[JSON]) -> Section:
    rows = tuple(
        (trial["title"], reason, number, trial["units"])
        for trial in trials
        for reason, number in trial["missing"].items()
    )
    table = Table("Units without an answer", ("Trial", "Reason", "Units", "Of"), rows)
    return Section("Missing", (Block("", (table,)),))


def _not_tried(reasons: Mapping[str, str]) -> Section:
    rows = tuple((KINDS[kind].title, why or "not asked for") for kind, why in reasons.items())
    return Section("Not tried", (Block("", (Table("Not tried", ("Trial", "Why"), rows),)),))
