"""The addresses of batches."""

from __future__ import annotations

from django.urls import path

from datasets import views

urlpatterns = [
    path("batches/", views.batches, name="batches"),
    path("batches/<int:pk>/", views.batch, name="batch"),
]
