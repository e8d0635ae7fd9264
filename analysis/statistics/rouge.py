"""ROUGE-L: how much of two texts occurs in both, in the same order.

After Lin, "ROUGE: A Package for Automatic Evaluation of Summaries", 2004, section 3.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from .arrays import Ints
from .estimate import SHARE, Estimate
from .resampling import mean_by_cluster

_SINGLE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_SINGLE}]|[^\s{_SINGLE}]+")


@dataclass(frozen=True)
class Rouge:
    """Precision, recall and F1, each in [0, 1]."""

    precision: float
    recall: float
    f1: float


def rouge_l(prediction: str, reference: str) -> Rouge:
    """ROUGE-L of two texts, each taken as one sentence.

    With L the length of the longest common subsequence of their words, precision = L / words of
    the prediction, recall = L / words of the reference, F1 = 2 P R / (P + R). All are 0 where a
    text has no word. F1 is the same with the texts exchanged. Words are not stemmed.
    """
    predicted, wanted = words(prediction), words(reference)
    common = common_length(predicted, wanted)
    if not common:
        return Rouge(0.0, 0.0, 0.0)
    precision, recall = common / len(predicted), common / len(wanted)
    return Rouge(precision, recall, 2 * precision * recall / (precision + recall))


def words(text: str) -> list[str]:
    """The words of a text in lower case: runs of letters, digits and the marks on them.

    Signs of scripts that leave no blanks between words are words by themselves. The usual
    implementation of ROUGE knows the letters a to z only; on English texts the two agree but for
    words with an accent.
    """
    composed = unicodedata.normalize("NFKC", text).lower()
    return _WORD.findall("".join(c if _is_of_word(c) else " " for c in composed))


def _is_of_word(sign: str) -> bool:
    return sign.isalnum() or unicodedata.category(sign).startswith("M")


def common_length(one: Sequence[str], other: Sequence[str]) -> int:
    """The length of the longest common subsequence, whose words need not stand side by side.

    One row of the table of lengths is one number, a bit a word (Hyyrö, "Bit-parallel LCS-length
    computation revisited", 2004): a bit that is 0 is where the length grows.
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
    """How far written answers agree: ROUGE-L F1, mean over the pairs of answers of each unit.

    `texts` holds the answers of each unit, None where a rater gave none; `clusters` (U,) the
    queries, for the t interval. Units with fewer than two answers are left out. Nobody is the
    reference: F1 is the same both ways.
    """
    means = [_over_pairs([text for text in unit if text is not None]) for unit in texts]
    method = "ROUGE-L F1, mean over pairs of answers"
    return mean_by_cluster(np.array(means, float), clusters, method).within(*SHARE)


def _over_pairs(answers: Sequence[str]) -> float:
    values = [rouge_l(one, other).f1 for one, other in combinations(answers, 2)]
    return float(np.mean(values)) if values else float("nan")
