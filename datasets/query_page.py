"""The page of one query, which shows one page of each of its lists."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Page, Paginator
from django.db.models import Model
from django.utils.html import escape

from datasets import material
from datasets.models import Grounding, KeyPoint, Nugget, Query, Question, Ranking, Report
from datasets.search import Piece, split_at_words

# The maximum bytes of HTML for all texts of a kind on a page, below 1 MB in total; texts are cut.
BYTES_BY_PART = {
    "text": 50_000,
    "turns": 50_000,
    "questions": 80_000,
    "key_points": 60_000,
    "nuggets": 60_000,
    "reports": 240_000,
    "passages": 200_000,
    "references": 50_000,
    "meta": 40_000,
}
LIST_BYTES = 4_000
"""Bytes of one list of ids, such as a ranking's, and of the key points of one report."""
OPEN_PASSAGES = 3
CUT = " … (shortened; an export of the batch has the whole text)"


@dataclass(frozen=True)
class Part:
    """A list of a query: its rows, and how many of them a page shows."""

    rows: type[Model]
    of_a_page: int
    key: str = "key"


PARTS = {
    "questions": Part(Question, 100),
    "key_points": Part(KeyPoint, 100),
    "nuggets": Part(Nugget, 100),
    "reports": Part(Report, 10),
    "passages": Part(Grounding, 20, "passage__key"),
    "rankings": Part(Ranking, 20, "system"),
}
REFERENCES = 20


class TextBudget:
    """The bytes that are left for texts on a page."""

    def __init__(self, left: int) -> None:
        self.left = left

    def cut(self, text: str) -> str:
        """Return as much of a text as there is room for, and say so if that is not all."""
        shown = text[: max(0, self.left)]
        # A letter is up to six bytes of HTML.
        while len(escape(shown).encode()) > max(0, self.left):
            shown = shown[: len(shown) // 2]
            if not shown:
                break
        self.left -= len(escape(shown).encode())
        return shown if len(shown) == len(text) else shown + CUT

    def marked(self, text: str, words: Sequence[str]) -> list[Piece]:
        return split_at_words(self.cut(text), words)


class _Rows:
    """A query's list, from which the paginator takes one page."""

    def __init__(self, query: Query, name: str) -> None:
        self.query, self.name = query, name

    def count(self) -> int:
        return PARTS[self.name].rows._default_manager.filter(query=self.query).count()

    def __getitem__(self, within: slice) -> Sequence[Any]:
        return material.some_parts(self.query, self.name, within)


def query_context(query: Query, asked: Mapping[str, str], words: Sequence[str]) -> dict[str, Any]:
    """Return what the page shows. `asked` holds the address's parameters.

    A list's name in it is the number of the list's page. `passage` and `report` are ids, whose page
    is shown.
    """
    pages = {name: _page(query, name, asked) for name in PARTS}
    references = Paginator(query.references, REFERENCES).get_page(asked.get("references"))
    room = {name: TextBudget(size) for name, size in BYTES_BY_PART.items()}
    return {
        "text": room["text"].marked(query.text, words),
        "turns": [
            {"role": turn["role"], "text": room["turns"].cut(turn["text"])}
            for turn in query.history
        ],
        "questions": [(each, room["questions"].cut(each.text)) for each in pages["questions"]],
        "key_points": [(each, room["key_points"].cut(each.text)) for each in pages["key_points"]],
        "nuggets": [(each, room["nuggets"].cut(each.text)) for each in pages["nuggets"]],
        "reports": [_report(each, words, room["reports"]) for each in pages["reports"]],
        "passages": [
            _passage(each, words, room["passages"], pages["passages"]) for each in pages["passages"]
        ],
        "rankings": [
            (each, TextBudget(LIST_BYTES).cut(", ".join(each.passages)))
            for each in pages["rankings"]
        ],
        "references": [room["references"].cut(each["text"] or "") for each in references],
        "meta": _meta(query, room["meta"]),
        "pages": pages | {"references": references},
        "others": {
            name: urlencode({k: v for k, v in asked.items() if k not in (name, name[:-1])})
            for name in (*PARTS, "references")
        },
    }


def _page(query: Query, name: str, asked: Mapping[str, str]) -> Page[Any]:
    part = PARTS[name]
    lazy: Any = _Rows(query, name)
    paginator: Paginator[Any] = Paginator(lazy, part.of_a_page)
    sought = asked.get(name[:-1])
    if sought and name not in asked:
        rows = part.rows._default_manager.filter(query=query)
        found = rows.filter(**{part.key: sought}).values_list("position", flat=True).first()
        if found is not None:
            before = rows.filter(position__lt=found).count()
            return paginator.get_page(before // part.of_a_page + 1)
    return paginator.get_page(asked.get(name))


def _report(report: Any, words: Sequence[str], room: TextBudget) -> dict[str, Any]:
    points = TextBudget(LIST_BYTES)
    cited = report.citations or dict.fromkeys(chain(*(report.sentence_citations or ())))
    return {
        "report": report,
        "text": room.marked(report.text, words),
        "citations": TextBudget(LIST_BYTES).cut(", ".join(cited)),
        "key_points": [(each, points.cut(each.text)) for each in (report.key_points or ())[:100]],
        "more_points": max(0, len(report.key_points or ()) - 100),
    }


def _passage(
    passage: Any, words: Sequence[str], room: TextBudget, page: Page[Any]
) -> dict[str, Any]:
    text = room.marked(passage.text, words)
    is_hit = any(hit for _, hit in text)
    return {
        "passage": passage,
        "text": text,
        "open": is_hit or page.paginator.count <= OPEN_PASSAGES,
    }


def _meta(query: Query, room: TextBudget) -> str:
    return room.cut(json.dumps(query.meta, ensure_ascii=False, indent=2)) if query.meta else ""
