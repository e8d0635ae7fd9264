"""What each export contains: the function that yields its lines, its columns and its forms."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from annotation.exports import references, rows
from annotation.exports.decided import newest_certificate
from annotation.exports.label_studio import label_studio
from annotation.exports.nugget_banks import has_nuggets, nugget_bank, nuggetizer_bank
from annotation.exports.qrels import (
    NoGradesError,
    diversity_qrels,
    graded_qrels,
    grades_of,
    qrels,
)
from annotation.exports.web_annotations import web_annotations
from annotation.exports.writers import FORMS
from annotation.exposure.detection import has_exposed
from annotation.imports import responses as response_rows
from annotation.models import Campaign
from annotation.people import background, consent, pay
from datasets.readers.native import QUERY
from tandem.labels.file import rows as label_rows

Line = dict[str, Any]

TABLE = tuple(name for name, form in FORMS.items() if form.holds_tables)
BANKS = frozenset(("nugget-bank", "nuggetizer-bank"))
QRELS = ("query", "subtopic", "passage", "grade")
_UNITS = ("item", "unit", "kind", "query", "system", "variables", "texts")
_SPANS = (
    "item",
    "unit",
    "kind",
    "variable",
    "value",
    "rater",
    "rater_kind",
    "replicate",
    "field",
    "start",
    "end",
    "text",
)
_ANNOTATION = ("@context", "id", "type", "motivation", "created", "creator", "body", "target")
_TASK = ("id", "data", "meta", "annotations", "predictions")


@dataclass(frozen=True)
class Export:
    """One export. `row` describes a line in words. `lines` may raise NoGradesError.

    The first of `forms` is the default. `tells_answers` is True for exports that reveal the answers
    of others, or the system behind a report. A person gets them only after answering. Exports with
    others' `answers` are recorded in the ledger of looks. A `personal` export describes people, and
    is left out of folders meant for publication. `counted` is the key of the campaign's count that
    is close to the number of lines; it is empty for short exports.
    """

    row: str
    lines: Callable[[Campaign], Iterator[Line]]
    columns: tuple[str, ...]
    forms: tuple[str, ...] = TABLE
    tells_answers: bool = True
    answers: bool = True
    beside: tuple[str, ...] = ()
    personal: bool = False
    counted: str = ""

    def columns_for(self, campaign: Campaign) -> tuple[str, ...]:
        """Return the columns of a table, with the columns of `beside` that the campaign needs."""
        needs = {
            "carried": campaign.continues_id is not None,
            "exposed": "exposed" in self.beside and has_exposed(campaign),
            "decided_by": "decided_by" in self.beside and newest_certificate(campaign) is not None,
            "grade": "grade" in self.beside and rows.has_grades(campaign),
        }
        return (*self.columns, *(name for name in self.beside if needs[name]))

    @property
    def is_table(self) -> bool:
        return set(TABLE) <= set(self.forms)


class NoExportError(ValueError):
    """The campaign has no such export; the message says why."""


def _background(campaign: Campaign) -> Iterator[Line]:
    return background.background_lines(campaign, consent.revoked_raters(campaign))


EXPORTS: dict[str, Export] = {
    "units": Export(
        "one unit that is asked, by its keys, with the texts that spans may refer to; the words of "
        "questions and the rest are in the batch",
        rows.units,
        _UNITS,
        answers=False,
        counted="units",
    ),
    "labels": Export(
        "one label, or one missing label, by one rater",
        rows.labels,
        label_rows.COLUMNS,
        beside=label_rows.BESIDE,
        counted="labels",
    ),
    "responses": Export(
        "one rater’s whole answer to one item, with the texts that the rater wrote",
        rows.responses,
        response_rows.COLUMNS,
        counted="responses",
    ),
    "spans": Export(
        "one highlight, with the label that it supports", rows.spans, _SPANS, counted="spans"
    ),
    "references": Export(
        "one label that an adjudicator decided, with the reason",
        references.references,
        references.COLUMNS,
    ),
    "qrels": Export(
        "one graded passage, by subtopic where the protocol has any", qrels, QRELS, ("trec", *TABLE)
    ),
    "qrels-graded": Export(
        "one graded passage, subtopic 0; of several subtopics the best grade",
        graded_qrels,
        QRELS,
        ("trec", *TABLE),
    ),
    "qrels-diversity": Export(
        "one graded passage for one subtopic", diversity_qrels, QRELS, ("trec", *TABLE)
    ),
    "nugget-bank": Export(
        "one query’s nuggets as claims, in the AutoJudge kit’s form, with the importance that "
        "labels decided",
        nugget_bank,
        ("query_id", "title_query", "format_version", "claim_bank"),
        ("jsonl",),
    ),
    "nuggetizer-bank": Export(
        "one query’s nuggets in AutoNuggetizer’s form, with the importance that labels decided",
        nuggetizer_bank,
        ("query", "qid", "nuggets"),
        ("jsonl",),
    ),
    "web-annotations": Export(
        "one highlight, as an annotation of the W3C’s model",
        web_annotations,
        _ANNOTATION,
        ("jsonld", "jsonl"),
        counted="spans",
    ),
    "label-studio": Export(
        "one unit as a task of Label Studio, with the labels from all raters",
        label_studio,
        _TASK,
        ("json", "jsonl"),
        counted="units",
    ),
    "consents": Export(
        "one consent: which person agreed to which version of the text, and when",
        consent.consent_lines,
        consent.COLUMNS,
        tells_answers=False,
        answers=False,
        personal=True,
    ),
    "background": Export(
        "one person’s answer to a background question; several choices are several lines",
        _background,
        background.COLUMNS,
        tells_answers=False,
        answers=False,
        personal=True,
    ),
    "pay": Export(
        "one person’s items, active time and pay",
        pay.pay_lines,
        pay.COLUMNS,
        tells_answers=False,
        answers=False,
        personal=True,
    ),
    "batch": Export(
        "one query, in the native format", rows.batch, QUERY, tells_answers=False, answers=False
    ),
}


def exports_of(campaign: Campaign) -> dict[str, Export]:
    """Return the exports of a campaign.

    It has qrels only if it grades passages, nugget banks only if its batch has nuggets, and
    consents and background only if it asks for them.
    """
    out = set()
    try:
        out |= set() if grades_of(campaign).subtopics else {"qrels-diversity"}
    except NoGradesError:
        out |= {name for name in EXPORTS if name.startswith("qrels")}
    out |= set() if has_nuggets(campaign) else BANKS
    out |= set() if _asks_consent(campaign) else {"consents"}
    out |= set() if _asks_background(campaign) else {"background"}
    return {name: each for name, each in EXPORTS.items() if name not in out}


def _asks_consent(campaign: Campaign) -> bool:
    return campaign.consent_texts.exists()


def _asks_background(campaign: Campaign) -> bool:
    return bool(campaign.background) or campaign.backgrounds.exists()


def check_exists(campaign: Campaign, what: str) -> None:
    """Raise NoExportError if a campaign does not have an export, or no qrels yet.

    Other exports may be empty, as for a campaign without labels. Tools refuse a file of qrels
    without a line.
    """
    if what == "consents" and not _asks_consent(campaign):
        raise NoExportError(f"campaign {campaign.name!r} asks for no consent")
    if what == "background" and not _asks_background(campaign):
        raise NoExportError(f"campaign {campaign.name!r} asks no background questions")
    if what in BANKS and not has_nuggets(campaign):
        raise NoExportError(f"the batch of campaign {campaign.name!r} has no nuggets")
    if not what.startswith("qrels"):
        return
    try:
        first = next(EXPORTS[what].lines(campaign), None)
    except NoGradesError as error:
        raise NoExportError(str(error)) from error
    if first is None:
        raise NoExportError(
            f"people have not graded any passage of campaign {campaign.name!r} yet, and qrels "
            "contain only their grades; for judges' grades, export labels"
        )
