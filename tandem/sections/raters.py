"""Section: who answered, and which labels were used."""

from __future__ import annotations

from ..document import Block, Cell, RaterName, Table, UnitCount, computed_by, count
from ..types import JSON
from .base import MOST_ROWS, PEOPLE, SectionPart
from .exposure import NOT_EXPOSED, describe_exposed

ANSWERED = "answers to whole items; the list shows single units"


LABELLED = "labels of every variable; the list shows those of one"


KINDS = {"human": "person", "judge": "judge", "reference": "reference"}


def raters_block(report: JSON) -> Block:
    header = ("Rater", "Kind", "Responses", "Labels")
    excluded = any(r["excluded"] for r in report["raters"])
    people = [r for r in report["raters"] if r["kind"] == "human" and not r["excluded"]]
    crowd = people if len(people) > MOST_ROWS else []
    rows: list[tuple[Cell, ...]] = [
        (
            RaterName(r["name"], r["kind"]),
            f"{KINDS.get(r['kind'], r['kind'])} (scripted)"
            if r.get("scripted")
            else KINDS.get(r["kind"], r["kind"]),
            _answered_by(r, "responses", ANSWERED),
            _answered_by(r, "labels", LABELLED),
            *((r["excluded"] or "",) if excluded else ()),
        )
        for r in report["raters"]
        if not crowd or r not in crowd
    ]
    if crowd:
        responses, labels = (sum(r[key] for r in crowd) for key in ("responses", "labels"))
        whole = (RaterName(f"All {len(crowd)} people", "human"), "person", responses, labels)
        rows.insert(0, (*whole, *(("",) if excluded else ())))
    every = (*header, *(("Excluded because",) if excluded else ()))
    return Block("Who answered", (Table("Who answered", every, tuple(rows)),))


def _answered_by(rater: JSON, key: str, about: str) -> int:
    """Return a count of a rater's answers, without a link for references and excluded raters."""
    number: int = rater[key]
    if rater["kind"] not in ("human", "judge") or rater["excluded"]:
        return number
    return UnitCount.of(number, show="all", one=rater["name"]).counting(about)


def data_methods(report: JSON) -> str:
    kinds = [rater["kind"] for rater in report["raters"] if not rater["excluded"]]
    people = count(kinds.count("human"), "person", "people")
    judges = count(kinds.count("judge"), "judge") if "judge" in kinds else "no judge"
    missing = report["inputs"]["missing"]
    parts = [
        f"Of {report['inputs']['labels']:,} labels ({missing} more are missing; SHA-256 "
        f"{report['inputs']['sha256'][:12]}…) those of {people} and {judges} on "
        f"{count(report['queries'], 'query', 'queries')} were used. Numbers were computed by "
        f"{computed_by(report)}."
    ]
    parts += _excluded(report["raters"])
    parts += _describe_selection(report["choices"])
    if report["assisted_labels"]:
        how = "counted like all others" if report["assisted"]["included"] else "left out"
        parts.append(
            f"{count(report['assisted_labels'], 'label')} given with a judge's label in view "
            f"{'was' if report['assisted_labels'] == 1 else 'were'} {how}."
        )
    if (exposed := report.get("exposed", NOT_EXPOSED))["labels"]:
        parts.append(f"{describe_exposed(exposed)}.")
    return " ".join(parts)


def _excluded(raters: list[JSON]) -> list[str]:
    """Name the raters that a researcher excluded, with the reasons."""
    out = [f"{rater['name']} ({rater['excluded']})" for rater in raters if rater["excluded"]]
    return [f"Excluded by a researcher: {'; '.join(out)}."] if out else []


def _describe_selection(options: JSON) -> list[str]:
    words = {"variables": "variables", "raters": "raters", "judges": "judges"}
    parts = [f"the {word} {', '.join(options[n])}" for n, word in words.items() if options[n]]
    parts += [f"items of {name} {' or '.join(of)}" for name, of in options["strata"].items()]
    return [f"Only these were used: {'; '.join(parts)}."] if parts else []


PART = SectionPart(
    PEOPLE,
    after=lambda report, _: [raters_block(report)],
    head="Labels",
    methods=lambda report: [data_methods(report)],
)
