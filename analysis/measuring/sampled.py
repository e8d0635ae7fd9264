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
from datasets.rows import Query

JSON = dict[str, Any]


def sampled_orderings(
    queries: Sequence[Query], frame: VariableFrame, options: Options, choices: Choices
) -> dict[str, list[JSON]]:
    """Kendall's tau-b between measures over random contexts of the oracle's size, by rater.

    The contexts are drawn from each query's passages (Ju and others 2025 take 48).
    """
    layout = Layout.of(queries)
    passages, _ = layout.there()
    sizes = sizes_of(layout.oracle(options))
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
    """By measure its values on each query and context, (Q, contexts)."""
    ratings = layout.ratings(frame, voice)
    found = answers(ratings, options)
    oracle = layout.oracle(options)
    counted = answerable(found, members(oracle, found.passages.shape[1]), options)
    tokens = layout.tokens(tokenizer(options.tokenizer))
    every = np.ones(len(layout.queries), bool)
    none = np.full(oracle.shape, -1, np.int64)
    empty = Contexts(found, none, oracle, counted, tokens, sizes_of(oracle), every)
    contexts = [replace(empty, ranked=ranked) for ranked in drawn]
    relevance = relevance_of(ratings, empty, options)
    ranked = [Ranked(relevance, of.ranked, of.depth, of.there) for of in contexts]
    made: dict[str, Floats] = {}
    for family, given in (("contexts", contexts), ("rankings", ranked)):
        for measure in of_family(family):
            columns = [measure.of(each, options) for each in given]
            made[measure.name] = np.column_stack([c for c in columns if isinstance(c, np.ndarray)])
    return made
