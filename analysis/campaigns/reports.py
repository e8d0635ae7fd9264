"""The report of a campaign, with what the database knows beside the labels.

With the order `both` in its file, a judge is asked about each pair twice: replicates 2n and 2n + 1
differ only in the order. All others repeat the same request.

A judge's labels count under the versions that people followed, too. A text is identified by its
digest. If a text is used again, it counts as its first version. Any text that is not one of the
campaign's versions is the protocol's own guideline.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, groupby
from typing import Any

import numpy as np
from django.db.models import Max

from analysis.campaigns.frames import campaign_frame, campaign_strata, with_families, with_floor
from analysis.campaigns.free_text import written_answers
from analysis.campaigns.people_sample import (
    about_interim,
    behind_warnings,
    chosen_items,
    interim_of,
    known_draw,
    people_sample,
)
from annotation.answers.misplaced import MisplacedEvidence, find_misplaced_evidence
from annotation.campaigns.sampling import DEVELOPMENT
from annotation.models import (
    Assignment,
    Campaign,
    Item,
    Label,
    QuerySampling,
    Rater,
    TrustLook,
    TrustPlan,
)
from annotation.people.background import background_lines, questions_of
from annotation.people.consent import revoked_raters
from annotation.presentation import schema
from annotation.trust.roles import certify_queries, without_certify
from datasets.work.beside import compute_beside
from datasets.work.guard import for_workers
from judging.answer_files import FAKE, scripted_among
from judging.judge_file.document import file_of
from judging.judges import published_among
from judging.jury import voting_judges
from judging.models import Judge
from tandem.document import count
from tandem.labels.backgrounds import Question, halves
from tandem.labels.facts import LabelKey
from tandem.labels.frame import Frame, Guideline, Warning
from tandem.labels.guidelines import with_guidelines
from tandem.labels.selection import ReportOptions
from tandem.sections.build import frame_report
from tandem.sections.system_decisions import with_committed
from tandem.sections.written import written
from tandem.statistics import SHARE, mean_by_cluster
from tandem.types import (
    JSON,
    Progress,
    Publish,
    compute_later,
    ignore_part,
    ignore_progress,
)

_COLUMNS = (
    "response__assignment__item__key",
    "unit__kind",
    "unit__key",
    "variable",
    "response__assignment__rater__name",
    "response__basis",
    "response__assignment__rater__kind",
)
PROTOCOLS = Guideline(None, "")


def versions_by_digest(campaign: Campaign) -> dict[str, int]:
    """Return the number of each text by its digest, apart from the protocol's own guideline.

    A text that is used again has the number of its first version.
    """
    rows = campaign.guidelines.exclude(digest="").order_by("-version")
    return dict(rows.values_list("digest", "version"))


def with_followed_versions(frame: Frame, campaign: Campaign) -> Frame:
    """Add the versions that people followed to a campaign's frame, if there are several."""
    versions = versions_by_digest(campaign)
    if not versions:
        return frame
    own = sorted((number, digest) for digest, number in versions.items())
    texts = [PROTOCOLS, *(Guideline(*each) for each in own)]
    places = {each.digest: n for n, each in enumerate(texts)}
    given: dict[LabelKey, int] = {}
    by_people: set[int] = set()
    for *place, basis, kind in _labels(campaign):
        version = places.get(basis.rpartition("-")[2], 0)
        given[LabelKey(*place)] = version
        if kind == Rater.Kind.HUMAN:
            by_people.add(version)
    used = sorted(by_people)
    moved = {version: n for n, version in enumerate(used)}
    followed = [texts[version] for version in used]
    known = {place: moved[version] for place, version in given.items() if version in moved}
    return with_guidelines(frame, followed, known)


def _labels(campaign: Campaign) -> Iterator[tuple[Any, ...]]:
    """Yield labels with the basis of their answers. Imported answers have none."""
    labels = Label.objects.filter(
        response__current=True,
        response__basis__isnull=False,
        response__assignment__item__campaign=campaign,
        response__assignment__item__use=Item.Use.STUDY,
        response__assignment__rater__kind__in=(Rater.Kind.HUMAN, Rater.Kind.JUDGE),
        response__assignment__replicate=0,
    )
    read = without_certify(labels, campaign).order_by().values_list(*_COLUMNS)
    return read.iterator(chunk_size=5000)


JURY = (
    "A scripted judge, which replays a file, votes in it, so its figures do not describe a "
    "real jury."
)


def fakes_among(judges: Sequence[str]) -> dict[str, str]:
    """Return a warning text for each fake judge, by name."""
    fakes = dict.fromkeys(scripted_among(judges), FAKE)
    return fakes | {name: JURY for name in judges if scripted_among(voting_judges(name))}


def mark_raters(raters: list[JSON]) -> None:
    """Mark each fake judge among the raters of a report or of measures."""
    _mark(raters, fakes_among([rater["name"] for rater in raters if rater["kind"] == "judge"]))


def _mark(raters: list[JSON], fakes: Collection[str]) -> None:
    for rater in raters:
        if rater["name"] in fakes:
            rater["scripted"] = True


def mark_fakes(report: JSON, fakes: Mapping[str, str]) -> None:
    """Mark each fake judge among the report's raters, and add a warning."""
    _mark(report["raters"], fakes)
    report["warnings"] += [
        Warning("scripted_judge", None, name, text)._asdict() for name, text in fakes.items()
    ]


def last_looks(campaign: Campaign) -> dict[str, list[JSON]]:
    """Return the last look at each comparison by its score, those of the newest plans first."""
    found: dict[str, list[JSON]] = defaultdict(list)
    plans = TrustPlan.objects.filter(campaign=campaign, kind=TrustPlan.Kind.COMPARE)
    looks = TrustLook.objects.filter(plan__in=plans).order_by("-plan", "-id")
    last: dict[int, TrustLook] = {}
    for look in looks:
        if last.setdefault(look.plan_id, look) is look:
            at = look.at.isoformat(timespec="seconds")
            found[look.state["score"]].append({**look.state, "looked_at": at})
    return found


def add_committed(report: JSON, looks: Mapping[str, Sequence[JSON]]) -> None:
    """Put what committed plans showed in the place of what the report computes itself."""
    for name, of_score in looks.items():
        if (score := report["scores"].get(name)) is not None:
            score["decisions"] = with_committed(score, of_score)


def newest_look(campaign: Campaign) -> int:
    """Return the primary key of the newest look at a comparison, 0 without one."""
    looks = TrustLook.objects.filter(plan__campaign=campaign, plan__kind=TrustPlan.Kind.COMPARE)
    return looks.aggregate(newest=Max("pk"))["newest"] or 0


def background_questions(campaign: Campaign) -> tuple[Question, ...]:
    """Return the questions with their groups. Free-text answers form no groups."""
    return tuple(_questions(campaign))


def _questions(campaign: Campaign) -> Iterator[Question]:
    said: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for line in background_lines(campaign, revoked_raters(campaign)):
        if line["value"] is not None:
            said[line["name"]][line["value"]].add(line["rater"])
    for asked in questions_of(campaign):
        given = said[asked.name]
        if asked.kind == "number":
            numbers = {who: float(value) for value, people in given.items() for who in people}
            groups = dict(halves(numbers))
        elif asked.kind in ("choice", "several"):
            removed = sorted(given.keys() - set(asked.choices))
            groups = {value: frozenset(given[value]) for value in (*asked.choices, *removed)}
        else:
            continue
        yield Question(asked.name, asked.question, groups, asked.kind == "several")


REPLICATES, ORDERS = "replicates", "orders"
WORDS = {
    REPLICATES: "share of pairs of replicates with the same label",
    ORDERS: "share of pairs with the same verdict in both orders",
}
PairCounts = dict[tuple[str, str, str], list[tuple[float, int]]]
"""By variable, judge and kind: 1 for each pair of equal labels of a unit, else 0, and the query."""


def add_consistency(report: JSON, counts: PairCounts) -> None:
    """Add `consistency` to the judges of a campaign's report that were asked more than once."""
    for (variable, judge, kind), pairs in counts.items():
        of = report["variables"].get(variable, {}).get("judges", {}).get(judge)
        if of is None:
            continue
        values = np.array([same for same, _ in pairs])
        queries = np.array([query for _, query in pairs])
        found = mean_by_cluster(values, queries, WORDS[kind], SHARE)
        of.setdefault("consistency", {})[kind] = found.as_json()


def pair_counts(campaign: Campaign) -> PairCounts:
    """Compare every pair of labels that a judge gave to a unit and variable."""
    labels = Label.objects.filter(
        response__current=True,
        response__assignment__item__campaign=campaign,
        response__assignment__rater__kind=Rater.Kind.JUDGE,
    )
    repeated = labels.filter(response__assignment__replicate__gt=0)
    judges = list(repeated.values_list("response__assignment__rater", flat=True).distinct())
    if not judges:
        return {}
    both = {
        judge.rater_id
        for judge in Judge.objects.filter(rater__in=judges)
        if _asks_both_orders(judge)
    }
    rows = labels.filter(response__assignment__rater__in=judges).order_by(
        "response__assignment__rater", "variable", "unit", "response__assignment__replicate"
    )
    names = (
        "response__assignment__rater", "response__assignment__rater__name", "variable", "unit",
        "unit__item__query", "response__assignment__replicate", "value",
    )  # fmt: skip
    found: PairCounts = defaultdict(list)
    read = rows.values_list(*names).iterator(5000)
    for (rater, name, variable, _, query), of_unit in groupby(read, key=lambda row: row[:5]):
        values = {replicate: value for *_, replicate, value in of_unit}
        for kind, same in _compare_replicates(values, rater in both):
            found[variable, name, kind].append((float(same), query))
    return found


def _asks_both_orders(judge: Judge) -> bool:
    return bool(judge.file) and file_of(judge).order == "both"


def _compare_replicates(
    values: Mapping[int, str], in_both_orders: bool
) -> Iterator[tuple[str, bool]]:
    """Yield how the requests for each pair of a unit's labels differ, and if labels are equal."""
    for one, other in combinations(sorted(values), 2):
        same = values[one] == values[other]
        if not in_both_orders or one % 2 == other % 2:
            yield REPLICATES, same
        elif one // 2 == other // 2:
            yield ORDERS, same


SHORTEST = 40
"""In characters. Shorter texts may occur in a prompt by chance."""


def contaminated_prompts(campaign: Campaign, judges: Collection[str]) -> list[JSON]:
    """Return a warning for each judge whose prompt quotes a text that it is evaluated on.

    Quotes are found word for word, ignoring blanks and line breaks; paraphrases are not. Texts of
    development queries may be in a prompt.
    """
    asked = Judge.objects.filter(rater__name__in=judges, runs__campaign=campaign).exclude(prompt="")
    prompts = {j.rater.name: _plain(j.prompt) for j in asked.select_related("rater").distinct()}
    if not prompts:
        return []
    labelled = Assignment.objects.filter(
        item__campaign=campaign,
        item__use=Item.Use.STUDY,
        rater__kind="human",
        responses__current=True,
    )
    # Prompts may be tuned on items that are not compared.
    tuned = QuerySampling.objects.filter(campaign=campaign, role=DEVELOPMENT)
    labelled = labelled.exclude(item__query__in=tuned.values("query"))
    columns = ("item__key", "item__report__text", "item__passage__text", "item__query__text")
    texts = {key: tuple(map(_plain, of)) for key, *of in labelled.values_list(*columns).distinct()}
    found = []
    for name, prompt in sorted(prompts.items()):
        seen = [key for key, of in texts.items() if any(_contains(text, prompt) for text in of)]
        if seen:
            text = (
                f"Its prompt quotes texts of {len(seen)} of the {len(texts)} items that it is "
                "evaluated on. Its figures do not hold for unseen items."
            )
            found.append(Warning("prompt_saw_labels", None, name, text)._asdict())
    return found


def _contains(text: str, prompt: str) -> bool:
    return len(text) >= SHORTEST and text in prompt


def _plain(text: str | None) -> str:
    return " ".join((text or "").split())


def misplaced_flags(campaign: Campaign) -> list[JSON]:
    """Return the raters with rationales from a text other than the judged one, with counts."""
    return [flag_as_json(found) for found in find_misplaced_evidence(campaign)]


def flag_as_json(found: MisplacedEvidence) -> JSON:
    """Return the flag in the form used by the report."""
    return {
        "name": found.rater,
        "kind": found.rater_kind,
        "variable": found.variable,
        "rationales": found.rationales,
        "elsewhere": {kind: found.elsewhere[kind] for kind in ("report", "passage", "reference")},
        "message": str(found),
    }


TEXT = (
    "Its judge file reads answers as its authors published it: Tandem does not check what stands "
    "around a verdict, so a draft or a withdrawn verdict may count."
)


def published_readings(judges: Collection[str]) -> list[JSON]:
    """Return a warning for each of the named judges that is read as published."""
    return [
        Warning("read_as_published", None, name, TEXT)._asdict() for name in published_among(judges)
    ]


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
