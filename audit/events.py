"""The closed list of what is written down, and how each is told."""

from __future__ import annotations

from typing import NamedTuple


class Kind(NamedTuple):
    """What happened, in words. `by_rater`: whoever did it is told by the pseudonym, never else."""

    title: str
    by_rater: bool = False


EVENTS: dict[str, Kind] = {
    "login": Kind("Logged in"),
    "login.failed": Kind("Failed to log in"),
    "logout": Kind("Logged out"),
    "account.made": Kind("Account made"),
    "account.role": Kind("Account given another role"),
    "account.off": Kind("Account switched off"),
    "account.on": Kind("Account switched on"),
    "account.sessions": Kind("Log-ins and tokens of an account ended"),
    "account.pseudonym": Kind("Person given another pseudonym"),
    "account.forgotten": Kind("Account deleted, labels kept"),
    "token.made": Kind("API token made"),
    "invitation.made": Kind("Invitation made"),
    "invitation.revoked": Kind("Invitation taken back"),
    "invitation.used": Kind("Invitation used"),
    "member.added": Kind("Member given a role"),
    "member.ended": Kind("Member put out"),
    "exclusion.made": Kind("Rater left out of the statistics"),
    "exclusion.undone": Kind("Rater counted again"),
    "places.freed": Kind("Places of a person freed"),
    "prolific.study": Kind("Study on Prolific set"),
    "prolific.arrived": Kind("Came from Prolific", by_rater=True),
    "prolific.ended": Kind("Participant ended"),
    "campaign.made": Kind("Campaign made"),
    "campaign.people": Kind("Pool, holding time or share of a person changed"),
    "campaign.terms": Kind("Deadline, guideline, language or practice changed"),
    "campaign.opened": Kind("Campaign opened"),
    "campaign.closed": Kind("Campaign closed"),
    "known.set": Kind("Known answers set"),
    "admission.made": Kind("Person let in without the qualification"),
    "upload.received": Kind("Files of a batch uploaded"),
    "upload.read": Kind("Upload read anew"),
    "upload.kept": Kind("Upload kept as a batch"),
    "upload.discarded": Kind("Upload discarded"),
    "batch.loaded": Kind("Batch loaded"),
    "batch.digested": Kind("Texts of an older batch given digests"),
    "preparation.reviewed": Kind("Prepared material reviewed"),
    "answer.changed": Kind("Answer replaced", by_rater=True),
    "answer.numbered": Kind("Revision given its number by a file"),
    "answers.counted": Kind("Answers counted"),
    "adjudication.decided": Kind("Disagreement decided", by_rater=True),
    "adjudication.changed": Kind("Decision on a disagreement changed", by_rater=True),
    "labels.imported": Kind("Labels imported from files"),
    "export": Kind("Exported"),
    "report.frozen": Kind("Report frozen"),
    "judge.made": Kind("Judge defined"),
    "run.started": Kind("Judge run started"),
    "run.changed": Kind("Judge run changed"),
    "run.stopped": Kind("Judge run told to stop"),
    "run.ended": Kind("Judge run ended"),
}
