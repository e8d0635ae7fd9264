"""The digest of the labels that a report was made of, from columns."""

from __future__ import annotations

import json
import math
from hashlib import sha256

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from analysis.columns import Labels
from analysis.labels import Inputs, LabelFact
from analysis.statistics import Ints
from annotation.imports.columns import Codes

AT_ONCE = 10_000
_encode = json.JSONEncoder(ensure_ascii=False).encode


def inputs_of(labels: Labels) -> Inputs:
    """As `Inputs.of`: lines are sorted by the ranks of their members, which is the same order.

    No member's JSON begins another's, once what follows it is counted in.
    """
    made = [_encoded(labels, name) for name in LabelFact._fields]
    # What is the same on all lines changes no order.
    ranks = [rank[codes] for rank, _, codes in made if codes.strides[0] and len(rank) > 1]
    order = np.lexsort(ranks[::-1]) if ranks else np.arange(len(labels))
    digest, count = sha256(), len(order)
    for start in range(0, count, AT_ONCE):
        rows = order[start : start + AT_ONCE]
        parts = [texts.take(pa.array(codes[rows])) for _, texts, codes in made]
        lines = pc.binary_join_element_wise(*parts, "")
        digest.update("".join(lines.to_pylist()).encode("utf-8"))
    pa.default_memory_pool().release_unused()
    missing = int((labels.codes["value"] < 0).sum())
    return Inputs(count - missing, missing, digest.hexdigest())


def _encoded(labels: Labels, name: str) -> tuple[Ints, pa.Array, Ints | Codes]:
    """The rank of each different member, its JSON, and which of them each label has, (N,)."""
    codes: Ints | Codes
    if name == "replicate":
        numbers, codes = np.unique(labels.replicate, return_inverse=True)
        texts = [str(n) for n in numbers.tolist()]
    elif name == "score":
        known, codes = np.unique(labels.score, return_inverse=True)
        texts = ["null" if math.isnan(n) else _encode(n) for n in known.tolist()]
    else:
        texts = [*map(_encode, labels.values[name]), "null"]
        codes = labels.codes[name]
        absent = codes < 0
        if absent.all():
            codes = np.broadcast_to(np.int64(len(texts) - 1), codes.shape)
        elif absent.any():
            codes = np.where(absent, len(texts) - 1, codes)
    begins = "[" if name == LabelFact._fields[0] else ""
    ends = "]\n" if name == LabelFact._fields[-1] else ", "
    texts = [f"{begins}{text}{ends}" for text in texts]
    rank = np.empty(len(texts), np.int64)
    rank[sorted(range(len(texts)), key=texts.__getitem__)] = np.arange(len(texts))
    return rank, pa.array(texts, pa.string()), codes
