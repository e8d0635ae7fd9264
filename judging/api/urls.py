"""URLs of the API of judges and of preparation."""

from __future__ import annotations

from django.urls import path

from judging.api import judges, preparation, runs, trials

urlpatterns = [
    path("judges/", judges.Judges.as_view(), name="api-judges"),
    path("judges/try/", judges.DraftTrial.as_view(), name="api-judge-draft-try"),
    path("judges/library/", judges.Library.as_view(), name="api-judge-library"),
    path(
        "judges/library/<slug:name>/", judges.LibraryFile.as_view(), name="api-judge-library-file"
    ),
    path("judges/<int:pk>/", judges.OneJudge.as_view(), name="api-judge"),
    path("judges/<int:pk>/estimate/", judges.RunEstimate.as_view(), name="api-judge-estimate"),
    path("judges/<int:pk>/trials/", trials.Trials.as_view(), name="api-judge-trials"),
    path(
        "judges/<int:pk>/trials/estimate/",
        trials.TrialsEstimate.as_view(),
        name="api-judge-trials-estimate",
    ),
    path("judges/<int:pk>/try/", judges.JudgeTrial.as_view(), name="api-judge-try"),
    path("campaigns/<int:pk>/judges/", runs.Comparison.as_view(), name="api-judges-compared"),
    path("runs/", runs.Runs.as_view(), name="api-runs"),
    path("runs/<int:pk>/", runs.OneRun.as_view(), name="api-run"),
    path("runs/<int:pk>/order/", runs.RunControl.as_view(), name="api-run-order"),
    path("runs/<int:pk>/manifest/", runs.Manifest.as_view(), name="api-run-manifest"),
    path("runs/<int:pk>/calls/", runs.Calls.as_view(), name="api-calls"),
    path("calls/<int:pk>/", runs.OneCall.as_view(), name="api-call"),
    path("batches/<int:pk>/preparation/", preparation.Steps.as_view(), name="api-preparation"),
    path(
        "batches/<int:pk>/preparation/<slug:step>/",
        preparation.OneStep.as_view(),
        name="api-preparation-step",
    ),
    path(
        "batches/<int:pk>/preparation/<slug:step>/answers/",
        preparation.Prepared.as_view(),
        name="api-prepared-list",
    ),
    path(
        "batches/<int:pk>/preparation/<slug:step>/accept/",
        preparation.AcceptAll.as_view(),
        name="api-preparation-accept",
    ),
    path(
        "batches/<int:pk>/preparation/<slug:step>/build/",
        preparation.BuildBatch.as_view(),
        name="api-preparation-build",
    ),
    path("preparation/<uuid:uid>/", preparation.OnePrepared.as_view(), name="api-prepared"),
    path("preparation/<uuid:uid>/review/", preparation.Reviewed.as_view(), name="api-review"),
]
