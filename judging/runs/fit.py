"""Whether a judge can answer what a campaign asks, before it is asked anything."""

from __future__ import annotations

from annotation.models import Campaign
from annotation.presentation import schema
from annotation.protocols.schema import CampaignSchema
from annotation.registry import TASKS, get_protocol
from judging.backends.base import SetupError
from judging.judge_file.document import file_of
from judging.models import Judge


def check_fit(campaign: Campaign, judge: Judge) -> None:
    """Check that a judge can answer a campaign's questions. Raises SetupError."""
    check_granularity(campaign, judge)
    check_closed(campaign, judge)
    check_file(campaign, judge)


def check_granularity(campaign: Campaign, judge: Judge) -> None:
    rule = get_protocol(campaign).listed
    by_unit = judge.granularity == Judge.Granularity.UNIT
    if rule and by_unit and schema(campaign, "judges").matching(rule.match_kind):
        raise SetupError(
            f"{campaign.protocol} matches each {rule.match_kind} with a list in the same answer, "
            "which a judge that is asked unit by unit does not see; create a judge with "
            "--granularity item"
        )


def check_closed(campaign: Campaign, judge: Judge) -> None:
    """Check that a campaign asks a decision model only for codes. Raises SetupError."""
    if judge.backend == "decisions" and not schema(campaign, "judges").is_closed:
        raise SetupError(
            f"{campaign} asks for written texts or lists, or for several codes, which decision "
            "models cannot give; create a judge with another backend, or a campaign whose "
            "variables take one code each"
        )


def check_file(campaign: Campaign, judge: Judge) -> None:
    """Check that a judge file reads something that the campaign asks. Raises SetupError."""
    if not judge.file:
        return
    file = file_of(judge)
    if (file.protocol.name, file.protocol.stored) != (campaign.protocol, campaign.protocol_file_id):
        raise SetupError(
            f"judge {judge} is from a file about {_named(file.protocol.name, judge)}, and "
            f"{campaign} is about {_named(campaign.protocol, campaign)}; create a judge from a "
            f"file about {campaign.protocol}"
        )
    asks = schema(campaign, "judges")
    asked = {key for variable in asks.variables for key in asks.keys(variable.kind)}
    if file.parser.reads and not asked.intersection(file.parser.reads):
        names = ", ".join(file.parser.reads)
        raise SetupError(f"judge {judge} reads {names}, which {campaign} does not ask")
    step = TASKS.get(campaign.protocol)
    if step and file.parser.reads and (unread := _owed(asks) - set(file.parser.reads)):
        names = ", ".join(sorted(unread))
        raise SetupError(
            f"judge {judge} does not read {names}, without which step {step.name} builds no batch; "
            "create a judge from a file that reads all of it, or choose a step that asks for less"
        )


def _named(protocol: str, of: Campaign | Judge) -> str:
    """Return a protocol's name, with the version if it is a team's."""
    return protocol if of.protocol_file is None else str(of.protocol_file)


def _owed(schema: CampaignSchema) -> set[str]:
    """Return the keys without which an answer is no use: texts and lists, else all variables."""
    free = {key for v in schema.variables for key in schema.free_keys(v.kind)}
    return free or {variable.name for variable in schema.variables}
