"""The extent of a test run: the cases for each change, or all cases (`--all`)."""

from __future__ import annotations


class Extent:
    """Set before test modules are imported, since they choose their cases at import."""

    everything = False
