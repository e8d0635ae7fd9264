"""Where each reference number of the data kit is in the output of the commands.

A place is a path in a report's JSON, or a short reckoning on reports and exports where the kit
counts in another way than the report does.
"""

from tests.analysis.places import alternative, files, task_one, task_two
from tests.analysis.places.base import PLACES

__all__ = ["PLACES", "alternative", "files", "task_one", "task_two"]
