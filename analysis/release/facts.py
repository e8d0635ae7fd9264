"""The facts of a study in a release's files: batches, campaigns, raters and judges."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Max, Min

from analysis.evaluation.build import asked_content
from analysis.papers.stored import batch_of_tables, campaign_of_tables
from analysis.release.layout import PROTOCOLS
from annotation.campaigns.answer_totals import answer_totals
from annotation.exports.bundles import counts
from annotation.models import Assignment, Campaign, ProtocolFile, Rater, Response
from annotation.people.background import background_counts
from annotation.people.consent import counts_of_consents, revoked_raters
from annotation.people.membership import exclusion_reasons
from annotation.people.pay import pay_table, work_line
from annotation.people.shares import current_shares
from annotation.presentation import schema
from datasets.derivation import STEP
from datasets.lineage import lineage_of, units_behind
from datasets.models import Batch, Lineage
from judging.answer_files import scripted_among
from judging.judges import shown_params
from judging.models import Judge
from tandem.types import JSON

SPDX = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+-]*")


@dataclass(frozen=True)
class Licence:
    """The licence that the user names: an SPDX identifier, an address, or words."""

    text: str

    @property
    def url(self) -> str:
        if SPDX.fullmatch(self.text):
            return f"https://spdx.org/licenses/{self.text}.html"
        return self.text


def batch_facts(batch: Batch) -> JSON:
    """Return a batch's counts and digest, and how it was derived."""
    lineage, of_tables = lineage_of(batch), batch_of_tables(batch)
    return {
        "name": batch.name,
        "format": batch.format,
        "digest": batch.digest,
        "counts": {name: n for name, n in batch.counts.items() if n},
        "origin": of_tables.origin,
        "rules": list(of_tables.rules),
        "lineage": lineage and _lineage_facts(lineage) | _author_facts(lineage),
    }


def _lineage_facts(lineage: Lineage) -> JSON:
    return {
        "rule": lineage.rule,
        "rule_version": lineage.rule_version,
        "source": lineage.source.name,
        "options": lineage.options,
        "campaigns": lineage.campaigns,
        "decided_by": lineage.decided_by or None,
        "ties": lineage.ties or None,
        "labels_sha256": lineage.labels or None,
        "counts": lineage.counts,
        "units_behind": units_behind(lineage),
        "version": lineage.version,
    }


def _author_facts(lineage: Lineage) -> JSON:
    """Return who wrote a batch that a preparation step built; nothing for another batch."""
    name = lineage.decided_by
    if lineage.kind != STEP or not name:
        return {}
    return {"author": {"name": name, "scripted": bool(scripted_among([name]))}}


def campaign_facts(campaign: Campaign) -> JSON:
    """Return a campaign's design, questions, raters and counts."""
    places, numbers = answer_totals(campaign), counts(campaign)
    out = exclusion_reasons(campaign.name)
    options = {name: value for name, value in campaign.options.items() if value}
    bare, of_tables = asked_content(campaign).bare, campaign_of_tables(campaign)
    return {
        "name": campaign.name,
        "protocol": campaign.protocol,
        "protocol_version": campaign.protocol_version,
        "batch": campaign.batch.name,
        "raters_per_item": campaign.raters_per_item,
        "overlap": campaign.overlap,
        "human_share": campaign.human_share,
        "seed": campaign.seed,
        "shares": sorted(current_shares(campaign).values(), reverse=True),
        "options": options,
        "asks_people": of_tables.asks_people,
        "continues": list(of_tables.continues),
        "created_at": of_tables.created_at,
        "queries_without_passages": None if bare is None else sorted(bare),
        "language": campaign.language or None,
        "counts": numbers,
        "answers_asked": places.asked,
        "answers_given": places.answered,
        "raters": _raters(campaign, out),
        "variables": [
            {
                "name": v.name,
                "unit": v.kind,
                "codes": list(v.answers),
                "escapes": list(v.escapes),
                "level": v.level,
                "several": v.several,
            }
            for v in schema(campaign).variables
        ],
        "assisted_labels": Assignment.objects.filter(item__campaign=campaign, status="done")
        .exclude(assisted_by="")
        .count(),
        **_times(campaign),
        **_people(campaign),
    }


def _people(campaign: Campaign) -> JSON:
    """Return facts about a campaign's people as a group: pay, time, consent, background."""
    table = pay_table(campaign)
    everybody = work_line(table.everybody, table.rate)
    hourly = sorted(float(each.hourly) for each in table.people if each.hourly is not None)
    asks = campaign.consent_texts.exists()
    return {
        "pay": str(table.rate) if table.rate else None,
        "work": {name: value for name, value in everybody.items() if name != "rater"},
        "pay_per_hour": {"low": hourly[0], "high": hourly[-1]} if hourly else None,
        "consent": counts_of_consents(campaign) if asks else None,
        "background": background_counts(campaign, revoked_raters(campaign)),
    }


def _raters(campaign: Campaign, out: dict[str, str]) -> list[JSON]:
    done = Assignment.objects.filter(item__campaign=campaign, status="done")
    names = done.exclude(rater__kind=Rater.Kind.TRIAL).order_by("rater__name")
    rows = list(names.values_list("rater__name", "rater__kind").distinct())
    fakes = set(scripted_among([name for name, _ in rows]))
    return [
        {"name": name, "kind": kind, "scripted": name in fakes, "excluded": out.get(name)}
        for name, kind in rows
    ]


def _times(campaign: Campaign) -> JSON:
    current = Response.objects.filter(current=True, assignment__item__campaign=campaign)
    found = current.aggregate(first=Min("created_at"), last=Max("created_at"))
    return {f"{name}_answer": value and value.isoformat() for name, value in found.items()}


def judge_facts(judge: Judge, runs: list[Any]) -> JSON:
    """Return a judge's definition, without its key, and the manifests of its runs."""
    return {
        "name": judge.rater.name,
        "scripted": judge.backend == "scripted",
        "backend": judge.backend,
        "model": judge.model or None,
        "family": judge.family or None,
        "granularity": judge.granularity,
        "params": shown_params(judge),
        "prompt": judge.prompt_name or None,
        "prompt_sha256": judge.prompt_sha256 or None,
        "file": judge.file or None,
        "file_sha256": judge.file_sha256 or None,
        "runs": runs,
    }


def used_protocols(campaigns: Iterable[Campaign]) -> dict[ProtocolFile, str]:
    """Return the files of teams that campaigns use, each with its path in the release."""
    rows = dict.fromkeys(each.protocol_file for each in campaigns if each.protocol_file)
    seen: Counter[str] = Counter()
    found = {}
    for row in rows:
        plain = f"{row.name}-{row.version}"
        seen[plain.casefold()] += 1
        # Two teams may have a protocol of one name.
        folder = plain if seen[plain.casefold()] == 1 else f"{plain}-{seen[plain.casefold()]}"
        file = f"{row.name}.toml"
        while file in row.parts:
            file = f"_{file}"
        found[row] = f"{PROTOCOLS}/{folder}/{file}"
    return found


def protocol_facts(campaign: Campaign, paths: Mapping[ProtocolFile, str]) -> JSON:
    """Return where a campaign's protocol is in the release, and its digest, if it is a team's."""
    file = campaign.protocol_file
    return {
        "protocol_file": file and paths[file],
        "protocol_sha256": file and file.digest,
    }
