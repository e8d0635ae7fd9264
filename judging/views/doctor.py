"""The admin's page of the doctor, and its state in a line for the admin's first page."""

from __future__ import annotations

from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from datasets.access import ADMIN, role_required
from judging.doctor.overview import overview, recent_overview
from judging.doctor.registry import CHECKS
from judging.doctor.stored import examine_in_background

SLOW = {check.name for check in CHECKS if check.is_slow}
BETWEEN_SECONDS = 20


@require_safe
@role_required(ADMIN)
def doctor(request: HttpRequest) -> HttpResponse:
    """Show the quick checks as of now, and the slow ones as the command last found them."""
    context = {"doctor": overview(), "slow": SLOW, "begun": "begun" in request.GET}
    return render(request, "doctor/doctor.html", context)


@require_safe
@role_required(ADMIN)
def state(request: HttpRequest) -> HttpResponse:
    """Say in a line whether all is well, for a page that does not wait for the checks itself."""
    return render(request, "doctor/_state.html", {"doctor": recent_overview() or overview()})


@require_POST
@role_required(ADMIN)
def examine_now(request: HttpRequest) -> HttpResponse:
    """Have a process of its own examine everything, which may take some seconds."""
    if cache.add("doctor.examines", True, BETWEEN_SECONDS):
        examine_in_background()
    return redirect(f"{reverse('doctor')}?begun=1")
