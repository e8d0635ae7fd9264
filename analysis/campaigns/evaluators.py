"""The evaluators of campaigns: those declared in a study, and those derived from judges' models."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from analysis.models import Study
from annotation.models import Campaign, Item, Label, Rater
from judging.models import Judge
from tandem.labels.evaluators import (
    Evaluator,
    EvaluatorError,
    Labelled,
    derive_evaluators,
    labelled_variables,
)
from tandem.labels.frame import Frame

Declared = Mapping[str, Sequence[str]]
"""The judges of each declared evaluator, by its name."""
PASSAGES = "rubric-passage"


def campaign_evaluators(labels: Sequence[tuple[Campaign, Frame]]) -> tuple[Evaluator, ...]:
    """Return the evaluators of campaigns whose labels are measured together.

    The first campaign's study declares them; the other judges are joined by their models.
    """
    return evaluators_among(declared_for(labels[0][0]), labels)


def declared_for(campaign: Campaign) -> Declared:
    """Return the evaluators that the first study with this campaign declares, if any does."""
    studies = Study.objects.filter(parts__campaign=campaign).exclude(evaluators={})
    return studies.order_by("pk").values_list("evaluators", flat=True).first() or {}


def evaluators_among(
    declared: Declared, labels: Sequence[tuple[Campaign, Frame]]
) -> tuple[Evaluator, ...]:
    """Return declared evaluators, and those derived from the other judges of these campaigns."""
    return _evaluators(declared, [(each, labelled_variables(frame)) for each, frame in labels])


def study_evaluators(study: Study) -> tuple[Evaluator, ...]:
    """Return the evaluators of a study by its stored labels, without reading all of them."""
    return _evaluators(study.evaluators, stored_variables(campaigns_of(study)))


def stored_evaluators(*campaigns: Campaign) -> tuple[Evaluator, ...]:
    """Return the evaluators of campaigns by their stored labels, without reading all of them.

    The first campaign's study declares them.
    """
    return _evaluators(declared_for(campaigns[0]), stored_variables(campaigns))


def judges_named(campaign: Campaign, names: Sequence[str]) -> list[str]:
    """Return the named judges, and of the named evaluators those with labels in the campaign.

    The evaluators are those of the campaign and of its studies.
    """
    if not names:
        return []
    ((_, labelled),) = stored_variables([campaign])
    if all(name in labelled for name in names):
        return list(dict.fromkeys(names))
    studies = Study.objects.filter(parts__campaign=campaign).order_by("-pk").distinct()
    every = [each for study in studies for each in study_evaluators(study)]
    every += stored_evaluators(campaign)
    judges = {each.name: [judge for judge in each.judges if judge in labelled] for each in every}
    return list(dict.fromkeys(judge for name in names for judge in judges.get(name) or (name,)))


def campaigns_of(study: Study) -> list[Campaign]:
    parts = study.parts.filter(kind="campaign").select_related("campaign")
    return [part.campaign for part in parts if part.campaign is not None]


def _evaluators(
    declared: Declared, labelled: Sequence[tuple[Campaign, Labelled]]
) -> tuple[Evaluator, ...]:
    named = tuple(Evaluator(name, tuple(judges), True) for name, judges in declared.items())
    taken = {judge for each in named for judge in each.judges}
    ordered = [variables for _, variables in sorted(labelled, key=lambda each: _place(each[0]))]
    models = models_of({judge for variables in ordered for judge in variables})
    return (*named, *derive_evaluators(ordered, models, taken))


def _place(campaign: Campaign) -> tuple[bool, int]:
    """Order campaigns as they were created, and those that rate passages before all others."""
    return campaign.protocol != PASSAGES, campaign.pk


def stored_variables(campaigns: Collection[Campaign]) -> list[tuple[Campaign, Labelled]]:
    """Return the variables that each judge labelled in each campaign."""
    labels = Label.objects.filter(
        response__current=True,
        response__assignment__rater__kind=Rater.Kind.JUDGE,
        response__assignment__item__campaign__in=campaigns,
        response__assignment__item__use=Item.Use.STUDY,
    )
    found: dict[int, dict[str, list[str]]] = {each.pk: defaultdict(list) for each in campaigns}
    columns = ("response__assignment__item__campaign", "response__assignment__rater__name")
    for key, judge, variable in labels.order_by().values_list(*columns, "variable").distinct():
        found[key][judge].append(variable)
    return [(each, found[each.pk]) for each in campaigns]


def models_of(judges: Collection[str]) -> dict[str, tuple[str, str]]:
    """Return the model and server of each judge, by name; judges without a model are left out."""
    columns = ("rater__name", "model", "family", "base_url")
    rows = Judge.objects.filter(rater__name__in=judges).order_by().values_list(*columns)
    # A fake judge has no model; its family says which one it represents.
    return {
        name: (model or family, server) for name, model, family, server in rows if model or family
    }


def check_declared(declared: Declared, campaigns: Collection[Campaign]) -> None:
    """Check evaluators against each other, their judges' models, and the campaigns' labels.

    Raises EvaluatorError.
    """
    taken: dict[str, str] = {}
    for name, judges in declared.items():
        if not judges:
            raise EvaluatorError(f"evaluator {name!r} has no judge; name at least one")
        for judge in judges:
            if judge in taken:
                raise EvaluatorError(
                    f"judge {judge!r} belongs to evaluators {taken[judge]!r} and {name!r}; leave "
                    "it in one of them"
                )
            taken[judge] = name
        _check_models(name, judges)
    if rater := Rater.objects.filter(name__in=declared).order_by("name").first():
        raise EvaluatorError(f"{rater.name!r} is the name of a rater; give the evaluator another")
    for campaign, variables in stored_variables(campaigns) if declared else ():
        for name, judges in declared.items():
            place = f"campaign {campaign.name!r}"
            Evaluator(name, tuple(judges)).judge_of_each(variables, place)


def _check_models(name: str, judges: Sequence[str]) -> None:
    models = {judge: model for judge, (model, _) in models_of(judges).items()}
    others = {model: judge for judge, model in models.items()}
    if len(others) > 1:
        (one, first), (other, second), *_ = sorted(others.items())
        raise EvaluatorError(
            f"evaluator {name!r} has judges of different models, {first!r} ({one}) and {second!r} "
            f"({other}); name judges of one model"
        )
