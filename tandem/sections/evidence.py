"""Section: agreement on evidence, that is, on the words of a text that raters mark.

A document is what the raters who answered a unit marked in one text for that unit. Raters are
people, or people and one judge as one more annotator, never as gold. There are two readings: all
documents, in which marking nothing is an answer (a rater who says no has no evidence), and only
pairs in which both raters marked something.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations

import numpy as np

from ..labels.facts import Evidence, EvidenceSpan, LabelKey
from ..labels.frame import VariableFrame
from ..statistics import Estimate, Ints, Span, token_alpha, undefined, unitising_alpha
from ..statistics.spans import Document, Marked, SpanPairs
from ..types import JSON

WORD = re.compile(r"\w+")
ALPHAS = ("token_alpha", "unitising_alpha")
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
    return {
        "documents": len(texts),
        "marked": sum(any(text.marked) for text in texts),
        "all": {
            **_as_json(pairs.estimates(queries)),
            **_alphas(of_alpha, draws, over),
        },
        "both_marked": {"documents": both["exact_f1"].n, **_as_json(both)},
    }


def _as_json(estimates: Mapping[str, Estimate]) -> JSON:
    return {name: estimate.as_json() for name, estimate in estimates.items()}


def _alphas(texts: Sequence[_Text], draws: _Draws, over: str) -> JSON:
    """Return chance-corrected agreement, which needs the texts' unmarked length."""
    known = [text.text for text in texts if text.text is not None]
    if len(known) < len(texts):
        tokens, units = "alpha of tokens", "alpha for unitising"
        nothing = [undefined(NO_TEXTS, len(texts), f"Krippendorff's {w}") for w in (tokens, units)]
        return _as_json(dict(zip(ALPHAS, nothing, strict=True)))
    documents: list[Document] = [text.marked for text in texts]
    queries = np.array([text.query for text in texts], dtype=np.int64)
    words, lengths = [_tokens(text) for text in known], [len(text) for text in known]
    b, seed = draws.resamples, draws.seed
    found = (
        token_alpha(documents, words, queries, draws=b, seed=seed),
        unitising_alpha(documents, lengths, queries, draws=b, seed=seed),
    )
    estimates = [replace(each, method=_over(each.method, over)) for each in found]
    return _as_json(dict(zip(ALPHAS, estimates, strict=True)))


def _over(method: str, over: str) -> str:
    name, sign, rest = method.partition("; ")
    return f"{name}{over}{sign}{rest}"


@lru_cache(maxsize=4096)
def _tokens(text: str) -> Ints:
    """Return the start and end of each word, (T, 2)."""
    return np.array([word.span() for word in WORD.finditer(text)], np.int64).reshape(-1, 2)
