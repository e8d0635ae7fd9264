"""Section: how wrong a judge is where it is surest, and with which bound: an exploratory look.

It is computed where the report knows how the labelled queries were drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import ceil

from ..document import UNITS, Block, Cell, Number, Table, count, count_units, rounded
from ..trust.cells import Cells, people_of
from ..trust.check import Accepted, CutCheck, Drawn, check
from ..trust.options import CheckOptions
from ..types import JSON
from .adjudicated import references_of
from .base import JUDGE, OF_JUDGES, Labels, SectionPart, Shown, blocks_of_judges, slotted
from .citations import CITED
from .sentence import DIGITS, Part, Path, Sentence, question_of

KEY = "trust"
TITLE = "How wrong it is where it is surest"
DRAWN: Mapping[Drawn, str] = {
    "even": "drawn evenly at random",
    "by-size": "drawn by size from a committed plan",
    "all": "all of them",
    "unknown": "nobody knows how they were drawn",
}
"""How labelled queries were drawn, in words."""
TRUTHS = {
    "majority": "people's most frequent answer",
    "one person": "one person's answer, whose errors are included",
    "adjudicated": "adjudicators' decisions, and people's most frequent answer elsewhere",
}
TOO_MANY = "with so many different values, an answer is not right or wrong"
USUAL = CheckOptions()
NO_ANSWER = "the judge gave no answer"


def trust(of: Labels, column: int, options: CheckOptions = USUAL) -> JSON:
    """Return the key `trust` of a judge; nothing if the draw is not known, or nobody labelled."""
    frame, judge = of.both.frame, of.both.frame.raters[column].name
    adjudicated = of.options.reference == "adjudicated"
    people = people_of(frame, references_of(frame) if adjudicated else None)
    if of.draw is None or not people.labelled.any():
        return {}
    given = people.votes[people.votes > 0]
    head = {
        "target": options.risk,
        "truth": people.truth,
        "votes": [int(given.min()), int(given.max())] if len(given) else [0, 0],
        "floor": people.floor.as_json(),
    }
    if of.both.is_continuous:
        return {KEY: {**head, "cuts": [], "reason": TOO_MANY}}
    cells = Cells.of(frame, of.frame.items, column, people)
    found = check(cells, of.draw, frame.name, judge, options.delta, options.cut_shares)
    return {
        KEY: {
            "drawn": found.kind,
            "queries": found.queries,
            "labelled_queries": found.labelled,
            "units": found.cells,
            "delta": found.delta,
            **head,
            "cuts": [_cut_as_json(cut, options.risk) for cut in found.cuts],
        }
    }


def _cut_as_json(cut: CutCheck, risk: float) -> JSON:
    return {
        "share": cut.share,
        "threshold": cut.threshold,
        **_accepted_as_json(cut.whole, risk),
        "by_system": {name: _accepted_as_json(of, risk) for name, of in cut.systems.items()},
    }


def _accepted_as_json(of: Accepted, risk: float) -> JSON:
    return {
        "accepted": of.cells,
        "labelled": of.labelled,
        "wrong": of.wrong,
        "outstanding": of.outstanding,
        "risk": of.risk.as_json(),
        "bound": of.bound.as_json(),
        "met": None if of.bound.value is None else of.bound.value <= risk,
    }


def surest(share: float, units: str) -> str:
    """Name the units that a cut accepts, by their share of all."""
    shown = _percent(share)
    if shown == "100 %":
        return f"all {units}"
    return f"its surest {'half' if shown == '50 %' else shown} of the {units}"


def _percent(share: float) -> str:
    return f"{float(f'{100 * share:.1f}'):g} %" if share > 0.99 else f"{100 * share:.0f} %"


def trust_blocks(shown: Shown) -> Iterator[Block]:
    """Yield the cuts of a judge, and those of each system."""
    if not (found := shown.block.get(KEY)):
        return
    if not (cuts := found["cuts"]):
        yield Block(TITLE, (), found.get("reason", NO_ANSWER))
        return
    at_most = f"At most, {_percent(1 - found['delta'])} sure"
    header = ("Surest", "Accepted", "Labelled", "Wrong", "Share wrong", at_most)
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (_percent(cut["share"]), *_accepted_cells(cut)) for cut in cuts
    )
    tables = [Table(f"Errors, against {TRUTHS[found['truth']]}", header, rows)]
    rows = tuple(
        (_percent(cut["share"]), system, *_accepted_cells(of))
        for cut in cuts
        for system, of in cut["by_system"].items()
    )
    if rows:
        of_systems = ("Surest", "System", *header[1:-1], f"{at_most} of all systems")
        tables.append(Table("Errors by system", of_systems, rows))
    yield Block(TITLE, tuple(tables), _about(found))


def _accepted_cells(of: JSON) -> tuple[Cell, ...]:
    risk, bound = Number.from_estimate(of["risk"]), Number.from_estimate(of["bound"])
    return of["accepted"], of["labelled"], of["wrong"], risk, bound


def _about(found: JSON) -> str:
    """Say how the labelled queries were drawn, and how far people can be trusted."""
    of = count(found["queries"], "query", "queries")
    least, most = found["votes"]
    facts = [
        "exploratory, after one look",
        f"{found['labelled_queries']:,} of {of} labelled, {DRAWN[found['drawn']]}",
        count(most, "person", "people") if least == most else f"{least} to {most} people",
    ]
    if outstanding := max(cut["outstanding"] for cut in found["cuts"]):
        facts.append(f"{count_units(outstanding)} without a label count as wrong in bounds")
    if (floor := found["floor"])["value"] is None:
        facts.append(f"risk of a faultless judge not known: {slotted(floor['reason'])}")
    else:
        facts.append(f"risk of a faultless judge, since people err: {rounded(floor['value'])}")
    return "; ".join(facts)


def trust_sentence(of: JSON, judge: str, path: Path, units: str) -> Iterator[tuple[str, Sentence]]:
    """Yield the sentence on a judge's surest units, if their risk has a bound or is known."""
    found = of.get(KEY) or {}
    if not (cuts := found.get("cuts")):
        return
    cut, where = cuts[0], surest(cuts[0]["share"], units)
    if cut["bound"]["value"] is not None:
        answer, most = "Exploratory", _rounded_up(cut["bound"]["value"])
        sure = _percent(1 - found["delta"])
        text = f"wrong in at most {most} of {where}, with confidence {sure}"
    elif found["drawn"] == "all" and cut["labelled"] == cut["accepted"]:
        answer, share = "By these labels", rounded(cut["risk"]["value"], DIGITS)
        text = f"wrong in {share} of {where}, all of which people labelled"
    else:
        return
    yield KEY, Sentence(question_of(KEY, judge), answer, "open", (Part(text, (*path, KEY)),))


def _rounded_up(bound: float) -> str:
    """Format a bound, which may not be made smaller."""
    return rounded(ceil(bound * 10**DIGITS - 1e-9) / 10**DIGITS, DIGITS)


def trust_methods(report: JSON) -> list[str]:
    """Describe bounds of judges' errors, with the works on the bets that give them."""
    found = [of[KEY] for of in blocks_of_judges(report) if of.get(KEY, {}).get("cuts")]
    if not found:
        return []
    kinds = dict.fromkeys(of["drawn"] for of in found)
    parts = [
        f"Of each judge’s {UNITS}, those of which it was surest were compared with people’s labels "
        "in one exploratory look; a query’s labels count together, since errors may come by whole "
        "queries."
    ]
    if "even" in kinds:
        parts.append(
            f"The bound of the risk is that of bets {CITED['waudby2024']} on queries drawn "
            f"evenly without replacement {CITED['waudby2020']}, in the order of their keys’ "
            "SHA-256."
        )
    if "by-size" in kinds:
        parts.append(
            f"The bound of the risk is that of bets on queries drawn from a committed seed, with "
            f"chances in proportion to their accepted {UNITS} {CITED['shekhar2023']}."
        )
    if "all" in kinds:
        parts.append("Where people labelled every query, the risk is exact and needs no bound.")
    if any(of["floor"]["value"] is not None for of in found):
        parts.append(
            "The risk of a faultless judge follows from how often two people agree, if they err "
            "independently and evenly over the categories."
        )
    return parts


PART = SectionPart(JUDGE, of_judge=trust, blocks=trust_blocks)
METHODS = SectionPart(head=OF_JUDGES, methods=trust_methods)
