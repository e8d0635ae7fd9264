"""URLs of batches and uploads."""

from __future__ import annotations

from django.urls import path

from datasets import views
from datasets.material import FORMAT_FILES
from datasets.uploads import views as views_urls
from datasets.work import views as jobs

urlpatterns = [
    path("batches/", views.batches, name="batches"),
    path("batches/<int:pk>/", views.batch, name="batch"),
    path("batches/<int:pk>/queries/<int:position>/", views.query, name="query"),
    *(
        path(
            f"batches/format/{each.name}",
            views.format_file,
            {"name": name},
            name=f"batch-{name}",
        )
        for name, each in FORMAT_FILES.items()
    ),
]


urlpatterns += [
    path("jobs/", jobs.jobs, name="jobs"),
    path("jobs/notices/", jobs.ended, name="job-notices"),
    path("jobs/<slug:key>/live/", jobs.live, name="job-live"),
    path("jobs/<slug:key>/order/", jobs.order, name="job-order"),
    path("batches/upload/", views_urls.upload, name="upload-new"),
    path("batches/uploads/<slug:key>/", views_urls.one_upload, name="upload"),
    path("batches/uploads/<slug:key>/live/", views_urls.live, name="upload-live"),
    path("batches/uploads/<slug:key>/order/", views_urls.order, name="upload-order"),
]
