"""Template filters for texts and numbers of judges, and the state of the installation."""

from __future__ import annotations

from decimal import Decimal

from django import template

from judging.costs import cost_of_run, format_dollars
from judging.display import make_displayable as made_harmless
from judging.doctor.overview import Overview, recent_overview
from judging.models import JudgeRun

register = template.Library()


@register.filter
def shown(text: object) -> str:
    """Make a text safe to display. It is also escaped as usual."""
    return made_harmless(str(text))


@register.filter
def cost(run: JudgeRun) -> str:
    """Format a run's cost in US dollars or as unknown. A dash for a run without calls."""
    return format_dollars(cost_of_run(run)) if run.calls else "–"


@register.filter
def dollars(amount: Decimal | None) -> str:
    return format_dollars(amount)


@register.filter
def counted(number: object) -> object:
    """Group the digits of a whole number, and return anything else as it is."""
    return f"{number:,}" if isinstance(number, int) else number


@register.inclusion_tag("doctor/_state.html")
def site_state() -> dict[str, Overview | None]:
    """Say in a line whether all is well, without a check: older pages fetch the line by htmx."""
    return {"doctor": recent_overview()}
