"""Section: agreement on evidence, that is, on the words of a text that raters mark.

A document is what the raters who answered a unit marked in one text for that unit. Raters are
people, or people and one judge as one more annotator, never as gold. There are two readings: all
documents, in which marking nothing is an answer (a rater who says no has no evidence), and only
pairs in which both raters marked something.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np

from ..document import (
    DASH,
    UNIT,
    Block,
    Cell,
    Number,
    RaterName,
    Section,
    Table,
    UnitCount,
    count,
    join_words,
)
from ..labels.facts import Evidence, EvidenceSpan, LabelKey
from ..labels.frame import VariableFrame
from ..statistics import (
    Bools,
    Estimate,
    Ints,
    Span,
    binary_unitising_alpha,
    token_alpha,
    undefined,
    unitising_alpha,
)
from ..statistics.spans import Document, Marked, SpanPairs
from ..types import JSON
from .base import Labels, SectionPart, as_json
from .base import of_variable as _of_variable
from .citations import CITED

WORD = re.compile(r"\w+")
PAIRS, WITH_EACH = ", over pairs of raters", ", with each person"
NO_TEXTS = "the texts are not known: a labels file does not hold them"


@dataclass(frozen=True)
class _Text:
    """Each rater's spans in one text for one unit, and the text if known."""

    query: int
    marked: tuple[Marked | None, ...]
    text: str | None


@dataclass(frozen=True)
class _Draws:
    resamples: int | None
    seed: int


def spans(labels: VariableFrame, marks: Evidence, resamples: int | None, seed: int) -> JSON:
    """Return the key `spans` of a variable, or nothing if no rater marked anything for it."""
    lost: Counter[str] = Counter()
    texts = list(_texts(labels, marks, lost))
    if not texts:
        return {}
    draws = _Draws(resamples, seed)
    people = [n for n in labels.columns("human") if (labels.codes[:, n] >= 0).any()]
    alone = [_only(text, people) for text in texts]
    return {
        "spans": {
            "unanchored": dict(sorted(lost.items())),
            "agreement": _people([t for t in alone if _workers(t) >= 2], draws),
            "judges": {
                labels.raters[n].name: _judge([_only(t, [n, *people]) for t in texts], draws)
                for n in labels.columns("judge")
            },
        }
    }


def _texts(labels: VariableFrame, marks: Evidence, lost: Counter[str]) -> Iterator[_Text]:
    """Yield the documents; labels with unlocated quotes are counted in `lost`, by rater.

    Spans of excluded raters neither create a document nor indicate where evidence belongs.
    """
    counted = [(n, rater) for n, rater in enumerate(labels.raters) if rater.excluded is None]
    given = {
        (n, column): found
        for n, (item, kind, unit) in enumerate(labels.units.names)
        for column, rater in counted
        if labels.codes[n, column] >= 0
        and (found := marks.spans.get(LabelKey(item, kind, unit, labels.name, rater.name)))
    }
    usual = marks.fields.get(labels.name) or _most_marked_text(given.values())
    if usual is None:
        return
    fields: dict[int, set[str]] = {}
    for (n, column), found in given.items():
        fields.setdefault(n, set()).update(mark.field for mark in found)
        if all(mark.start is None for mark in found):
            lost[labels.raters[column].name] += 1
    first = _first_of_several(marks, usual)
    for n, (item, _, _) in enumerate(labels.units.names):
        for name in sorted(
            {_resolve_text(item, each, marks, first) for each in fields.get(n, {usual})}
        ):
            marked = tuple(
                _located_spans(given.get((n, column), ()), name)
                if labels.codes[n, column] >= 0
                else None
                for column in range(len(labels.raters))
            )
            yield _Text(int(labels.units.query[n]), marked, marks.texts.get((item, name)))


def _first_of_several(marks: Evidence, usual: str) -> dict[str, str]:
    """Return by item the first text of the most marked kind, for items with several such texts."""
    first: dict[str, str] = {}
    for item, name in marks.texts:
        if name.startswith(f"{usual}:"):
            first.setdefault(item, name)
    return first


def _resolve_text(item: str, name: str, marks: Evidence, first: Mapping[str, str]) -> str:
    """Return the text that a name refers to; the name of a kind refers to the item's first text."""
    return name if (item, name) in marks.texts else first.get(item, name)


def _most_marked_text(given: Iterable[Sequence[EvidenceSpan]]) -> str | None:
    """Return the most frequently marked text."""
    counted = Counter(mark.field for marks in given for mark in marks)
    return counted.most_common(1)[0][0] if counted else None


def _located_spans(marks: Sequence[EvidenceSpan], field: str) -> Marked | None:
    """Return the spans in a text, or None if none of the rater's quotes was located."""
    placed = [mark for mark in marks if mark.start is not None and mark.end is not None]
    if marks and not placed:
        return None
    return [Span(((m.start or 0, m.end or 0),)) for m in placed if m.field == field]


def _only(text: _Text, columns: Sequence[int]) -> _Text:
    return _Text(text.query, tuple(text.marked[n] for n in columns), text.text)


def _workers(text: _Text) -> int:
    return sum(marked is not None for marked in text.marked)


def _people(texts: Sequence[_Text], draws: _Draws) -> JSON:
    # Unitising alpha needs the same raters throughout; otherwise it is computed by pair.
    if any(marked is None for text in texts for marked in text.marked):
        pairs = [pair for text in texts for pair in _paired(text, None)]
        return _block(texts, pairs, draws, None, PAIRS)
    return _block(texts, texts, draws, None, "")


def _judge(texts: Sequence[_Text], draws: _Draws) -> JSON:
    """Compare the judge, who is the first of the raters and in every pair."""
    held = [t for t in texts if t.marked[0] is not None and _workers(t) >= 2]
    return _block(held, [pair for text in held for pair in _paired(text, 0)], draws, 0, WITH_EACH)


def _paired(text: _Text, one: int | None) -> Iterator[_Text]:
    worked = [n for n, marked in enumerate(text.marked) if marked is not None]
    for a, b in combinations(worked, 2):
        if one in (None, a, b):
            yield _only(text, (a, b))


def _block(
    texts: Sequence[_Text],
    of_alpha: Sequence[_Text],
    draws: _Draws,
    one: int | None,
    over: str,
) -> JSON:
    queries = np.array([text.query for text in texts], dtype=np.int64)
    pairs = SpanPairs.of([text.marked for text in texts], one)
    both = pairs.estimates(queries, both_marked=True)
    # The binary alpha of people needs no pairs, since each text may have other raters.
    whole, over_whole = (texts, "") if one is None else (of_alpha, over)
    return {
        "documents": len(texts),
        "marked": sum(any(text.marked) for text in texts),
        "all": {
            **as_json(pairs.estimates(queries)),
            **as_json(_alphas(of_alpha, draws, over)),
            **as_json({"binary_unitising_alpha": _binary_alpha(whole, draws, over_whole)}),
        },
        "both_marked": {"documents": both["exact_f1"].n, **as_json(both)},
    }


def _alphas(texts: Sequence[_Text], draws: _Draws, over: str) -> dict[str, Estimate]:
    """Return chance-corrected agreement, which needs the texts' unmarked length."""
    of = _known(texts)
    if of is None:
        return {
            "token_alpha": _unknown(texts, "alpha of tokens"),
            "unitising_alpha": _unknown(texts, "alpha for unitising"),
        }
    documents, known, queries = of
    words, lengths = [tokens_of(text) for text in known], [len(text) for text in known]
    b, seed = draws.resamples, draws.seed
    return {
        "token_alpha": _over(token_alpha(documents, words, queries, draws=b, seed=seed), over),
        "unitising_alpha": _over(
            unitising_alpha(documents, lengths, queries, draws=b, seed=seed), over
        ),
    }


def _binary_alpha(texts: Sequence[_Text], draws: _Draws, over: str) -> Estimate:
    of = _known(texts)
    if of is None:
        return _unknown(texts, "binary alpha for unitising")
    documents, known, queries = of
    b, seed = draws.resamples, draws.seed
    lengths = [len(text) for text in known]
    return _over(binary_unitising_alpha(documents, lengths, queries, draws=b, seed=seed), over)


def _known(texts: Sequence[_Text]) -> tuple[list[Document], list[str], Ints] | None:
    """Return the documents, their texts and their queries, or None if a text is not known."""
    known = [text.text for text in texts if text.text is not None]
    if len(known) < len(texts):
        return None
    queries = np.array([text.query for text in texts], dtype=np.int64)
    return [text.marked for text in texts], known, queries


def _unknown(texts: Sequence[_Text], alpha: str) -> Estimate:
    return undefined(NO_TEXTS, len(texts), f"Krippendorff's {alpha}")


def _over(estimate: Estimate, over: str) -> Estimate:
    name, sign, rest = estimate.method.partition("; ")
    return replace(estimate, method=f"{name}{over}{sign}{rest}")


@lru_cache(maxsize=4096)
def tokens_of(text: str) -> Ints:
    """Return the start and end of each word, (T, 2)."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
    inside = _in_words()[codes]
    return np.flatnonzero(np.diff(inside, prepend=False, append=False)).reshape(-1, 2)


@lru_cache(maxsize=1)
def _in_words() -> Bools:
    """Return whether each code point is part of words. Looking it up is faster than searching."""
    every = np.arange(sys.maxunicode + 1, dtype="<u4")
    inside = np.zeros(len(every), bool)
    for word in WORD.finditer(every.tobytes().decode("utf-32-le", "surrogatepass")):
        inside[word.start() : word.end()] = True
    return inside


F1S = {
    "exact_f1": "Exact F1",
    "overlap_f1": "Overlap F1",
    "iou_f1": "IoU F1, from 0.5",
    "character_f1": "Character F1",
}


CORRECTED = {
    "token_alpha": "Alpha of words",
    "unitising_alpha": "Alpha for unitising, 1995",
    "binary_unitising_alpha": "Binary alpha for unitising, 2016",
}


IN_METHODS = {
    "token_alpha": "of words",
    "unitising_alpha": f"for unitising {CITED['krippendorff1995']}",
    "binary_unitising_alpha": f"for unitising in its binary form {CITED['krippendorff2016']}",
}


ABOUT_SPANS = (
    f"a document is one text for one {UNIT}; a rater who answered the {UNIT} without evidence from "
    "the text marked nothing in it; F1 is 1 if both raters marked nothing, and 0 if only one did; "
    "a judge is treated as one more annotator"
)


OF_DOCUMENTS = "texts with evidence; the list shows every unit that can have evidence"


def span_blocks(variable: JSON) -> list[Block]:
    """Return the block on spans, if a rater marked any."""
    found = variable.get("spans")
    if not found:
        return []
    of: list[tuple[str | RaterName, JSON]] = [("People", found["agreement"])]
    of += [(RaterName(name, "judge"), block) for name, block in found["judges"].items()]
    every = [(name, block, block["all"]) for name, block in of]
    both = [(name, block["both_marked"], block["both_marked"]) for name, block in of]
    tables = (
        _span_table("All documents", F1S, every),
        _span_table("Pairs that both marked something", F1S, both),
        _span_table("All documents, corrected for chance (Krippendorff)", CORRECTED, every),
    )
    lost = sum(found["unanchored"].values())
    quotes = f"the quotes of {count(lost, 'label')}"
    stray = f"; {quotes} were not found and are left out" if lost else ""
    return [Block("Evidence", tables, f"{ABOUT_SPANS}{stray}")]


def _span_table(
    caption: str, names: dict[str, str], blocks: list[tuple[str | RaterName, JSON, JSON]]
) -> Table:
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            name,
            _documents(name, sizes),
            # Reports frozen by earlier versions have no binary alpha.
            *(Number.from_estimate(of[key]) if key in of else DASH for key in names),
        )
        for name, sizes, of in blocks
    )
    return Table(caption, ("Rater, with people", "Documents", *names.values()), rows)


def _documents(name: str | RaterName, sizes: JSON) -> UnitCount:
    """Return the number of documents, linked to the list of their units."""
    judge = {"show": "labelled", "one": str(name)} if isinstance(name, RaterName) else {}
    listed = UnitCount.of(sizes["documents"], **(judge or {"show": "several"}))
    return listed.counting(OF_DOCUMENTS)


def evidence_methods(report: JSON) -> list[str]:
    of = {name: v["spans"] for name, v in report["variables"].items() if v.get("spans")}
    if not of:
        return []
    blocks = [b for v in of.values() for b in (v["agreement"], *v["judges"].values())]
    alphas = [
        words
        for name, words in IN_METHODS.items()
        if any(b["all"].get(name, {}).get("value") is not None for b in blocks)
    ]
    corrected = f", and by Krippendorff's alpha {join_words(alphas)}" if alphas else ""
    return [
        f"The evidence marked for {', '.join(of)} was compared by F1 of exact and of overlapping "
        f"spans and of characters, averaged over pairs{corrected}; a judge was "
        "treated as one more annotator."
    ]


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


def _compute(of: Labels) -> JSON:
    options = of.options
    return spans(of.sample.frame, of.frame.evidence, options.resamples, options.seed)


PART = SectionPart("evidence", "", _compute, is_slow=True, section=evidence_section)
METHODS = SectionPart(methods=evidence_methods)


PLACES = {"report": "in a report", "passage": "in another passage", "reference": "in a reference"}


ABOUT_QUALITY = (
    "These raters quoted words that are not in the text that they judged, but word for word in "
    "another text of the same query. They may have judged that other text: check their answers "
    "before you count them."
)


def quality_block(report: dict[str, Any]) -> list[Block]:
    """Return the rationales quoted from a text other than the judged one, by rater and variable."""
    if not report.get("hints"):
        return []
    header = ("Rater", "Variable", "Rationales", *(f"only {where}" for where in PLACES.values()))
    rows = tuple(
        (
            RaterName(hint["name"], hint["kind"]),
            hint["variable"],
            hint["rationales"],
            *(hint["elsewhere"][place] for place in PLACES),
        )
        for hint in report["hints"]
    )
    table = Table("Rationales quoted from another text", header, rows)
    return [Block("Data quality", (table,), ABOUT_QUALITY)]
