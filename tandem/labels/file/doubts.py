"""Warnings about values, variables and raters of labels that are perhaps one counted as two."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from tandem.files.spelling import difference, listed, means_missing, similar, similar_names
from tandem.protocols.code_sets import split_codes

from ..categories import coded_scale
from ..facts import Scale
from ..frame import Warning

Counts = Mapping[str, int]
"""Numbers of labels by value, variable or rater."""


def doubts(
    values: Mapping[str, Counts], raters: Counts, scales: Mapping[str, Scale]
) -> list[Warning]:
    """Return the warnings about labels whose `values` are counted by variable."""
    variables = {name: sum(of.values()) for name, of in values.items()}
    found = [
        Warning(f"similar_{what}s", None, None, text)
        for what, counts in (("variable", variables), ("rater", raters))
        for text in similar_names(what, counts)
    ]
    for name, counts in values.items():
        scale = scales.get(name, Scale((), "nominal"))
        if scale.level == "set":
            counts, scale = _codes_of_sets(counts), Scale((), "nominal")
        found += [*_similar_values(name, counts, scale), *_missing_words(name, counts, scale)]
    return found


def _codes_of_sets(counts: Counts) -> Counts:
    """Count the labels that have each code, for sets of codes."""
    found: Counter[str] = Counter()
    for value, number in counts.items():
        found.update(dict.fromkeys(split_codes(value) or (), number))
    return found


def _similar_values(name: str, counts: Counts, scale: Scale) -> Iterator[Warning]:
    code = coded_scale(scale, {(True, value) for value in counts})[1]
    merged = []
    for group in similar(counts):
        number = len({code.get(value, value) for value in group})
        if number == 1:
            merged.append(listed(group, counts))
            continue
        text = (
            f"The values {listed(group, counts)} differ only in {difference(group)}, and count as "
            f"{number} categories. If they are one code, write it alike everywhere."
        )
        yield Warning("similar_values", name, None, text)
    if merged:
        text = (
            f"Values that are written differently count as one number: {'; '.join(merged)}. If "
            "they are different codes, name them differently."
        )
        yield Warning("merged_values", name, None, text)


def _missing_words(name: str, counts: Counts, scale: Scale) -> Iterator[Warning]:
    known = {*scale.categories, *scale.escapes}
    words = [value for value in counts if means_missing(value) and value not in known]
    if not words:
        return
    is_one = len(words) == 1
    text = (
        f"{'The value' if is_one else 'The values'} {listed(words, counts)} "
        f"{'is a category' if is_one else 'are categories'}, although a word such as this usually "
        "means that there is no label. If so, leave the line out, leave the cell empty, or write a "
        f"reason under `missing`. If it is a code, declare it: --scale {name}=…"
    )
    yield Warning("missing_word", name, None, text)
