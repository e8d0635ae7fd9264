"""The study: a file that names its batches, campaigns and judges, and its application to the
database.

`read_study` reads the file. `look` compares it with the database, `apply` brings the database as
far as the file and people's answers allow, and `status` says how far the chain is.
"""

from analysis.study.apply import Applied, apply
from analysis.study.file import FILE_NAME, Key, Part, StudyFile, parse_study, read_study
from analysis.study.stages import Action, Stage, look
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
    "look",
    "parse_study",
    "read_study",
    "status",
    "status_of",
]
