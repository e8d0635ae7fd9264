"""Pages of disagreements over 100,000 units: processor time and queries of each kind of page.

`python -m benchmarks --only disagreements`. The campaign has a label of one of twenty people, of a
second person and of two judges for every unit. Requests run in the process that measures them, with
Django's test client, after the job has collected the labels.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from time import perf_counter, process_time
from typing import Any

from benchmarks.processes import python
from benchmarks.report import ENVIRONMENT
from benchmarks.suite import temporary_folder

Figures = dict[str, Any]
FULL, QUICK = 100_000, 300
MOST_SECONDS = 0.5
PEOPLE = 20
PAGES = {
    "first page": "",
    "last page": "show=all&page=999999",
    "a cell": "people=no&said=yes",
    "surest first": "sort=sure",
    "people among themselves": "show=people",
    "judges among themselves": "show=judges",
    "a pair": "show=all&one=second&other=judge-a",
    "a slice": "show=all&slice=length:short&system=system-1",
    "a tag": "show=all&tag=ambiguous",
    "words": "show=all&find=case+77",
}


@dataclass(frozen=True)
class Visit:
    """One request: seconds of processor time, its queries, and the units that it found."""

    processor: float
    queries: int
    units: int


def measure_disagreements(units: int) -> Figures:
    """Measure the pages in a separate process, over a database that is thrown away."""
    with temporary_folder() as folder:
        env = {**ENVIRONMENT, "TANDEM_DATA_DIR": str(folder)}
        return python("-m", "benchmarks.disagreements", units, env=env).answer()


def _measured(units: int) -> Figures:
    """Create the campaign, collect its labels, and request each page twice."""
    import django

    django.setup()
    from django.conf import settings
    from django.core.management import call_command
    from django.test.utils import setup_test_environment

    setup_test_environment(debug=False)
    call_command("migrate", verbosity=0)
    settings.JOBS_EAGER = True
    campaign, client = _campaign(units)
    start = perf_counter(), process_time()
    client.get(f"/campaigns/{campaign}/disagreements/")
    job = {"wall": perf_counter() - start[0], "processor": process_time() - start[1]}
    pages = {}
    for name, query in PAGES.items():
        visits = [_visit(client, f"/campaigns/{campaign}/disagreements/?{query}") for _ in range(2)]
        pages[name] = vars(min(visits, key=lambda each: each.processor))
    return {"units": units, "job": job, "pages": pages, "queue": _queue(campaign)}


def _queue(campaign: int) -> dict[str, float]:
    """Return seconds of processor time for the adjudicators' queue: found, kept, one answer new."""
    from django.core.cache import caches
    from django.test import Client

    from annotation.adjudication import dispute_queue
    from annotation.models import Membership, User

    user = User.objects.create(username="adjudicator", role="annotator")
    Membership.objects.create(campaign_id=campaign, user=user, role="adjudicator")
    client = Client()
    client.force_login(user)
    found = {}
    # The first request imports modules.
    for name in ("imports", "found", "kept", "one answer new"):
        if name == "found":
            dispute_queue._CACHE.clear()
            caches["reports"].clear()
        if name == "one answer new":
            _revise(campaign)
        before = process_time()
        client.get(f"/adjudication/{campaign}/")
        found[name] = process_time() - before
    return found


def _revise(campaign: int) -> None:
    """Replace one answer by an identical revision."""
    from annotation.models import Label, Response

    old = Response.objects.filter(assignment__item__campaign=campaign, current=True).latest("pk")
    labels = list(old.labels.all())
    Response.objects.filter(pk=old.pk).update(current=False)
    new = Response.objects.create(
        assignment=old.assignment, revision=old.revision + 1, payload=old.payload, door=old.door
    )
    Label.objects.bulk_create(
        Label(response=new, unit=each.unit, variable=each.variable, value=each.value)
        for each in labels
    )


def _campaign(units: int) -> tuple[int, Any]:
    """Return the campaign's primary key, and the client of its researcher."""
    from django.test import Client

    from analysis.models import UnitTag
    from annotation.models import Campaign, Rater, Unit, User
    from benchmarks.many_items import answers, make
    from benchmarks.study_names import name_of

    made = make("disagreements", units, people=0, others=PEOPLE)["id"]
    second = Rater.objects.create(name="second")
    answers(made, [second.pk], "2", "CASE WHEN i.position % 5 = 0 THEN 'yes' ELSE 'no' END")
    for number, name in enumerate(("judge-a", "judge-b"), start=3):
        judge = Rater.objects.create(name=name, kind=Rater.Kind.JUDGE)
        value = f"CASE WHEN i.position % {number} = 0 THEN 'yes' ELSE 'no' END"
        answers(made, [judge.pk], "NULL", value, "(i.position % 100) / 100.0")
    tagged = Unit.objects.filter(item__campaign=made).order_by("pk")[: units // 100]
    UnitTag.objects.bulk_create(
        UnitTag(unit=unit, variable="answerable", tag="ambiguous") for unit in tagged
    )
    client = Client()
    client.force_login(User.objects.get(username=name_of(0)))
    assert Campaign.objects.filter(pk=made).exists()
    return made, client


def _visit(client: Any, address: str) -> Visit:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    with CaptureQueriesContext(connection) as queries:
        before = process_time()
        answer = client.get(address)
        spent = process_time() - before
    if answer.status_code != 200:
        raise RuntimeError(f"{address} answered {answer.status_code}")
    return Visit(spent, len(queries), answer.context["page"].paginator.count)


def lines(figures: Figures) -> str:
    """Return the figures with their bar as lines of text."""
    job = figures["job"]
    head = (
        f"{figures['units']:,} units, collected in {job['wall']:.1f} s "
        f"({job['processor']:.1f} s of processor); bar of a page: {MOST_SECONDS:g} s of processor"
    )
    rows = (
        f"{name}: {of['processor']:.2f} s, {of['queries']} queries, {of['units']:,} units"
        for name, of in figures["pages"].items()
    )
    queue = figures["queue"]
    ratios = (
        f"queue, {name}: {queue[name] / queue['found']:.2f} of finding all disputes"
        for name in ("kept", "one answer new")
    )
    return "\n".join([head, *rows, *ratios])


if __name__ == "__main__":
    print(json.dumps(_measured(int(sys.argv[1]))))
