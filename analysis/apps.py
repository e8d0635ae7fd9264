"""App configuration of analysis."""

from __future__ import annotations

from django.apps import AppConfig


class Analysis(AppConfig):
    name = "analysis"

    def ready(self) -> None:
        from analysis import sealed  # noqa: F401 - importing it registers its declarations
        from analysis import signals as forgetting  # noqa: F401 - listens once it is read
        from analysis.trust.decided import certified_cells
        from annotation.exports.decided import register_certified

        register_certified(certified_cells)
