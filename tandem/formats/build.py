"""From the report's JSON to the document that formats print."""

from __future__ import annotations

from dataclasses import replace

from ..document import Document, Section, computed_by, count
from ..sections.verdict import WHOLE
from ..sections.words import replace_codes
from ..types import JSON
from .contents import (
    evidence_section,
    judge_sections,
    judges_sections,
    people_section,
    planning_section,
    slices_section,
    systems_section,
    warnings_section,
)
from .guideline_sections import guideline_section
from .methods import methods_section
from .nouns import common_noun, document_in_noun
from .sections import NOT_EXPOSED, describe_exposed, validation_blocks, written_section

VERDICT = "Verdict"


def document(report: JSON) -> Document:
    """Return the report in reading order: the verdict, then a section for each answer.

    Codes are replaced by the words on annotators' buttons.
    """
    report = replace_codes(report)
    sections = [_verdict(report)] if report.get("verdict") else []
    sections += [*warnings_section(report), people_section(report)]
    sections += [*guideline_section(report), *judges_sections(report)]
    sections += [written_section(report)] if "written" in report else []
    sections += [*systems_section(report), *evidence_section(report), *slices_section(report)]
    sections += planning_section(report)
    sections += _validated_elsewhere(report)
    sections += [methods_section(report)] if report["raters"] and "inputs" in report else []
    made = Document(
        report["campaign"] or "Labels file",
        _describe_report(report),
        _describe_origin(report),
        tuple(sections),
    )
    return document_in_noun(made, common_noun(report))


def _validated_elsewhere(report: JSON) -> list[Section]:
    """Return the judges of other campaigns whose labels people were shown here."""
    there = judge_sections(report)
    others = [name for name in (report.get("assisted") or {}).get("by", {}) if name not in there]
    blocks = [
        replace(block, title=name, kind="judge")
        for name in others
        for block in validation_blocks(report, name)
    ]
    return [Section("Validated judges", tuple(blocks))] if blocks else []


def _verdict(report: JSON) -> Section:
    """Return the questions with their answers, grouped by variable if there are several."""
    found, several = report["verdict"], len(report["variables"]) > 1
    points = [f"{found[key]['question']} {found[key]['text']}" for key in WHOLE if key in found]
    for name, of in found["variables"].items():
        judged = [each for judge in of["judges"].values() for each in judge.values()]
        judged += of.get("among_judges", {}).values()
        before = f"{name}: " if several else ""
        points += [f"{before}{each['question']} {each['text']}" for each in (of["people"], *judged)]
    ranked = [
        each
        for of in found["scores"].values()
        for each in (of.get("best"), *of["judges"].values())
        if each
    ]
    points += [f"{each['question']} {each['text']}" for each in ranked]
    return Section(VERDICT, (), points=tuple(points))


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


def _counts_assisted(report: JSON) -> bool:
    return bool(report.get("assisted", {}).get("included"))


def _describe_origin(report: JSON) -> str:
    return f"{computed_by(report)}, {computed_at(report)}"


def computed_at(report: JSON) -> str:
    """Format the time when the numbers were computed."""
    return str(report["generated_at"]).replace("T", " ").replace("+00:00", " UTC")
