"""The chain of a study as cards for its page: inputs, outputs, and the next steps.

A study that was applied from a file is read from its recorded parts; the file adds parts that do
not exist yet. A study without a file is everything derived from one loaded batch, by the lineage of
batches. Files are never read here, since the stored text of a study may name any path.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from django.urls import reverse
from django.utils.http import urlencode

from analysis.models import Study
from analysis.study.cards import Action, Answers, Card, Chain, Flow, Link, Number, Proof, Step
from analysis.study.file import parse_study
from analysis.study.parts import PLAN, Key, Part
from analysis.study.preparation import failures, reviews_to_do
from analysis.study.stages import waiting
from analysis.study.trust import cells_seen, last_look, plan_of
from analysis.trust.words import brief
from annotation.access import is_blind, open_campaigns
from annotation.campaigns.answer_totals import AnswerTotals
from annotation.counters import answers_by_rater, numbers
from annotation.derivation.rules import RULES
from annotation.exposure.ledger import saw_figures
from annotation.models import Campaign, Rater, User
from annotation.people.membership import manageable, readable
from annotation.progress.counts import cached_answer_totals
from annotation.registry import STEPS, get_protocol
from datasets.access import manages, visible_batches
from datasets.derivation import RULE
from datasets.lineage import behind_for, derive_again_address, describe_behind
from datasets.models import Batch, Lineage
from judging.answer_files import scripted_among
from judging.models import JudgeRun
from judging.preparation.status import step_statuses
from tandem.document import count, join_words
from tandem.files.rows import InputError

BLIND = (
    "You have an open item in {}. Once you have answered it, this page shows what was left out, "
    "and why."
)
DECISION_RULES = {
    "adjudicated": "the Reference, else the majority",
    "majority": "the majority of people",
    "unanimous": "all people together",
}
MOST_NAMED = 4


def chain_of_study(study: Study, user: User) -> Chain:
    """Return the chain of a study that the account may read."""
    records = list(study.parts.select_related("batch", "campaign__batch").order_by("position"))
    campaigns = [part.campaign for part in records if part.campaign is not None]
    batches = {part.batch.pk: part.batch for part in records if part.batch is not None}
    for campaign in campaigns:
        if campaign.batch_id not in batches:
            batches = {campaign.batch_id: campaign.batch, **batches}
    there = {Key(part.kind, part.name) for part in records}
    chain = _Cards(user, list(batches.values()), campaigns)
    return chain.build(study.name, _missing_parts(study, there), there)


def chain_by_hand(root: Batch, user: User, most: int | None = None) -> Chain:
    """Return the batches and campaigns derived from a batch, as far as the account may read them.

    It contains at most the latest `most` campaigns, or all without `most`.
    """
    visible, found, level = visible_batches(user), [root], [root]
    while level:
        level = list(visible.filter(lineage__source__in=level).order_by("pk"))
        found += level
    latest = readable(user).select_related("batch").filter(batch__in=found).order_by("-pk")
    shown = list(latest[:most])[::-1]
    chain = _Cards(user, found, shown).build(root.name, [], set())
    return replace(chain, earlier=latest.count() - len(shown) if most is not None else 0)


def _missing_parts(study: Study, there: set[Key]) -> list[Part]:
    """Return the batches and campaigns of the stored file that have not been created yet."""
    try:
        parts = parse_study(study.text).parts
    except InputError:
        # Stored by a version of Tandem with different keys in study files.
        return []
    return [part for part in parts if part.key not in there and part.key.kind != "judge"]


class _Cards:
    """The cards of some batches and campaigns, for one account."""

    def __init__(self, user: User, batches: list[Batch], campaigns: list[Campaign]) -> None:
        self.user, self.batches, self.campaigns = user, batches, campaigns
        self.behind = behind_for(user)
        rows = Lineage.objects.select_related("source").filter(batch__in=batches)
        self.lineages = {each.batch_id: each for each in rows}
        keys = [campaign.pk for campaign in campaigns]
        self.answering = set(open_campaigns(user).filter(pk__in=keys).values_list("pk", flat=True))
        self.managed = set(manageable(user).filter(pk__in=keys).values_list("pk", flat=True))
        self.managed_batches = {batch.pk for batch in batches if manages(user, batch)}
        runs = JudgeRun.objects.filter(campaign__in=campaigns).order_by("pk")
        self.runs = {
            (run.campaign_id, run.judge.rater_id): run for run in runs.select_related("judge")
        }
        self.counts = {campaign.pk: answers_by_rater(campaign) for campaign in campaigns}
        raters = {pk for counts in self.counts.values() for pk in counts}
        kinds = (Rater.Kind.HUMAN, Rater.Kind.JUDGE)
        rows_of = Rater.objects.filter(pk__in=raters, kind__in=kinds).order_by("kind", "name")
        self.raters = {rater.pk: rater for rater in rows_of}
        judges = [each.name for each in self.raters.values() if each.kind == Rater.Kind.JUDGE]
        self.fakes = set(scripted_among(judges))

    def build(self, name: str, to_come: list[Part], there: set[Key]) -> Chain:
        links = {batch.name: Link(self.batch(batch)) for batch in self.batches}
        finished = set[str]()
        for campaign in self.campaigns:
            card = self.campaign(campaign)
            links[campaign.batch.name].campaigns.append(card)
            if card.state == "done":
                finished.add(campaign.name)
        self.add_plans_to_come(links, [part for part in to_come if part.key.kind == PLAN])
        for part in to_come:
            if part.key.kind == PLAN:
                continue
            card = _card_to_come(part, there, finished)
            if card.state == "missing" and part.command == "build_batch":
                card = self.preparation(card, part)
            if part.key.kind == "batch":
                links[part.name] = Link(card)
            elif part.options["batch"] in links:
                links[part.options["batch"]].campaigns.append(card)
        return Chain(name, tuple(links.values()), tuple(self.campaigns))

    def add_plans_to_come(self, links: Mapping[str, Link], parts: Iterable[Part]) -> None:
        """Add to campaigns the step of a plan of the file that nobody has committed to."""
        by_name = {campaign.name: campaign for campaign in self.campaigns}
        for part in parts:
            campaign = by_name.get(part.options["campaign"])
            if campaign is None or campaign.has_plan or plan_of(part):
                continue
            cards = links[campaign.batch.name].campaigns
            place = next(n for n, card in enumerate(cards) if card.name == campaign.name)
            cards[place] = replace(cards[place], steps=(*cards[place].steps, _applied_again(part)))

    def proof(self, campaign: Campaign) -> Proof | None:
        """Return the newest plan of a campaign. Its evidence is hidden from who labels now."""
        plan = campaign.trust_plans.select_related("judge").order_by("-id").first()
        if plan is None:
            return None
        address = reverse("trust", args=[campaign.pk])
        about = join_words(plan.document["systems"])
        if plan.judge is not None:
            about = f"{plan.judge.name} on {plan.variable}"
        says = [f"{count(plan.draws.count(), 'query', 'queries')} drawn"]
        if not is_blind(self.user, campaign):
            look = last_look(plan)
            saw_figures("trust", campaign, cells_seen(plan, look))
            says.append(brief(plan, look))
        says += [] if plan.is_running else ["has ended"]
        return Proof(about, "; ".join(says), address)

    def batch(self, batch: Batch) -> Card:
        lineage = self.lineages.get(batch.pk)
        page = reverse("batch", args=[batch.pk])
        if lineage is None:
            files = f" from {len(batch.files)} files" if len(batch.files) > 1 else ""
            how = f"loaded{files} in the {batch.format} format"
            has = _contents(batch.counts, page)
            links = (_new_campaign(batch),)
            return Card("batch", batch.name, "done", page, how, has=has, links=links)
        behind = self.behind(lineage)
        reasons, note = self._reasons(lineage)
        return Card(
            "batch",
            batch.name,
            "behind" if behind else "done",
            page,
            _describe_lineage(lineage),
            tuple(_flows(lineage, batch, reasons)),
            _contents(_unchanged(lineage, batch), page),
            note,
            links=(_new_campaign(batch),),
            steps=(self._derive_again(batch, lineage, behind),) if behind else (),
        )

    def preparation(self, card: Card, part: Part) -> Card:
        """Return the card of a batch that a step builds, with what its judge and people did."""
        batch = next((each for each in self.batches if each.name == part.options["batch"]), None)
        if batch is None:
            return card
        (status,) = step_statuses(batch, self.user, [STEPS[part.options["step"]]])
        judge = part.options["judge"]
        author = next((each for each in status.authors if each.rater.name == judge), None)
        if author is None:
            return card
        page, lost = reverse("preparation", args=[batch.pk]), sum(failures(author).values())
        run = reverse("judge-run", args=[author.runs[0].pk]) if author.runs else page
        of = author.written + sum(author.missing.values())
        fake = bool(scripted_among([judge]))
        raters = (Answers(judge, True, author.written, of, 0, lost, run, fake),)
        card = replace(card, address=page, raters=raters)
        todo = reviews_to_do(part, author)
        if not todo or author.missing.keys() - failures(author).keys():
            return card
        return replace(card, state="waiting", steps=(Step("people", todo, "Review", page),))

    def _reasons(self, lineage: Lineage) -> tuple[dict[str, dict[str, int]], str]:
        """Return the dropped parts by reason, or why this account may not see them now."""
        dropped: dict[str, dict[str, int]] = lineage.counts.get("dropped", {})
        if not dropped:
            return {}, ""
        names = [each["name"] for each in lineage.campaigns]
        decided = list(Campaign.objects.filter(name__in=names))
        for campaign in decided:
            if is_blind(self.user, campaign):
                return {}, BLIND.format(campaign.name)
        kept = lineage.counts.get("kept", {})
        number = sum(kept.get(what, 0) + sum(dropped[what].values()) for what in dropped)
        for campaign in decided:
            saw_figures("derived", campaign, number, until=lineage.created_at)
        return dropped, ""

    def _derive_again(self, batch: Batch, lineage: Lineage, behind: int) -> Step:
        address = derive_again_address(lineage) if manages(self.user, lineage.source) else ""
        what = f"Batch {batch.name} is {describe_behind(behind)}."
        return Step("researcher", what, "Derive again" if address else "", address)

    def campaign(self, campaign: Campaign) -> Card:
        page, progress = _pages(campaign, "campaign", "campaign-progress")
        places = cached_answer_totals(campaign)
        raters = tuple(self._raters(campaign, progress))
        steps = tuple(self._steps(campaign, places, raters, progress))
        return Card(
            "campaign",
            campaign.name,
            "waiting" if places.open else "open" if steps else "done",
            page,
            get_protocol(campaign).title,
            tuple(_sampled(campaign, page)),
            (Number(places.items, "items", progress),),
            "" if campaign.is_open else "closed",
            raters,
            places,
            progress,
            tuple(self._links(campaign)),
            steps,
            self.proof(campaign),
        )

    def _raters(self, campaign: Campaign, progress: str) -> Iterator[Answers]:
        counts = self.counts[campaign.pk]
        for pk, rater in self.raters.items():
            if pk not in counts:
                continue
            done, reserved, failed = (_count(counts[pk], status) for status in STATUSES)
            if rater.kind == Rater.Kind.JUDGE:
                run = self.runs.get((campaign.pk, pk))
                # Imported labels of a judge have no run.
                address = reverse("judge-run", args=[run.pk]) if run else progress
                of = done + reserved + failed
                fake = rater.name in self.fakes
                yield Answers(rater.name, True, done, of, 0, failed, address, fake)
            elif done or reserved:
                address = reverse("campaign-rater", args=[campaign.pk, pk])
                yield Answers(rater.name, False, done, None, reserved, 0, address)

    def _steps(
        self, campaign: Campaign, places: AnswerTotals, raters: Iterable[Answers], progress: str
    ) -> Iterator[Step]:
        if places.open:
            begun = [f"{r.name} {r.reserved}" for r in raters if r.reserved]
            more = f" and {len(begun) - MOST_NAMED} more" if len(begun) > MOST_NAMED else ""
            reserved = f" Reserved now: {', '.join(begun[:MOST_NAMED])}{more}." if begun else ""
            action, address = "Progress", progress
            if campaign.pk in self.answering:
                action, address = "My work", reverse("work")
            elif campaign.pk in self.managed and not begun:
                action, address = "Invite people", reverse("campaign-people", args=[campaign.pk])
            yield Step("people", waiting(campaign, places) + reserved, action, address)
        for rater in raters:
            if rater.of is not None and rater.done < rater.of:
                failed = f", and failed on {rater.failed}" if rater.failed else ""
                what = (
                    f"Judge {rater.name} has answered {rater.done} of {rater.of} requests{failed} "
                    f"in campaign {campaign.name}."
                )
                has_run = rater.address != progress
                action, address = ("Run", rater.address) if has_run else ("", "")
                yield Step("researcher", what, action, address)

    def _links(self, campaign: Campaign) -> Iterator[Action]:
        names = {"Results": "results", "Disagreements": "disagreements"}
        for label, name in names.items():
            yield Action(label, "of", reverse(name, args=[campaign.pk]))
        if campaign.pk in self.managed and campaign.is_open:
            people, judge = _pages(campaign, "campaign-people", "campaign-judge-start")
            yield Action("Add people", "to", f"{people}?add=1")
            yield Action("Run a judge", "over", judge)
        if any(rule.reads(campaign) for rule in RULES.values()):
            address = reverse("batch-derive", args=[campaign.batch_id])
            if campaign.batch_id in self.managed_batches:
                of = urlencode({"from": campaign.name})
                yield Action("Derive a batch", "of", f"{address}?{of}")


def _new_campaign(batch: Batch) -> Action:
    asked = urlencode({"batch": batch.name})
    return Action("New campaign", "over", f"{reverse('campaign-new')}?{asked}")


STATUSES = ("done", "open", "failed")


def _count(of: Mapping[str, int], status: str) -> int:
    at = (f"answers/study/{status}/{place}" for place in ("placed", "no-place"))
    return sum(of.get(name, 0) for name in at)


def _pages(campaign: Campaign, *names: str) -> list[str]:
    return [reverse(name, args=[campaign.pk]) for name in names]


def _contents(counts: Mapping[str, int], page: str) -> tuple[Number, ...]:
    found = ((name.replace("_", " "), count) for name, count in counts.items() if count)
    return tuple(Number(count, name, page) for name, count in found)


def _flows(
    lineage: Lineage, batch: Batch, dropped: Mapping[str, Mapping[str, int]]
) -> Iterator[Flow]:
    """Yield the parts that were left out, then kinds whose number changed, then new kinds."""
    pages = [reverse("batch", args=[each]) for each in (lineage.source_id, batch.pk)]
    kept, known = lineage.counts.get("kept", {}), set[str]()
    out = reverse("batch-left-out", args=[batch.pk])
    for what, reasons in dropped.items():
        many = kept.get(what, 0)
        known.add(what)
        reached = sorted(reasons.items(), key=lambda each: (-each[1], each[0]))
        yield Flow(
            what,
            Number(many + sum(reasons.values()), what, pages[0]),
            Number(many, what, pages[1]),
            tuple(Number(n, why, f"{out}?{urlencode({'reason': why})}") for why, n in reached),
        )
    for name, now in batch.counts.items():
        before, what = lineage.source.counts.get(name, 0), name.replace("_", " ")
        if what not in known and before != now:
            yield Flow(what, Number(before, what, pages[0]), Number(now, what, pages[1]))
        known |= {what, f"new {what}"}
    for what, number in kept.items():
        if what not in known:
            yield Flow(what, None, Number(number, what, pages[1]))


def _unchanged(lineage: Lineage, batch: Batch) -> dict[str, int]:
    """Return the numbers of parts that a batch has unchanged from its source."""
    fell = {what.replace(" ", "_") for what in lineage.counts.get("dropped", {})}
    return {
        name: now
        for name, now in batch.counts.items()
        if name not in fell and now == lineage.source.counts.get(name, 0)
    }


def _sampled(campaign: Campaign, page: str) -> Iterator[Flow]:
    """Yield the number of queries that people are asked about, unless it is all of them."""
    counts = numbers(campaign).items()
    asked, left = (
        sum(n for name, n in counts if name.startswith("queries/") and name.endswith(end))
        for end in ("/drawn", "/left")
    )
    if left:
        source, sample = reverse("batch", args=[campaign.batch_id]), f"{page}#sample-head"
        why = Number(left, "not sampled for people", sample)
        whole, some = Number(asked + left, "queries", source), Number(asked, "queries", sample)
        yield Flow("queries", whole, some, (why,))


def _describe_lineage(lineage: Lineage) -> str:
    """Describe in a line how a batch was derived."""
    if lineage.kind != RULE:
        by = f", written by {lineage.decided_by} and reviewed" if lineage.decided_by else ""
        return f"{lineage.rule} from {lineage.source.name}{by}"
    title = RULES[lineage.rule].title if lineage.rule in RULES else lineage.rule
    sources = " and ".join(each["name"] for each in lineage.campaigns) or lineage.source.name
    by = DECISION_RULES.get(lineage.decided_by, lineage.decided_by)
    decided = f", decided by {by}" if by else ""
    return f"{title} from {sources}{decided}"


def _card_to_come(part: Part, there: set[Key], finished: set[str]) -> Card:
    """Return the card of a part that exists only in the file."""
    absent = [key for key in part.needs if key not in there and key.kind != "judge"]
    unfinished = [key for key in part.awaits if key in there and key.name not in finished]
    after = list(dict.fromkeys((*absent, *unfinished)))
    words = part.first_step
    if after:
        how = f"after {' and '.join(map(str, after))}: {words}"
        return Card(part.key.kind, part.name, "blocked", how=how)
    steps = (_applied_again(part),)
    return Card(part.key.kind, part.name, "missing", how=words, steps=steps)


def _applied_again(part: Part) -> Step:
    return Step(
        "researcher",
        f"Apply the study’s file again: it will {part.first_step} ({part.key}).",
        command="tandem study apply",
    )
