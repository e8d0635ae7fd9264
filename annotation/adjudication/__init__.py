"""Adjudication: deciding the units on which raters disagree.

`disputes` finds them, and `dispute_queue` puts them in order. `decisions` collects a unit's texts
and the raters' answers to it as a case, and stores the decision. A decision is a response of the
Reference.
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
from annotation.adjudication.dispute_queue import (
    DISPUTES_AMONG,
    STATES,
    Queue,
    QueuePart,
    next_dispute,
    own_sizes,
    queue,
    queued_units,
    with_texts,
)
from annotation.adjudication.disputes import (
    Disagreement,
    Dispute,
    adjudicable,
    disputed_units,
)

__all__ = [
    "DISPUTES_AMONG",
    "STATES",
    "Case",
    "DecidedUnit",
    "Disagreement",
    "Dispute",
    "NotYoursError",
    "Queue",
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
