"""URLs of the whole site."""

from __future__ import annotations

from django.urls import include, path

handler400 = "config.middleware.bad_request"
handler404 = "config.api.not_found"
handler500 = "config.middleware.server_error"

urlpatterns = [
    path("api/", include("config.api")),
    path("", include("annotation.urls")),
    path("", include("datasets.urls")),
    path("", include("judging.urls")),
    path("", include("analysis.urls")),
]
