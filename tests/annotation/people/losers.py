"""A process in which people lose every third slot that they claim, over a file database.

`python -m tests.annotation.people.losers CAMPAIGN PEOPLE` starts as many threads at a barrier. Each
takes items until there are none. The lease of every third one expires at once, the next person
releases it, and its own person answers late.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from datetime import timedelta

from tests.patience import wait_long

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")


def main(campaign: str, people: int) -> int:
    import django

    django.setup()

    from django.conf import settings

    from annotation.models import Assignment, Campaign, Rater
    from annotation.people.leases import set_lease

    wait_long(settings.DATABASES["default"])
    study = Campaign.objects.get(name=campaign)
    set_lease(study, 60)
    raters = [Rater.objects.create(name=f"{campaign}: person {n}") for n in range(people)]
    barrier, errors, lost = threading.Barrier(people), list[str](), list[int]()
    threads = [
        threading.Thread(target=_work, args=(study, rater, barrier, errors, lost))
        for rater in raters
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rows = Assignment.objects.filter(item__campaign=study, slot__isnull=False, status="done")
    result = {
        "taken": list(study.items.values_list("taken", flat=True)),
        "slots": len(set(rows.values_list("item", "slot"))),
        "pairs": len(set(rows.values_list("item", "rater"))),
        "lost": len(lost),
    }
    print(json.dumps(result))
    print("\n".join(errors), file=sys.stderr)
    return len(errors)


def _work(
    study: object, rater: object, barrier: threading.Barrier, errors: list[str], lost: list[int]
) -> None:
    from django.db import connection
    from django.utils import timezone

    from annotation.assignments.queue import next_assignment, reclaim
    from annotation.models import Assignment

    barrier.wait()
    taken = 0
    try:
        while assignment := next_assignment(study, rater):  # type: ignore[arg-type]
            mine = Assignment.objects.filter(pk=assignment.pk, status="open")
            taken += 1
            if taken % 3 == 1:
                mine.update(held_until=timezone.now() - timedelta(hours=1))
                lost.append(assignment.pk)
                assignment = Assignment.objects.select_related("item__campaign", "rater").get(
                    pk=assignment.pk
                )
                if assignment.status != "open" and not reclaim(assignment):
                    continue
            mine.update(status="done", held_until=None)
    except Exception as error:
        errors.append(repr(error))
    finally:
        connection.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
