"""Long items: a process of their own shows them, and a job renders their texts."""

from __future__ import annotations

import time
from contextlib import suppress
from threading import Lock

from cachetools import LRUCache, cached
from django.http import HttpRequest
from rest_framework.request import Request

from annotation.campaigns.renderer import Renderer
from annotation.campaigns.text_views import BLOCK, VERSION, render_stored, stored_texts
from annotation.models import Assignment, Item, Rendering
from annotation.presentation import FORGOTTEN, present
from datasets.elsewhere import leave_to_others
from datasets.work.kinds import JobError, Options, Result
from tandem.types import Progress

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


MOST_SECONDS = 1200.0


def state(options: Options) -> str:
    return VERSION


def carry_out(options: Options, progress: Progress) -> Result:
    """Render what is missing, and delete what earlier versions rendered.

    Raises JobError after 20 minutes; the next page that misses a text requests the rest.
    """
    first, until = options["block"] * BLOCK, time.monotonic() + MOST_SECONDS
    items = Item.objects.filter(
        campaign=options["campaign"], position__gte=first, position__lt=first + BLOCK
    ).select_related("campaign", "query")
    Rendering.objects.exclude(version=VERSION).delete()
    with Renderer() as renderer:
        for number, item in enumerate(items.order_by("position"), start=1):
            # A text that was changed since cannot be shown at all.
            with suppress(*FORGOTTEN):
                texts = [text.text for text in present(item).texts]
                render_stored(stored_texts(texts), renderer)
            progress(number, BLOCK)
            if time.monotonic() > until:
                raise JobError("these texts take more than 20 minutes to render; ask for the rest")
    return Result.of({})
