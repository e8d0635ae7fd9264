"""The evaluators of campaigns: those declared in a study, and those derived from judges' models."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from analysis.models import Study
from annotation.models import Campaign
from judging.models import Judge
from tandem.labels.evaluators import Evaluator, derive_evaluators
from tandem.labels.frame import Frame

Declared = Mapping[str, Sequence[str]]
"""The judges of each declared evaluator, by its name."""
Labelled = tuple[Campaign, Frame]
PASSAGES = "rubric-passage"


def campaign_evaluators(labelled: Sequence[Labelled]) -> tuple[Evaluator, ...]:
    """Return the evaluators of campaigns whose labels are measured together.

    The first campaign's study declares them; the other judges are joined by their models.
    """
    return evaluators_among(declared_for(labelled[0][0]), labelled)


def declared_for(campaign: Campaign) -> Declared:
    """Return the evaluators that the first study with this campaign declares, if any does."""
    studies = Study.objects.filter(parts__campaign=campaign).exclude(evaluators={})
    return studies.order_by("pk").values_list("evaluators", flat=True).first() or {}


def evaluators_among(declared: Declared, labelled: Sequence[Labelled]) -> tuple[Evaluator, ...]:
    """Return declared evaluators, and those derived from the other judges of these campaigns."""
    named = tuple(Evaluator(name, tuple(judges), True) for name, judges in declared.items())
    taken = {judge for each in named for judge in each.judges}
    frames = [frame for _, frame in sorted(labelled, key=_place)]
    judges = {rater.name for frame in frames for rater in frame.raters if rater.kind == "judge"}
    return (*named, *derive_evaluators(frames, models_of(judges), taken))


def _place(of: Labelled) -> tuple[bool, int]:
    """Order campaigns as they were created, and those that rate passages before all others."""
    campaign, _ = of
    return campaign.protocol != PASSAGES, campaign.pk


def models_of(judges: Collection[str]) -> dict[str, tuple[str, str]]:
    """Return the model and server of each judge, by name; judges without a model are left out."""
    rows = Judge.objects.filter(rater__name__in=judges).order_by()
    # A fake judge has no model; its family says which one it represents.
    return {
        name: (model or family, server)
        for name, model, family, server in rows.values_list(
            "rater__name", "model", "family", "base_url"
        )
        if model or family
    }
