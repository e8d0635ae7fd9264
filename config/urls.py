"""All addresses of the site."""

from __future__ import annotations

from django.urls import include, path

urlpatterns = [
    path("", include("annotation.urls")),
    path("", include("datasets.urls")),
    path("", include("analysis.urls")),
]
