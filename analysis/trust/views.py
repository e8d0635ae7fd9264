"""The page of a campaign's plans: commit to one, draw queries, look, end it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, log
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from analysis.forms import OptionsForm
from analysis.pages import attached
from analysis.trust.cells import TrustError, judges_of, variables_of
from analysis.trust.certificates import certificates_of, issue
from analysis.trust.comparisons import look_at_comparison
from analysis.trust.looks import Look, look_at
from analysis.trust.options import PLAN_OPTIONS, PlanOptions
from analysis.trust.outlook import outlook_of
from analysis.trust.plans import commit, end
from analysis.trust.running import draw_queries, look_and_describe, running_plan
from analysis.trust.words import (
    comparison_sentences,
    look_sentences,
    noun_of,
    plan_sentences,
)
from analysis.trust.wrong import wrong_accepted
from annotation.access import get_account, managed_campaign, readable_campaign
from annotation.exposure.ledger import saw_answers
from annotation.models import Campaign, TrustPlan
from annotation.people.membership import may_manage
from annotation.trust.roles import running
from datasets.access import READERS, role_required
from datasets.option_fields import form_fields, set_choices
from datasets.text import as_sentence, number_in
from judging.access import blind_page
from tandem.document import count
from tandem.options import values_of
from tandem.sections.system_decisions import describe_comparison
from tandem.trust.better import SIDES, Side
from tandem.trust.canonical import canonical
from tandem.trust.certificate import NOT_CLAIMED, certificate_page
from tandem.trust.compared import strength
from tandem.trust.price import outlook_sentences
from tandem.types import JSON

WIDTH, HEIGHT, LOWEST = 640.0, 150.0, -3.0
DRAWN, MOST_DRAWN = 10, 1000
NOT_TESTED = "not tested yet"


class PlanForm(OptionsForm):
    """A new plan. Fields without a value take the declared one."""

    def __init__(self, data: Any, campaign: Campaign) -> None:
        super().__init__(data, auto_id="plan-%s")
        self.fields.update(form_fields(PLAN_OPTIONS))
        set_choices(self, "variable", [(name, name) for name in variables_of(campaign)])
        set_choices(self, "judge", [(name, name) for name in judges_of(campaign)])
        for option in PLAN_OPTIONS:
            if option.default is not None:
                self.fields[option.name].initial = option.default

    @property
    def first(self) -> list[Any]:
        return [self[name] for name in ("variable", "judge")]

    @property
    def further(self) -> list[Any]:
        return [field for field in self if field.name not in ("variable", "judge")]


@dataclass(frozen=True)
class Curve:
    """Evidence after each draw as points of an SVG, its caption, and the line that it has to reach.

    `start` is the height of no evidence.
    """

    caption: str
    points: str
    needed: float
    start: float
    draws: int


@require_http_methods(["GET", "HEAD", "POST"])
@role_required(*READERS)
def trust(request: HttpRequest, pk: int) -> HttpResponse:
    """Show where a campaign's plan stands, or the form of a new one. POST carries out an order."""
    is_post = request.method == "POST"
    campaign = managed_campaign(request, pk) if is_post else readable_campaign(request, pk)
    if blind := blind_page(request, campaign):
        return blind
    problem, form = "", PlanForm(None, campaign)
    if is_post:
        order = request.POST.get("order", "")
        form = PlanForm(request.POST, campaign) if order == "commit" else form
        try:
            if order in ORDERS and (order != "commit" or form.is_valid()):
                ORDERS[order](request, campaign, form)
                return redirect("trust", pk)
        except TrustError as error:
            problem = as_sentence(error)
    context = {**_shown(campaign), "campaign": campaign, "form": form, "problem": problem}
    context["manages"] = may_manage(get_account(request), campaign.pk)
    status = 422 if problem or form.errors else 200
    return render(request, "results/trust.html", context, status=status)


@require_safe
@role_required(*READERS)
def certificate(request: HttpRequest, pk: int, digest: str) -> HttpResponse:
    """Show a certificate to print, or its file, whose SHA-256 is the digest."""
    campaign = readable_campaign(request, pk)
    found = get_object_or_404(certificates_of(campaign), digest=digest)
    if request.GET.get("format") == "json":
        return attached(canonical(found.document), "application/json", f"{digest[:12]}.json")
    return render(request, "results/certificate.html", certificate_page(found.document))


@require_safe
@role_required(*READERS)
def wrong_cells(request: HttpRequest, pk: int, uid: UUID) -> HttpResponse:
    """Show the accepted cells that were wrong, once the plan has ended."""
    campaign = readable_campaign(request, pk)
    if blind := blind_page(request, campaign):
        return blind
    plan = get_object_or_404(TrustPlan, campaign=campaign, uid=uid, kind=TrustPlan.Kind.CERTIFY)
    try:
        context = {"cells": wrong_accepted(plan)}
    except TrustError as error:
        return render(
            request, "results/wrong_cells.html",
            {"campaign": campaign, "plan": plan, "problem": as_sentence(error)}, status=422,
        )  # fmt: skip
    saw_answers("trust", campaign, units={each.unit.pk for each in context["cells"]})
    return render(
        request, "results/wrong_cells.html", {**context, "campaign": campaign, "plan": plan}
    )


def _commit(request: HttpRequest, campaign: Campaign, form: PlanForm) -> None:
    commit(campaign, PlanOptions(**values_of(PLAN_OPTIONS, form.cleaned_data)))


def _draw(request: HttpRequest, campaign: Campaign, form: PlanForm) -> None:
    wanted = number_in(request.POST.get("queries", ""))
    if not 1 <= wanted <= MOST_DRAWN:
        raise TrustError(f"draw from 1 to {MOST_DRAWN} queries")
    draw_queries(running_plan(campaign), wanted)


def _look(request: HttpRequest, campaign: Campaign, form: PlanForm) -> None:
    look_and_describe(running_plan(campaign))


def _certify(request: HttpRequest, campaign: Campaign, form: PlanForm) -> None:
    issue(running_plan(campaign))


def _end(request: HttpRequest, campaign: Campaign, form: PlanForm) -> None:
    end(running_plan(campaign), request.POST.get("reason", "")[:200])


ORDERS: dict[str, Callable[[HttpRequest, Campaign, PlanForm], None]] = {
    "commit": _commit,
    "draw": _draw,
    "look": _look,
    "certify": _certify,
    "end": _end,
}


def _shown(campaign: Campaign) -> dict[str, Any]:
    plans = TrustPlan.objects.filter(campaign=campaign).order_by("-id")
    found: dict[str, Any] = {
        "plans": plans.exclude(end=None).select_related("end", "judge"),
        "certificates": certificates_of(campaign).order_by("-id"),
        "judges": judges_of(campaign),
        "not_claimed": NOT_CLAIMED,
        "drawn": DRAWN,
        "height": HEIGHT,
        "width": WIDTH,
    }
    if (plan := running(campaign)) is None:
        return found
    shown = _comparison if plan.kind == TrustPlan.Kind.COMPARE else _certification
    return found | {"plan": plan, **shown(plan)}


def _certification(plan: TrustPlan) -> dict[str, Any]:
    look = look_at(plan)
    lines = list(plan_sentences(plan))
    if not look.state.labelled:
        lines += outlook_sentences(outlook_of(plan))
    return {
        "verdict": look.verdict,
        "plan_lines": lines,
        "look_lines": list(look_sentences(look)),
        "curves": [_curve_of_cut(look, cut) for cut in range(look.state.plan.cuts)],
        "left": min(look.left, MOST_DRAWN),
        "draws_cells": look.state.plan.k is not None,
    }


def _comparison(plan: TrustPlan) -> dict[str, Any]:
    look = look_at_comparison(plan)
    left = len(plan.document["population"]["queries"]) - look["drawn_queries"]
    return {
        "compares": True,
        "verdict": look["verdict"],
        "plan_lines": list(comparison_sentences(plan)),
        "look_lines": describe_comparison(look).splitlines(),
        "curves": [_curve_of_pair(pair, side) for pair in look["pairs"] for side in SIDES],
        "left": left if look["verdict"] == "not yet" else 0,
    }


def _curve_of_cut(look: Look, cut: int) -> Curve:
    state = look.state
    evidence = state.evidence(cut)
    noun = noun_of(look.plan)
    draws = count(len(evidence), *noun)
    if cut < state.certified:
        after = count(state.decided_after[cut], *noun)
        said = f"certified after {after}"
    else:
        said = f"{draws}, at most {state.bound(cut):.3f} wrong" if len(evidence) else NOT_TESTED
    share = float(state.plan.totals[cut] / state.plan.cells.sum())
    caption = f"Surest {share:.0%}: {said}"
    return _curve(caption, evidence.tolist(), log(1 / state.plan.delta))


def _curve_of_pair(pair: JSON, side: Side) -> Curve:
    evidence = [strength(value) for value in pair["evidence"][side]]
    name, other = (pair[each] for each in (side, *(each for each in SIDES if each != side)))
    said = f"decided after {count(pair['after'] or 0, 'query', 'queries')}"
    caption = f"{name} is better than {other}" + (f": {said}" if pair["better"] == name else "")
    return _curve(caption, evidence, pair["needed"])


def _curve(caption: str, evidence: list[float], needed: float) -> Curve:
    """Return the points of evidence on a log scale, from 1 before the first draw.

    Infinite evidence, which arithmetic proves, is at the top.
    """
    highest = max(1.25 * needed, *(value for value in evidence if value != inf), 0.0)

    def height(value: float) -> float:
        shown = min(max(value, LOWEST), highest)
        return round(HEIGHT * (highest - shown) / (highest - LOWEST), 1)

    step = WIDTH / max(len(evidence), 1)
    points = " ".join(f"{n * step:.1f},{height(value)}" for n, value in enumerate([0.0, *evidence]))
    return Curve(caption, points, height(needed), height(0), len(evidence))
