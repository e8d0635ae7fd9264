"""URLs of judges, runs, calls and preparation."""

from __future__ import annotations

from django.urls import path

from judging.views import answers, doctor, judge_files, judges, preparation, runs, trials

urlpatterns = [
    path("doctor/", doctor.doctor, name="doctor"),
    path("doctor/state/", doctor.state, name="doctor-state"),
    path("doctor/examine/", doctor.examine_now, name="doctor-examine"),
    path("judges/", judges.judges, name="judges"),
    path("judges/new/", judges.new_judge, name="judge-new"),
    path("judges/new/try/", judges.try_draft, name="judge-new-try"),
    path("judges/new/file/check/", judge_files.check_file, name="judge-file-check"),
    path("judges/new/file/load/", judge_files.load_file, name="judge-file-load"),
    path("judges/<int:pk>/", judges.judge, name="judge"),
    path("judges/<int:pk>/judge.toml", judge_files.download, name="judge-file"),
    path("judges/<int:pk>/try/", judges.try_one, name="judge-try"),
    path("judges/<int:pk>/start/", runs.start, name="judge-start"),
    path("judges/runs/<int:pk>/", runs.run, name="judge-run"),
    path("judges/runs/<int:pk>/live/", runs.live, name="judge-run-live"),
    path("judges/runs/<int:pk>/order/", runs.order, name="judge-run-order"),
    path("judges/runs/<int:pk>/manifest.json", runs.manifest, name="judge-run-manifest"),
    path("judges/runs/<int:pk>/calls/", runs.calls, name="judge-calls"),
    path("judges/calls/<int:pk>/", runs.call, name="judge-call"),
    path("batches/<int:pk>/preparation/", preparation.overview, name="preparation"),
    path(
        "batches/<int:pk>/preparation/<slug:step>/begin/",
        preparation.begin,
        name="preparation-begin",
    ),
    path(
        "batches/<int:pk>/preparation/<slug:step>/accept/",
        preparation.accept,
        name="preparation-accept",
    ),
    path(
        "batches/<int:pk>/preparation/<slug:step>/build/",
        preparation.build_batch,
        name="preparation-build",
    ),
    path("preparation/<uuid:uid>/", preparation.review, name="review"),
    path("campaigns/<int:pk>/judges/start/", runs.start_here, name="campaign-judge-start"),
    path("campaigns/<int:pk>/judges/trials/", trials.trials, name="campaign-trials"),
    path(
        "campaigns/<int:pk>/judges/<int:judge>/answers/",
        answers.judge_answers,
        name="judge-answers",
    ),
    path("campaigns/<int:pk>/judges/baseline/", runs.start_baseline, name="campaign-baseline"),
]
