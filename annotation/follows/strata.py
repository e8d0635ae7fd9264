"""Drawing questions by what was said of them before: pure and seeded.

A question is `yes` to a rater who found an answer in some text, `no` to one who found it in none;
a majority of raters decides for all of them, and a tie decides nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import zip_longest

from annotation.assigning import rank, shuffled

Labels = Iterable[tuple[int, str, str]]
"""Rater, question and what was said of it, once for each text."""


def opinions(labels: Labels) -> dict[int, dict[str, str]]:
    """By rater, yes or no to each question; no opinion of those that are neither."""
    said: dict[int, dict[str, set[str]]] = {}
    for rater, question, value in labels:
        said.setdefault(rater, {}).setdefault(question, set()).add(value)
    return {
        rater: {question: found for question, values in own.items() if (found := _opinion(values))}
        for rater, own in said.items()
    }


def _opinion(values: Collection[str]) -> str:
    return next((code for code in ("yes", "no") if code in values), "")


def majority(labels: Labels) -> dict[str, str]:
    """Yes or no to each question, as more raters say; no entry where as many say the other."""
    votes: dict[str, int] = {}
    for own in opinions(labels).values():
        for question, code in own.items():
            votes[question] = votes.get(question, 0) + (1 if code == "yes" else -1)
    return {question: "yes" if sum > 0 else "no" for question, sum in votes.items() if sum}


def alternating(
    names: Sequence[str], strata: Mapping[str, str], count: int, seed: int, purpose: str
) -> list[str]:
    """`count` of the names, in their given order: from yes and from no by turns.

    Each stratum is in the seeded order of `assigning.shuffled`; the seed also says which comes
    first, by the parity of the first byte of the rank of nothing (even: yes). Where one is used up
    the other goes on, and then those that are in neither.
    """
    order = shuffled(names, seed, purpose)
    yes, no = ([n for n in order if strata.get(n) == code] for code in ("yes", "no"))
    pairs = zip_longest(no, yes) if rank(seed, purpose, "")[0] % 2 else zip_longest(yes, no)
    by_turns = [name for pair in pairs for name in pair if name is not None]
    rest = [name for name in order if strata.get(name) not in ("yes", "no")]
    drawn = set((by_turns + rest)[:count])
    return [name for name in names if name in drawn]


def chances(names: Sequence[str], strata: Mapping[str, str], count: int) -> dict[str, float]:
    """The chance with which `alternating` draws each of the names, over all seeds.

    Within a stratum all are alike; which one comes first is as likely one as the other.
    """
    sizes = Counter(strata.get(name, "") for name in names)
    sizes[""] = len(names) - sizes["yes"] - sizes["no"]
    yes_first, no_first = _taken(sizes["yes"], sizes["no"], count)
    drawn = {
        "yes": (yes_first + min(count, sizes["yes"] + sizes["no"]) - no_first) / 2,
        "no": (no_first + min(count, sizes["yes"] + sizes["no"]) - yes_first) / 2,
        "": max(0, min(count - sizes["yes"] - sizes["no"], sizes[""])),
    }
    of = {name: code if (code := strata.get(name)) in ("yes", "no") else "" for name in names}
    return {name: drawn[code] / sizes[code] for name, code in of.items()}


def _taken(yes: int, no: int, count: int) -> tuple[int, int]:
    """How many of a stratum are taken where it comes first: of yes, and of no."""
    return _of_first(yes, no, count), _of_first(no, yes, count)


def _of_first(first: int, second: int, count: int) -> int:
    """Every second place from the first on, and those that the other stratum cannot fill."""
    by_turns = min(first, (count + 1) // 2)
    return min(first, max(by_turns, count - second))
