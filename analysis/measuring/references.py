"""What contexts are held against: the oracle's, and the subset of it that is required."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from analysis.choices import Choices
from analysis.frames import VariableFrame
from analysis.measures import of_family
from analysis.measures.base import estimate
from analysis.measures.coverage.contexts import Contexts, members, sizes_of
from analysis.measures.coverage.ratings import answerable, answers
from analysis.measures.coverage.required import as_context, required_subset
from analysis.measures.options import Options
from analysis.measures.tokens import tokenizer
from analysis.measuring.contexts import Layout
from analysis.measuring.voices import voices
from analysis.statistics import Bools

JSON = dict[str, Any]


@dataclass(frozen=True)
class Held:
    """By one rater's ratings the oracle context, the required one, and its passages (Q, P)."""

    rater: str
    oracle: Contexts
    required: Contexts
    kept: Bools


def reference_contexts(
    layout: Layout, frame: VariableFrame, options: Options, choices: Choices
) -> JSON:
    """The required subset P** of each query, and CRUX's measures of it and of the oracle context.

    Both by each rater's ratings (Ju and others 2025, section 3).
    """
    held = list(_held(layout, frame, options))
    measured = {
        of.rater: {
            "oracle": _measured(layout, of.oracle, options, choices),
            "required": _measured(layout, of.required, options, choices),
        }
        for of in held
    }
    return {
        "required": {of.rater: _by_query(layout, of.kept) for of in held},
        "reference_contexts": measured,
    }


def _held(layout: Layout, frame: VariableFrame, options: Options) -> Iterator[Held]:
    oracle = layout.oracle(options)
    tokens, every = layout.tokens(tokenizer(options.tokenizer)), np.ones(len(oracle), bool)
    for voice in voices(frame):
        found = answers(layout.ratings(frame, voice), options)
        inside = members(oracle, found.passages.shape[1])
        counted = answerable(found, inside, options)
        kept = required_subset(found, inside)
        whole = Contexts(found, oracle, oracle, counted, tokens, sizes_of(oracle), every)
        ranked = as_context(kept)
        required = replace(whole, ranked=ranked, depth=sizes_of(ranked))
        yield Held(voice.rater, whole, required, kept)


def _measured(layout: Layout, contexts: Contexts, options: Options, choices: Choices) -> JSON:
    numbers = layout.rows.numbers
    return {
        measure.name: estimate(
            measure, measure.of(contexts, options), numbers, choices.resamples, choices.seed
        ).as_json()
        for measure in of_family("contexts")
    }


def _by_query(layout: Layout, kept: Bools) -> dict[str, list[str]]:
    return {
        query.id: [known[place] for place in np.flatnonzero(row)]
        for query, known, row in zip(layout.queries, layout.passages, kept, strict=True)
    }
