"""The API's addresses of batches."""

from __future__ import annotations

from django.urls import path

from datasets.api import batches

urlpatterns = [
    path("batches/", batches.Batches.as_view(), name="api-batches"),
    path("batches/<int:pk>/", batches.OneBatch.as_view(), name="api-batch"),
    path("batches/<int:pk>/queries/", batches.Queries.as_view(), name="api-queries"),
    path("batches/<int:pk>/queries/<int:position>/", batches.OneQuery.as_view(), name="api-query"),
]
