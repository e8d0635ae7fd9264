"""URLs of the API of reports."""

from __future__ import annotations

from django.urls import path

from analysis.api import (
    attention,
    bench,
    disagreements,
    figures,
    label_first,
    measures,
    papers,
    quality,
    reports,
    studies,
)

urlpatterns = [
    path("campaigns/<int:pk>/report/", reports.CampaignReport.as_view(), name="api-report"),
    path("campaigns/<int:pk>/measures/", measures.CampaignMeasures.as_view(), name="api-measures"),
    path("campaigns/<int:pk>/bench/", bench.CampaignBench.as_view(), name="api-bench"),
    path(
        "campaigns/<int:pk>/figures/<slug:name>/<slug:form>/",
        figures.CampaignFigure.as_view(),
        name="api-figure",
    ),
    path(
        "campaigns/<int:pk>/attention/",
        attention.CampaignAttention.as_view(),
        name="api-attention",
    ),
    path(
        "campaigns/<int:pk>/disagreements/",
        disagreements.CampaignDisagreements.as_view(),
        name="api-disagreements",
    ),
    path(
        "campaigns/<int:pk>/label-first/",
        label_first.CampaignLabelFirst.as_view(),
        name="api-label-first",
    ),
    path("campaigns/<int:pk>/quality/", quality.CampaignQuality.as_view(), name="api-quality"),
    path("studies/", studies.Studies.as_view(), name="api-studies"),
    path("studies/<int:pk>/", studies.OneStudy.as_view(), name="api-study"),
    path("batches/<int:pk>/chain/", studies.BatchChain.as_view(), name="api-batch-chain"),
    path("studies/<int:pk>/papers/<slug:paper>/", papers.StudyPaper.as_view(), name="api-paper"),
    path("reports/", reports.FrozenReports.as_view(), name="api-reports"),
    path("reports/<slug:key>/", reports.OneFrozenReport.as_view(), name="api-frozen"),
]
