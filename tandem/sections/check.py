"""The report of `tandem trust check`: only how wrong judges are where they are surest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from types import MappingProxyType

from ..document import Document, Section, computed_by
from ..labels.frame import Frame, evaluation_items
from ..labels.resampling import Sample
from ..labels.selection import ReportOptions
from ..trust.check import Draw
from ..trust.options import CheckOptions
from ..types import JSON
from ..version import ORIGIN
from .base import Labels, Shown, common_noun, document_in_noun, named_blocks, noun_of
from .comparison import comparable_part
from .contents import computed_at
from .methods import references
from .trust import trust, trust_blocks, trust_methods, trust_sentence

TITLE = "What judges may decide"
CHOICES = ("variables", "raters", "judges", "strata", "reference")
"""The options of a report on which a check depends."""
ABOUT = "one exploratory look at labels that exist"
NOTHING = "No person’s and judge’s labels are of the same variable."


def check_report(
    head: JSON,
    frame: Frame,
    options: ReportOptions,
    draw: Draw,
    wanted: CheckOptions,
    nouns: Mapping[str, tuple[str, str]] = MappingProxyType({}),
) -> JSON:
    """Return by variable and judge the key `trust` of a report, and the sentence on it.

    `head` and `nouns` are those of `frame_report`.
    """
    comparable = evaluation_items(frame.strata, options)
    variables: JSON = {}
    for name, of in frame.variables.items():
        sample = Sample(of, options.resamples, options.seed)
        both = comparable_part(sample, comparable)
        labels = Labels(frame, sample, both, options, {}, draw)
        judges = {
            of.raters[column].name: trust(labels, column, wanted) for column in of.columns("judge")
        }
        if judges := {judge: found for judge, found in judges.items() if found}:
            noun = {"noun": list(nouns[name])} if name in nouns else {}
            variables[name] = {**noun, "judges": judges}
    made = {"generated_at": datetime.now(UTC).isoformat(timespec="seconds"), **ORIGIN}
    chosen = {name: of for name, of in options.as_json().items() if name in CHOICES}
    return {**head, **made, "choices": chosen, "variables": variables}


def check_document(report: JSON) -> Document:
    """Return the report in reading order: each judge, and the methods."""
    sections = [*_sections(report)]
    said = trust_methods(report)
    if said:
        paragraphs = [" ".join(said)]
        points = references(paragraphs)
        sections.append(Section("Methods", (), paragraphs=tuple(paragraphs), points=points))
    about = " · ".join(each for each in (report["protocol"], report["batch"], ABOUT) if each)
    origin = f"{computed_by(report)}, {computed_at(report)}"
    made = Document(report["campaign"] or "Labels file", about, origin, tuple(sections))
    return document_in_noun(made, common_noun(report))


def _sections(report: JSON) -> Iterator[Section]:
    judges = dict.fromkeys(j for of in report["variables"].values() for j in of["judges"])
    if not judges:
        yield Section(TITLE, (), NOTHING)
    for judge in judges:
        asked = {n: of for n, of in report["variables"].items() if judge in of["judges"]}
        blocks = [
            block
            for name in asked
            for block in named_blocks([*trust_blocks(Shown(report, name, judge))], name, report)
        ]
        points = tuple(
            f"{name}: {sentence.as_json()['text']}."
            for name, of in asked.items()
            for _, sentence in trust_sentence(
                of["judges"][judge], judge, ("variables", name), noun_of(of)[1]
            )
        )
        yield Section(f"Judge {judge}", tuple(blocks), points=points)
