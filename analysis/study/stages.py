"""The stages of a study: each part of the file compared with the database, and applied to it.

A stage has the actions to take on its part now (`actions`), and the work that people have to do
before the next part can follow (`waits`). Computing stages changes nothing.

Each step is done completely or not at all, and is recognised by its result. So if a process is
killed, the next `apply` continues from there and reaches the same state.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from analysis.models import Study, StudyPart
from analysis.study.commands import command_called, run_command
from analysis.study.evaluators import changed_in, check_declared_in, declare_those_in
from analysis.study.file import EVALUATOR, StudyFile
from analysis.study.keys import campaigns_of, keys_of
from analysis.study.lineage import behind, derived_stage
from analysis.study.parts import PLAN, Action, ImportedFile, JudgeRequest, Key, Part, Stage
from analysis.study.preparation import prepared
from analysis.study.protocols import named_in, task_of
from analysis.study.trust import planned
from annotation.campaign_setup.creation import checked_campaign
from annotation.campaigns.answer_totals import AnswerTotals, answer_totals
from annotation.campaigns.changes import change, settings_differ
from annotation.campaigns.design import Design, DesignError, design_of
from annotation.campaigns.settings import CampaignSettings
from annotation.derivation.base import make_options, read_options
from annotation.derivation.rules import RULES
from annotation.derivation.service import stored_options
from annotation.management.base import read_settings
from annotation.models import Campaign
from annotation.people.membership import set_pool
from annotation.presentation import design as stored_design
from annotation.protocol_files import ProtocolError
from datasets.console import known_team, team_option
from datasets.lineage import lineage_of
from datasets.loading import file_facts, read_digest
from datasets.models import Batch, Lineage
from judging.judges import JudgeError, draft
from judging.models import Judge
from judging.params import ParamError
from judging.runs import planning
from tandem.files.rows import InputError
from tandem.options import named_options

FILES = "files"
"""The key for a loaded batch's files in its part's `imported`."""
MODELS: dict[str, Any] = {"batch": Batch, "campaign": Campaign}


def stages_of(file: StudyFile) -> dict[Key, Stage]:
    """Return the stages of a study, in the order of its parts. Raises InputError.

    A contradiction to existing labelled objects is rejected here, before anything is changed.
    """
    study = Study.objects.filter(name=file.name).first()
    check_declared_in(file, study)
    stages: dict[Key, Stage] = {}
    for part in file.parts:
        stages[part.key] = stage_of(file, part, study, stages)
    return stages


def stage_of(file: StudyFile, part: Part, study: Study | None, before: dict[Key, Stage]) -> Stage:
    """Return the stage of one part, given the stages of those before it. Raises InputError."""
    absent = [key for key in part.needs if not before[key].exists]
    unfinished = [
        key
        for key in part.awaits
        if key not in absent and (before[key].actions or (part.awaits_people and before[key].waits))
    ]
    blocked = tuple(dict.fromkeys((*absent, *unfinished)))
    record = study and study.parts.filter(kind=part.key.kind, name=part.name).first()
    return KINDS[part.command](file, part, blocked, record or None)


def store(file: StudyFile) -> Study:
    """Store the file's text in the study, and return the study."""
    values = {
        "preset": file.preset,
        "options": file.options,
        "text": file.text,
        "sha256": file.sha256,
    }
    study, _ = Study.objects.update_or_create(name=file.name, defaults=values)
    return study


def link(study: Study, part: Part, position: int) -> None:
    """Record a part's object from the database, if it exists. Plans are those of campaigns."""
    kind, name = part.key.kind, part.name
    if kind == PLAN:
        return
    if kind == "judge":
        of: Any = Judge.objects.filter(rater__name=name).first()
    else:
        of = MODELS[kind]._default_manager.filter(name=name).first()
    if of is None:
        return
    values = {"position": position, kind: of}
    record, made = StudyPart.objects.update_or_create(
        study=study, kind=kind, name=name, defaults=values
    )
    if made and part.command == "load_batch":
        record.imported = {FILES: _digest(part.options["paths"])}
        record.save(update_fields=["imported"])


def _digest(paths: Sequence[Path]) -> str:
    found = hashlib.sha256()
    for path in paths:
        for each in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if each.is_file():
                with each.open("rb") as file:
                    found.update(hashlib.file_digest(file, "sha256").digest())
    return found.hexdigest()


def _loaded(
    file: StudyFile, part: Part, blocked: tuple[Key, ...], record: StudyPart | None
) -> Stage:
    paths, name = part.options["paths"], part.name
    batch = Batch.objects.filter(name=name).first()
    if batch is None:
        action = Action(part.first_step, lambda: run_command("load_batch", **part.options))
        return Stage(part, exists=False, actions=(action,), blocked=blocked)
    if all(path.exists() for path in paths):
        if part.options["extends"]:
            _check_extension(file, part, lineage_of(batch))
        else:
            _check_content(file, part, batch, record)
    return Stage(part, exists=True, behind=behind(batch), counts=dict(batch.counts))


def _check_content(file: StudyFile, part: Part, batch: Batch, record: StudyPart | None) -> None:
    """Reject files whose content has changed since the batch was loaded."""
    paths = part.options["paths"]
    if record and record.imported.get(FILES) == _digest(paths):
        return
    if read_digest(paths, part.options["format"]) != batch.digest:
        raise _changed(file, part)


def _check_extension(file: StudyFile, part: Part, lineage: Lineage | None) -> None:
    """Reject a batch that extends a different batch, or was loaded from different files."""
    source = part.options["extends"]
    if lineage is None or lineage.source.name != source:
        before = f"extends {lineage.source.name!r}" if lineage else "extends none"
        wrong = f"batch {part.name!r} is there, and {before} and not {source!r}"
        remedy = f"a batch never changes: write it as it was, or name [batch.{part.name}-2]"
        raise file.error(part, wrong, remedy, "extends")
    now = [each["sha256"] for each in file_facts(part.options["paths"])]
    if now != [each["sha256"] for each in lineage.files]:
        raise _changed(file, part)


def _changed(file: StudyFile, part: Part) -> InputError:
    first = part.options["paths"][0].name
    return file.error(
        part,
        f"batch {part.name!r} is loaded, and {first} has other content now",
        f"a loaded batch never changes: name the new one [batch.{part.name}-2], and let its "
        "campaigns carry on by continues",
        "files",
    )


def _derived(
    file: StudyFile, part: Part, blocked: tuple[Key, ...], record: StudyPart | None
) -> Stage:
    name, options = part.name, part.options
    batch = Batch.objects.filter(name=name).first()
    if batch is None:
        action = Action(part.first_step, lambda: run_command(part.command, **options))
        return Stage(part, exists=False, actions=(action,), blocked=blocked)
    rule = RULES[options["rule"]]
    expected = {
        "rule": rule.name,
        "batch": options["batch"],
        "from": campaigns_of(part.command, options),
        "set": stored_options(rule, make_options(rule, read_options(rule, options["set"]))),
    }
    if rule.decides:
        expected |= {"decided_by": options["decided_by"], "ties": options["ties"]}
    return derived_stage(file, part, batch, expected)


def _judge(
    file: StudyFile, part: Part, blocked: tuple[Key, ...], record: StudyPart | None
) -> Stage:
    there = Judge.objects.filter(rater__name=part.name).exists()
    options = part.options
    stores: tuple[Action, ...] = ()
    try:
        if there:
            run_command("create_judge", **options)
            return Stage(part, exists=True)
        about = next(
            (p for p in file.parts if p.protocol and p.protocol.is_named_by(options)), None
        )
        stores = () if about is None else tuple(_stores(file, about))
        if not stores:
            # A judge about a protocol that is not stored yet is checked when it is created.
            definition = command_called("create_judge").definition(options)
            draft(definition, known_team(options))
    except (JudgeError, ParamError, CommandError) as error:
        raise _part_error(file, part, str(error)) from error
    action = Action(part.first_step, lambda: run_command("create_judge", **options))
    return Stage(part, exists=False, actions=(*stores, action), blocked=blocked)


def _campaign(
    file: StudyFile, part: Part, blocked: tuple[Key, ...], record: StudyPart | None
) -> Stage:
    try:
        design, settings = _design(part), read_settings(part.options)
        rows = Campaign.objects.select_related("batch", "protocol_file")
        campaign = rows.filter(name=part.name).first()
        if campaign is None:
            if task := task_of(part.options["protocol"], part.protocol, part.options):
                checked_campaign(part.name, task, Batch(), design)
            stores = tuple(_stores(file, part))
    except (DesignError, CommandError) as error:
        raise _part_error(file, part, str(error)) from error
    except ProtocolError as error:
        raise _part_error(file, part, str(error), "protocol") from error
    imported = record.imported if record else {}
    if campaign is None:
        create = Action(part.first_step, lambda: run_command("create_campaign", **part.options))
        actions = (*stores, create, *_imports(file, part, imported), *_runs(part, None))
        return Stage(part, exists=False, actions=actions, blocked=blocked)
    _check_design(file, part, campaign, design)
    changes = tuple(_changes(campaign, settings, part.options["pool"]))
    imports = _imports(file, part, imported)
    actions = (*changes, *imports, *_runs(part, campaign))
    places = answer_totals(campaign)
    waits = () if imports or not places.open else (waiting(campaign, places),)
    counts = {"items": places.items, "asked": places.asked, "answered": places.answered}
    return Stage(part, True, actions, waits, blocked, counts=counts)


def _stores(file: StudyFile, part: Part) -> Iterator[Action]:
    """Yield the action that stores a campaign's protocol, unless the team has it."""
    if part.protocol is None:
        return
    team = team_option(part.options)
    try:
        stored = part.protocol.is_stored(team)
    except InputError as error:
        raise file.error(part, "its protocol cannot be stored", str(error), "protocol") from error
    if not stored:
        yield Action(part.protocol.summary, partial(part.protocol.store, team))


def _design(part: Part) -> Design:
    options = part.options
    numbers = options["raters_per_item"], options["overlap"], options["human_share"]
    return design_of(*numbers, options["option"])


def _check_design(file: StudyFile, part: Part, campaign: Campaign, design: Design) -> None:
    """Reject a campaign whose design differs from the file's, since designs never change."""
    before, now = asdict(stored_design(campaign)), asdict(design)
    of = {"protocol": part.options["protocol"], "batch": part.options["batch"]}
    named = named_in(campaign, part.options["protocol"])
    before |= {"protocol": named, "batch": campaign.batch.name}
    now |= of
    for name in ("protocol", "batch", *asdict(design)):
        if before[name] != now[name]:
            wrong = f"campaign {part.name!r} has {name} {before[name]!r}, and here it is "
            remedy = (
                f"a campaign's design never changes: write it as it was, or name a new campaign "
                f"with continues = {part.name!r}"
            )
            key = name if name in part.options else "option"
            raise file.error(part, f"{wrong}{now[name]!r}", remedy, key)
    _check_protocol_file(file, part, campaign)


def _check_protocol_file(file: StudyFile, part: Part, campaign: Campaign) -> None:
    """Reject a protocol's file that has changed since the campaign was created with it."""
    now, before = part.protocol, campaign.protocol_file
    if now is None or (before is not None and before.digest == now.file.digest):
        return
    wrong = f"campaign {part.name!r} was created with another file of its protocol"
    remedy = (
        f"restore {now.path.name}, or give it a new version ({now.place}) and name a new campaign "
        f"with continues = {part.name!r}"
    )
    raise file.error(part, wrong, remedy, "protocol")


def _changes(campaign: Campaign, settings: CampaignSettings, pool: str | None) -> Iterator[Action]:
    if settings_differ(campaign, settings):
        yield Action("change its settings", partial(_change, campaign, settings))
    if pool not in (None, campaign.pool):
        yield Action(f"change its pool to {pool}", partial(_change_pool, campaign, pool))


def _change(campaign: Campaign, settings: CampaignSettings) -> list[str]:
    change(campaign, settings)
    return [f"Changed the settings of campaign {campaign.name!r}."]


def _change_pool(campaign: Campaign, pool: str) -> list[str]:
    set_pool(campaign, pool)
    return [f"The pool of campaign {campaign.name!r} is {pool}."]


def _imports(file: StudyFile, part: Part, imported: dict[str, str]) -> tuple[Action, ...]:
    return tuple(
        Action(
            f"import the labels of {labels.path.name}",
            partial(_import, file.name, part, labels),
        )
        for labels in part.labels
        if labels.path.exists() and _digest([labels.path]) not in imported
    )


def _import(study: str, part: Part, labels: ImportedFile) -> list[str]:
    digest = _digest([labels.path])
    options = {**labels.options, "paths": [labels.path], "campaign": part.name}
    lines = run_command("import_labels", **options)
    # If killed before this line, they are imported again, which changes nothing.
    record = StudyPart.objects.get(study__name=study, kind="campaign", name=part.name)
    record.imported[digest] = labels.path.name
    record.save(update_fields=["imported"])
    return lines


def _runs(part: Part, campaign: Campaign | None) -> Iterator[Action]:
    for asked in part.judges:
        left = None if campaign is None else planning.remaining_requests(campaign, asked.judge)
        if left == 0:
            continue
        many = "" if left is None else f" ({left} requests)"
        yield Action(f"ask judge {asked.judge}{many}", partial(_run, part, asked))


def _run(part: Part, asked: JudgeRequest) -> list[str]:
    return run_command("run_judge", **{**asked.terms, "campaign": part.name})


def waiting(campaign: Campaign, places: AnswerTotals) -> str:
    """Describe how many answers from people a campaign still lacks, and how to give them."""
    people = f"{campaign.raters_per_item} people" if campaign.raters_per_item > 1 else "one person"
    who = f"{people} an item"
    if campaign.raters_per_item > 1 and campaign.overlap < 1:
        who = f"{people} for {campaign.overlap:.0%} of them, and one for each of the others"
    shut = "" if campaign.takes_answers else ", which is closed: open it first"
    return (
        f"People give {places.open} of {places.asked} answers in campaign {campaign.name!r}{shut} "
        f"({places.items} items, {who}): at My work, or import their labels."
    )


def _part_error(file: StudyFile, part: Part, message: str, key: str = "") -> InputError:
    wrong, _, remedy = message.rstrip(".").rpartition("; ")
    return file.error(part, wrong or remedy, remedy if wrong else "correct it", key)


KINDS: dict[str, Callable[[StudyFile, Part, tuple[Key, ...], StudyPart | None], Stage]] = {
    "load_batch": _loaded,
    "derive_batch": _derived,
    "build_batch": prepared,
    "create_judge": _judge,
    "create_campaign": _campaign,
    "trust": planned,
    "compare_systems": planned,
}
"""By command, the function that inspects a part."""


@dataclass
class Applied:
    """The completed actions, as lines by part, and the stages afterwards."""

    done: dict[Key, list[str]] = field(default_factory=dict)
    stages: dict[Key, Stage] = field(default_factory=dict)

    @property
    def waits(self) -> list[str]:
        return [line for stage in self.stages.values() for line in stage.waits]


def apply(file: StudyFile, say: Callable[[Key, str], None] = lambda key, line: None) -> Applied:
    """Carry out the steps, part by part, and stop after each part that waits for people.

    `say` is called with a line when a step begins. Raises InputError once the steps before the
    error are done. Nothing that has labels is changed, and no step is left half done.
    """
    # Contradictions are rejected before anything is changed.
    stages_of(file)
    study = store(file)
    applied = Applied()
    for position, part in enumerate(file.parts):
        link(study, part, position)
        stage = stage_of(file, part, study, applied.stages)
        said = set[str]()
        while not stage.blocked and (todo := [a for a in stage.actions if a.words not in said]):
            lines = applied.done.setdefault(part.key, [])
            lines += _do(file, stage, todo, study, position, say)
            said |= {action.words for action in todo}
            stage = stage_of(file, part, study, applied.stages)
            # Only a preparation is built once its other actions are done.
            if stage.exists:
                break
        applied.stages[part.key] = stage
        if part.key.kind == PLAN and part.key in applied.done:
            # A plan changes which queries of its campaign people are asked about.
            campaign = file.part("campaign", part.options["campaign"])
            applied.stages[campaign.key] = stage_of(file, campaign, study, applied.stages)
    for name, words in changed_in(file, study).items():
        say(Key(EVALUATOR, name), words)
        applied.done[Key(EVALUATOR, name)] = [words]
    declare_those_in(file, study)
    return applied


def _do(
    file: StudyFile,
    stage: Stage,
    todo: Iterable[Action],
    study: Study,
    position: int,
    say: Callable[[Key, str], None],
) -> list[str]:
    lines: list[str] = []
    for action in todo:
        say(stage.key, action.words)
        try:
            lines += action.do()
        except (CommandError, ValueError) as error:
            raise _failed(file, stage, error) from error
        link(study, stage.part, position)
    return lines


def _failed(file: StudyFile, stage: Stage, error: Exception) -> InputError:
    # A team may be given to the command as well, for all tables together.
    keys = {*keys_of(stage.part.command)} - {"team"}
    message = named_options(str(error), '{name} = "{value}"', keys)
    wrong, _, remedy = message.rstrip(".").rpartition("; ")
    return file.error(
        stage.part, wrong or remedy, remedy if wrong else "correct it and apply again"
    )
