"""The page of a study's evaluators: which judges count as one, and a form to declare them."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from analysis.campaigns.evaluators import campaigns_of, stored_variables, study_evaluators
from analysis.models import Study
from analysis.study.access import manages_study, readable_study
from analysis.study.evaluators import declare, remove
from annotation.access import get_account
from datasets.access import READERS, role_required
from tandem.labels.evaluators import Evaluator, EvaluatorError


@require_http_methods(["GET", "HEAD", "POST"])
@role_required(*READERS)
def evaluators(request: HttpRequest, pk: int) -> HttpResponse:
    """List the evaluators. Whoever manages all campaigns of the study declares and removes them."""
    user = get_account(request)
    study = readable_study(user, pk)
    manages, problem = manages_study(user, study), ""
    if request.method == "POST":
        if not manages:
            raise Http404
        try:
            _change(request, study)
            return redirect("study-evaluators", pk)
        except EvaluatorError as error:
            problem = f"{error}."
    found, wrong = _found(study)
    context = {
        "study": study,
        "manages": manages,
        "evaluators": found,
        "judges": _judges(study) if manages else [],
        "given": request.POST,
        "chosen": request.POST.getlist("judges"),
        "problem": problem or wrong,
    }
    status = 422 if problem else 200
    return render(request, "studies/evaluators.html", context, status=status)


def _found(study: Study) -> tuple[tuple[Evaluator, ...], str]:
    """Return the study's evaluators, or those declared and why they do not fit the labels."""
    try:
        return study_evaluators(study), ""
    except EvaluatorError as error:
        declared = (Evaluator(name, tuple(of), True) for name, of in study.evaluators.items())
        return tuple(declared), f"{error}."


def _judges(study: Study) -> list[str]:
    labelled = stored_variables(campaigns_of(study))
    return sorted({judge for _, variables in labelled for judge in variables})


def _change(request: HttpRequest, study: Study) -> None:
    if name := request.POST.get("remove"):
        remove(study, name)
        return
    judges = list(dict.fromkeys(request.POST.getlist("judges")))
    if strange := [judge for judge in judges if judge not in _judges(study)]:
        raise EvaluatorError(f"judge {strange[0]!r} has no label in this study; choose others")
    declare(study, {request.POST.get("name", "").strip(): judges})
