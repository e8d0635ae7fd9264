"""The addresses of uploads."""

from __future__ import annotations

from django.urls import path

from datasets.uploads import views

urlpatterns = [
    path("batches/upload/", views.upload, name="upload-new"),
    path("batches/uploads/<slug:key>/", views.one_upload, name="upload"),
    path("batches/uploads/<slug:key>/live/", views.live, name="upload-live"),
    path("batches/uploads/<slug:key>/order/", views.order, name="upload-order"),
]
