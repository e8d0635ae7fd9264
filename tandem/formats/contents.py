"""The report's sections in reading order, each answering one question of a reader.

People, judges side by side and one by one, systems, evidence, slices, planning. Every format and
every page prints them in this order; on pages all of them are folded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..document import (
    UNITS_HEAD,
    Block,
    Cell,
    Number,
    RaterName,
    Section,
    Table,
    UnitCount,
    count,
    with_counts,
)
from ..sections.coefficient import coefficient_of
from ..sections.words import codes_of
from ..types import JSON
from ..unit_counts import compared_units
from .between_judges import between_judges_blocks
from .guideline_sections import GUIDELINE
from .judge_sections import ABOUT_AGAIN, consistency_table, judge_blocks
from .missing_tables import missing_blocks
from .nouns import block_in_noun, noun_of
from .people_sections import MOST_ROWS
from .score_sections import score_blocks
from .sections import (
    exposure_blocks,
    planning_blocks,
    planning_sentences,
    planning_tables,
    quality_block,
    span_blocks,
    validation_blocks,
)
from .variable_sections import people_blocks, slice_blocks

PEOPLE, JUDGES, SYSTEMS, PLANNING = "people", "judges", "systems", "planning"
PARTS = {
    "agreement": PEOPLE,
    "distribution": PEOPLE,
    "between_judges": JUDGES,
    "planning": PLANNING,
    "guidelines": GUIDELINE,
}
"""The section of each part of a variable."""
ANSWERED = "answers to whole items; the list shows single units"
LABELLED = "labels of every variable; the list shows those of one"
KINDS = {"human": "person", "judge": "judge", "reference": "reference"}


def judge_sections(report: JSON) -> dict[str, str]:
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
        return judge_sections(report).get(key[3], "")
    return PARTS.get(part, "")


def _judges(report: JSON) -> list[str]:
    of = (name for variable in report["variables"].values() for name in variable["judges"])
    return list(dict.fromkeys(of))


def _named_blocks(blocks: Sequence[Block], name: str, report: JSON) -> Iterator[Block]:
    """Yield a variable's blocks under its name, if the report has several variables.

    The first block of a single variable has no title, and so is not folded.
    """
    several, noun = len(report["variables"]) > 1, noun_of(report["variables"][name])
    for n, each in enumerate(blocks):
        block = block_in_noun(_of_variable(each, name), noun)
        if several:
            yield replace(block, title=f"{name}: {_within(block.title)}")
        else:
            yield replace(block, title="" if n == 0 else block.title)


def _of_variable(block: Block, name: str) -> Block:
    return with_counts(block, lambda count: count.within(variable=name))


def _within(title: str) -> str:
    """Return a title in lower case, to follow a name; people's names in it keep their capitals."""
    return title[:1].lower() + title[1:]


def people_section(report: JSON) -> Section:
    """Return the section on agreement among people, their answers and their labels."""
    if not report["raters"]:
        text = "No labels yet. The results fill as people and judges answer."
        return Section("People", (), text, name=PEOPLE)
    blocks = [
        block
        for name in report["variables"]
        for block in _named_blocks(people_blocks(report, name), name, report)
    ]
    blocks += [_raters(report), *exposure_blocks(report)]
    subjects = tuple(report["variables"])
    return Section("People", tuple(blocks), name=PEOPLE, place="people", subjects=subjects)


def _raters(report: JSON) -> Block:
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


def judges_sections(report: JSON) -> Iterator[Section]:
    """Yield a comparison of judges, if there are several, and a section on each."""
    names = _judges(report)
    subjects = tuple(report["variables"])
    if len(names) > 1:
        blocks = [
            block
            for name, variable in report["variables"].items()
            for block in _named_blocks(
                [
                    *_side_by_side(variable),
                    *between_judges_blocks(variable),
                    *_consistency(variable),
                ],
                name,
                report,
            )
        ]
        yield Section(
            "Judges side by side", tuple(blocks), name=JUDGES, place="judges", subjects=subjects
        )
    of = judge_sections(report)
    for judge in names:
        blocks = [
            block
            for name, variable in report["variables"].items()
            if judge in variable["judges"]
            for block in _named_blocks(
                [
                    *judge_blocks(
                        variable["judges"][judge],
                        variable["measurement"] != "nominal",
                        judge,
                        codes_of(variable),
                    ),
                    *missing_blocks(variable, judge),
                ],
                name,
                report,
            )
        ]
        blocks += validation_blocks(report, judge)
        drawn = subjects if len(names) == 1 else ()
        yield Section(
            f"Judge {judge}", tuple(blocks), name=of[judge], place="judges", subjects=drawn
        )


def _side_by_side(variable: JSON) -> list[Block]:
    """Return a table with a row for each judge, if there is a reference."""
    shown, rows = coefficient_of(variable), list[tuple[Cell, ...]]()
    for name, of in variable["judges"].items():
        gap, own = of.get("gap", {}), of.get("with_people", {})
        cells = (of["agreement"], own, of["human_ceiling"], gap)
        kappas = (each.get(shown.key) for each in cells)
        numbers = (Number(None) if each is None else Number.from_estimate(each) for each in kappas)
        rows.append((RaterName(name, "judge"), compared_units(of, name, of["units"]), *numbers))
    if not any(isinstance(cell, Number) and cell.value is not None for row in rows for cell in row):
        return []
    header = ("Judge", UNITS_HEAD, "With the majority", "With each person", "People", "Gap")
    return [Block("Agreement with people", (Table(shown.name, header, tuple(rows)),))]


def _consistency(variable: JSON) -> list[Block]:
    """Return the consistency of judges that were asked more than once."""
    if not any("consistency" in of for of in variable["judges"].values()):
        return []
    return [Block("Consistency", (consistency_table(variable["judges"]),), ABOUT_AGAIN)]


def systems_section(report: JSON) -> list[Section]:
    """Return the scores of systems, empty for a protocol without scores."""
    several = len(report["scores"]) > 1
    blocks: list[Block] = []
    for name in report["scores"]:
        for n, block in enumerate(score_blocks(report, name)):
            title = f"{name}: {_within(block.title)}" if several else block.title
            blocks.append(replace(block, title="" if n == 0 and not several else title))
    if not blocks:
        return []
    subjects = tuple(report["scores"])
    return [Section("Systems", tuple(blocks), name=SYSTEMS, place="systems", subjects=subjects)]


def evidence_section(report: JSON) -> list[Section]:
    """Return the section on the similarity of highlights and on misplaced evidence."""
    several = len(report["variables"]) > 1
    blocks: list[Block] = []
    for name, variable in report["variables"].items():
        for block in span_blocks(variable):
            first, *rest = _of_variable(block, name).tables
            blocks.append(replace(block, tables=(first,), title=name if several else ""))
            title = f"{name}: further measures" if several else "Further measures"
            blocks.append(Block(title, tuple(rest)))
    blocks += quality_block(report)
    return [Section("Evidence", tuple(blocks), name="evidence")] if blocks else []


def slices_section(report: JSON) -> list[Section]:
    several = len(report["variables"]) > 1
    blocks = tuple(
        replace(block, title=f"{name}: {_within(block.title)}" if several else block.title)
        for name, variable in report["variables"].items()
        for found in slice_blocks(variable, name)
        for block in [block_in_noun(found, noun_of(variable))]
    )
    subjects = tuple(report["variables"])
    whole = Section("By slice", blocks, name="slices", place="slices", subjects=subjects)
    return [whole] if blocks else []


def planning_section(report: JSON) -> list[Section]:
    """Return the section on how many more queries or raters would narrow the intervals."""
    several = len(report["variables"]) + len(report["scores"]) > 1
    found: list[tuple[str, Block]] = [
        (name, block)
        for name, variable in report["variables"].items()
        for block in planning_blocks(variable)
    ]
    for name, score in report["scores"].items():
        if tables := planning_tables(score):
            found.append((name, Block(name, tuple(tables))))
    if not found:
        return []
    blocks = tuple(
        replace(block, title=name if several or n else "", about="")
        for n, (name, block) in enumerate(found)
    )
    return [
        Section(
            "Planning",
            blocks,
            found[0][1].about,
            points=tuple(planning_sentences(report)),
            name=PLANNING,
        )
    ]


def warnings_section(report: JSON) -> list[Section]:
    points = tuple(
        f"{', '.join(who)}: {each['text']}" if who else each["text"]
        for each in report.get("warnings", ())
        for who in [tuple(filter(None, (each["variable"], each["rater"])))]
    )
    return (
        [Section(count(len(points), "warning"), (), points=points, name="warnings")]
        if points
        else []
    )
