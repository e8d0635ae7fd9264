"""The admin's page of the doctor: what it finds now, and what its last examination found."""

from __future__ import annotations

from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from datasets.access import ADMIN, role_required
from judging.doctor.base import is_well
from judging.doctor.registry import CHECKS, examine
from judging.doctor.stored import examine_in_background, last_examination

SLOW = {check.name for check in CHECKS if check.is_slow}
BETWEEN_SECONDS = 20


@require_safe
@role_required(ADMIN)
def doctor(request: HttpRequest) -> HttpResponse:
    """Show the quick checks as of now, and the slow ones as the command last found them."""
    at, stored = last_examination()
    slow = [line for line in stored if line.name in SLOW]
    lines = examine(quick=True)
    order = [check.name for check in CHECKS]
    context = {
        "lines": sorted([*lines, *slow], key=lambda line: order.index(line.name)),
        "slow": SLOW,
        "missing": [check.title for check in CHECKS if check.is_slow] if at is None else [],
        "at": at,
        "begun": "begun" in request.GET,
        "is_well": at is not None and is_well([*lines, *slow]),
    }
    return render(request, "doctor/doctor.html", context)


@require_POST
@role_required(ADMIN)
def examine_now(request: HttpRequest) -> HttpResponse:
    """Have a process of its own examine everything, which may take some seconds."""
    if cache.add("doctor.examines", True, BETWEEN_SECONDS):
        examine_in_background()
    return redirect(f"{reverse('doctor')}?begun=1")
