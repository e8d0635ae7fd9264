"""Template tags for the head of a campaign's pages, and for the figures of its first page."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django import template
from django.template import Context
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from analysis.attention import matters_for
from analysis.attention.checks import CHECKS, last_checks, question
from analysis.disagreements.choose import Disagreements, add_up, counts_in
from annotation.access import is_blind
from annotation.exposure.ledger import FEWEST_UNITS, saw_figures
from annotation.models import Campaign
from annotation.people.membership import may_manage
from annotation.progress import with_counts
from datasets.work import pages as jobs
from tandem.document import rounded
from tandem.sections.contents import name_of_section
from tandem.types import JSON

register = template.Library()
WIDTH, HEIGHT, MARGIN = 200, 14, 6


TABS = {
    "results": ("Results", "results"),
    "disagreements": ("Disagreements", "disagreements"),
    "data": ("Data", "campaign-data"),
    "progress": ("People", "campaign-progress"),
    "judges": ("Judges", "judges-compared"),
}
"""The title and the route of each tab that has pages below it."""


@register.simple_tag(takes_context=True)
def campaign_head(context: Context, here: str) -> dict[str, Any]:
    """Return the numbers of a campaign's tabs, and the tab that the page belongs to.

    The numbers are people, judges, and disagreements (see `_disagreements`).
    """
    campaign, user = context["campaign"], context["request"].user
    row: Any = with_counts(Campaign.objects.filter(pk=campaign.pk)).get()
    tab, route = TABS.get(here, ("", ""))
    return {
        "tab": tab,
        "tab_url": reverse(route, args=[campaign.pk]) if route else "",
        "people": row.people,
        "judges": row.judges,
        **({} if is_blind(user, campaign) else _disagreements(context, campaign)),
        "manages": may_manage(user, campaign.pk),
    }


def _disagreements(context: Context, campaign: Campaign) -> dict[str, Any]:
    """Return the `disagreements`, over all variables and `by_variable`, and units `to_adjudicate`.

    They are those of the last checks, and absent if these cover too few units to be shown
    everywhere. A page that lists a variable's units has newer ones, which take their place, so that
    the tab and the list under it say the same.
    """
    checks = last_checks(campaign)
    found = counts_in(checks)
    listed = context.get("listed")
    if listed is not None:
        found = {**(found or {}), listed.variable: Disagreements.of_table(listed.table)}
    if not checks or checks["units"] < FEWEST_UNITS:
        return {}
    saw_figures("overview", campaign, checks["units"])
    if found is None:
        # Checks from earlier releases do not count them. A worker repeats the check.
        page = reverse("campaign", args=[campaign.pk])
        jobs.follow(context["request"], CHECKS, question(campaign), page)
        return {}
    numbers = [(name, of.total) for name, of in found.items()]
    return {
        "disagreements": add_up(found.values()),
        "by_variable": numbers if len(numbers) > 1 else [],
        "to_adjudicate": checks["disputes"]["open"],
    }


@register.inclusion_tag("attention/_matters.html", takes_context=True)
def attention(context: Context, *topics: str) -> dict[str, Any]:
    """List the matters that need attention in the page's campaign, optionally of certain topics."""
    found = matters_for(context["request"].user, context["campaign"], *topics)
    return {"matters": found, "quiet": True}


@register.inclusion_tag("attention/_folded.html", takes_context=True)
def attention_folded(context: Context, *topics: str) -> dict[str, Any]:
    """Like `attention`, but folded under the number of matters, for other pages."""
    return attention(context, *topics)


@register.simple_tag
def axis(found: JSON, tick: float | None = None, kind: str = "people") -> SafeString:
    """Draw a value from 0 to 1 with its interval, and a tick at another value, if any."""
    if found["value"] is None:
        return SafeString("")
    low, high = (
        found[name] if found[name] is not None else found["value"] for name in ("low", "high")
    )
    extra = (
        ""
        if tick is None
        else format_html('<line class="tick" x1="{0}" x2="{0}" y1="0" y2="{1}"/>', _x(tick), HEIGHT)
    )
    middle = HEIGHT / 2
    return format_html(
        '<svg class="axis {}" viewBox="0 0 {} {}" aria-hidden="true">'
        '<line class="base" x1="{}" x2="{}" y1="{}" y2="{}"/>{}'
        '<line class="range" x1="{}" x2="{}" y1="{}" y2="{}"/>'
        '<circle cx="{}" cy="{}" r="4"/></svg>',
        kind, WIDTH, HEIGHT, MARGIN, WIDTH - MARGIN, middle, middle, extra,
        _x(low), _x(high), middle, middle, _x(found["value"]), middle,
    )  # fmt: skip


def _x(value: float) -> str:
    return f"{MARGIN + (WIDTH - 2 * MARGIN) * min(1.0, max(0.0, value)):.1f}"


@register.filter
def two(value: float | None) -> str:
    return "–" if value is None else rounded(value, 2).replace("-", "−")


@register.filter
def signed(value: float | None) -> str:
    if value is None:
        return "–"
    shown = rounded(value, 2)
    return f"+{shown}" if float(shown) > 0 else shown.replace("-", "−")


@register.filter
def interval(found: JSON) -> str:
    """Return the 95 % interval in square brackets, empty without one."""
    if found["low"] is None:
        return ""
    return f"[{two(found['low'])}, {two(found['high'])}]"


@register.simple_tag
def judge_section(judge: str) -> str:
    """Return the name of a judge's section of the results."""
    return name_of_section(judge)


@register.simple_tag
def decides(campaign: Campaign, needed: JSON | None) -> SafeString | str:
    """Render the button to the queries that an undecided sentence needs; nothing if it is none."""
    if not needed:
        return ""
    words = needed["text"][:1].upper() + needed["text"][1:]
    return format_html(
        '<span class="decides"><a href="{}?number={}" class="button small">{}</a></span>',
        reverse("more-queries", args=[campaign.pk]),
        needed["more"],
        words,
    )


@register.simple_tag
def confused(campaign: Campaign, variable: str, judge: JSON) -> str:
    """Return the address of the units of a judge's most frequent error."""
    error = judge["error"]
    query = {"show": "judge", "variable": variable, "judge": judge["name"],
             "people": error["people"], "said": error["judge"]}  # fmt: skip
    return f"{reverse('disagreements', args=[campaign.pk])}?{urlencode(query)}"
