"""URLs of reports. Each format of the registry has its own URL, with the file's suffix.

A robustness sheet is about a judge over a campaign; a run identifies both.
"""

from __future__ import annotations

from django.urls import path

from analysis import views
from analysis.bench import views as benching
from analysis.cockpit import campaign_list, judges
from analysis.cockpit import views as cockpit
from analysis.disagreements import views as disagreements
from analysis.drafts import views as drafting
from analysis.evaluation import views as measuring
from analysis.evaluation.rendering import FORMATS as FORMATS_OF_MEASURES
from analysis.frozen import views as frozen
from analysis.monitoring import views as crowd
from analysis.papers import views as papers
from analysis.protocol_maker import views as protocols
from analysis.results import label_first
from analysis.results import views as results
from analysis.study_pages import views as studies
from analysis.study_pages.views import evaluators
from analysis.trust import views as trust
from tandem.figures.files import FILES
from tandem.formats import FORMATS

urlpatterns = [
    path("protocols/", protocols.protocols, name="protocols"),
    path("protocols/new/", protocols.new_protocol, name="protocol-new"),
    path("protocols/new/fits/", protocols.protocol_fits, name="protocol-fits"),
    path("protocols/<uuid:uid>/", protocols.protocol, name="protocol"),
    path("protocols/<uuid:uid>/file.toml", protocols.download, name="protocol-file"),
    path("protocols/<uuid:uid>/delete/", protocols.delete_protocol, name="protocol-delete"),
    path("search/", cockpit.search_all, name="search"),
    path("campaigns/", campaign_list.campaigns, name="campaigns"),
    path("campaigns/<int:pk>/", cockpit.campaign, name="campaign"),
    path("campaigns/<int:pk>/data/", cockpit.data, name="campaign-data"),
    path("campaigns/<int:pk>/data/<int:position>/", cockpit.item, name="campaign-item"),
    path("campaigns/<int:pk>/results/", results.results, name="results"),
    path("campaigns/<int:pk>/label-first/", results.label_first, name="label-first"),
    path("campaigns/<int:pk>/more-queries/", label_first.more_queries, name="more-queries"),
    path("campaigns/<int:pk>/trust/", trust.trust, name="trust"),
    path(
        "campaigns/<int:pk>/trust/certificates/<slug:digest>/",
        trust.certificate,
        name="trust-certificate",
    ),
    path("campaigns/<int:pk>/trust/<uuid:uid>/wrong/", trust.wrong_cells, name="trust-wrong"),
    path("batches/<int:pk>/measures/", results.batch_measures, name="batch-measures"),
    # Addresses of earlier versions.
    path("campaigns/<int:pk>/report/", results.old_report, name="report"),
    path("campaigns/<int:pk>/measures/", results.old_measures, name="measures"),
    path("campaigns/<int:pk>/report/freeze/", views.freeze_report, name="freeze"),
    path("campaigns/<int:pk>/disagreements/", disagreements.disagreements, name="disagreements"),
    path("campaigns/<int:pk>/disagreements.csv", disagreements.download, name="disagreements-file"),
    path(
        "campaigns/<int:pk>/disagreements/actions/<slug:name>/",
        disagreements.act,
        name="disagreements-act",
    ),
    path("campaigns/<int:pk>/disagreements/<int:unit>/", disagreements.unit, name="disagreement"),
    path(
        "campaigns/<int:pk>/disagreements/<int:unit>/tag/",
        disagreements.tag,
        name="disagreement-tag",
    ),
    path("campaigns/<int:pk>/drafts/", drafting.drafts, name="change-drafts"),
    path("campaigns/<int:pk>/drafts/<int:draft>/", drafting.draft, name="change-draft"),
    path("campaigns/<int:pk>/drafts/<int:draft>/try/", drafting.try_draft, name="change-draft-try"),
    path("campaigns/<int:pk>/measures.zip", measuring.runs, name="measures-zip"),
    path("campaigns/<int:pk>/progress/quality/", crowd.campaign_quality, name="campaign-quality"),
    path(
        "campaigns/<int:pk>/raters/<int:rater>/quality/",
        crowd.rater_quality,
        name="rater-quality",
    ),
    path("studies/", studies.studies, name="studies"),
    path("studies/start/", studies.start, name="start"),
    path("studies/<int:pk>/", studies.study, name="study"),
    path("studies/<int:pk>/evaluators/", evaluators, name="study-evaluators"),
    path("batches/<int:pk>/chain/", studies.batch_chain, name="batch-chain"),
    path("studies/<int:pk>/tables/<slug:paper>/", papers.tables, name="study-paper"),
    path(
        "studies/<int:pk>/tables/<slug:paper>.<slug:suffix>",
        papers.download,
        name="study-paper-file",
    ),
    path("reports/<slug:key>/", frozen.frozen, name="frozen"),
    path("reports/<slug:key>/compare/", frozen.compare, name="frozen-compare"),
    path("campaigns/<int:pk>/judges/", judges.judges, name="judges-compared"),
    path("campaigns/<int:pk>/judges/bench/", benching.judge_bench, name="judge-bench"),
    path("campaigns/<int:pk>/judges/bench.json", benching.bench_file, name="judge-bench-file"),
    path("judges/runs/<int:pk>/robustness/", views.robustness, name="judge-robustness"),
    *(
        path(
            f"campaigns/<int:pk>/report.{each.suffix}",
            views.download,
            {"suffix": each.suffix},
            name=f"report-{each.suffix}",
        )
        for each in FORMATS.values()
    ),
    *(
        path(
            f"campaigns/<int:pk>/measures.{each.suffix}",
            measuring.download,
            {"suffix": each.suffix},
            name=f"measures-{each.suffix}",
        )
        for each in FORMATS_OF_MEASURES.values()
    ),
    *(
        path(
            f"reports/<slug:key>.{each.suffix}",
            frozen.download,
            {"suffix": each.suffix},
            name=f"frozen-{each.suffix}",
        )
        for each in FORMATS.values()
    ),
    *(
        path(
            f"campaigns/<int:pk>/report/figures/<slug:name>.{suffix}",
            views.figure,
            {"suffix": suffix},
            name=f"report-figure-{suffix}",
        )
        for suffix in FILES
    ),
    *(
        path(
            f"campaigns/<int:pk>/measures/figures/<slug:name>.{suffix}",
            measuring.figure,
            {"suffix": suffix},
            name=f"measures-figure-{suffix}",
        )
        for suffix in FILES
    ),
]
