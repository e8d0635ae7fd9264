"""URLs of the API of batches."""

from __future__ import annotations

from django.urls import path

from datasets.access import takes_files
from datasets.api import batches, jobs, uploads

urlpatterns = [
    path("jobs/", jobs.Jobs.as_view(), name="api-jobs"),
    path("jobs/<slug:key>/", jobs.OneJob.as_view(), name="api-job"),
    path("jobs/<slug:key>/cancel/", jobs.CancelJob.as_view(), name="api-job-cancel"),
    path("batches/", batches.Batches.as_view(), name="api-batches"),
    path("batches/<int:pk>/", batches.OneBatch.as_view(), name="api-batch"),
    path("batches/<int:pk>/search/", batches.Search.as_view(), name="api-search"),
    path("batches/<int:pk>/queries/", batches.Queries.as_view(), name="api-queries"),
    path("batches/<int:pk>/queries/<int:position>/", batches.OneQuery.as_view(), name="api-query"),
    path("uploads/", takes_files(uploads.Uploads.as_view()), name="api-uploads"),
    path("uploads/<slug:key>/", uploads.OneUpload.as_view(), name="api-upload"),
    path("uploads/<slug:key>/keep/", uploads.KeepUpload.as_view(), name="api-upload-keep"),
    path("uploads/<slug:key>/discard/", uploads.DiscardUpload.as_view(), name="api-upload-discard"),
]
