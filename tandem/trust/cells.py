"""Cells of a frame: what a judge decided, how sure it was, and whether people say it is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..labels.frame import ItemFacts, VariableFrame
from ..statistics import Bools, Estimate, Floats, Ints, counts_of, undefined
from .floor import METHOD, floor_of_truth
from .truth import NO_VOTE, Truth, true_codes, wrong_verdicts

OF_ADJUDICATORS = "nobody knows how often adjudicators are wrong"


@dataclass(frozen=True)
class People:
    """What people say of the cells of a variable, (N,): the true codes, -1 where there is none.

    Codes from `categories` on are escapes. `votes` counts the answers on each cell, and `labelled`
    cells have one, or an adjudicator's decision. `floor` is the risk of a faultless judge.
    """

    truth: Truth
    codes: Ints
    categories: int
    votes: Ints
    labelled: Bools
    floor: Estimate


def people_of(frame: VariableFrame, decided: tuple[Ints, Bools] | None = None) -> People:
    """Return people's most frequent answer on each cell, however many they are.

    `decided` are the categories of adjudicators, -1 for an escape, and whether they decided a cell,
    (N,) each; they come first.
    """
    categories = len(frame.scale.categories)
    own = frame.codes_of("human")
    votes = _with_escapes(frame, own, categories)
    given = (votes != NO_VOTE).sum(axis=1)
    truth: Truth = "one person" if given.max(initial=0) < 2 else "majority"
    labelled, floor = given > 0, floor_of_truth(counts_of(own, categories)[:, frame.scale.own()])
    settled = None
    if decided is not None:
        codes, is_decided = decided
        settled = np.where(is_decided, np.where(codes < 0, categories, codes), NO_VOTE)
        truth, labelled = "adjudicated", labelled | is_decided
        floor = undefined(OF_ADJUDICATORS, int(labelled.sum()), METHOD)
    found = true_codes(votes, 1, settled)
    return People(truth, found, categories, given, labelled, floor)


def _with_escapes(frame: VariableFrame, own: Ints, escape: int) -> Ints:
    """Return people's codes (N, P) with `escape` where a person gave an escape."""
    column = {frame.raters[n].name: place for place, n in enumerate(frame.columns("human"))}
    votes = own.copy()
    for aside in frame.asides:
        if not aside.is_missing and aside.rater in column:
            votes[aside.unit, column[aside.rater]] = escape
    return votes


@dataclass(frozen=True)
class Cells:
    """A judge's cells of one variable, (N,), in the queries with these `keys`, (G,).

    A cell is a unit. `query` are indices into `keys`, and `sure` is NaN where the judge gave no
    answer. `wrong` is also true where people decided nothing. `labelled` cells have a person's
    answer.
    """

    keys: tuple[str, ...]
    query: Ints
    sure: Floats
    wrong: Bools
    labelled: Bools
    system: tuple[str | None, ...]

    @classmethod
    def of(
        cls, frame: VariableFrame, items: Sequence[ItemFacts], column: int, people: People
    ) -> Cells:
        """Return the cells of the judge in a column. `items` are those of the whole frame."""
        names = np.array([items[n].query for n in frame.units.item], dtype=object)
        keys, query = np.unique(names, return_inverse=True)
        return cls(
            tuple(keys),
            np.asarray(query, np.int64),
            sureness(frame, column),
            wrong_verdicts(frame.codes[:, column], people.codes, people.categories),
            people.labelled,
            frame.units.system,
        )

    def only(self, keys: Sequence[str]) -> Cells:
        """Return the cells of these queries, numbered in their order."""
        number = {key: n for n, key in enumerate(keys)}
        numbers = np.array([number.get(key, -1) for key in self.keys], np.int64)[self.query]
        kept = numbers >= 0
        systems = tuple(s for s, is_kept in zip(self.system, kept, strict=True) if is_kept)
        return replace(
            self,
            keys=tuple(keys),
            query=numbers[kept],
            sure=self.sure[kept],
            wrong=self.wrong[kept],
            labelled=self.labelled[kept],
            system=systems,
        )

    def by_query(self, mask: Bools) -> Ints:
        """Count the cells of a mask (N,) by query, (G,)."""
        return np.bincount(self.query[mask], minlength=len(self.keys)).astype(np.int64)


def sureness(frame: VariableFrame, column: int) -> Floats:
    """Return how sure a judge is of each unit (U,), NaN where it gave no answer.

    It is the greatest of the probabilities of its categories; without them, on a scale of two
    categories, that of its score or of its complement; and 1 where the judge gives neither.
    """
    answered = frame.codes[:, column] >= 0
    shares, scores = frame.probabilities.get(column), frame.scores[:, column]
    sure = np.full(len(scores), np.nan)
    if shares is not None:
        sure = shares.max(axis=1)
    elif frame.scale.own().sum() == 2:
        sure = np.where((scores >= 0) & (scores <= 1), np.maximum(scores, 1 - scores), np.nan)
    found: Floats = np.where(answered, np.where(np.isfinite(sure), sure, 1.0), np.nan)
    return found
