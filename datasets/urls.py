"""The addresses of batches."""

from __future__ import annotations

from django.urls import include, path

from datasets import format_views, views
from datasets.format_files import FORMAT_FILES

urlpatterns = [
    path("batches/", views.batches, name="batches"),
    path("", include("datasets.uploads.urls")),
    path("batches/<int:pk>/", views.batch, name="batch"),
    path("batches/<int:pk>/queries/<int:position>/", views.query, name="query"),
    *(
        path(
            f"batches/format/{each.name}",
            format_views.format_file,
            {"name": name},
            name=f"batch-{name}",
        )
        for name, each in FORMAT_FILES.items()
    ),
]
