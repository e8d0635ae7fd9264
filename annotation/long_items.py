"""Long items: a web process in which nobody saves answers the requests that show them."""

from __future__ import annotations

from threading import Lock

from cachetools import LRUCache, cached
from django.http import HttpRequest
from rest_framework.request import Request

from annotation.models import Assignment, Item
from annotation.presentation import present
from datasets.elsewhere import leave_to_others

MOST_UNITS = 100
MOST_CHARACTERS = 100_000
LEAST_OF_WORD = 4  # characters of a word with its blank, in the mean of a text
REMEMBERED = 50_000


def leave_if_long(request: HttpRequest | Request, assignment: Assignment) -> None:
    """Leave a request that shows a long item to another process. Raises LeftToOthersError."""
    item = assignment.item
    if len(assignment.asked) > MOST_UNITS or _is_long(item):
        leave_to_others(request)


def _key(item: Item) -> object:
    return item.campaign.created_at, item.pk


@cached(LRUCache(REMEMBERED), _key, Lock())
def _is_long(item: Item) -> bool:
    # The number of words may be unknown, and says nothing about scripts without blanks.
    if (item.words or 0) * LEAST_OF_WORD > MOST_CHARACTERS:
        return True
    return sum(len(text.text) for text in present(item).texts) > MOST_CHARACTERS
