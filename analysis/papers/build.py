"""A study's tables with their options and notes, for the command, the page and the API."""

from __future__ import annotations

from collections.abc import Iterator

from django.conf import settings
from django.utils import timezone

from analysis.campaigns.people_sample import (
    behind_sentence,
    chosen_items,
    describe_chosen,
    describe_interim,
    interim_of,
    units_behind,
)
from analysis.models import Study
from analysis.papers.base import Paper
from analysis.papers.filling import fill_tables
from analysis.papers.options import described
from analysis.papers.published import Published
from analysis.papers.stored import StoredMaterial
from datasets.work.guard import for_workers
from tandem.document import join_words
from tandem.labels.evaluators import Evaluator
from tandem.labels.selection import ReportOptions
from tandem.scores.options import TableOptions
from tandem.types import JSON, Progress, ignore_progress

NOT_VALIDATED = (
    "The LLM ratings of {paper} were not released, so {tables} were tested on made-up studies only."
)
JOINED = "Evaluator {name}: {judges}."
ONE_SOURCE = (
    "The labels of campaigns {campaigns} are read as one, since they are about the same units."
)
FAKE = "Fakes, whose answers come from a file: {judges}. Their figures describe no real model."


@for_workers
def paper_tables(
    paper: Paper,
    study: Study,
    chosen: TableOptions,
    options: ReportOptions | None = None,
    published: Published | None = None,
    progress: Progress = ignore_progress,
) -> JSON:
    """Fill a paper's tables from a study; `published` has the paper's own figures.

    `progress` is called with the number of finished tables, and of all.
    """
    material = StoredMaterial(study, paper.name, options or ReportOptions(), chosen)
    return tables_of_material(paper, material, published, progress)


def tables_of_material(
    paper: Paper,
    material: StoredMaterial,
    published: Published | None = None,
    progress: Progress = ignore_progress,
) -> JSON:
    """Fill a paper's tables from a study's material."""
    tables = fill_tables(paper, material, progress)
    placed = published.placed(paper, tables, material) if published else []
    interim = list(_interim(material))
    return {
        "paper": paper.name,
        "title": paper.title,
        "citation": paper.citation,
        "study": material.study,
        "generated_at": timezone.now().isoformat(timespec="seconds"),
        "version": settings.TANDEM_VERSION,
        "commit": settings.TANDEM_COMMIT,
        "seed": material.options.seed,
        "resamples": material.options.resamples,
        "published": published is not None,
        **described(paper, material.tables),
        "campaigns": [campaign.name for campaign in material.every_campaign],
        "evaluators": [each.as_json() for each in material.evaluators],
        **({"interim": interim} if interim else {}),
        "tables": tables,
        "notes": [*placed, *_notes(paper, material)],
        "not_filled": paper.not_filled,
    }


def _interim(material: StoredMaterial) -> Iterator[str]:
    """Yield for each campaign with fewer queries labelled than registered how many are."""
    for campaign in material.every_campaign:
        if found := interim_of(material.stored[campaign.name], material.options.assisted):
            yield f"Campaign {campaign.name}: {describe_interim(found)}"


def _notes(paper: Paper, material: StoredMaterial) -> Iterator[str]:
    for source in material.sources:
        if source.parts and not source.clash:
            yield ONE_SOURCE.format(campaigns=join_words([p.campaign.name for p in source.parts]))
    for evaluator in material.evaluators:
        yield JOINED.format(name=evaluator.name, judges="; ".join(_members(evaluator, material)))
    if fakes := material.fakes:
        yield FAKE.format(judges=", ".join(fakes))
    for campaign in material.every_campaign:
        if items := chosen_items(material.stored[campaign.name]):
            yield f"Campaign {campaign.name}: {describe_chosen(items)}"
    behind: dict[str, int] = {}
    for campaign in material.every_campaign:
        behind |= units_behind(material.stored[campaign.name])
    yield from (behind_sentence(name, units) for name, units in behind.items())
    unseen = [table.name for table in paper.tables if not table.data_released]
    if unseen:
        yield NOT_VALIDATED.format(paper=paper.title, tables=", ".join(unseen))


def _members(evaluator: Evaluator, material: StoredMaterial) -> Iterator[str]:
    """Yield each judge of an evaluator with the variables that it labelled, by campaign."""
    for judge in evaluator.judges:
        labelled = [
            f"{', '.join(names)} in {campaign.name}"
            for campaign in material.every_campaign
            if (names := material.judged_by(evaluator, judge, campaign))
        ]
        yield f"{judge} labelled {' and '.join(labelled) or 'nothing yet'}"
