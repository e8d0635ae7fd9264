"""The evaluators that a study declares: judges that count as one, under a name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.db import transaction

from analysis.campaigns.evaluators import campaigns_of, check_declared
from analysis.models import Study
from analysis.study.file import StudyFile
from annotation.models import Rater
from audit.recording import record
from tandem.labels.evaluators import EvaluatorError, joint_name
from tandem.similar import did_you_mean

LONGEST_NAME = 200
RESERVED = ("people", "mean of people", "mean_of_people", "texts")
"""The names of other evaluators in tables."""


def declare(study: Study, declared: Mapping[str, Sequence[str]]) -> None:
    """Declare evaluators in addition to those of the study. Raises EvaluatorError."""
    for name, judges in declared.items():
        check_name(name)
        for judge in judges:
            _check_judge(judge)
    _store(study, {**study.evaluators, **{name: list(of) for name, of in declared.items()}})


def remove(study: Study, name: str) -> None:
    """Remove a declared evaluator, so that its judges are joined by their models again.

    Raises EvaluatorError if there is none.
    """
    if name not in study.evaluators:
        known = list(study.evaluators)
        remedy = did_you_mean(name, known, f"there are {', '.join(known) or 'none'}")
        raise EvaluatorError(f"study {study.name!r} declares no evaluator {name!r}; {remedy}")
    _store(study, {each: of for each, of in study.evaluators.items() if each != name})


def check_declared_in(file: StudyFile, study: Study | None) -> None:
    """Check the evaluators of a file with those that its study has already. Raises InputError."""
    try:
        for name in file.evaluators:
            check_name(name)
        check_declared(_after(file, study), campaigns_of(study) if study else ())
    except EvaluatorError as error:
        wrong, _, remedy = str(error).partition("; ")
        named = next((name for name in file.evaluators if repr(name) in wrong), "")
        raise file.evaluator_error(named, wrong, remedy) from error


def changed_in(file: StudyFile, study: Study | None) -> dict[str, str]:
    """Describe by name the file's evaluators that applying it declares, or changes."""
    there = study.evaluators if study else {}
    return {
        name: f"count {joint_name(judges)} as one"
        for name, judges in file.evaluators.items()
        if there.get(name) != list(judges)
    }


def declare_those_in(file: StudyFile, study: Study) -> None:
    """Declare a file's evaluators; others of the study stay. Raises InputError."""
    check_declared_in(file, study)
    _store(study, _after(file, study))


def _after(file: StudyFile, study: Study | None) -> dict[str, list[str]]:
    declared = {name: list(judges) for name, judges in file.evaluators.items()}
    return {**(study.evaluators if study else {}), **declared}


def check_name(name: str) -> None:
    """Raises EvaluatorError for a name that an evaluator cannot have."""
    if not name.strip() or len(name) > LONGEST_NAME or "\0" in name:
        raise EvaluatorError("an evaluator has a blank or long name; name it")
    if name in RESERVED:
        raise EvaluatorError(f"{name!r} means something else in tables; give another name")


def _check_judge(name: str) -> None:
    judges = Rater.objects.filter(kind=Rater.Kind.JUDGE)
    if not judges.filter(name=name).exists():
        known = list(judges.order_by("name").values_list("name", flat=True))
        remedy = did_you_mean(name, known, "create it first, or import its labels")
        raise EvaluatorError(f"there is no judge {name!r}; {remedy}")


def _store(study: Study, declared: dict[str, list[str]]) -> None:
    check_declared(declared, campaigns_of(study))
    if declared == study.evaluators:
        return
    with transaction.atomic():
        record("study.evaluators", of=study, before=study.evaluators, after=declared)
        study.evaluators = declared
        study.save(update_fields=["evaluators", "changed_at"])
