"""The input of a paper's tables from a study: campaigns by protocol, their labels and batches.

Campaigns over the same units are one source of labels, as `sources` says. Sources belong together
if their batches come from the same loaded batch, which is the *data set*.
For instance, ratings of passages from before the systems answered belong to the systems' reports,
since derived batches keep identifiers. Everything that is read is cached for the following tables.

What is read comes from the database (`stored`), or from the files of a release
(`analysis.release.material`). Nothing here depends on which.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

from analysis.evaluation.inputs import (
    PEOPLE,
    AskedContent,
    Division,
    EvaluatorLabels,
    QuerySample,
    evaluator_labels,
    evaluators_instead,
)
from analysis.evaluation.key_points import key_point_scores
from analysis.evaluation.layout import Layout
from analysis.evaluation.passages import sampled_orderings
from analysis.evaluation.system_values import Measured, measured, named_measures
from analysis.papers.sources import (
    JUDGE,
    AmbiguousError,
    BatchFacts,
    CampaignFacts,
    Part,
    Source,
    Sources,
)
from tandem.document import join_words
from tandem.files.rows import Query
from tandem.labels.evaluators import Evaluator, with_evaluators
from tandem.labels.facts import LabelFact
from tandem.labels.frame import STRATUM, Frame, VariableFrame
from tandem.labels.joined import UnitKey
from tandem.labels.metadata import dividing_strata
from tandem.labels.selection import ReportOptions
from tandem.scores.options import Options, TableOptions
from tandem.sections.comparison import agreement_of_variables
from tandem.sections.written import WrittenAnswers, written
from tandem.types import JSON


class WholeAnswer(NamedTuple):
    """A rater's first current answer to an item: its query, and the answers about its units."""

    query: str
    rater: str
    kind: str
    units: Mapping[str, Any]


class Material(ABC):
    """A study's campaigns, batches and labels, each read once.

    `study` is its name, `preset` names the paper, and `tables` has the options of its tables.
    """

    def __init__(
        self, study: str, preset: str, options: ReportOptions, tables: TableOptions
    ) -> None:
        self.study, self.preset, self.options, self.tables = study, preset, options, tables
        self._frames: dict[str, Frame] = {}
        self._joint_frames: dict[str, Frame] = {}
        self._queries: dict[str, tuple[Query, ...]] = {}
        self._measures: dict[tuple[str, str], Measured] = {}
        self._named: dict[tuple[str, ...], JSON] = {}
        self._agreement: dict[str, JSON] = {}
        self.cache: dict[Any, Any] = {}

    @property
    @abstractmethod
    def own_campaigns(self) -> Sequence[CampaignFacts]:
        """The study's campaigns, in order."""

    @property
    @abstractmethod
    def own_batches(self) -> Sequence[BatchFacts]:
        """The batches that the study names, in order."""

    @abstractmethod
    def read_queries(self, batch: BatchFacts) -> tuple[Query, ...]:
        """Read the queries of a batch."""

    @abstractmethod
    def items(self, campaign: CampaignFacts) -> Mapping[str, str]:
        """Return the keys of a campaign's items, with those of their queries."""

    @abstractmethod
    def units(self, campaign: CampaignFacts) -> Collection[UnitKey]:
        """Return the units of a campaign."""

    @abstractmethod
    def labels(self, campaign: CampaignFacts) -> Iterable[LabelFact]:
        """Return the current labels of a campaign, and the missing ones."""

    @abstractmethod
    def excluded(self, campaign: CampaignFacts) -> Mapping[str, str]:
        """Return the reasons for exclusion by the raters' names."""

    @abstractmethod
    def read_frame(self, campaign: CampaignFacts, parts: Sequence[Part]) -> Frame:
        """Read the labels of a campaign, which leads these parts if there are any."""

    @abstractmethod
    def evaluators_among(
        self, labels: Sequence[tuple[CampaignFacts, Frame]]
    ) -> tuple[Evaluator, ...]:
        """Return the evaluators among the judges of campaigns."""

    @abstractmethod
    def variables(self, campaign: CampaignFacts) -> Sequence[str]:
        """Return the variables that a campaign asks, in order."""

    @abstractmethod
    def asked(self, campaign: CampaignFacts) -> AskedContent:
        """Return the content of a campaign's questions."""

    @abstractmethod
    def sample(self, campaign: CampaignFacts) -> QuerySample:
        """Return the sample of a campaign's queries."""

    @abstractmethod
    def splits(self, campaign: CampaignFacts) -> Mapping[str, str]:
        """Return the split of each item's query, by the item's key."""

    @abstractmethod
    def written_answers(self, campaign: CampaignFacts) -> WrittenAnswers | None:
        """Return people's written answers; None if the campaign asks for none."""

    @abstractmethod
    def whole_answers(self, campaign: CampaignFacts) -> Iterable[WholeAnswer]:
        """Return first answers, unassisted, and without those of excluded raters."""

    @cached_property
    def chosen(self) -> Options:
        """The options of the measures."""
        return self.tables.measures

    @cached_property
    def every_campaign(self) -> list[CampaignFacts]:
        return [each for each in self.own_campaigns if each.name not in self.tables.left_out]

    @cached_property
    def sources(self) -> list[Source]:
        return Sources(self.every_campaign, self).found

    @cached_property
    def batches(self) -> list[BatchFacts]:
        """The batches of the study and of its campaigns, in order."""
        return list(dict.fromkeys((*self.own_batches, *(c.batch for c in self.every_campaign))))

    def campaigns(self, *protocols: str) -> list[CampaignFacts]:
        """Return the sources of labels of these protocols, each as its leading campaign.

        Raises AmbiguousError if two campaigns could both serve.
        """
        found = [each for each in self.sources if each.lead.protocol in protocols]
        if clash := next(filter(None, (each.clash for each in found)), None):
            raise clash
        return [each.lead for each in found]

    def only(self, campaigns: Sequence[CampaignFacts]) -> CampaignFacts | None:
        """Return the campaign, if there is one. Raises AmbiguousError if there are several."""
        if len(campaigns) > 1:
            raise AmbiguousError(campaigns, "are over different units of the same data")
        return campaigns[0] if campaigns else None

    def joined(self, campaign: CampaignFacts) -> tuple[Part, ...]:
        """Return the campaigns whose labels are read together with a leading one; it is among them.

        The result is empty if it stands alone.
        """
        return next((each.parts for each in self.sources if each.lead == campaign), ())

    def parts(self, campaign: CampaignFacts) -> list[CampaignFacts]:
        """Return the campaigns whose labels are read as those of a leading one."""
        return [each.campaign for each in self.joined(campaign)] or [campaign]

    def named(self, campaign: CampaignFacts) -> str:
        """Return the names of the campaigns whose labels are read as those of a leading one."""
        names = [each.name for each in self.parts(campaign)]
        return f"campaign {names[0]}" if len(names) == 1 else f"campaigns {join_words(names)}"

    def queries(self, batch: BatchFacts) -> tuple[Query, ...]:
        if batch.name not in self._queries:
            self._queries[batch.name] = self.read_queries(batch)
        return self._queries[batch.name]

    def frame(self, campaign: CampaignFacts) -> Frame:
        if campaign.name not in self._frames:
            self._frames[campaign.name] = self.read_frame(campaign, self.joined(campaign))
        return self._frames[campaign.name]

    @cached_property
    def evaluators(self) -> tuple[Evaluator, ...]:
        """The sets of judges that count as one evaluator each."""
        return self.evaluators_among([(each, self.frame(each)) for each in self.every_campaign])

    def judged_by(self, evaluator: Evaluator, judge: str, campaign: CampaignFacts) -> list[str]:
        """Return the variables for which an evaluator has a judge's labels in a campaign."""
        judgements = evaluator.judgements(self.frame(campaign))
        return [variable for variable, each in judgements.items() if each == judge]

    def joint_frame(self, campaign: CampaignFacts) -> Frame:
        """Return the labels with evaluators in place of their judges."""
        if campaign.name not in self._joint_frames:
            joint = with_evaluators(self.frame(campaign), self.evaluators, instead=True)
            self._joint_frames[campaign.name] = joint
        return self._joint_frames[campaign.name]

    def agreement(self, campaign: CampaignFacts) -> JSON:
        """Return the agreement of people and of judges with them, by variable, as in the report."""
        if campaign.name not in self._agreement:
            strata = dividing_strata({STRATUM: self.splits(campaign)})
            frame = replace(self.frame(campaign), strata=strata)
            order = [name for each in self.parts(campaign) for name in self.variables(each)]
            order = list(dict.fromkeys(order))
            found = agreement_of_variables(frame, self.options, order)
            self._agreement[campaign.name] = found
        return self._agreement[campaign.name]

    def written(self, campaign: CampaignFacts) -> JSON:
        """Return the agreement of people's written answers, as in the report. Empty without any."""
        for each in self.parts(campaign):
            if (answers := self.written_answers(each)) is not None:
                return written(answers)
        return {}

    def measures(self, campaign: CampaignFacts, points: CampaignFacts | None = None) -> JSON:
        """Return the campaign's measures by the paper's options, each with its `systems`.

        `points` is a campaign that compares points of answers with their context. The result is
        `alone` if the values are those that the campaign has without any other.
        """
        values = self._measured(campaign, points).values
        # A release has the measures of each campaign without others.
        alone = points is None and not self.joined(campaign)
        return {"campaign": campaign.name, "alone": alone, "measures": values}

    def _measured(self, campaign: CampaignFacts, points: CampaignFacts | None = None) -> Measured:
        key = campaign.name, points.name if points else ""
        if key not in self._measures:
            of_answers = None if points is None else self.frame(points)
            labels = evaluators_instead(self.frame(campaign), of_answers, self.evaluators)
            every = [campaign, *self.parts(campaign)]
            # The sample is that of people.
            sampling = next((each for each in every if each.asks_people), campaign)
            self._measures[key] = measured(
                self.asked(campaign),
                self.queries(campaign.batch),
                labels,
                self.chosen,
                self.options,
                self.sample(sampling),
            )
        return self._measures[key]

    def orders(self, campaign: CampaignFacts, measure: str) -> list[JSON]:
        """Return for each pair of evaluators whether they order the systems alike by a measure."""
        return self._measured(campaign).tables.evaluators(measure, self.options)

    def sampled(self, campaign: CampaignFacts) -> JSON:
        """Return τ of measures over contexts sampled from rated passages, by evaluator."""
        ratings = self.joint_frame(campaign).variables.get("rating")
        if ratings is None:
            return {}
        layout = Layout.from_queries(self.queries(campaign.batch))
        return sampled_orderings(layout, ratings, self.chosen, self.options)

    def key_point_scores(self, campaign: CampaignFacts) -> JSON | None:
        """Return extraction scores against people's verification; None without either."""
        asked, queries = self.asked(campaign), self.queries(campaign.batch)
        frame = self.joint_frame(campaign)
        return key_point_scores(asked, queries, frame, self.chosen, self.options)

    def named_measures(
        self, campaign: CampaignFacts, names: tuple[str, ...], strata: tuple[Division, ...] = ()
    ) -> JSON:
        """Return only these measures of a campaign, with their values of each system."""
        key = (campaign.name, *names, *(each.name for each in strata))
        if key not in self._named:
            self._named[key] = named_measures(
                self.asked(campaign),
                names,
                self.chosen,
                self.options,
                self.joint_frame(campaign),
                self.queries(campaign.batch),
                strata,
            )
        return self._named[key]

    def data_set(self, batch: BatchFacts) -> str:
        """Return the name of the loaded batch that a batch comes from."""
        return batch.origin

    def is_derived_by(self, batch: BatchFacts, rule: str) -> bool:
        """Return whether a batch was derived by a rule, directly or earlier in its lineage."""
        return rule in batch.rules

    def of_same_data(self, campaign: CampaignFacts, *protocols: str) -> list[CampaignFacts]:
        """Return the campaigns of these protocols over the same data set."""
        root = self.data_set(campaign.batch)
        return [c for c in self.campaigns(*protocols) if self.data_set(c.batch) == root]


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
