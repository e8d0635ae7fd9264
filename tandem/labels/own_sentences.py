"""Verdicts of a judge that split an answer itself, on all its own sentences, from labels' meta.

Such a judge's sentences are not always those of the batch, and only equal ones get its labels. A
measure that needs only the whole answer can still use what the judge said of all its sentences.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .facts import LabelKey
from .frame import Frame
from .readings import texts_of

KEY = "own_sentences"
"""The key in a label's `meta`: the number of the judge's own sentences by code."""


def own_codes_of(meta: Any) -> str:
    """Return the codes of the judge's own sentences in a label's `meta`, joined by blanks.

    Empty if it has none, as where the judge named every unit of the answer.
    """
    found = meta.get(KEY) if isinstance(meta, dict) else None
    return " ".join(sorted(found)) if isinstance(found, dict) else ""


def with_own_sentences(frame: Frame, given: Mapping[LabelKey, str]) -> Frame:
    """Add the codes of judges' own sentences to the variables of a frame."""
    if not given:
        return frame
    made = {name: replace(of, own=texts_of(of, given)) for name, of in frame.variables.items()}
    return replace(frame, variables=made)
