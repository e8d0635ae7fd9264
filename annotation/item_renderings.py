"""The job that renders the texts of a block of items, if they are too much for their pages."""

from __future__ import annotations

import time
from contextlib import suppress

from annotation.campaigns.renderer import Renderer
from annotation.campaigns.text_views import BLOCK, VERSION, render_stored, stored_texts
from annotation.models import Item, Rendering
from annotation.presentation import FORGOTTEN, present
from datasets.work.kinds import JobError, Options, Progress, Result

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
