"""URLs of the API of reports."""

from __future__ import annotations

from analysis.api import (
    attention,
    bench,
    disagreements,
    figures,
    label_first,
    measures,
    papers,
    quality,
    reports,
    studies,
)

MODULES = (
    attention,
    bench,
    disagreements,
    figures,
    label_first,
    measures,
    papers,
    quality,
    reports,
    studies,
)
urlpatterns = [url for module in MODULES for url in module.api.urls]
