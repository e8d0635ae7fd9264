"""From the report's JSON to the document that formats print."""

from __future__ import annotations

from ..document import Block, Cell, Document, RaterName, Section, Table, count
from ..types import JSON
from .methods import methods_section
from .people_sections import MOST_ROWS
from .score_sections import score_section
from .sections import (
    NOT_EXPOSED,
    describe_exposed,
    exposure_sections,
    quality_section,
    validation_sections,
    written_section,
)
from .variable_sections import variable_section

VERDICT = "Verdict"


def document(report: JSON) -> Document:
    """Return the report in reading order: verdict, raters, warnings, scores, variables, methods."""
    sections = [_verdict(report)] if report.get("verdict") else []
    sections += [_raters(report)]
    sections += [_warnings(report)] if report.get("warnings") else []
    sections += [quality_section(report)] if report.get("hints") else []
    sections += [score_section(report, name) for name in report["scores"]]
    sections += [written_section(report)] if "written" in report else []
    sections += [variable_section(report, name) for name in report["variables"]]
    sections += validation_sections(report)
    sections += exposure_sections(report)
    sections += [methods_section(report)] if report["raters"] and "inputs" in report else []
    return Document(
        report["campaign"] or "Labels file",
        _about(report),
        _describe_origin(report),
        tuple(sections),
    )


def _verdict(report: JSON) -> Section:
    """Return the questions with their answers, each after its variable if there are several."""
    found, several = report["verdict"], len(report["variables"]) > 1
    points = []
    for name, of in found["variables"].items():
        judged = [each for judge in of["judges"].values() for each in judge.values()]
        before = f"{name}: " if several else ""
        points += [f"{before}{each['question']} {each['text']}" for each in (of["people"], *judged)]
    ranked = [each for of in found["scores"].values() for each in of["judges"].values()]
    points += [f"{each['question']} {each['text']}" for each in ranked]
    return Section(VERDICT, (), points=tuple(points))


def _warnings(report: JSON) -> Section:
    points = (
        (", ".join(filter(None, (each["variable"], each["rater"]))), each["text"])
        for each in report["warnings"]
    )
    texts = tuple(f"{who}: {text}" if who else text for who, text in points)
    return Section("Warnings", (), points=texts)


def _about(report: JSON) -> str:
    facts = [x for x in (report["protocol"], report["batch"]) if x]
    facts += [
        count(report["queries"], "query", "queries"),
        f"{count(report['resamples'], 'resample')} of whole queries, seed {report['seed']}",
        "intervals are 95 %",
    ]
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
    return f"Tandem {report['version']}, {moment(report)}"


def moment(report: JSON) -> str:
    """Format the time when the numbers were computed."""
    return str(report["generated_at"]).replace("T", " ").replace("+00:00", " UTC")


def _raters(report: JSON) -> Section:
    if not report["raters"]:
        return Section("Raters", (), "No labels yet. The report fills as people and judges answer.")
    header = ("Rater", "Kind", "Responses", "Labels")
    excluded = any(r["excluded"] for r in report["raters"])
    people = [r for r in report["raters"] if r["kind"] == "human" and not r["excluded"]]
    crowd = people if len(people) > MOST_ROWS else []
    rows: list[tuple[Cell, ...]] = [
        (
            RaterName(r["name"], r["kind"]),
            f"{r['kind']} (scripted)" if r.get("scripted") else r["kind"],
            r["responses"],
            r["labels"],
            *((r["excluded"] or "",) if excluded else ()),
        )
        for r in report["raters"]
        if not crowd or r not in crowd
    ]
    if crowd:
        responses, labels = (sum(r[key] for r in crowd) for key in ("responses", "labels"))
        whole = (RaterName(f"All {len(crowd)} people", "human"), "human", responses, labels)
        rows.insert(0, (*whole, *(("",) if excluded else ())))
    every = (*header, *(("Excluded because",) if excluded else ()))
    return Section("Raters", (Block("", (Table("Who answered", every, tuple(rows)),)),))
