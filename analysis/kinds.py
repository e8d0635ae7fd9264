"""The registry of report jobs, with a line for each kind."""

from __future__ import annotations

from analysis.attention.checks import CHECKS_KIND
from analysis.bench.numbers import BENCH_KIND
from analysis.campaigns.report_job import FIGURE_FILES, REPORTS
from analysis.disagreements.file import FILE_KIND
from analysis.disagreements.votes_job import VOTES_KIND
from analysis.drafts.effect import EFFECT_KIND
from analysis.evaluation.measures_job import BATCH_KIND, MEASURES_KIND, TREC_KIND
from analysis.frozen.store import SNAPSHOT_KIND
from analysis.monitoring.views import QUALITY_KIND
from analysis.papers.tables_job import TABLES_KIND
from analysis.robustness.sheet import ROBUSTNESS_KIND
from datasets.work import register

register(
    REPORTS,
    FIGURE_FILES,
    CHECKS_KIND,
    MEASURES_KIND,
    BATCH_KIND,
    TREC_KIND,
    BENCH_KIND,
    ROBUSTNESS_KIND,
    SNAPSHOT_KIND,
    TABLES_KIND,
    QUALITY_KIND,
    VOTES_KIND,
    FILE_KIND,
    EFFECT_KIND,
)
