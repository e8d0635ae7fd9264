"""Warn of judges whose answers are read as their authors published it, not by Tandem's rule."""

from __future__ import annotations

from collections.abc import Collection

from judging.judges import published_among
from tandem.labels.frame import Warning
from tandem.types import JSON

TEXT = (
    "Its judge file reads answers as its authors published it: Tandem does not check what stands "
    "around a verdict, so a draft or a withdrawn verdict may count."
)


def published_readings(judges: Collection[str]) -> list[JSON]:
    """Return a warning for each of the named judges that is read as published."""
    return [
        Warning("read_as_published", None, name, TEXT)._asdict() for name in published_among(judges)
    ]
