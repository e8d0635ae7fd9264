"""Where to find each reference number of the data kit in the output of the commands.

A place is a path in a report's JSON or, if the kit counts differently, a short computation from
reports and exports.
"""

from tests.analysis.places import alternative, files, task_one, task_two
from tests.analysis.places.base import PLACES

__all__ = ["PLACES", "alternative", "files", "task_one", "task_two"]
