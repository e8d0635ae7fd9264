"""The studies whose tables an account may read, and the tables' input from the database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from django.http import Http404
from django.shortcuts import get_object_or_404

from analysis.campaigns.evaluators import evaluators_among
from analysis.campaigns.frames import (
    JoinedCampaign,
    campaign_frame,
    splits_of_items,
    stored_labels,
)
from analysis.campaigns.free_text import written_answers
from analysis.campaigns.reports import fakes_among
from analysis.evaluation.build import asked_content, stored_sample
from analysis.evaluation.inputs import AskedContent, QuerySample
from analysis.models import Study
from analysis.papers.base import Paper
from analysis.papers.index import PAPERS
from analysis.papers.material import Material, WholeAnswer
from analysis.papers.sources import JUDGE, BatchFacts, CampaignFacts, Part
from annotation.models import Campaign, Item, Response, Unit, User
from annotation.people.membership import exclusion_reasons, readable
from annotation.presentation import schema
from annotation.registry import get_protocol
from annotation.trust.roles import without_certify
from datasets.lineage import lineages_of
from datasets.material import batch_rows
from datasets.models import Batch
from judging.models import Judge
from tandem.files.rows import Query
from tandem.labels.evaluators import Evaluator
from tandem.labels.facts import LabelFact
from tandem.labels.frame import Frame
from tandem.labels.joined import UnitKey
from tandem.labels.selection import ReportOptions
from tandem.scores.options import TableOptions
from tandem.sections.written import WrittenAnswers


def batch_of_tables(batch: Batch) -> BatchFacts:
    """Return what tables depend on of a batch."""
    lineages = lineages_of(batch)
    origin = lineages[-1].source if lineages else batch
    return BatchFacts(batch.name, origin.name, tuple(each.rule for each in lineages))


def campaign_of_tables(campaign: Campaign) -> CampaignFacts:
    """Return what tables depend on of a campaign."""
    return CampaignFacts(
        campaign.name,
        campaign.protocol,
        campaign.protocol_version,
        batch_of_tables(campaign.batch),
        campaign.options,
        tuple(_continued(campaign)),
        campaign.asks_people,
        campaign.created_at.isoformat(),
        get_protocol(campaign) if campaign.protocol_file_id else None,
    )


def _continued(campaign: Campaign) -> Iterator[str]:
    while campaign.continues is not None:
        campaign = campaign.continues
        yield campaign.name


def units_of(campaign: Campaign) -> Iterator[tuple[str, UnitKey]]:
    """Yield the query and the key of each unit of a campaign, by items and units in their order."""
    rows = Unit.objects.filter(item__campaign=campaign).order_by("item__position", "position")
    columns = ("item__query__key", "item__key", "kind", "key")
    for query, *unit in rows.values_list(*columns).iterator(chunk_size=5000):
        yield query, (unit[0], unit[1], unit[2])


class StoredMaterial(Material):
    """A study of the database."""

    def __init__(
        self, study: Study, preset: str, options: ReportOptions, tables: TableOptions
    ) -> None:
        super().__init__(study.name, preset, options, tables)
        self._study = study
        parts = study.parts.filter(kind="campaign").select_related("campaign__batch")
        self.stored = {p.campaign.name: p.campaign for p in parts if p.campaign is not None}
        """The campaigns by name."""
        batches = study.parts.filter(kind="batch").select_related("batch")
        found = [part.batch for part in batches if part.batch is not None]
        self._batches = {b.name: b for b in (*found, *(c.batch for c in self.stored.values()))}
        self._own = [batch.name for batch in found]

    @cached_property
    def own_campaigns(self) -> Sequence[CampaignFacts]:
        return [campaign_of_tables(each) for each in self.stored.values()]

    @cached_property
    def own_batches(self) -> Sequence[BatchFacts]:
        return [batch_of_tables(self._batches[name]) for name in self._own]

    def read_queries(self, batch: BatchFacts) -> tuple[Query, ...]:
        return tuple(batch_rows(self._batches[batch.name]))

    def items(self, campaign: CampaignFacts) -> Mapping[str, str]:
        rows = Item.objects.filter(campaign=self.stored[campaign.name])
        return dict(rows.values_list("key", "query__key"))

    def units(self, campaign: CampaignFacts) -> frozenset[UnitKey]:
        return frozenset(unit for _, unit in units_of(self.stored[campaign.name]))

    def labels(self, campaign: CampaignFacts) -> Iterator[LabelFact]:
        return stored_labels(self.stored[campaign.name])

    def excluded(self, campaign: CampaignFacts) -> Mapping[str, str]:
        return exclusion_reasons(campaign.name)

    def read_frame(self, campaign: CampaignFacts, parts: Sequence[Part]) -> Frame:
        joined = [JoinedCampaign(self.stored[p.campaign.name], p.replaced) for p in parts]
        return campaign_frame(self.stored[campaign.name], self.options, joined=joined)

    def evaluators_among(
        self, labels: Sequence[tuple[CampaignFacts, Frame]]
    ) -> tuple[Evaluator, ...]:
        stored = [(self.stored[campaign.name], frame) for campaign, frame in labels]
        return evaluators_among(self._study.evaluators, stored)

    def variables(self, campaign: CampaignFacts) -> Sequence[str]:
        return [variable.name for variable in schema(self.stored[campaign.name]).variables]

    def asked(self, campaign: CampaignFacts) -> AskedContent:
        return asked_content(self.stored[campaign.name])

    def sample(self, campaign: CampaignFacts) -> QuerySample:
        return stored_sample(self.stored[campaign.name])

    def splits(self, campaign: CampaignFacts) -> Mapping[str, str]:
        return splits_of_items(self.stored[campaign.name])

    def written_answers(self, campaign: CampaignFacts) -> WrittenAnswers | None:
        return written_answers(self.stored[campaign.name], self.options.exposed)

    def whole_answers(self, campaign: CampaignFacts) -> Iterator[WholeAnswer]:
        rows = Response.objects.filter(
            current=True,
            assignment__item__campaign=self.stored[campaign.name],
            assignment__replicate=0,
            assignment__assisted_by="",
        ).exclude(assignment__rater__name__in=exclusion_reasons(campaign.name))
        rows = without_certify(rows, self.stored[campaign.name], "assignment")
        place = "assignment__item__query__key", "assignment__rater__name", "assignment__rater__kind"
        for *of, payload in rows.order_by("assignment_id").values_list(*place, "payload"):
            yield WholeAnswer(of[0], of[1], of[2], payload["units"])

    def models_of(self, by: str) -> set[str]:
        """Return the models of a judge, or of the judges that are one evaluator."""
        names = next((each.judges for each in self.evaluators if each.name == by), (by,))
        judges = Judge.objects.filter(rater__name__in=names)
        # A fake judge has no model; its family says which one it represents.
        return {model or family for model, family in judges.values_list("model", "family")} - {""}

    @cached_property
    def fakes(self) -> list[str]:
        """The scripted judges of the study, which replay a file."""
        raters = [rater for each in self.every_campaign for rater in self.frame(each).raters]
        names = list(dict.fromkeys(rater.name for rater in raters if rater.kind == JUDGE))
        fakes = fakes_among(names)
        return [name for name in names if name in fakes]


def paper_called(name: str) -> Paper:
    """Return a paper by name. Raises Http404 if there is none."""
    if name not in PAPERS:
        raise Http404
    return PAPERS[name]


def campaigns_of(study: Study) -> list[Campaign]:
    """Return the campaigns of a study, oldest first."""
    own = study.parts.filter(kind="campaign").values("campaign")
    return list(Campaign.objects.filter(pk__in=own).select_related("batch").order_by("pk"))


def readable_study(user: User, pk: int) -> tuple[Study, list[Campaign]]:
    """Return a study and its campaigns. Raises Http404 unless the account may read all of them."""
    study = get_object_or_404(Study, pk=pk)
    found = campaigns_of(study)
    if not found or readable(user).filter(pk__in=[c.pk for c in found]).count() != len(found):
        raise Http404
    return study, found


def studies_of(user: User, campaign: Campaign) -> list[Study]:
    """Return the studies of a campaign whose tables the account may read."""
    found = []
    for study in Study.objects.filter(parts__campaign=campaign):
        parts = study.parts.filter(kind="campaign")
        if not parts.exclude(campaign__in=readable(user)).exists():
            found.append(study)
    return found
