"""A campaign's status, how each person works, and quality flags.

`counts` counts answers, and caches what is slow to count. `status` turns the counts into the
campaign's status, each person's speed, and a forecast. `flags` finds quality flags that need no
statistics of labels, and the labels that each flag is about.
"""

from annotation.progress.counts import cached, with_counts
from annotation.progress.status import find_person, forecast_end, get_status

__all__ = ["cached", "find_person", "forecast_end", "get_status", "with_counts"]
