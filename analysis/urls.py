"""The addresses of reports."""

from __future__ import annotations

from django.urls import path

from analysis import views

urlpatterns = [
    path("campaigns/<int:pk>/report/", views.report, name="report"),
    path("campaigns/<int:pk>/report/body/", views.body, name="report-body"),
    path("campaigns/<int:pk>/report.json", views.download, name="report-json"),
    path("campaigns/<int:pk>/report.md", views.download_markdown, name="report-md"),
]
