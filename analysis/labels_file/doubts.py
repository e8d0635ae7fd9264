"""Warnings about values, variables and raters of labels that are perhaps one counted as two."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from datasets.readers.spelling import difference, means_missing, similar, visible

from ..data.frame import Warning, coded_scale
from ..data.labels import Scale

Counts = Mapping[str, int]
"""Numbers of labels by value, variable or rater."""


def doubts(
    values: Mapping[str, Counts], raters: Counts, scales: Mapping[str, Scale]
) -> list[Warning]:
    """Return the warnings about labels whose `values` are counted by variable."""
    variables = {name: sum(of.values()) for name, of in values.items()}
    found = [*similar_names("variable", variables), *similar_names("rater", raters)]
    for name, counts in values.items():
        scale = scales.get(name, Scale((), "nominal"))
        found += [*_similar_values(name, counts, scale), *_missing_words(name, counts, scale)]
    return found


def similar_names(what: str, counts: Counts) -> Iterator[Warning]:
    """Yield a warning for each group of similar names; `what` is their noun, such as `rater`."""
    for group in similar(counts):
        text = (
            f"The {what}s {_listed(group, counts)} differ only in {difference(group)}, and count "
            f"as {len(group)} {what}s. If they are one, write it alike everywhere."
        )
        yield Warning(f"similar_{what}s", None, None, text)


def _similar_values(name: str, counts: Counts, scale: Scale) -> Iterator[Warning]:
    code = coded_scale(scale, {(True, value) for value in counts})[1]
    for group in similar(counts):
        number = len({code.get(value, value) for value in group})
        text = f"The values {_listed(group, counts)} differ only in {difference(group)}, and count "
        if number == 1:
            text += "as one category. If they are different codes, name them differently."
        else:
            text += f"as {number} categories. If they are one code, write it alike everywhere."
        yield Warning("similar_values", name, None, text)


def _missing_words(name: str, counts: Counts, scale: Scale) -> Iterator[Warning]:
    known = {*scale.categories, *scale.escapes}
    words = [value for value in counts if means_missing(value) and value not in known]
    if not words:
        return
    is_one = len(words) == 1
    text = (
        f"{'The value' if is_one else 'The values'} {_listed(words, counts)} "
        f"{'is a category' if is_one else 'are categories'}, although a word such as this usually "
        "means that there is no label. If so, leave the line out, leave the cell empty, or write a "
        f"reason under `missing`. If it is a code, declare it: --scale {name}=…"
    )
    yield Warning("missing_word", name, None, text)


def _listed(group: Sequence[str], counts: Counts) -> str:
    parts = [f"{visible(each)} ({_labels(counts[each])})" for each in group]
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def _labels(count: int) -> str:
    return f"{count} label{'s' * (count != 1)}"
