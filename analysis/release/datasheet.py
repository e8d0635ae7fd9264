"""The datasheet of a release: raters, sampling, questions and limits.

Facts from the database are filled in. Facts that only people know are marked as blanks, never
guessed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from annotation.campaigns.design import Design
from datasets.derivation import EXTENDED
from tandem.statistics import ALPHA
from tandem.types import JSON

DEFAULTS = asdict(Design())
"""The default options of a campaign, which the datasheet does not mention."""
BLANK = "**[to be filled in: {}]**"


def blank(what: str) -> str:
    return BLANK.format(what)


def datasheet(
    about: Mapping[str, Any], batches: Sequence[JSON], campaigns: Sequence[JSON], licence: str
) -> str:
    """Return the datasheet as Markdown."""
    parts = (
        _motivation(about),
        _composition(batches, campaigns),
        _collection(campaigns),
        _questions(campaigns),
        _agreement(campaigns),
        _limits(batches, campaigns),
        _use(about, licence),
    )
    return "\n".join(line for part in parts for line in part) + "\n"


def _motivation(about: Mapping[str, Any]) -> Iterator[str]:
    yield f"# Datasheet of {about.get('title') or about['name']}\n"
    yield str(about.get("description") or blank("what the study asks, and why")) + "\n"
    creators = ", ".join(about.get("creators", ())) or blank("who created it")
    yield f"- Created by: {creators}"
    yield f"- Funded by: {blank('who paid for it')}"
    yield f"- Contact: {about.get('contact') or blank('whom to ask')}\n"


def _composition(batches: Sequence[JSON], campaigns: Sequence[JSON]) -> Iterator[str]:
    yield "## What is in it\n"
    for batch in batches:
        numbers = ", ".join(f"{n} {what.replace('_', ' ')}" for what, n in batch["counts"].items())
        derived = batch["lineage"]
        yield f"- Batch `{batch['name']}` ({_how_made(batch)}): {numbers}."
        for what, reasons in (derived or {}).get("counts", {}).get("dropped", {}).items():
            counts = ", ".join(f"{reason} {number}" for reason, number in reasons.items())
            yield f"    - Left out of {what}: {counts}."
    for campaign in campaigns:
        numbers = campaign["counts"]
        yield (
            f"- Campaign `{campaign['name']}` ({campaign['protocol']} over `{campaign['batch']}`): "
            f"{numbers['items']} items, {numbers['units']} units, {numbers['labels']} labels."
        )
    yield f"- Where the texts come from, and under which terms: {blank('sources and rights')}"
    yield f"- Texts about people, or offensive ones: {blank('whether there are any')}\n"


def _how_made(batch: JSON) -> str:
    lineage = batch["lineage"]
    if lineage is None:
        return f"loaded in the {batch['format']} format"
    if lineage["rule"] == EXTENDED:
        return f"`{lineage['source']}` with what was added to it"
    author = lineage.get("author")
    by = f", written by {_judge(author)} and reviewed by people" if author else ""
    return f"derived from `{lineage['source']}` by {lineage['rule']}{by}"


def _judge(rater: JSON) -> str:
    return f"{rater['name']}{' (a fake: replayed from a file)' if rater['scripted'] else ''}"


def _collection(campaigns: Sequence[JSON]) -> Iterator[str]:
    yield "## Who labelled, and how it was chosen\n"
    for campaign in campaigns:
        yield f"### {campaign['name']}\n"
        people = [rater for rater in campaign["raters"] if rater["kind"] == "human"]
        judges = [rater for rater in campaign["raters"] if rater["kind"] == "judge"]
        yield f"- People: {len(people)}, under pseudonyms; {_places(campaign)}."
        for rater in people:
            if rater["excluded"]:
                yield f"    - {rater['name']} is excluded: {rater['excluded']}."
        yield f"- Judges: {', '.join(map(_judge, judges)) or 'none'}."
        yield f"- Chosen: {_choice(campaign)}."
        first, last = campaign["first_answer"], campaign["last_answer"]
        if first:
            yield f"- Answered: {first[:10]} to {last[:10]}."
        yield from _people(campaign)


def _people(campaign: JSON) -> Iterator[str]:
    """Yield lines on people's recruitment, pay, consent and background."""
    consent, work = campaign["consent"], campaign["work"]
    if consent:
        gone = f"; {consent['revoked']} revoked that" if consent["revoked"] else ""
        yield f"- Consent: {consent['agreed']} people agreed to the campaign's text{gone}."
    if work["timed"]:
        minutes, hours = work["median_seconds"] / 60, work["total_seconds"] / 3600
        yield f"- Time: {minutes:.1f} minutes an item (median), {hours:.1f} hours in all."
    if campaign["pay"]:
        yield f"- Recruited and trained: {blank('how people were found')}"
        yield f"- Paid: {campaign['pay']}{_hourly(campaign)}."
    else:
        yield f"- Recruited, trained and paid: {blank('how people were found, and what they got')}"
    if not campaign["background"]:
        yield f"- Languages, background: {blank('what is known of them')}\n"
        return
    yield "- Background, as people gave it:"
    yield from (f"    - {each['question']} {_answers(each)}" for each in campaign["background"])
    yield ""


def _hourly(campaign: JSON) -> str:
    known, mean = campaign["pay_per_hour"], campaign["work"]["pay_per_hour"]
    if mean is None or known is None:
        return ""
    return (
        f", which is {mean:.2f} {campaign['work']['currency']} for an hour of active time "
        f"({known['low']:.2f} to {known['high']:.2f} by person)"
    )


def _answers(of: JSON) -> str:
    """Return the counts of a question's answers. For written answers, only their number."""
    out = f"; {of['left_out']} left it out" if of["left_out"] else ""
    if "counts" in of:
        given = ", ".join(f"{name} {number}" for name, number in of["counts"].items())
        return f"{given}{out}."
    if "median" in of:
        return f"median {of['median']:g}, from {of['low']:g} to {of['high']:g}{out}."
    return f"{of['people']} people wrote an answer{out}."


def _places(campaign: JSON) -> str:
    given, asked = campaign["answers_given"], campaign["answers_asked"]
    if not campaign["raters_per_item"]:
        return "only judges are asked"
    return f"{given} of {asked} answers that were asked for are there"


def _choice(campaign: JSON) -> str:
    each = campaign["raters_per_item"]
    words = ["one person an item" if each == 1 else f"{each} people an item"]
    if not each:
        words = ["judges only"]
    if each > 1 and campaign["overlap"] < 1:
        some = f"a random share of {campaign['overlap']:g} of the items"
        words = [f"{each} people an item for {some}, and one for each of the others"]
    if shares := campaign["shares"]:
        words.append(f"fixed shares of the answers: {', '.join(f'{share:g}' for share in shares)}")
    if campaign["human_share"] < 1:
        words.append(f"people asked a random share of {campaign['human_share']:g} of the queries")
    options = dict(campaign["options"])
    if items := options.pop("chosen", ()):
        words.append(f"{len(items)} items that were chosen, not sampled at random")
    words += [
        f"{name} {_words(value)}"
        for name, value in sorted(options.items())
        if value != DEFAULTS.get(name)
    ]
    return "; ".join([*words, f"seed {campaign['seed']}"])


def _words(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _questions(campaigns: Sequence[JSON]) -> Iterator[str]:
    yield "## What was asked\n"
    yield "| campaign | variable | of a | codes | level |\n| --- | --- | --- | --- | --- |"
    for campaign in campaigns:
        for v in campaign["variables"]:
            codes = ", ".join(f"`{code}`" for code in v["codes"])
            yield f"| {campaign['name']} | {v['name']} | {v['unit']} | {codes} | {v['level']} |"
    yield "\nThe guideline that people read is in each campaign's folder, as `guideline.md`.\n"


def _agreement(campaigns: Sequence[JSON]) -> Iterator[str]:
    yield "## Agreement\n"
    yield f"| campaign | variable | units | people | {ALPHA.name} | 95 % interval |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for campaign in campaigns:
        for name, of in campaign["agreement"].items():
            alpha = of[ALPHA.key]
            value, interval = _figure(alpha["value"]), _interval(alpha)
            reason = f" ({alpha['reason']})" if alpha.get("reason") else ""
            yield (
                f"| {campaign['name']} | {name} | {of['units']} | {of['raters']} "
                f"| {value}{reason} | {interval} |"
            )
    yield "\nEach campaign's folder has the whole report, with the judges beside people.\n"


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _interval(estimate: JSON) -> str:
    if estimate["low"] is None:
        return "–"
    return f"{estimate['low']:.3f} to {estimate['high']:.3f}"


def _limits(batches: Sequence[JSON], campaigns: Sequence[JSON]) -> Iterator[str]:
    yield "## Known limits\n"
    authors = {batch["name"]: (batch["lineage"] or {}).get("author") for batch in batches}
    found = [
        f"- {name}: {_fakes([author['name']])}"
        for name, author in authors.items()
        if author and author["scripted"]
    ]
    found += (line for campaign in campaigns for line in _limits_of(campaign))
    yield from found or ["- None that the database shows."]
    yield f"- Others: {blank('what a user should not conclude from it')}\n"


def _limits_of(campaign: JSON) -> Iterator[str]:
    name = campaign["name"]
    if campaign["answers_given"] < campaign["answers_asked"]:
        yield f"- {name} is not finished: {_places(campaign)}."
    if campaign["raters_per_item"] == 1 and campaign["answers_asked"]:
        yield f"- {name} has one answer an item, so no agreement can be known."
    if campaign["assisted_labels"]:
        number = campaign["assisted_labels"]
        yield f"- {name}: {number} answers were given with a judge's label in view."
    if fakes := [rater["name"] for rater in campaign["raters"] if rater["scripted"]]:
        yield f"- {name}: {_fakes(fakes)}"
    yield from (f"- {name}: {line}" for line in campaign["warnings"])


def _fakes(names: Sequence[str]) -> str:
    return f"{', '.join(names)} is a fake that replays a file, and describes no model."


def _use(about: Mapping[str, Any], licence: str) -> Iterator[str]:
    yield "## Use and upkeep\n"
    yield f"- Licence: {licence}"
    yield f"- Meant for: {blank('uses that it is made for')}"
    yield f"- Not meant for: {blank('uses that it is unfit for')}"
    yield f"- Kept up by: {about.get('contact') or blank('who corrects errors, and where')}"
