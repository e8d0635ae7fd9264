"""The addresses of batches."""

from __future__ import annotations

from django.urls import include, path

from datasets import views

urlpatterns = [
    path("batches/", views.batches, name="batches"),
    path("", include("datasets.uploads.urls")),
    path("batches/<int:pk>/", views.batch, name="batch"),
    path("batches/<int:pk>/queries/<int:position>/", views.query, name="query"),
]
