"""Template tags for the tables and figures of a report, which `tandem.formats.html` writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any
from urllib.parse import quote, urlencode

from django import template
from django.http import QueryDict
from django.template import Context
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.dateformat import format as date_format
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from analysis.models import Study
from analysis.pages import LOOK
from analysis.papers.base import Paper
from analysis.papers.index import PAPERS
from analysis.papers.stored import studies_of
from analysis.results.label_first import label_first_lists
from annotation.people.membership import may_manage
from annotation.presentation import schema
from tandem.document import Cell, Document, Table, count, slug
from tandem.figures import Figure, Subject
from tandem.figures.files import available_kinds
from tandem.formats import html
from tandem.formats.html import Row
from tandem.formats.verdict import MORE, Cells, Units, without_units
from tandem.labels.frame import EVALUATION, STRATUM
from tandem.sections.guidelines import GUIDELINE

register = template.Library()
# `mark_safe` is only for the output of `tandem.formats.html`, which escapes it.


@register.simple_tag(takes_context=True)
def studies_with_tables(context: Context) -> list[tuple[Study, Paper]]:
    """Return the studies of the page's campaign with their papers, if the reader may see them."""
    found = studies_of(context["request"].user, context["campaign"])
    return [(study, PAPERS.get(study.preset) or next(iter(PAPERS.values()))) for study in found]


@register.simple_tag
def tables_of(study: Study) -> list[tuple[str, str, str]]:
    """Return the name, subject and address of each table of the paper that a study is about."""
    if study.preset not in PAPERS:
        return []
    page = reverse("study-paper", args=[study.pk, study.preset])
    tables = PAPERS[study.preset].tables
    return [(each.name, each.about, f"{page}#section-{slug(each.name)}") for each in tables]


@register.simple_tag(takes_context=True)
def report_document(context: Context) -> SafeString:
    """Render a page's `document`. Figures of a `campaign` have links to their files.

    A report that has a verdict is folded below it. The section on systems ends with the measures
    of systems, and the section on queries with their table, if the page has them.
    """
    links = _links(context) if context.get("campaign") else html.NO_LINKS
    report: dict[str, Any] = context.get("report") or {}
    folded = bool(report.get("verdict"))
    units = _units(context) if context.get("campaign") else without_units
    inside: dict[str, str] = {}
    if measures := context.get("measures"):
        inside["systems"] = render_to_string("results/_measures.html", measures, context["request"])
    if context.get("campaign") and _has_several_judges(report):
        inside["judges"] = _units_of_judges(context, report)
    if queries := context.get("queries"):
        part = render_to_string("results/_by_query.html", queries, context["request"])
        inside["queries"] = part
        inside[GUIDELINE] = format_html(
            '<p class="actions"><a class="button small" href="{}#terms-head">Guideline</a></p>',
            reverse("campaign-settings", args=[context["campaign"].pk]),
        )
    opened: Sequence[str] = context.get("open_sections") or ()
    document = context["document"]
    if context.get("campaign"):
        document = document.linked(partial(_listed, context))
    shown = html.document_html(
        document, report, links, units, folded=folded, inside=inside, opened=opened
    )
    return mark_safe(shown)


def _has_several_judges(report: dict[str, Any]) -> bool:
    return any("between_judges" in of for of in report.get("variables", {}).values())


def _units_of_judges(context: Context, report: dict[str, Any]) -> SafeString:
    """Render links to the units on which judges differ, and to a campaign to label them first."""
    pk = context["campaign"].pk
    campaigns = format_html_join("", "{}", ((each,) for each in _to_label(context, report)))
    file = format_html(
        ' <a class="button" href="{}?show=judges">These as CSV</a>',
        reverse("disagreements-file", args=[pk]),
    )
    return format_html(
        '{}<p class="actions"><a class="button" href="{}?show=judges">Units on which judges differ'
        "</a>{}</p>",
        campaigns,
        reverse("disagreements", args=[pk]),
        file if _manages(context) else "",
    )


def _manages(context: Context) -> bool:
    return may_manage(context["request"].user, context["campaign"].pk)


def _to_label(context: Context, report: dict[str, Any]) -> Iterator[SafeString]:
    """Yield a link to a new campaign for each list of units that people should label first."""
    campaign = context["campaign"]
    lists = label_first_lists(report)
    if not lists or not _manages(context):
        return
    for each in lists:
        items = len({unit["item"] for unit in each.units})
        kept = QueryDict(context.get("query", ""), mutable=True)
        kept["of"] = each.variable
        yield format_html(
            '<p class="actions"><a class="button main" href="{}?{}">New campaign with these {}</a> '
            '<span class="sub">{}to label first, in {}</span></p>',
            reverse("label-first", args=[campaign.pk]),
            kept.urlencode(),
            count(len(each.units), *schema(campaign).noun),
            f"{each.variable}: " if len(lists) > 1 else "",
            count(items, "item"),
        )


@register.simple_tag
def sections_of(document: Document) -> SafeString:
    """Render the sections of a document in folds, under third-level headings."""
    return mark_safe(html.folds_html(document))


def _units(context: Context) -> Units:
    def units(variable: str, judge: str, cells: Cells, show: str) -> str:
        if show.startswith(MORE):
            more = reverse("more-queries", args=[context["campaign"].pk])
            return f"{more}?{urlencode({'number': show.removeprefix(MORE)})}"
        asked = {"show": show or "judge", "variable": variable}
        asked |= {"judge": judge} if judge else {}
        asked |= {"one": judge} if judge and show == "decided" else {}
        # For several cells, link to all units on which the two differ.
        if len(cells) == 1:
            asked |= {"people": cells[0][0], "said": cells[0][1]}
        return _listed(context, asked)

    return units


def _listed(context: Context, filters: Mapping[str, str]) -> str:
    """Return the address of the list of disagreements, with these filters and the report's own."""
    report: dict[str, Any] = context.get("report") or {}
    own: dict[str, str] = {}
    if "judge" in filters and (report.get("roles") or {}).get("compared") == EVALUATION:
        own["slice"] = f"{STRATUM}:{EVALUATION}"
    strata = (report.get("options") or {}).get("strata", ())
    for name, value in strata if len(strata) == 1 else ():
        own |= {"system": value} if name == "system" else {"slice": f"{name}:{value}"}
    query = urlencode({**own, **filters})
    return f"{reverse('disagreements', args=[context['campaign'].pk])}?{query}"


@register.simple_tag(takes_context=True)
def measure_figures(context: Context, names: Sequence[str]) -> SafeString:
    """Render figures of the measures shown on the page, with links to their files."""
    links = _links(context, "measures-figure", context.get("measures_query", ""))
    return mark_safe(html.figures_html(context["board_report"], names, links))


def _links(context: Context, route: str = "report-figure", query: str | None = None) -> html.Links:
    campaign = context["campaign"]
    query = context.get("query", "") if query is None else query

    def files(figure: Figure, subject: Subject) -> str:
        kinds, asked = available_kinds(), f"?of={quote(subject.name, safe='')}"
        addresses = {
            kind.suffix: reverse(f"{route}-{kind.suffix}", args=[campaign.pk, figure.name])
            for kind in kinds
        }
        more = format_html("&amp;{}", query) if query else ""
        parts = ((addresses[kind.suffix] + asked, more, kind.label) for kind in kinds)
        shown = format_html(
            '\n<p class="figure-files"><span class="sr">Download {} of {}:</span>{}</p>',
            figure.title,
            subject.name,
            format_html_join("", ' <a href="{}{}">{}</a>', parts),
        )
        drawn = [(kind.label, addresses[kind.suffix]) for kind in kinds if kind.drawn]
        found = {"look": LOOK, "drawn": drawn, "figure": figure, "subject": subject}
        found["kept"] = QueryDict(query)
        return shown + render_to_string("results/_figure_print.html", found)

    return html.Links(files, partial(_listed, context))


@register.filter
def as_moment(text: str) -> SafeString:
    """Render a time from the report's JSON as a `time` element with the day."""
    at = datetime.fromisoformat(text)
    return format_html('<time datetime="{}">{}</time>', text, date_format(at, "j M, H:i e"))


@register.filter
def with_commas(number: int) -> str:
    return f"{number:,}"


@register.filter
def as_table(table: Table) -> SafeString:
    """Render a table in its frame."""
    return mark_safe(html.table_html(table))


@register.filter
def rows(table: Table) -> Iterator[Row]:
    """Yield the rows, each cell with its column's name for pages too narrow for a header."""
    return html.rows(table)


@register.filter
def cell(value: Cell) -> SafeString:
    """Render a cell: a name and its sign, a number and its interval, or a dash and its reason."""
    return mark_safe(html.cell_html(value))


@register.filter
def with_code(text: str) -> SafeString:
    """Render a line of text whose option values are between backticks."""
    return mark_safe(html.words_html(text))


@register.filter
def sign(kind: str) -> SafeString:
    """Render the sign of a kind of rater: people round, judges square, references a diamond."""
    return mark_safe(html.sign_html(kind))
