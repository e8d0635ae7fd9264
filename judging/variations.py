"""A judge under changed conditions: what is changed of an item before it is asked."""

from __future__ import annotations

from annotation.protocols.base import ItemSpec
from judging.models import Judge


def varied(judge: Judge, spec: ItemSpec) -> ItemSpec:
    """The item as this judge is shown it; a judge without a variation sees it as it is."""
    return spec
