"""Search for words in the texts of a batch: its queries, passages and reports.

Every word must occur in the same text, its title or its id, also within a word, so the search works
in scripts without blanks. Case is ignored, and so is whether an accent is a separate character. The
search scans the stored texts, so loading writes no index. 10,000 texts of 4 kB take a fraction of a
second.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection, models, transaction
from django.db.models import F, Q
from django.db.models.expressions import Func, Value

from datasets.models import Batch, Grounding, Query, Report

LONGEST, MOST_WORDS, MOST_HITS = 300, 8, 1000
BEFORE, AFTER = 90, 170
JOINERS = "\u200c\u200d"
"""Invisible characters within words of Persian and Indic scripts and of composed emoji."""
# The rest of a cut word. A longer rest is in a script without blanks, and stays.
_SHORT_START, _SHORT_END = re.compile(r"^\S{0,24}\s+"), re.compile(r"\s+\S{0,24}$")
Piece = tuple[str, bool]
"""A part of a text, and whether it is one of the words."""


@dataclass(frozen=True)
class Kind:
    """A kind of text to search: rows of a model, and the fields that may contain words."""

    name: str
    rows: type[models.Model]
    batch: str
    position: str
    key: str
    text: str
    title: str | None = None

    @property
    def fields(self) -> list[str]:
        return [self.text, self.key, *filter(None, [self.title])]


KINDS = (
    Kind("query", Query, "batch", "position", "key", "text"),
    Kind(
        "passage",
        Grounding,
        "query__batch",
        "query__position",
        "passage__key",
        "passage__text",
        "title",
    ),
    Kind("report", Report, "batch", "query__position", "key", "text"),
)


@dataclass(frozen=True, order=True)
class Match:
    """The location of a hit: its query's position, the index of its kind, its row."""

    position: int
    kind: int
    pk: int


@dataclass(frozen=True)
class Hit:
    kind: str
    position: int
    key: str
    snippet: list[Piece]


class ContainsWord(Func):
    """Whether a text contains a word, ignoring only the case of ASCII letters."""

    arity = 2
    output_field = models.BooleanField()

    def __init__(self, field: str, word: str) -> None:
        self.word = word
        super().__init__(F(field), Value(word))

    def as_sqlite(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        sql, parameters = compiler.compile(self.source_expressions[0])
        escaped = re.sub(r"([\\%_])", r"\\\1", self.word)
        return rf"({sql} LIKE %s ESCAPE '\')", [*parameters, f"%{escaped}%"]

    def as_postgresql(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        # The collation C compares bytes, which is several times faster than ILIKE.
        form = {"template": "(strpos(%(expressions)s) > 0)", "arg_joiner": ' COLLATE "C"), '}
        sql, parameters = self.as_sql(compiler, connection, **form)
        return sql.replace("strpos(", "strpos(lower(", 1), parameters


def words_of(text: str) -> list[str]:
    """Return the words to search for; a phrase in double quotes counts as one word."""
    plain = "".join(c for c in text[:LONGEST] if c.isprintable() or c.isspace() or c in JOINERS)
    found = [quoted or bare for quoted, bare in re.findall(r'"([^"]+)"|([^\s"]+)', plain)]
    return list(dict.fromkeys(" ".join(word.split()) for word in found if word.strip()))[
        :MOST_WORDS
    ]


def find(batch: Batch, words: Sequence[str]) -> list[Match]:
    """Return the hits in the order of the queries, at most `MOST_HITS` + 1 of each kind."""
    if not words:
        return []
    with transaction.atomic():
        _on_all_cores()
        found = [
            each
            for number, kind in enumerate(KINDS)
            for each in _matches(batch, number, kind, words)
        ]
    return sorted(found)


def hits(found: Iterable[Match], words: Sequence[str]) -> list[Hit]:
    """Return hits with snippets of text around the words."""
    found = list(found)
    texts: dict[tuple[int, int], Sequence[Any]] = {}
    for number, kind in enumerate(KINDS):
        keys = [each.pk for each in found if each.kind == number]
        columns = ("pk", kind.key, kind.text, *filter(None, [kind.title]))
        rows = kind.rows._default_manager.filter(pk__in=keys).values_list(*columns)
        texts |= {(number, pk): values for pk, *values in rows}
    return [_hit(each, *texts[each.kind, each.pk], words=words) for each in found]


def split_at_words(text: str, words: Sequence[str]) -> list[Piece]:
    """Split a text at the words."""
    if not words:
        return [(text, False)]
    return [(part, n % 2 == 1) for n, part in enumerate(_pattern(words).split(text)) if part]


def variants(word: str) -> list[str]:
    """Return a word's forms, since the database ignores only the case of ASCII letters."""
    cased = (word, word.lower(), word.upper(), word.capitalize(), word.title())
    forms = (unicodedata.normalize(form, each) for each in cased for form in ("NFC", "NFD"))
    return list(dict.fromkeys(_ascii_lower(form) for form in forms))


def _ascii_lower(text: str) -> str:
    return re.sub("[A-Z]+", lambda found: found[0].lower(), text)


def _matches(batch: Batch, number: int, kind: Kind, words: Sequence[str]) -> Iterator[Match]:
    where = Q(**{kind.batch: batch})
    for word in words:
        where &= Q(
            *[ContainsWord(f, v) for f in kind.fields for v in variants(word)], _connector=Q.OR
        )
    rows = kind.rows._default_manager.filter(where).order_by(kind.position, "pk")
    for position, pk in rows.values_list(kind.position, "pk")[: MOST_HITS + 1]:
        yield Match(position, number, pk)


def _on_all_cores() -> None:
    """Allow parallel scans, since PostgreSQL underestimates tables whose long texts lie apart."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(
                "SET LOCAL min_parallel_table_scan_size = 0; SET LOCAL parallel_setup_cost = 0;"
                " SET LOCAL parallel_tuple_cost = 0"
            )


def _hit(
    found: Match, key: str, text: str, title: str | None = None, *, words: Sequence[str]
) -> Hit:
    kind = KINDS[found.kind].name
    whole = f"{title} · {text}" if title else text
    return Hit(kind, found.position, key, split_at_words(_snippet(whole, words), words))


def _snippet(text: str, words: Sequence[str]) -> str:
    first = _pattern(words).search(text)
    at = first.start() if first else 0
    begin, end = max(0, at - BEFORE), at + AFTER
    whole = text[begin:end]
    if begin:
        whole = "… " + _SHORT_START.sub("", whole, count=1)
    return whole if end >= len(text) else _SHORT_END.sub("", whole, count=1) + " …"


def _pattern(words: Sequence[str]) -> re.Pattern[str]:
    forms = {form for word in words for form in variants(word)}
    return re.compile(f"({'|'.join(map(re.escape, sorted(forms, key=len, reverse=True)))})", re.I)
