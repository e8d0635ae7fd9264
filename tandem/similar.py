"""*Did you mean*: the existing name that is most like an unknown one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches

LONGEST = 255


def most_similar(name: str, names: Iterable[str]) -> str | None:
    """Return the name that is most like `name`, whatever the case of its letters, or None."""
    by_folded: dict[str, str] = {}
    for each in names:
        by_folded.setdefault(each.casefold(), each)
    close = get_close_matches(name.casefold()[:LONGEST], by_folded, 1)
    return by_folded[close[0]] if close else None


def did_you_mean(
    name: str, names: Iterable[str], otherwise: str, quote: Callable[[str], str] = repr
) -> str:
    """Ask whether the most similar name was meant; without one, return the advice `otherwise`.

    Only names that the reader may see belong into `names`.
    """
    close = most_similar(name, names)
    return otherwise if close is None else f"did you mean {quote(close)}?"
