"""The addresses of progress."""

from __future__ import annotations

from django.urls import path

from annotation.views.progress import labels, pages

urlpatterns = [
    path("campaigns/<int:pk>/progress/", pages.campaign, name="campaign-progress"),
    path("campaigns/<int:pk>/raters/<int:rater>/", pages.person, name="campaign-rater"),
    path("campaigns/<int:pk>/raters/<int:rater>/labels/", labels.labels, name="rater-labels"),
]
