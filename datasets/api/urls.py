"""URLs of the API of batches."""

from __future__ import annotations

from datasets.api import batches, jobs, uploads

urlpatterns = [*jobs.api.urls, *batches.api.urls, *uploads.api.urls]
