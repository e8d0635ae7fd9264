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
from analysis.measures.coverage.contexts import Contexts, members, sampled_contexts, sizes_of
from analysis.measures.coverage.ratings import answerable, answers
from analysis.measures.options import Options
from analysis.measures.retrieval import Ranked
from analysis.measures.tokens import tokenizer
from analysis.measuring.contexts import Layout, relevance_of
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
    return {
        voice.rater: [
            {"a": each.a, "b": each.b, "kendall": each.kendall.as_json()}
            for each in orderings(
                _tables(layout, frame, voice, drawn, options), choices.resamples, choices.seed
            )
        ]
        for voice in voices(frame)
        if options.samples
    }


def _tables(
    layout: Layout,
    frame: VariableFrame,
    voice: Voice,
    drawn: Sequence[Ints],
    options: Options,
) -> dict[str, Floats]:
    """By measure and cut its values on each query and context, (Q, contexts)."""
    ratings = layout.ratings(frame, voice)
    found = answers(ratings, options)
    oracle = layout.oracle(options)
    counted = answerable(found, members(oracle, found.passages.shape[1]), options)
    tokens = layout.tokens(tokenizer(options.tokenizer))
    every = np.ones(len(layout.queries), bool)
    none = np.full(oracle.shape, -1, np.int64)
    empty = Contexts(found, none, oracle, counted, tokens, sizes_of(oracle), every)
    relevance = relevance_of(ratings, empty, options)
    # ndeval once a context would take minutes, and orders need no second hand.
    options = replace(options, alpha_ndcg="tandem")
    made: dict[str, Floats] = {}
    for cut in (None, *options.cuts):
        contexts = [replace(empty, ranked=ranked).cut(cut) for ranked in drawn]
        ranked = [Ranked(relevance, of.ranked, of.depth, of.there) for of in contexts]
        suffix = "" if cut is None else f"@{cut}"
        for family, given in (("contexts", contexts), ("rankings", ranked)):
            for measure in of_family(family):
                columns = [measure.of(each, options) for each in given]
                kept = [each for each in columns if isinstance(each, np.ndarray)]
                made[f"{measure.name}{suffix}"] = np.column_stack(kept)
    return made
