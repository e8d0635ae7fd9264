"""The report of a campaign."""

from __future__ import annotations

from dataclasses import replace

from analysis.campaigns.backgrounds import background_questions
from analysis.campaigns.behind import behind_warnings
from analysis.campaigns.chosen_items import chosen_items
from analysis.campaigns.committed_comparisons import add_committed, last_looks
from analysis.campaigns.consistency import add_consistency, pair_counts
from analysis.campaigns.contamination import contaminated_prompts
from analysis.campaigns.frames import campaign_frame, campaign_strata, with_families, with_floor
from analysis.campaigns.free_text import written_answers
from analysis.campaigns.guidelines import with_followed_versions
from analysis.campaigns.interim import about_interim, interim_of
from analysis.campaigns.misplaced_flags import misplaced_flags
from analysis.campaigns.people_sample import people_sample
from analysis.campaigns.published_readings import published_readings
from analysis.campaigns.query_draw import known_draw
from analysis.campaigns.scripted_judges import fakes_among, mark_fakes
from annotation.models import Campaign
from annotation.presentation import schema
from annotation.trust.roles import certify_queries
from datasets.work.beside import compute_beside
from datasets.work.guard import for_workers
from tandem.document import count
from tandem.labels.frame import Warning
from tandem.labels.selection import ReportOptions
from tandem.sections.build import frame_report
from tandem.sections.written import written
from tandem.types import (
    JSON,
    Progress,
    Publish,
    compute_later,
    ignore_part,
    ignore_progress,
)

FEW_LABELS = 100_000
"""With fewer labels, two processes together need less memory than one job may use."""


@for_workers
def campaign_report(
    campaign: Campaign,
    options: ReportOptions,
    progress: Progress = ignore_progress,
    publish: Publish = ignore_part,
) -> JSON:
    """Create the report of a campaign, as JSON. `publish` gets its parts as they grow."""
    frame = campaign_frame(campaign, options, campaign_strata(campaign), kind="report")
    frame = with_followed_versions(with_families(with_floor(frame, campaign), campaign), campaign)
    if options.background:
        frame = replace(frame, backgrounds=background_questions(campaign))
    head = {
        "campaign": campaign.name,
        "protocol": campaign.protocol,
        "batch": campaign.batch.name,
    }
    asked = schema(campaign)
    order = [v.name for v in asked.variables]
    judges_there = [rater.name for rater in frame.raters if rater.kind == "judge"]
    hints, answers = misplaced_flags(campaign), written_answers(campaign, options.exposed)
    more = contaminated_prompts(campaign, judges_there) + published_readings(judges_there)
    more += behind_warnings(campaign) + _withheld(campaign)
    interim = interim_of(campaign, options.assisted)
    fakes, counts = fakes_among(judges_there), pair_counts(campaign)
    looks = last_looks(campaign)

    def with_rest(report: JSON) -> JSON:
        report |= {"hints": hints, "warnings": [*report["warnings"], *more]}
        mark_fakes(report, fakes)
        add_consistency(report, counts)
        add_committed(report, looks)
        if interim:
            said = {"interim": about_interim(interim), **report["verdict"]}
            report |= {"interim": interim, "verdict": said}
        return report if answers is None else {**report, "written": written(answers)}

    sampled = people_sample(campaign, options.assisted)
    labels = sum(rater.labels for rater in frame.raters)
    report = frame_report(
        head,
        frame,
        options,
        order,
        sampled,
        progress=progress,
        words=asked.words(),
        nouns=asked.nouns(),
        chosen=chosen_items(campaign),
        publish=lambda part, is_whole: publish(with_rest(part), is_whole),
        beside=compute_beside if labels < FEW_LABELS else compute_later,
        draw=known_draw(campaign, sampled, options.assisted) if judges_there else None,
    )
    return with_rest(report)


def _withheld(campaign: Campaign) -> list[JSON]:
    """Return a warning if the labels of a plan that runs are left out of the report."""
    queries = len(certify_queries(campaign))
    if not queries:
        return []
    what = count(queries, "query", "queries")
    text = f"People's labels of {what} are left out until the plan that drew them has ended."
    return [Warning("labels_certify", None, None, text)._asdict()]
