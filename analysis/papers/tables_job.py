"""The job of a study's tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from analysis.campaigns.cache import state_of
from analysis.models import Study
from analysis.papers.base import Paper
from analysis.papers.build import paper_tables
from analysis.papers.index import PAPERS
from analysis.papers.options import file_states, table_options
from analysis.papers.stored import campaigns_of
from annotation.access import may_read
from annotation.exposure.ledger import saw_answers
from annotation.models import User
from datasets.work import JobError, Kind, Options, Progress, Result, register_name
from tandem.labels.evaluators import EvaluatorError
from tandem.scores.options import TableOptions

TABLES = "paper"


def question(paper: Paper, study: Study, given: Mapping[str, str]) -> dict[str, Any]:
    """Return the question of a paper's tables, for `datasets.work.ask`.

    `given` are options of the tables as text.
    """
    return {"study": study.pk, "paper": paper.name, "options": dict(given)}


def _chosen(study: Study, options: Options) -> TableOptions:
    return table_options(PAPERS[options["paper"]], study, options["options"])


def _state(options: Options) -> Any:
    study = Study.objects.get(pk=options["study"])
    labels = [state_of(campaign) for campaign in campaigns_of(study)]
    return [study.sha256, study.evaluators, file_states(_chosen(study, options)), labels]


def _carry_out(options: Options, progress: Progress) -> Result:
    study = Study.objects.get(pk=options["study"])
    for campaign in campaigns_of(study):
        saw_answers("measures", campaign)
    paper, chosen = PAPERS[options["paper"]], _chosen(study, options)
    try:
        return Result.of(paper_tables(paper, study, chosen, progress=progress))
    except EvaluatorError as error:
        raise JobError(f"{error}.") from error


def _may_see(user: User, options: Options) -> bool:
    study = Study.objects.filter(pk=options["study"]).first()
    found = campaigns_of(study) if study else []
    return bool(found) and all(may_read(user, campaign.pk) for campaign in found)


def _study(key: int) -> str:
    return Study.objects.filter(pk=key).values_list("name", flat=True).first() or ""


register_name("study", _study)
register_name("paper", lambda name: PAPERS[name].title)
TABLES_KIND = Kind(TABLES, "Tables", _state, _carry_out, _may_see, heavy=True)
