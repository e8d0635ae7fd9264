"""The study: a file with batches, campaigns and judges, and its application to the database.

`read_study` reads the file. `stages_of` compares it with the database, `apply` updates the database
as far as the file and people's answers allow, and `status` reports the progress of the chain.
"""

from analysis.study.file import FILE_NAME, StudyFile, parse_study, read_study
from analysis.study.parts import Action, Key, Part, Stage
from analysis.study.stages import Applied, apply, stages_of
from analysis.study.status import StudyStatus, status, status_of

__all__ = [
    "FILE_NAME",
    "Action",
    "Applied",
    "Key",
    "Part",
    "Stage",
    "StudyFile",
    "StudyStatus",
    "apply",
    "parse_study",
    "read_study",
    "stages_of",
    "status",
    "status_of",
]
