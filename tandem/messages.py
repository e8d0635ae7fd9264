"""Messages that a rater may read: English for programs, and translatable where a page shows them.

The code that checks answers does not know its readers, so a message is English text that keeps its
template and values. `annotation.people.languages.translated` puts it into the reader's language,
for pages. The API, files, logs and judges get the text itself, which names codes and variables.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import TypeAlias


class Word(str):
    """A name from a file, such as a code, with the English `word` that pages show for it."""

    word: str

    def __new__(cls, name: str, word: str) -> Word:
        made = super().__new__(cls, name)
        made.word = word
        return made

    def __reduce__(self) -> tuple[type[Word], tuple[str, str]]:
        return Word, (str(self), self.word)


Value: TypeAlias = str | int | Sequence[Word]


class Message(str):
    """A message, from a template with `%(name)s` for each of its values.

    Whole numbers get thousands separators, and several words are joined by commas. Templates must
    be literals in the call, since `scripts.catalogues` collects them there.
    """

    template: str
    values: dict[str, Value]

    def __new__(cls, template: str, /, **values: Value) -> Message:
        plain = {name: _plain(value) for name, value in values.items()}
        made = super().__new__(cls, template % plain if plain else template)
        made.template, made.values = template, values
        return made


def _plain(value: Value) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return value if isinstance(value, str) else ", ".join(value)


def one_of(words: Iterable[str]) -> str:
    """Return the words as alternatives."""
    return reduce(lambda one, other: Message("%(one)s or %(other)s", one=one, other=other), words)


def all_of(parts: Iterable[str]) -> str:
    """Join conditions of which all must hold."""
    return reduce(lambda one, other: Message("%(one)s and %(other)s", one=one, other=other), parts)


def percent(share: float | None) -> str:
    """Format a share in percent, with 0 and 100 only for exact values."""
    whole = 100 * (share or 0.0)
    if 0 < whole < 1:
        return "less than 1 %"
    return "more than 99 %" if 99 < whole < 100 else f"{whole:.0f} %"
