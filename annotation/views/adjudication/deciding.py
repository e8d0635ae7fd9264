"""What the page of a dispute sends: the decision with its reason."""

from __future__ import annotations

from dataclasses import asdict, replace

from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_POST

from annotation.adjudication.case import Case
from annotation.adjudication.deciding import NotYoursError, decide
from annotation.doors import from_form, unit_names
from annotation.drafts import check_shape
from annotation.models import User
from annotation.protocols.checking import RefusedError
from annotation.submit import Circumstances, ConflictError, Outcome
from annotation.views.adjudication.asking import address_after, campaign_for, case_for, wanted_of
from annotation.views.mine import MAY_WORK, user_of
from annotation.views.saving import CHANGED, key_of, seconds_of, what_changed, whole
from datasets.access import role_required

GONE = "this is not yours to decide any more; ask the campaign's researcher"


@require_POST
@role_required(*MAY_WORK)
def take_decision(request: HttpRequest, pk: int, unit: int) -> JsonResponse:
    user = user_of(request)
    campaign = campaign_for(user, pk)
    wanted = wanted_of(request, campaign)
    case = case_for(user, campaign, unit)
    basis = request.POST.get("basis") or None
    if changed := what_changed(case.basis, basis):
        return JsonResponse({"error": CHANGED, "changed": changed}, status=409)
    try:
        outcome = _decided(request, case, user)
    except RefusedError as error:
        names = case.blinding.aliases
        problems = [replace(p, unit=names.get(p.unit, p.unit)) for p in error.problems]
        return JsonResponse({"problems": [asdict(p) for p in problems]}, status=422)
    except ConflictError:
        return _conflict(request, case_for(user, campaign, unit))
    except NotYoursError:
        problem = {"unit": "", "key": "", "message": GONE}
        return JsonResponse({"problems": [problem]}, status=422)
    stored = outcome.response
    answer = {
        "revision": stored.revision,
        "saved_at": stored.created_at,
        "next": address_after(user, case, wanted),
    }
    return JsonResponse(answer)


def _decided(request: HttpRequest, case: Case, user: User) -> Outcome:
    form = request.POST
    case.blinding.check_names(unit_names(form))
    payload = from_form(case.schema, case.blinding.units, form)
    check_shape(payload)
    circumstances = Circumstances(
        key=key_of(form),
        seen=whole(form, "seen") or 0,
        seconds=seconds_of(form),
        basis=form.get("basis") or None,
    )
    return decide(case, user, case.blinding.revealed(payload), circumstances, "page")


def _conflict(request: HttpRequest, case: Case) -> JsonResponse:
    """What stands now, beside what was sent."""
    mine = from_form(case.schema, case.blinding.units, request.POST)
    there = case.current
    answer = {
        "mine": mine,
        "theirs": case.blinding.hidden(there.payload) if there else None,
        "version": 0,
        "revision": case.revision,
        "saved_at": there.created_at if there else None,
    }
    return JsonResponse(answer, status=409)
