"""The extent of a test run: what matters for each change, or everything (`--all`)."""

from __future__ import annotations


class Extent:
    """It is known before test modules are imported, since they choose their cases then."""

    everything = False
