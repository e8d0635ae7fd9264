"""What contexts are held against: the oracle's, and the subset of it that is required."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from analysis.choices import Choices
from analysis.frames import VariableFrame
from analysis.measures import of_family
from analysis.measures.base import Found, Measure, estimate, values_of
from analysis.measures.coverage.contexts import Contexts, members, sizes_of
from analysis.measures.coverage.ratings import answerable, answers
from analysis.measures.coverage.required import as_context, required_subset
from analysis.measures.coverage.unrated import in_oracles, of_cells, without_failed
from analysis.measures.options import CONDENSED, Options
from analysis.measures.tokens import tokenizer
from analysis.measuring.contexts import Layout
from analysis.measuring.voices import voices
from analysis.statistics import Bools, Floats

JSON = dict[str, Any]


def reference_contexts(
    layout: Layout, frame: VariableFrame, options: Options, choices: Choices
) -> JSON:
    """The required subset P** of each query, and CRUX's measures of it and of the oracle context.

    Both by each rater's ratings (Ju and others 2025, section 3).
    """
    oracle = layout.oracle(options)
    tokens, every = layout.tokens(tokenizer(options.tokenizer)), np.ones(len(oracle), bool)
    required, measured = {}, {}
    for voice in voices(frame):
        found = answers(layout.ratings(frame, voice), options)
        inside = members(oracle, found.passages.shape[1])
        counted = answerable(found, inside, options)
        whole = Contexts(found, oracle, oracle, counted, tokens, sizes_of(oracle), every)
        required[voice.rater] = _by_query(layout, whole, options)
        measured[voice.rater] = {
            name: {
                measure.name: _estimate(layout, measure, of, choices)
                for measure, of in _measured(whole, options, name == "required")
            }
            for name in ("oracle", "required")
        }
    return {"required": required, "reference_contexts": measured}


def _measured(whole: Contexts, options: Options, required: bool) -> Iterator[tuple[Measure, Found]]:
    """The measures of the oracle context, or of its required subset, which hangs on its cells."""
    for measure in of_family("contexts"):
        if not required:
            yield measure, measure.of(whole, options)
            continue

        def value(of: Contexts, measure: Measure = measure) -> Floats:
            return values_of(measure.of(_required(of), options))

        yield measure, of_cells(whole, options, value, in_oracles)


def _required(whole: Contexts) -> Contexts:
    """The required subset in the place of the oracle context."""
    ranked = as_context(_kept(whole))
    return replace(whole, ranked=ranked, depth=sizes_of(ranked), whole=None)


def _kept(whole: Contexts) -> Bools:
    """The passages (Q, P) of the required subset."""
    found = whole.answers
    inside = members(whole.oracle, found.passages.shape[1])
    counted = without_failed(whole)[:, None, :]
    return required_subset(replace(found, yes=found.yes & counted), inside)


def _estimate(layout: Layout, measure: Measure, of: Found, choices: Choices) -> JSON:
    numbers = layout.rows.numbers
    return estimate(measure, of, numbers, choices.resamples, choices.seed).as_json()


def _by_query(layout: Layout, whole: Contexts, options: Options) -> dict[str, list[str] | None]:
    """The required subset of each query; None where nobody was asked about a cell of its oracle."""
    known = whole.answers.drawn
    if options.unrated == CONDENSED:
        whole = whole.condensed(options)
        known = known & whole.there
    known = known & ~(in_oracles(whole) & whole.answers.open).any(axis=(1, 2))
    return {
        query.id: [names[place] for place in np.flatnonzero(row)] if there else None
        for query, names, row, there in zip(
            layout.queries, layout.passages, _kept(whole), known, strict=True
        )
    }
