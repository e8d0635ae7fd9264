"""Adjudication: deciding the units on which raters disagree.

`disputes` finds them and puts them in a queue. `decisions` collects a unit's texts and the raters'
answers to it as a case, and stores the decision. A decision is a response of the Reference.
"""

from annotation.adjudication.decisions import (
    Case,
    NotYoursError,
    Quote,
    RaterAnswer,
    decide,
    find_case,
    is_by,
    rater_answers,
)
from annotation.adjudication.disputes import (
    DISPUTES_AMONG,
    STATES,
    Disagreement,
    Dispute,
    QueuePart,
    adjudicable,
    next_dispute,
    queue,
    queued_units,
    with_texts,
)

__all__ = [
    "DISPUTES_AMONG",
    "STATES",
    "Case",
    "Disagreement",
    "Dispute",
    "NotYoursError",
    "QueuePart",
    "Quote",
    "RaterAnswer",
    "adjudicable",
    "decide",
    "find_case",
    "is_by",
    "next_dispute",
    "queue",
    "queued_units",
    "rater_answers",
    "with_texts",
]
