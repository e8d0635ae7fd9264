"""The page of a campaign's plans: commit to one, draw queries, look, end it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from analysis.forms import OptionsForm
from analysis.trust.cells import TrustError, judges_of, variables_of
from analysis.trust.looks import Look, look_at
from analysis.trust.options import PLAN_OPTIONS, PlanOptions
from analysis.trust.plans import commit, end
from analysis.trust.running import draw_queries, look_and_describe, running_plan
from analysis.trust.words import look_sentences, plan_sentences
from annotation.access import get_account, managed_campaign, readable_campaign
from annotation.models import Campaign, TrustPlan
from annotation.people.membership import may_manage
from datasets.access import READERS, role_required
from datasets.option_fields import form_fields, set_choices
from datasets.text import as_sentence, number_in
from judging.access import blind_page
from tandem.options import values_of
from tandem.trust.certificate import NOT_CLAIMED

WIDTH, HEIGHT, LOWEST = 640.0, 150.0, -3.0
DRAWN, MOST_DRAWN = 10, 1000


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
    """The evidence of one cut as points of an SVG, and the line that certifies it."""

    share: float
    points: str
    needed: float
    start: float
    bound: float | None
    after: int | None
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


def _commit(request: HttpRequest, campaign: Campaign, form: PlanForm) -> None:
    commit(campaign, PlanOptions(**values_of(PLAN_OPTIONS, form.cleaned_data)))


def _draw(request: HttpRequest, campaign: Campaign, form: PlanForm) -> None:
    wanted = number_in(request.POST.get("queries", ""))
    if not 1 <= wanted <= MOST_DRAWN:
        raise TrustError(f"draw from 1 to {MOST_DRAWN} queries")
    draw_queries(running_plan(campaign), wanted)


def _look(request: HttpRequest, campaign: Campaign, form: PlanForm) -> None:
    look_and_describe(running_plan(campaign))


def _end(request: HttpRequest, campaign: Campaign, form: PlanForm) -> None:
    end(running_plan(campaign), request.POST.get("reason", "")[:200])


ORDERS: dict[str, Callable[[HttpRequest, Campaign, PlanForm], None]] = {
    "commit": _commit,
    "draw": _draw,
    "look": _look,
    "end": _end,
}


def _shown(campaign: Campaign) -> dict[str, Any]:
    plans = TrustPlan.objects.filter(campaign=campaign).order_by("-id")
    found: dict[str, Any] = {
        "plans": plans.exclude(end=None).select_related("end", "judge"),
        "judges": judges_of(campaign),
        "not_claimed": NOT_CLAIMED,
        "drawn": DRAWN,
        "height": HEIGHT,
        "width": WIDTH,
    }
    if (plan := plans.filter(end=None).first()) is None:
        return found
    look = look_at(plan)
    return found | {
        "plan": plan,
        "look": look,
        "plan_lines": list(plan_sentences(plan)),
        "look_lines": list(look_sentences(look)),
        "curves": [_curve(look, cut) for cut in range(look.state.plan.cuts)],
        "left": len(look.state.to_draw()) - look.waiting,
    }


def _curve(look: Look, cut: int) -> Curve:
    """Return the points of a cut's evidence on a log scale, from 1 before the first draw."""
    state = look.state
    evidence, needed = state.evidence(cut), log(1 / state.plan.delta)
    highest = max(1.25 * needed, *evidence.tolist(), 0.0)

    def height(value: float) -> float:
        return round(HEIGHT * (highest - max(value, LOWEST)) / (highest - LOWEST), 1)

    step = WIDTH / max(len(evidence), 1)
    values = [0.0, *evidence.tolist()]
    return Curve(
        share=float(state.plan.totals[cut] / state.plan.cells.sum()),
        points=" ".join(f"{n * step:.1f},{height(value)}" for n, value in enumerate(values)),
        needed=height(needed),
        start=height(0),
        bound=state.bound(cut) if len(evidence) else None,
        after=state.decided_after[cut] if cut < state.certified else None,
        draws=len(evidence),
    )
