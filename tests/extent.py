"""How much is tested: what matters for each change, or everything (`--all`)."""

from __future__ import annotations


class Extent:
    """Known before any test module is imported, for what those make up while they are."""

    everything = False
