"""Whether a system says so where a question has no answer."""

from __future__ import annotations

import numpy as np

from analysis.measures.answers.refusal_lists import refusal_list
from analysis.measures.answers.texts import Texts
from analysis.measures.base import Measure
from analysis.measures.options import Options
from analysis.statistics import Floats


def unanswerable_accuracy(of: Texts, options: Options) -> Floats:
    """1 where the answer to an unanswerable question refuses, else 0; NaN for answerable, (N,).

    An answer refuses where it is empty or holds a phrase of the list (Rosenthal and others 2025,
    who keep a list for each model: so the list is an option, with its version, and may hold
    phrases of single systems).
    """
    refuses = refusal_list(options.refusals).refuses
    systems = of.systems or [""] * len(of.answers)
    rows = zip(of.answers, systems, of.answerable, strict=True)
    values = [np.nan if ok else float(refuses(answer, system)) for answer, system, ok in rows]
    return np.array(values, float)


UNANSWERABLE = Measure(
    "Unanswerable",
    "texts",
    "Share of the unanswerable questions where the answer says that there is none.",
    "Rosenthal and others, CLAPnq, 2025",
    unanswerable_accuracy,
    "no question is unanswerable",
    ("refusals",),
)
