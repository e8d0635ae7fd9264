"""A process in which many people ask for their next item at once, over a file database.

`python -m tests.annotation.crowd CAMPAIGN PEOPLE CLICKS` starts PEOPLE * CLICKS threads at a
barrier, CLICKS for each person, and each takes items until there are none. At the end it prints the
items of each person, with the units asked and sampled, and each item's counts.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import Any

from tests.patience import wait_long

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")


def main(campaign: str, people: int, clicks: int) -> int:
    import django

    django.setup()

    from django.conf import settings

    from annotation.models import Campaign, Rater

    wait_long(settings.DATABASES["default"])
    study = Campaign.objects.get(name=campaign)
    raters = [Rater.objects.create(name=f"{campaign}: person {n}") for n in range(people)]
    barrier = threading.Barrier(people * clicks)
    errors: list[str] = []
    threads = [
        threading.Thread(target=_work, args=(study, rater, barrier, errors))
        for rater in raters
        for _ in range(clicks)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print("\n".join(errors), file=sys.stderr)
    print(json.dumps(_told(study)))
    return len(errors)


def _told(campaign: Any) -> list[list[object]]:
    from annotation.models import Assignment

    given = Assignment.objects.filter(item__campaign=campaign).order_by("pk")
    names = ("rater__name", "item__query__key", "item__key", "item__use", "asked", "item__drawn")
    places = campaign.items.values_list("key", "use", "quota", "taken")
    return [list(given.values_list(*names)), list(places)]


def _work(campaign: object, rater: object, barrier: threading.Barrier, errors: list[str]) -> None:
    from django.db import connection

    from annotation.assignments.queue import next_assignment
    from annotation.models import Assignment

    barrier.wait()
    try:
        while assignment := next_assignment(campaign, rater):  # type: ignore[arg-type]
            Assignment.objects.filter(pk=assignment.pk).update(status="done")
    except Exception as error:
        errors.append(repr(error))
    finally:
        connection.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
