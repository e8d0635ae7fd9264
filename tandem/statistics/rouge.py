"""ROUGE-L: the share of two texts' words that occur in both in the same order.

After Lin, "ROUGE: A Package for Automatic Evaluation of Summaries", 2004, section 3.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from .cluster_means import mean_by_cluster
from .estimate import SHARE, Estimate, Ints

_SINGLE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_SINGLE}]|[^\s{_SINGLE}]+")


@dataclass(frozen=True)
class Rouge:
    """Precision, recall and F1, each in [0, 1]."""

    precision: float
    recall: float
    f1: float


def rouge_l(prediction: str, reference: str) -> Rouge:
    """Return ROUGE-L of two texts, each taken as one sentence.

    P = L / words of the prediction, R = L / words of the reference, and F1 = 2 P R / (P + R), where
    L is the length of the longest common subsequence of their words. All are 0 if a text has no
    word. F1 does not depend on the order of the texts. Words are not stemmed.
    """
    predicted, expected = words(prediction), words(reference)
    common = common_length(predicted, expected)
    if not common:
        return Rouge(0.0, 0.0, 0.0)
    precision, recall = common / len(predicted), common / len(expected)
    return Rouge(precision, recall, 2 * precision * recall / (precision + recall))


def words(text: str) -> list[str]:
    """Split a text into lower-case words: runs of letters, digits and their combining marks.

    In scripts without spaces between words, each character is a word. The usual implementation of
    ROUGE knows only the letters a to z. On English texts it differs from this one only for words
    with an accent.
    """
    composed = unicodedata.normalize("NFKC", text).lower()
    return _WORD.findall("".join(c if _is_of_word(c) else " " for c in composed))


def _is_of_word(sign: str) -> bool:
    return sign.isalnum() or unicodedata.category(sign).startswith("M")


def common_length(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the length of the longest common subsequence, whose words need not be adjacent.

    A row of the table of lengths is one integer with a bit per word (Hyyrö, "Bit-parallel
    LCS-length computation revisited", 2004). A 0 bit marks where the length increases.
    """
    places: dict[str, int] = {}
    for place, word in enumerate(one):
        places[word] = places.get(word, 0) | 1 << place
    whole = row = (1 << len(one)) - 1
    for word in other:
        matched = row & places.get(word, 0)
        row = ((row + matched) | (row - matched)) & whole
    return len(one) - row.bit_count()


def rouge_agreement(texts: Sequence[Sequence[str | None]], clusters: Ints) -> Estimate:
    """Return the agreement of written answers: ROUGE-L F1, mean over each unit's pairs of answers.

    `texts` holds the answers of each unit, None if a rater gave none. `clusters` (U,) holds the
    queries, for the interval. Units with fewer than two answers are left out. F1 is symmetric, so
    neither answer has to be the reference.
    """
    means = [_over_pairs([text for text in unit if text is not None]) for unit in texts]
    method = "ROUGE-L F1, mean over pairs of answers"
    return mean_by_cluster(np.array(means, float), clusters, method, SHARE)


def _over_pairs(answers: Sequence[str]) -> float:
    values = [rouge_l(one, other).f1 for one, other in combinations(answers, 2)]
    return float(np.mean(values)) if values else float("nan")
