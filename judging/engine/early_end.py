"""The early end of a run that yields nothing: nearly all its first results are missing alike.

Such a run would pay for every request and give no labels. Each reason comes with its remedy.
"""

from __future__ import annotations

from collections.abc import Mapping

FIRST_RESULTS = 30
"""How many results a run has before it is looked at, once."""
SHARE = 0.9
REMEDIES: Mapping[str, str] = {
    "truncated": "the answers reach their length limit; create a judge with a higher max_tokens, "
    "or with less reasoning",
    "unreadable": "look at some answers, and create a judge with a prompt or a parser that fits "
    "them",
    "refused": "the model refuses to answer; create a judge with another prompt or model",
    "filtered": "the server's content filter stops the answers; change the filter, or create a "
    "judge on another server",
    "too-long": "the texts are too long for the model or its limit; create a judge with a larger "
    "one, or one that is asked unit by unit",
    "timeout": "the server takes too long; create a judge with a longer timeout, or a smaller "
    "number of requests at once",
    "error": "look at the calls of the run for what the server says about them",
}
OTHER = "look at some answers, and create a judge with another prompt"


def describe_no_yield(done: int, failures: Mapping[str, int]) -> tuple[str, str] | None:
    """Return the missing reason that nearly all results share, and a sentence with the remedy.

    None if they share none.
    """
    total = done + sum(failures.values())
    reason, count = max(failures.items(), key=lambda each: each[1], default=("", 0))
    if not total or count < SHARE * total:
        return None
    remedy = REMEDIES.get(reason, OTHER)
    return reason, f"{count:,} of the first {total:,} results are missing ({reason}): {remedy}"
