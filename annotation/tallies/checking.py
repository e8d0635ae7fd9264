"""Whether what the triggers keep is what is there; it counts every row, and so takes its time."""

# Tables and expressions are those of `counts`; nothing comes from outside.
# ruff: noqa: S608

from __future__ import annotations

from collections.abc import Iterator

from django.db import connection

from annotation.tallies.counts import COUNTS
from annotation.tallies.triggers import TABLE, counted

WRONG = f"""
SELECT campaign, rater, what, sum(number) FROM (
  SELECT campaign_id AS campaign, rater_id AS rater, what, number FROM {TABLE}
  UNION ALL {" UNION ALL ".join(counted(each, number=f"-({each.number})") for each in COUNTS)}
) both_ways GROUP BY campaign, rater, what HAVING sum(number) <> 0 ORDER BY campaign, what"""


def wrong() -> Iterator[str]:
    """One line for each number of a campaign that is not what is there."""
    with connection.cursor() as cursor:
        cursor.execute(WRONG)
        for campaign, rater, what, more in cursor.fetchall():
            whose = f"campaign {campaign}{f', rater {rater}' if rater else ''}"
            yield f"Tallies: {whose}: {what} is kept as {more:+} of what is there"
