"""From the report's JSON to the document that formats print."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from ..document import Block, Document, Section, UnitCount, computed_by, count, with_counts
from ..types import JSON
from . import build
from .base import (
    JUDGE,
    JUDGES,
    PEOPLE,
    SYSTEMS,
    Shown,
    common_noun,
    document_in_noun,
    named_blocks,
    within,
)
from .exposure import NOT_EXPOSED, describe_exposed
from .methods import methods_section
from .words import replace_codes


def document(report: JSON) -> Document:
    """Return the report in reading order: the verdict, then a section for each answer.

    Codes are replaced by the words on annotators' buttons.
    """
    report = replace_codes(report)
    made = Document(
        report["campaign"] or "Labels file",
        _describe_report(report),
        _describe_origin(report),
        (*_sections(report), *methods_section(report)),
    )
    return document_in_noun(made, common_noun(report))


def _sections(report: JSON) -> Iterator[Section]:
    together = {
        PEOPLE: people_section,
        JUDGES: side_by_side_section,
        JUDGE: judge_sections,
        SYSTEMS: systems_section,
    }
    for part in build.PARTS:
        if part.section:
            yield from part.section(report)
        elif make := together.pop(part.place, None):
            yield from make(report)


def _describe_report(report: JSON) -> str:
    facts = [x for x in (report["protocol"], report["batch"]) if x]
    facts += [
        count(report["queries"], "query", "queries"),
        f"{count(report['resamples'], 'resample')} of whole queries, seed {report['seed']}",
        "intervals are 95 %",
    ]
    if items := report.get("chosen_items"):
        facts.append(f"{count(items, 'chosen item')}, not a random sample")
    facts += describe_options(report.get("choices", {}))
    if report["assisted_labels"]:
        seen = count(report["assisted_labels"], "label")
        where = "counted like all others" if _counts_assisted(report) else "left out"
        facts.append(f"{seen} given with a judge's label in view {where}")
    if (exposed := report.get("exposed", NOT_EXPOSED))["labels"]:
        facts.append(describe_exposed(exposed))
    return " · ".join(facts)


def _counts_assisted(report: JSON) -> bool:
    return bool(report.get("assisted", {}).get("included"))


def _describe_origin(report: JSON) -> str:
    return f"{computed_by(report)}, {computed_at(report)}"


def computed_at(report: JSON) -> str:
    """Format the time when the numbers were computed."""
    return str(report["generated_at"]).replace("T", " ").replace("+00:00", " UTC")


def addresses(report: JSON) -> dict[str, str]:
    """Return the name of each judge's section, by the judge."""
    found: dict[str, str] = {}
    for name in _judges(report):
        address = name_of_section(name)
        taken = sum(each == address for each in found.values())
        found[name] = f"{address}-{len(found)}" if taken else address
    return found


def name_of_section(judge: str) -> str:
    return f"judge-{Section(judge, ()).address}"


def section_of(report: JSON, key: Sequence[str]) -> str:
    """Return the name of the section with a member of the report, empty if there is none."""
    if key[:1] == ["scores"]:
        return SYSTEMS
    part = key[2] if len(key) > 2 else ""
    if part == "judges" and len(key) > 3:
        return addresses(report).get(key[3], "")
    return next((each.place for each in build.PARTS if part and each.key == part), "")


def _judges(report: JSON) -> list[str]:
    of = (name for variable in report["variables"].values() for name in variable["judges"])
    return list(dict.fromkeys(of))


def people_section(report: JSON) -> Iterator[Section]:
    """Yield the section on agreement among people, their answers and their labels."""
    if not report["raters"]:
        text = "No labels yet. The results fill as people and judges answer."
        yield Section("People", (), text, name=PEOPLE)
        return
    blocks, subjects = _blocks(report, PEOPLE, report["variables"]), tuple(report["variables"])
    yield Section("People", blocks, name=PEOPLE, place="people", subjects=subjects)


def side_by_side_section(report: JSON) -> Iterator[Section]:
    """Yield a comparison of judges, if there are several."""
    if len(_judges(report)) > 1:
        blocks, subjects = _blocks(report, JUDGES, report["variables"]), tuple(report["variables"])
        title = "Judges side by side"
        yield Section(title, blocks, name=JUDGES, place="judges", subjects=subjects)


def judge_sections(report: JSON) -> Iterator[Section]:
    """Yield a section on each judge."""
    found = addresses(report)
    drawn = tuple(report["variables"]) if len(found) == 1 else ()
    for judge, name in found.items():
        judged = [of for of, block in report["variables"].items() if judge in block["judges"]]
        blocks = _blocks(report, JUDGE, judged, judge)
        yield Section(f"Judge {judge}", blocks, name=name, place="judges", subjects=drawn)


def systems_section(report: JSON) -> Iterator[Section]:
    """Yield the scores of systems, nothing for a protocol without scores."""
    several = len(report["scores"]) > 1
    blocks: list[Block] = []
    for name in report["scores"]:
        for n, block in enumerate(score_blocks(report, name)):
            title = f"{name}: {within(block.title)}" if several else block.title
            blocks.append(replace(block, title="" if n == 0 and not several else title))
    if blocks:
        subjects = tuple(report["scores"])
        yield Section("Systems", tuple(blocks), name=SYSTEMS, place="systems", subjects=subjects)


def score_blocks(report: JSON, name: str) -> list[Block]:
    """Return the blocks on one score, the systems' means first."""
    parts = (part for part in build.PARTS if part.place == SYSTEMS)
    return [block for part in parts for block in part.shown(Shown(report, name))]


def _blocks(
    report: JSON, place: str, variables: Iterable[str], judge: str = ""
) -> tuple[Block, ...]:
    """Return the blocks of all parts of a place, by variable; those of equal titles are merged."""
    parts, blocks = [part for part in build.PARTS if part.place == place], list[Block]()
    for name in variables:
        made: dict[str, Block] = {}
        for part in parts:
            for each in part.shown(Shown(report, name, judge)):
                first = made.get(each.title)
                merged = replace(first, tables=first.tables + each.tables) if first else each
                made[each.title] = merged
        filtered = partial(_filtered, {"judge": judge} if judge else {})
        counted = [with_counts(each, filtered) for each in made.values()]
        blocks += named_blocks(counted, name, report)
    return (*blocks, *(b for part in parts if part.after for b in part.after(report, judge)))


def _filtered(filters: Mapping[str, str], counted: UnitCount) -> UnitCount:
    return counted.within(**filters)


def describe_options(options: JSON) -> list[str]:
    """Describe the options that differ from the defaults."""
    parts = [("variables", "only"), ("raters", "only raters"), ("judges", "only judges")]
    facts = [f"{word} {', '.join(options[name])}" for name, word in parts if options.get(name)]
    facts += [
        f"only items of {name} {' or '.join(of)}" for name, of in options.get("strata", {}).items()
    ]
    if options.get("threshold") is not None:
        facts.append(f"ratings cut at {options['threshold']:g} only")
    if "epsilon" in options:
        facts.append(f"epsilon {options['epsilon']:g}")
    if options.get("width", 0.1) != 0.1:
        facts.append(f"plans for intervals of width {options['width']:g}")
    if options.get("pairs", "distribution") != "distribution":
        facts.append("large pairs of a crowd listed one by one")
    if options.get("bootstrap", "queries") == "two-way":
        facts.append("queries and raters resampled where possible")
    if options.get("reference", "majority") != "majority":
        facts.append("judges compared with references, too")
    return facts
