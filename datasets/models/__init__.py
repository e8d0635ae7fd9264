"""The models of datasets: teams, batches, jobs, uploads, and what the API keeps.

`teams` has teams and what they own, `batches` the queries and texts that are labelled, and the
lineage of derived batches, `jobs` the computations of the site and their workers, `uploads` files
on their way to a batch, `tokens` the scopes of API tokens and stored answers, and `versions` which
version of Tandem has migrated the database.
"""

from datasets.models.batches import (
    MAX_ID,
    Batch,
    BatchShare,
    Grounding,
    KeyPoint,
    LabelsRead,
    LeftOut,
    Lineage,
    Nugget,
    Part,
    Passage,
    Query,
    QueryDigest,
    Question,
    Ranking,
    Report,
)
from datasets.models.jobs import Job, JobAsker, Worker, random_key
from datasets.models.teams import (
    FIRST_TEAM,
    Owned,
    SeveralTeamsError,
    Share,
    Team,
    TeamMember,
    only_team,
)
from datasets.models.tokens import Grant, KeptAnswer
from datasets.models.uploads import Upload
from datasets.models.versions import Migrated

__all__ = [
    "FIRST_TEAM",
    "MAX_ID",
    "Batch",
    "BatchShare",
    "Grant",
    "Grounding",
    "Job",
    "JobAsker",
    "KeptAnswer",
    "KeyPoint",
    "LabelsRead",
    "LeftOut",
    "Lineage",
    "Migrated",
    "Nugget",
    "Owned",
    "Part",
    "Passage",
    "Query",
    "QueryDigest",
    "Question",
    "Ranking",
    "Report",
    "SeveralTeamsError",
    "Share",
    "Team",
    "TeamMember",
    "Upload",
    "Worker",
    "only_team",
    "random_key",
]
