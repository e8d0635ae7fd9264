"""The input of a paper's tables from a study: campaigns by protocol, their labels and batches.

Campaigns over the same units are one source of labels, as `sources` says. Sources belong together
if their batches come from the same loaded batch, which is the *data set*.
For instance, ratings of passages from before the systems answered belong to the systems' reports,
since derived batches keep identifiers. Everything that is read is cached for the following tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

from analysis.attention.base import join_words
from analysis.campaigns.evaluators import evaluators_among
from analysis.campaigns.frames import JoinedCampaign, campaign_frame, splits_of_items
from analysis.campaigns.free_text import written_answers
from analysis.campaigns.scripted_judges import mark_raters
from analysis.evaluation.build import measures_report, named_measures
from analysis.evaluation.inputs import PEOPLE, EvaluatorLabels, evaluator_labels
from analysis.evaluation.slicing import Division
from analysis.models import Study
from analysis.papers.sources import AmbiguousError, Source, Sources
from annotation.models import Campaign
from annotation.presentation import schema
from datasets.lineage import lineage_of
from datasets.material import batch_rows
from datasets.models import Batch
from judging.models import Judge
from tandem.files.rows import Query
from tandem.labels.evaluators import Evaluator, with_evaluators
from tandem.labels.frame import Frame, VariableFrame
from tandem.labels.metadata import dividing_strata
from tandem.labels.selection import ReportOptions
from tandem.labels.splits import STRATUM
from tandem.scores.options import Options, TableOptions
from tandem.sections.build import agreement_of_variables
from tandem.sections.extras import written
from tandem.types import JSON

JUDGE = "judge"


@dataclass
class Material:
    """A study's campaigns, batches and labels, each read once.

    `preset` names the paper, and `tables` has the options of its tables.
    """

    study: Study
    preset: str
    options: ReportOptions
    tables: TableOptions
    _frames: dict[int, Frame] = field(default_factory=dict)
    _joint_frames: dict[int, Frame] = field(default_factory=dict)
    _queries: dict[int, tuple[Query, ...]] = field(default_factory=dict)
    _measures: dict[tuple[Any, ...], JSON] = field(default_factory=dict)
    _agreement: dict[int, JSON] = field(default_factory=dict)
    _roots: dict[int, str] = field(default_factory=dict)
    cache: dict[Any, Any] = field(default_factory=dict)

    @cached_property
    def chosen(self) -> Options:
        """The options of the measures."""
        return self.tables.measures

    @cached_property
    def every_campaign(self) -> list[Campaign]:
        parts = self.study.parts.filter(kind="campaign").select_related("campaign__batch")
        found = [part.campaign for part in parts if part.campaign is not None]
        return [each for each in found if each.name not in self.tables.left_out]

    @cached_property
    def sources(self) -> list[Source]:
        roots = {each.pk: self.data_set(each.batch) for each in self.every_campaign}
        queries = partial(_queries_of, self)
        return Sources(self.every_campaign, roots, queries).found

    @cached_property
    def batches(self) -> list[Batch]:
        """The batches of the study and of its campaigns, in order."""
        own = [part.batch for part in self.study.parts.filter(kind="batch").select_related("batch")]
        found = {b.pk: b for b in (*own, *(c.batch for c in self.every_campaign)) if b is not None}
        return list(found.values())

    def campaigns(self, *protocols: str) -> list[Campaign]:
        """Return the sources of labels of these protocols, each as its leading campaign.

        Raises AmbiguousError if two campaigns could both serve.
        """
        found = [each for each in self.sources if each.lead.protocol in protocols]
        if clash := next(filter(None, (each.clash for each in found)), None):
            raise clash
        return [each.lead for each in found]

    def only(self, campaigns: Sequence[Campaign]) -> Campaign | None:
        """Return the campaign, if there is one. Raises AmbiguousError if there are several."""
        if len(campaigns) > 1:
            raise AmbiguousError(campaigns, "are over different units of the same data")
        return campaigns[0] if campaigns else None

    def joined(self, campaign: Campaign) -> tuple[JoinedCampaign, ...]:
        """Return the campaigns whose labels are read together with a leading one; it is among them.

        The result is empty if it stands alone.
        """
        return next((each.parts for each in self.sources if each.lead == campaign), ())

    def parts(self, campaign: Campaign) -> list[Campaign]:
        """Return the campaigns whose labels are read as those of a leading one."""
        return [each.campaign for each in self.joined(campaign)] or [campaign]

    def named(self, campaign: Campaign) -> str:
        """Return the names of the campaigns whose labels are read as those of a leading one."""
        names = [each.name for each in self.parts(campaign)]
        return f"campaign {names[0]}" if len(names) == 1 else f"campaigns {join_words(names)}"

    def queries(self, batch: Batch) -> tuple[Query, ...]:
        if batch.pk not in self._queries:
            self._queries[batch.pk] = tuple(batch_rows(batch))
        return self._queries[batch.pk]

    def frame(self, campaign: Campaign) -> Frame:
        if campaign.pk not in self._frames:
            joined = self.joined(campaign)
            self._frames[campaign.pk] = campaign_frame(campaign, self.options, joined=joined)
        return self._frames[campaign.pk]

    @cached_property
    def evaluators(self) -> tuple[Evaluator, ...]:
        """The sets of judges that count as one evaluator each."""
        labelled = [(each, self.frame(each)) for each in self.every_campaign]
        return evaluators_among(self.study.evaluators, labelled)

    def judged_by(self, evaluator: Evaluator, judge: str, campaign: Campaign) -> list[str]:
        """Return the variables for which an evaluator has a judge's labels in a campaign."""
        judgements = evaluator.judgements(self.frame(campaign))
        return [variable for variable, each in judgements.items() if each == judge]

    def joint_frame(self, campaign: Campaign) -> Frame:
        """Return the labels with evaluators in place of their judges."""
        if campaign.pk not in self._joint_frames:
            joint = with_evaluators(self.frame(campaign), self.evaluators, instead=True)
            self._joint_frames[campaign.pk] = joint
        return self._joint_frames[campaign.pk]

    def agreement(self, campaign: Campaign) -> JSON:
        """Return the agreement of people and of judges with them, by variable, as in the report."""
        if campaign.pk not in self._agreement:
            strata = dividing_strata({STRATUM: splits_of_items(campaign)})
            frame = replace(self.frame(campaign), strata=strata)
            order = [v.name for each in self.parts(campaign) for v in schema(each).variables]
            order = list(dict.fromkeys(order))
            found = agreement_of_variables(frame, self.options, order)
            self._agreement[campaign.pk] = found
        return self._agreement[campaign.pk]

    def written(self, campaign: Campaign) -> JSON:
        """Return the agreement of people's written answers, as in the report. Empty without any."""
        for each in self.parts(campaign):
            if (answers := written_answers(each, self.options.exposed)) is not None:
                return written(answers)
        return {}

    def measures(
        self,
        campaign: Campaign,
        slices: tuple[Campaign, ...] = (),
        points: Campaign | None = None,
        **changed: Any,
    ) -> JSON:
        """Return the campaign's report of measures, by the paper's options or changed ones."""
        key = (campaign.pk, tuple(c.pk for c in slices), points and points.pk, *changed.items())
        if key not in self._measures:
            options = replace(self.chosen, **changed)
            joined = {each.lead.pk: each.parts for each in self.sources if each.parts}
            report = measures_report(
                campaign,
                options,
                self.preset,
                self.options,
                None,
                slices,
                points,
                evaluators=self.evaluators,
                joined=joined,
            )
            # A release has the measures of each campaign without others.
            alone = not slices and points is None and not changed and not self.joined(campaign)
            self._measures[key] = {**report, "alone": alone}
        return self._measures[key]

    def named_measures(
        self, campaign: Campaign, names: tuple[str, ...], strata: tuple[Division, ...] = ()
    ) -> JSON:
        """Return only these measures of a campaign, with their values of each system."""
        key = (campaign.pk, names, *(each.name for each in strata))
        if key not in self._measures:
            options, queries = self.chosen, self.queries(campaign.batch)
            self._measures[key] = named_measures(
                campaign, names, options, self.options, self.joint_frame(campaign), queries, strata
            )
        return self._measures[key]

    def data_set(self, batch: Batch) -> str:
        """Return the name of the loaded batch that a batch comes from."""
        if batch.pk not in self._roots:
            root = batch
            while lineage := lineage_of(root):
                root = lineage.source
            self._roots[batch.pk] = root.name
        return self._roots[batch.pk]

    def is_derived_by(self, batch: Batch, rule: str) -> bool:
        """Return whether a batch was derived by a rule, directly or earlier in its lineage."""
        while lineage := lineage_of(batch):
            if lineage.rule == rule:
                return True
            batch = lineage.source
        return False

    def of_same_data(self, campaign: Campaign, *protocols: str) -> list[Campaign]:
        """Return the campaigns of these protocols over the same data set."""
        root = self.data_set(campaign.batch)
        return [c for c in self.campaigns(*protocols) if self.data_set(c.batch) == root]

    def models_of(self, by: str) -> set[str]:
        """Return the models of a judge, or of the judges that are one evaluator."""
        names = next((each.judges for each in self.evaluators if each.name == by), (by,))
        judges = Judge.objects.filter(rater__name__in=names)
        # A fake judge has no model; its family says which one it represents.
        return {model or family for model, family in judges.values_list("model", "family")} - {""}

    @cached_property
    def fakes(self) -> list[str]:
        """The scripted judges of the study, which replay a file."""
        raters: list[JSON] = [
            {"name": name, "kind": JUDGE, "scripted": False}
            for name in dict.fromkeys(
                rater.name
                for campaign in self.every_campaign
                for rater in self.frame(campaign).raters
                if rater.kind == JUDGE
            )
        ]
        mark_raters(raters)
        return [rater["name"] for rater in raters if rater["scripted"]]


def _queries_of(material: Material, campaign: Campaign) -> tuple[Query, ...]:
    return material.queries(campaign.batch)


def evaluators(frames: Iterable[Frame]) -> list[str]:
    """Return people together, if there are any, and each judge, in the frames' order."""
    found: dict[str, None] = {}
    for frame in frames:
        for rater in frame.raters:
            if rater.excluded is None and rater.labels:
                name = {"human": PEOPLE, JUDGE: rater.name}.get(rater.kind)
                found |= {} if name is None else {name: None}
    return sorted(found, key=lambda name: name != PEOPLE)


def persons(frame: Frame) -> list[str]:
    return [r.name for r in frame.raters if r.kind == "human" and r.excluded is None and r.labels]


def judges(frame: Frame) -> list[str]:
    return [r.name for r in frame.raters if r.kind == JUDGE and r.excluded is None and r.labels]


def labels_by(variable: VariableFrame | None, rater: str) -> EvaluatorLabels | None:
    """Return an evaluator's labels of a variable; None without any."""
    if variable is None:
        return None
    return next((each for each in evaluator_labels(variable) if each.rater == rater), None)
