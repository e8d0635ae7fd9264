"""A judge's verdict beside a unit of the item page."""

from __future__ import annotations

import json
from typing import Any

from django import template
from django.template import Context

from annotation.views.sheet import Row

register = template.Library()


@register.inclusion_tag("work/_verdict.html", takes_context=True)
def verdict(context: Context, row: Row) -> dict[str, Any]:
    """The verdict on the unit of a row, in the words of the row's own choices.

    A page may place it by itself; the item page keeps the rest, which the script then places.
    """
    found = context["verdicts"].get(row.name)
    if found is None or row.name in context["verdicts_placed"]:
        return {"verdict": None}
    context["verdicts_placed"].add(row.name)
    said = [
        {"question": asked.question, "word": choice.word, "score": found.scores.get(asked.name)}
        for asked in row.variables
        for choice in asked.choices
        if choice.code == found.answer.get(asked.name)
    ]
    return {
        "verdict": found,
        "said": said,
        "alone": len(row.variables) == 1,
        "row": row,
        "written": _written(found.answer),
        "answer": json.dumps(found.answer, ensure_ascii=False),
        "is_open": context["campaign"].takes_answers,
    }


def _written(answer: Any) -> str:
    """What the judge wrote, where the unit asks for a text."""
    texts = (value.get("text") for value in answer.values() if isinstance(value, dict))
    return next((str(text) for text in texts if text), "")
