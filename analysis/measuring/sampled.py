"""Random contexts: whether measures order them alike, when there are only a few systems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from analysis.choices import Choices
from analysis.frames import VariableFrame
from analysis.measures import of_family
from analysis.measures.agreeing import orderings
from analysis.measures.base import reason_of, values_of
from analysis.measures.coverage.contexts import Contexts, members, sampled_contexts, sizes_of
from analysis.measures.coverage.ratings import answerable, answers
from analysis.measures.options import Options
from analysis.measures.tokens import tokenizer
from analysis.measuring.contexts import Layout
from analysis.measuring.relevance import RatedRankings
from analysis.measuring.voices import Voice, voices
from analysis.statistics import Floats, Ints

JSON = dict[str, Any]


def sampled_orderings(
    layout: Layout, frame: VariableFrame, options: Options, choices: Choices
) -> dict[str, list[JSON]]:
    """Kendall's tau-b between measures over random contexts, by rater.

    The contexts are drawn from each query's passages (Ju and others 2025 take 48), and measured at
    the oracle's size and at every cut.
    """
    tokens = layout.tokens(tokenizer(options.tokenizer))
    # What only a context names has no text, and nobody could have rated it.
    passages = layout.there()[0] & np.isfinite(tokens)
    # A longer draw begins with the shorter one.
    sizes = np.maximum(sizes_of(layout.oracle(options)), max(options.cuts, default=0))
    drawn = sampled_contexts(passages, sizes, options.samples, choices.seed)
    if not options.samples:
        return {}
    made = {}
    for voice in voices(frame):
        tables, reasons = _tables(layout, frame, voice, drawn, options)
        found = orderings(tables, choices.resamples, choices.seed, reasons)
        made[voice.rater] = [
            {"a": each.a, "b": each.b, "kendall": each.kendall.as_json()} for each in found
        ]
    return made


def _tables(
    layout: Layout,
    frame: VariableFrame,
    voice: Voice,
    drawn: Sequence[Ints],
    options: Options,
) -> tuple[dict[str, Floats], dict[str, str]]:
    """By measure and cut its values on each query and context, (Q, contexts), or why none."""
    ratings = layout.ratings(frame, voice)
    found = answers(ratings, options)
    oracle = layout.oracle(options)
    counted = answerable(found, members(oracle, found.passages.shape[1]), options)
    tokens = layout.tokens(tokenizer(options.tokenizer))
    every = np.ones(len(layout.queries), bool)
    none = np.full(oracle.shape, -1, np.int64)
    empty = Contexts(found, none, oracle, counted, tokens, sizes_of(oracle), every)
    # ndeval once a context would take minutes, and orders need no second hand.
    options = replace(options, alpha_ndcg="tandem")
    made: dict[str, Floats] = {}
    reasons: dict[str, str] = {}
    for cut in (None, *options.cuts):
        contexts = [replace(empty, ranked=ranked).cut(cut) for ranked in drawn]
        ranked = [RatedRankings(ratings, each) for each in contexts]
        suffix = "" if cut is None else f"@{cut}"
        measured = [
            *((m, [m.of(each, options) for each in contexts]) for m in of_family("contexts")),
            *((m, [each.found(m, options) for each in ranked]) for m in of_family("rankings")),
        ]
        for measure, of in measured:
            name = f"{measure.name}{suffix}"
            made[name] = np.column_stack([values_of(each) for each in of])
            if reason := next(filter(None, map(reason_of, of)), None):
                reasons[name] = reason
    return made, reasons
