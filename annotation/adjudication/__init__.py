"""Adjudication: deciding the units on which raters disagree.

`disputes` finds them and puts them in a queue. `decisions` collects a unit's texts and the raters'
answers to it as a case, and stores the decision. A decision is a response of the Reference.
"""

from annotation.adjudication.decisions import (
    Case,
    DecidedUnit,
    NotYoursError,
    Quote,
    RaterAnswer,
    decide,
    decided_among,
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
    disputed_units,
    next_dispute,
    own_sizes,
    queue,
    queued_units,
    with_texts,
)

__all__ = [
    "DISPUTES_AMONG",
    "STATES",
    "Case",
    "DecidedUnit",
    "Disagreement",
    "Dispute",
    "NotYoursError",
    "QueuePart",
    "Quote",
    "RaterAnswer",
    "adjudicable",
    "decide",
    "decided_among",
    "disputed_units",
    "find_case",
    "is_by",
    "next_dispute",
    "own_sizes",
    "queue",
    "queued_units",
    "rater_answers",
    "with_texts",
]
