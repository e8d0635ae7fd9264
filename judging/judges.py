"""Define a judge: its parameters are checked once, and it never changes afterwards."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import UUID

from django.db import transaction

from annotation.models import Campaign, Rater, User
from annotation.protocol_files import task_called
from audit.recording import record
from datasets.access import managed_by, team_for, there_are_several, visible_to_team
from datasets.models import Team, only_team
from judging.answer_files import ANSWERS, SCRIPTED, AnswerFileError, read_answers, writes
from judging.backends import HOSTED
from judging.backends.addresses import ENVIRONMENT_NAME
from judging.backends.base import SetupError
from judging.backends.contents import (
    ADDRESSES,
    HEADERS,
    LIMIT,
    STRUCTURE,
    check_omitted,
)
from judging.backends.decisions import OWN_PARAMS
from judging.backends.vllm_server import PARAM_FLAGS
from judging.judge_backends import backends_of
from judging.judge_file.completions import writer
from judging.judge_file.document import JudgeFile, own_protocol, read_file
from judging.judge_file.template import FileError
from judging.library import is_earlier_version
from judging.models import Judge, Key
from judging.params import ParamError, Value, add_omitted, check_params
from judging.prompts.template import PromptError, read_prompt, sha256_of
from judging.servers import GUARDED, variables_of, variables_of_judge, withheld_key
from tandem.files.toml import Lines
from tandem.names import has_controls, why_no_name

BASELINE = "lexical"
"""The backend that compares words, and the name of the judge that is offered first."""
MAX_PROMPT_LENGTH = 1_000_000
MAX_LENGTHS = {"model": 200, "base_url": 500, "api_key_env": 100, "family": 255}
ONE_LINE_FIELDS = ("model", "base_url", "family")
LONGEST_NAME = 150  # characters
ENGINE_PARAMS = ("concurrency", "workers", LIMIT, "timeout", "isolate")
OF_DECISIONS = {*OWN_PARAMS, *ENGINE_PARAMS, "samples", "extra_body", ADDRESSES, HEADERS}
"""The parameters that decision models use."""
DEFINITION_FIELDS = (
    "backend",
    "model",
    "base_url",
    "api_key_env",
    "prompt",
    "granularity",
    "params",
    "file",
    "family",
)


class JudgeError(ValueError):
    """A judge cannot be created. The message says what is wrong and what to do."""


@dataclass(frozen=True)
class Definition:
    """A judge as a person entered it.

    `prompt` is a file, or the name of a protocol. `text` is a checked prompt that replaces it.
    `file` is the text of a judge file, whose params apply unless `params` overrides them. If no key
    is named, the default key applies unless the params say `guarded`. `answers` is the labels file
    that a scripted judge replays.
    """

    name: str
    backend: str
    model: str = ""
    base_url: str = ""
    api_key_env: str = ""
    prompt: str = ""
    granularity: str = "item"
    params: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""
    file: str = ""
    answers: str = ""
    family: str = ""


def define(
    definition: Definition, team: Team | None = None, by: User | None = None
) -> tuple[Judge, bool]:
    """Return the judge, and whether it is new. An equal definition returns the existing judge.

    The judge belongs to `team`, by default the site's only one, and so does a new key. `by` is None
    for a command. Raises JudgeError if the definition cannot work, its name is taken, or its key is
    another team's.
    """
    team = team or only_team()
    judge = _judge(definition, team, _own_protocol(definition, team))
    judge.team, judge.made_by = team, by
    try:
        backends_of(judge)
    except SetupError as error:
        raise JudgeError(str(error)) from error
    with transaction.atomic():
        rater = Rater.objects.filter(name=definition.name).first()
        if rater is None:
            _check_new_file(judge)
            claim_key(judge)
            judge.rater = Rater.objects.create(name=definition.name, kind=Rater.Kind.JUDGE)
            judge.save()
            _record_creation(judge)
            return judge, True
        return _existing_judge(rater, judge), False


def baseline_judge(campaign: Campaign, user: User) -> Judge:
    """Return a judge that compares words and that the account may run.

    If there is none, it is created, for the campaign's team if the account manages that team.
    Raises JudgeError or TeamError.
    """
    known = managed_by(user, Judge.objects.filter(backend=BASELINE, base=None, granularity="item"))
    if judge := known.order_by("pk").first():
        return judge
    taken = set(Rater.objects.filter(name__startswith=BASELINE).values_list("name", flat=True))
    names = (BASELINE, *(f"{BASELINE}-{number}" for number in range(2, len(taken) + 3)))
    name = next(name for name in names if name not in taken)
    return define(Definition(name, BASELINE), team_for(user, like=campaign.team), user)[0]


def claim_key(judge: Judge) -> None:
    """Check that the judge's team may use its key, and assign an unowned key to the team.

    Raises JudgeError.
    """
    for variable in variables_of_judge(judge):
        Key.objects.get_or_create(
            variable=variable, defaults={"team": judge.team, "made_by": judge.made_by}
        )
    if variable := withheld_key(judge):
        raise JudgeError(
            f"the key in {variable} is not your team's; let an admin share it, or name another"
        )


def draft(definition: Definition, team: Team | None = None) -> Judge:
    """Return the judge of a definition without storing it. Raises JudgeError.

    Without a team, it can only be about a protocol of the site.
    """
    judge = _judge(definition, team, _own_protocol(definition, team))
    judge.rater = Rater(name=definition.name, kind=Rater.Kind.JUDGE)
    return judge


def params_under(judge: Judge, text: str) -> dict[str, Any]:
    """Return a judge's parameters with a different text of its judge file.

    Parameters from the current file are replaced by those of the new text. Parameters given in
    addition to the file stay. Raises JudgeError.
    """
    plain = Definition(
        judge.rater.name, judge.backend, judge.model, judge.base_url, judge.api_key_env,
        file=judge.file, granularity=judge.granularity, family=judge.family,
    )  # fmt: skip
    own = _judge(plain, None, judge.protocol_file_id).params
    beside = {name: value for name, value in judge.params.items() if own.get(name) != value}
    if "omit" in beside:
        beside["omit"] = [each for each in beside["omit"] if each not in own.get("omit", [])]
    changed = replace(plain, file=text, params=beside)
    return dict(_judge(changed, None, judge.protocol_file_id).params)


def _record_creation(judge: Judge) -> None:
    """Record the judge's whole definition in the audit log, with the name of its key."""
    definition = {name: getattr(judge, name) for name in DEFINITION_FIELDS}
    # Digests replace the text of the file, which the judge stores, and the replayed labels.
    definition["file_sha256"] = judge.file_sha256
    del definition["file"]
    definition["params"] = {name: v for name, v in judge.params.items() if name != ANSWERS}
    facts: dict[str, Any] = {"backend": judge.backend}
    if judge.file:
        facts["file"] = judge.file_sha256[:16]
    record("judge.made", of=judge, after=definition, **facts)


def _check(definition: Definition) -> None:
    if wrong := why_no_name(definition.name, LONGEST_NAME):
        raise JudgeError(f"a judge's name {wrong}; choose another")
    for name in ONE_LINE_FIELDS:
        if has_controls(getattr(definition, name)):
            what = name.replace("_", " ")
            raise JudgeError(
                f"the {what} contains a line break or another control character; remove it"
            )
    for name, longest in MAX_LENGTHS.items():
        if len(getattr(definition, name)) > longest:
            what = name.replace("_", " ")
            raise JudgeError(f"the {what} has over {longest} characters; shorten it")
    # The message does not repeat the value, since it may be the key itself.
    if definition.api_key_env and not ENVIRONMENT_NAME.fullmatch(definition.api_key_env):
        raise JudgeError("--api-key-env names an environment variable; give its name, not the key")
    if definition.backend in ("lexical", SCRIPTED):
        _check_unused(definition)
    if bool(definition.answers) != (definition.backend == SCRIPTED):
        raise JudgeError(
            "--answers names the labels file that a judge of the backend scripted replays; give "
            "both, or neither"
        )
    _check_params(definition)


def _check_params(definition: Definition) -> None:
    """Check that the backend uses each parameter. Values were checked when they were read."""
    backend, given = definition.backend, definition.params
    decided = OF_DECISIONS | {GUARDED}
    if backend == "decisions" and (unused := [name for name in given if name not in decided]):
        raise JudgeError(f"the decisions backend does not use --param {unused[0]}; leave it out")
    if backend != "decisions" and (own := [name for name in given if name in OWN_PARAMS]):
        raise JudgeError(f"--param {own[0]} is for the decisions backend; leave it out")
    if backend in HOSTED and ADDRESSES in given and not definition.base_url:
        raise JudgeError(f"--param {ADDRESSES} needs the first address; give it as --base-url")
    if backend in HOSTED and (own := [name for name in given if name in PARAM_FLAGS]):
        raise JudgeError(f"--param {own[0]} is for the vllm backend; leave it out")


def _check_unused(definition: Definition) -> None:
    sampling = [name for name in definition.params if name not in ENGINE_PARAMS]
    given = {
        "--model": definition.model,
        "--base-url": definition.base_url,
        "--prompt": definition.prompt,
        "--api-key-env": definition.api_key_env,
        f"--param {', '.join(sampling)}": sampling,
    }
    unused = [option for option, value in given.items() if value]
    if unused:
        what = definition.backend
        raise JudgeError(f"the {what} judge does not use {unused[0]}; leave it out")


def _with_file(definition: Definition, stored: UUID | None) -> Definition:
    """Complete a definition by its judge file. Raises JudgeError."""
    if not definition.file:
        return definition
    if definition.prompt or definition.text:
        raise JudgeError("the judge file has the messages; leave out --prompt")
    try:
        file, own = read_judge_file(definition.file, stored)
    except FileError as error:
        raise _file_error(error) from error
    decides = file.parser_name == "decisions"
    if decides != (definition.backend == "decisions"):
        other = "the decisions backend" if decides else "the parser decisions"
        raise JudgeError(f"decisions can be read only from decision models; choose {other}")
    if definition.backend == SCRIPTED:
        own = {}
    if not file.parser.whole and definition.backend in ("openai", "vllm"):
        # The probe would request a schema, which this judge's requests never do.
        own = add_omitted(own, [STRUCTURE])
    return replace(
        definition,
        params=_over(own, definition.params),
        granularity=file_granularity(file, definition.granularity),
    )


def _over(own: Mapping[str, Value], given: Mapping[str, Any]) -> dict[str, Any]:
    """Combine a file's parameters with separately given ones, which take precedence.

    A key omitted by either stays omitted, unless it is given a value separately.
    """
    both = {**own, **given}
    before, added = own.get("omit", []), given.get("omit", [])
    assert isinstance(before, list)
    if omitted := check_omitted([*(name for name in before if name not in given), *added]):
        both["omit"] = omitted
        return {name: value for name, value in both.items() if name not in added}
    both.pop("omit", None)
    return both


def read_judge_file(text: str, stored: UUID | None = None) -> tuple[JudgeFile, dict[str, Value]]:
    """Read a judge file and its parameters, about a team's `stored` protocol if there is one.

    Raises FileError, with the line if it is known.
    """
    file = read_file(text, stored)
    for name, value in {HEADERS: "NAME=VARIABLE", ADDRESSES: "URL,URL"}.items():
        if name in file.params:
            raise FileError(
                f"{name} belong to a judge, as its address and key do, and not to its file; give "
                f"them as --param {name}={value}",
                Lines(text).of("params", name),
            )
    extra = {"extra_body": file.extra_body} if file.extra_body else {}
    try:
        return file, check_params({**file.params, **extra})
    except ParamError as error:
        raise FileError(str(error), _line_of_param(file)) from error


def read_new_judge_file(text: str, team: Team | None = None) -> tuple[JudgeFile, dict[str, Value]]:
    """Read a judge file for a new judge of a team. Raises FileError.

    It is also refused if its parser cannot hold the rule of whole statements, unless a judge of the
    site has the same file: such judges run on.
    """
    file, params = read_judge_file(text, own_protocol(text, team))
    if file.shortcomings and not Judge.objects.filter(file=text).exists():
        raise file.shortcomings[0]
    return file, params


def published_among(names: Collection[str]) -> list[str]:
    """Return the names of the judges whose file is read as it was published."""
    files = Judge.objects.filter(rater__name__in=names, file__contains="as_published")
    rows = files.order_by("rater__name").values_list("rater__name", "file", "protocol_file")
    return [name for name, *of in rows if read_file(*of).as_published]


def _check_new_file(judge: Judge) -> None:
    """Raise JudgeError if a file cannot be a new judge's."""
    try:
        if judge.file:
            read_new_judge_file(judge.file, judge.team)
    except FileError as error:
        raise _file_error(error) from error


def _file_error(error: FileError) -> JudgeError:
    line = f"line {error.line}: " if error.line else ""
    return JudgeError(f"the judge file, {line}{error}")


def _line_of_param(file: JudgeFile) -> int | None:
    lines = Lines(file.text)
    for name, value in file.params.items():
        try:
            check_params({name: value})
        except ParamError:
            return lines.of("params", name)
    return lines.of("extra_body")


def file_granularity(file: JudgeFile, granularity: str) -> str:
    """Return the granularity of a file's judge: by unit if it shows or reads one unit at a time."""
    alone = not file.parser.several or file.isolate == "unit"
    return Judge.Granularity.UNIT if alone else granularity


def _own_protocol(definition: Definition, team: Team | None) -> UUID | None:
    try:
        return own_protocol(definition.file, team) if definition.file else None
    except FileError as error:
        raise _file_error(error) from error


def _judge(definition: Definition, team: Team | None, stored: UUID | None) -> Judge:
    """Return a judge, whose file is about the `stored` protocol, if it is about a team's."""
    definition = _with_file(definition, stored)
    _check(definition)
    text = definition.text or (_prompt(definition.prompt, team) if definition.prompt else "")
    hosted, guarded = HOSTED.get(definition.backend), definition.params.get(GUARDED)
    default_key = hosted.key_variable if hosted and not guarded else ""
    if definition.base_url and variables_of(
        definition.base_url, "", definition.params.get(HEADERS, {})
    ):
        # Another server's own credentials take the place of the public server's key.
        default_key = ""
    params, granularity = dict(definition.params), definition.granularity
    if not definition.file and params.get("isolate") == "unit":
        granularity = Judge.Granularity.UNIT
    if definition.backend == SCRIPTED:
        params |= _answers(definition, stored)
        if not writes(params[ANSWERS]):
            # If a unit has no label, the item's other units keep theirs.
            granularity = Judge.Granularity.UNIT
    return Judge(
        backend=definition.backend,
        model=definition.model,
        base_url=definition.base_url,
        api_key_env=definition.api_key_env or default_key,
        prompt=text,
        prompt_name=Path(definition.prompt).name[:200] if definition.prompt else "",
        prompt_sha256=sha256_of(text) if text else "",
        granularity=granularity,
        params=params,
        file=definition.file,
        file_sha256=sha256_of(definition.file) if definition.file else "",
        protocol_file_id=stored,
        family=definition.family,
    )


def _answers(definition: Definition, stored: UUID | None) -> dict[str, str]:
    """Return the labels that a scripted judge replays, in the form that its judge file reads."""
    path = Path(definition.answers)
    try:
        digest = sha256(path.read_bytes()).hexdigest()
    except OSError:
        digest = ""  # Reading the file reports the error.
    try:
        return dict(_answers_of(path, digest, definition.file, stored))
    except AnswerFileError as error:
        raise JudgeError(str(error)) from error


@lru_cache(maxsize=4)
def _answers_of(path: Path, digest: str, file: str, stored: UUID | None) -> dict[str, str]:
    """Like `_answers`, cached by the file's content, since a study needs it several times."""
    return read_answers(path, writer(read_file(file, stored)) if file else None)


def shown_params(judge: Judge) -> dict[str, Any]:
    """Return a judge's parameters as people entered them, with a digest for replayed labels."""
    return {name: v for name, v in judge.params.items() if name not in (GUARDED, ANSWERS)}


def _prompt(source: str, team: Team | None) -> str:
    if has_controls(source):
        raise JudgeError(
            "--prompt takes a file or the name of a protocol, not a text of several lines; save "
            "the text in a file and name the file"
        )
    path = Path(source)
    if not path.is_file() and (task := task_called(source, team)):
        return task.prompt
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise JudgeError(
            f"{source}: cannot be read ({error.strerror}); correct the path"
        ) from error
    except UnicodeDecodeError as error:
        raise JudgeError(f"{source}: is not UTF-8; save it as UTF-8") from error
    if "\0" in text or len(text) > MAX_PROMPT_LENGTH:
        raise JudgeError(f"{source}: is not a prompt; give a text file")
    try:
        read_prompt(text)
    except PromptError as error:
        raise JudgeError(f"{source}: {error}") from error
    return text


def _existing_judge(rater: Rater, definition: Judge) -> Judge:
    existing = Judge.objects.filter(rater=rater).first()
    rows = Judge.objects.filter(visible_to_team(Judge, definition.team), rater=rater)
    if there_are_several() and not rows.exists():
        raise JudgeError(f"the name {rater.name!r} is taken; choose another")
    if existing is None:
        kind = "a person" if rater.kind == Rater.Kind.HUMAN else f"a {rater.kind} from a file"
        raise JudgeError(f"the name {rater.name!r} belongs to {kind}; choose another")
    different = [
        name for name in DEFINITION_FIELDS if getattr(existing, name) != getattr(definition, name)
    ]
    if "file" in different and is_earlier_version(existing.file, definition.file):
        different.remove("file")
    if different:
        what = different[0].replace("_", " ")
        raise JudgeError(
            f"a judge {rater.name!r} exists with another {what}, and judges never change; choose "
            "a new name"
        )
    return existing
