"""The form that defines a judge."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from typing import Any

from django import forms
from django.forms.boundfield import BoundWidget

from annotation.models import Rater, User
from datasets.access import TeamError, managed_teams, team_for
from datasets.models import Team
from datasets.text import as_sentence
from judging import servers
from judging.backends import HOSTED
from judging.backends.base import SetupError
from judging.backends.contents import (
    ADDRESSES,
    HEADERS,
    ContentsError,
    check_omitted,
    is_deterministic,
)
from judging.backends.decisions import OWN_PARAMS
from judging.judge_file.document import MAX_LENGTH
from judging.judge_file.template import FileError
from judging.judges import (
    LONGEST_NAME,
    MAX_LENGTHS,
    MAX_PROMPT_LENGTH,
    OF_DECISIONS,
    Definition,
    JudgeError,
    read_new_judge_file,
)
from judging.models import Judge
from judging.params import ON_PAGES, PARAMS, ParamError, Value, read_params
from judging.prompts.template import PromptError, read_prompt
from judging.servers import GUARDED, KEY_PREFIX, Server
from tandem.names import has_controls, why_no_name
from tandem.options import Option

NEW = "new"
DRAFT = "new judge"
TEXTS = {"file": "file", "own": "prompt"}
MOST_TRIED = 1024
BACKENDS = (
    ("openai", "OpenAI’s protocol, as most servers"),
    ("anthropic", "Anthropic’s protocol"),
    ("decisions", "A decision model"),
    ("lexical", "Word overlap"),
)
KINDS = (
    (
        "A language model",
        "Reads the item and writes an answer, with quotes and reasons. Its server speaks:",
        ("openai", "anthropic"),
    ),
    ("", "Gives each code a probability and writes no text, so nothing has to be parsed.",
     ("decisions",)),
    ("", "Compares words: no server, no cost. It is the baseline that a model has to beat.",
     ("lexical",)),
)  # fmt: skip
"""The kinds of judge: a title for several backends, a description, and the backends."""
PROMPTS = (
    ("protocol", "Our prompt, which comes with the campaign’s protocol"),
    ("own", "Own prompt, answered in our form"),
    ("file", "A judge file: its own messages, and its own way of reading the answer"),
)
GRANULARITIES = (
    (Judge.Granularity.ITEM, "All units of an item in one request: fewer tokens"),
    (Judge.Granularity.UNIT, "One request for each unit: no answer depends on another"),
)


class JudgeForm(forms.Form):
    """A judge as a person defines it in the browser. A valid form gives a `definition`."""

    name = forms.CharField(
        max_length=150,
        error_messages={"required": "Give it a name."},
        help_text="Reports and exports list its labels under this name, which has to be new.",
    )
    backend = forms.ChoiceField(label="What answers", choices=BACKENDS, widget=forms.RadioSelect)
    server = forms.ChoiceField(
        required=False, help_text="A server with its key, or an address of your own."
    )
    base_url = forms.CharField(
        label="Another address",
        required=False,
        max_length=500,
        help_text="Such as https://host.example/v1. It must be public, unless the operator "
        "has listed it in TANDEM_JUDGE_HOSTS.",
    )
    api_key_env = forms.CharField(
        label="Key variable",
        required=False,
        max_length=100,
        help_text=f"The name of an environment variable, {KEY_PREFIX}…, never the key itself. "
        "Empty if the server needs no key.",
    )
    model = forms.CharField(
        required=False, max_length=200, help_text="The server’s name for it, such as gpt-4.1-mini."
    )
    family = forms.CharField(
        required=False,
        max_length=MAX_LENGTHS["family"],
        help_text="Whose model it is, as the batch names the families of its answers. Results then "
        "show how it treats answers of its own family.",
    )
    prompt_from = forms.ChoiceField(
        label="Prompt", choices=PROMPTS, required=False, widget=forms.RadioSelect
    )
    file = forms.CharField(
        label="Judge file",
        required=False,
        strip=False,
        max_length=MAX_LENGTH,
        widget=forms.Textarea(attrs={"rows": 18, "spellcheck": "false", "wrap": "off"}),
        help_text="TOML with messages, parser, parameters and fixtures. Parameters below win over "
        "those of the file.",
    )
    prompt = forms.CharField(
        label="Own prompt",
        required=False,
        strip=False,
        max_length=MAX_PROMPT_LENGTH,
        widget=forms.Textarea(attrs={"rows": 12, "spellcheck": "false"}),
        help_text="The text before a line --- is "
        "the system message. {texts}, {units} and {answer} must be below that line; {guideline} "
        "and {query} may be anywhere.",
    )
    granularity = forms.ChoiceField(
        label="Requests", choices=GRANULARITIES, widget=forms.RadioSelect, initial="item"
    )

    def __init__(self, *args: Any, user: User, draft: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user, self.draft = user, draft
        self.file_params: dict[str, Value] = {}
        self.fields["name"].required = not draft
        self.servers = {server.name: server for server in servers.known_servers(user)}
        known = [(name, str(server)) for name, server in self.servers.items()]
        self.fields["server"] = _choice(self.fields["server"], [*known, (NEW, "Another address")])
        if user.role != User.Role.ADMIN:
            del self.fields["api_key_env"]
        teams = managed_teams(user)
        if len(teams) > 1:
            self.fields["team"] = forms.ModelChoiceField(
                teams, empty_label="Choose a team", required=not draft, to_field_name="name"
            )
        for name, param in ON_PAGES.items():
            self.fields[name] = forms.CharField(
                label=param.label,
                required=False,
                max_length=param.longest or 40,
                help_text=param.hint,
                widget=_widget(param),
            )

    @property
    def kinds(self) -> list[tuple[str, str, list[BoundWidget]]]:
        """The kinds of judge, each with its title, its description and its radio buttons."""
        radios = {radio.data["value"]: radio for radio in self["backend"]}
        return [(title, about, [radios[name] for name in names]) for title, about, names in KINDS]

    @property
    def param_groups(self) -> list[tuple[str, str, list[tuple[str, forms.BoundField]]]]:
        """The fields of parameters by purpose; groups and fields with the class of their models."""
        groups = []
        for title, params in groupby(ON_PAGES.values(), lambda param: param.group):
            fields = [(_used_by(param.name), self[param.name]) for param in params]
            used = {who for who, _ in fields}
            groups.append((title, used.pop() if len(used) == 1 else "", fields))
        return groups

    @property
    def has_more(self) -> bool:
        """Whether a field beyond server, model and prompt is filled in or wrong."""
        names = ("family", *ON_PAGES)
        given = any(self[name].value() for name in names)
        by_unit = self["granularity"].value() == Judge.Granularity.UNIT
        return given or by_unit or any(name in self.errors for name in (*names, "granularity"))

    def clean_family(self) -> str:
        family = str(self.cleaned_data["family"])
        if has_controls(family):
            raise forms.ValidationError("A family has one line; remove the line break.")
        return family

    def clean_name(self) -> str:
        name = str(self.cleaned_data["name"])
        if self.draft:
            return name or DRAFT
        if wrong := why_no_name(name, LONGEST_NAME):
            raise forms.ValidationError(f"A judge's name {wrong}; choose another.")
        if Rater.objects.filter(name=name).exists():
            raise forms.ValidationError("A rater has this name already; choose another.")
        return name

    @property
    def prompt_origin(self) -> str:
        """The source of the messages, one of `PROMPTS`: the choice, or the field that is filled
        in.
        """
        given = self.data if self.is_bound else self.initial
        if given.get("backend") == "lexical":
            return "protocol"
        if (chosen := given.get("prompt_from")) in dict(PROMPTS):
            return str(chosen)
        filled = (origin for origin, name in TEXTS.items() if str(given.get(name) or "").strip())
        return next(filled, "protocol")

    def clean_file(self) -> str:
        text = str(self.cleaned_data["file"]).replace("\r\n", "\n")
        if self.prompt_origin != "file":
            return ""
        if not text.strip():
            raise forms.ValidationError("Paste a judge file, or load one above.")
        try:
            self.file_params = read_new_judge_file(text, self.asking_team)[1]
        except FileError as error:
            line = f"Line {error.line}: " if error.line else ""
            raise forms.ValidationError(f"{line}{as_sentence(error)}") from error
        return text

    def clean_prompt(self) -> str:
        text = str(self.cleaned_data["prompt"]).replace("\r\n", "\n")
        if self.prompt_origin != "own":
            return ""
        if not text.strip():
            raise forms.ValidationError("Write a prompt, or choose ours above.")
        try:
            read_prompt(text)
        except PromptError as error:
            raise forms.ValidationError(as_sentence(error)) from error
        return text

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        self.params = self._params(data)
        if data.get("backend") in HOSTED:
            if not data.get("model"):
                self.add_error("model", "Enter the model that the server should run.")
            self.chosen = self._server(data)
            if self.chosen.base_url and (further := self.params.get(ADDRESSES)):
                self.chosen = self._guarded(self.chosen, further)
        return data

    @property
    def asking_team(self) -> Team | None:
        """The team whose protocols the judge may be about: the chosen one, or the only one."""
        given, teams = self.data if self.is_bound else self.initial, list(managed_teams(self.user))
        if len(teams) == 1:
            return teams[0]
        return next((team for team in teams if team.name == given.get("team")), None)

    def team(self) -> Team:
        """Return the team that the judge is for. Raises JudgeError."""
        chosen: Team | None = self.cleaned_data.get("team")
        try:
            return chosen or team_for(self.user)
        except TeamError as error:
            raise JudgeError(str(error)) from error

    def definition(self) -> Definition:
        """Return the definition from a valid form."""
        data = self.cleaned_data
        if data["backend"] == "lexical":
            return Definition(data["name"], "lexical", granularity=data["granularity"])
        # The default key is never sent to a server without a key.
        guarded = self.chosen.guarded or not self.chosen.variables
        return Definition(
            data["name"],
            data["backend"],
            data["model"],
            self.chosen.base_url,
            self.chosen.api_key_env,
            granularity=data["granularity"],
            params={
                **self.params,
                **({HEADERS: dict(self.chosen.headers)} if self.chosen.headers else {}),
                **({GUARDED: 1} if guarded else {}),
            },
            text=data["prompt"],
            file=data["file"],
            family=data["family"],
        )

    def _params(self, data: dict[str, Any]) -> dict[str, Value]:
        found: dict[str, Value] = {}
        omitted: list[str] = []
        for name in ON_PAGES:
            if not (text := (data.get(name) or "").strip()):
                continue
            try:
                given: dict[str, Any] = read_params([f"{name}={text}"])
            except ParamError as error:
                own = isinstance(error.__cause__, ContentsError)
                wrong = f"This {error.__cause__}." if own else f"Enter {PARAMS[name].help}."
                self.add_error(name, wrong)
                continue
            if data.get("backend") in HOSTED and not _applies(name, data["backend"]):
                self.add_error(name, "This model does not use it; leave it empty.")
            omitted += given.pop("omit", [])
            found |= given
        found |= {"omit": check_omitted(omitted)} if omitted else {}
        if found.get("isolate") and self.prompt_origin == "file":
            self.add_error("isolate", "The judge file sets this itself; leave it as it is.")
        sampling = {**self.file_params, **found}
        alike = data.get("backend") != "decisions" and is_deterministic(sampling)
        if found.get("samples", 1) != 1 and alike:
            wrong = "At temperature 0 all samples are equal; set a temperature, such as 0.7."
            self.add_error("samples", wrong)
        return found

    def _server(self, data: dict[str, Any]) -> Server:
        named = self.servers.get(data.get("server") or "")
        url = (data.get("base_url") or "").strip()
        headers: Any = self.params.get(HEADERS)
        if named and not url:
            if headers and headers != dict(named.headers):
                self.add_error(HEADERS, "Enter its address as another one, or choose a server "
                               "with these headers.")  # fmt: skip
            public = HOSTED[data["backend"]].public_url
            if named.base_url == HOSTED["openai"].public_url != public:
                self.add_error("server", "It does not speak this protocol; choose another server.")
            return named
        if not url:
            self.add_error("base_url", "Enter an address, or choose a server above.")
            return Server("")
        if named:
            self.add_error("server", "Choose “Another address” for an address of your own.")
        try:
            key = (data.get("api_key_env") or "").strip()
            return servers.new_server(url, key, self.user, headers)
        except SetupError as error:
            own = "api_key_env" if self._takes_keys else HEADERS if headers else "base_url"
            field = own if "key" in str(error) else "base_url"
            self.add_error(field, as_sentence(error))
            return Server("")

    def _guarded(self, first: Server, further: Any) -> Server:
        """Return the first server, guarded if the judge has any address that needs it.

        A further address is checked as the first one is, with the same key and headers.
        """
        if first.base_url in further:
            self.add_error(ADDRESSES, f"It repeats {first.base_url}; leave that out.")
        for url in further:
            known = self.servers.get(replace(first, base_url=url).name)
            try:
                known = known or servers.new_server(
                    url, first.api_key_env, self.user, dict(first.headers)
                )
            except SetupError as error:
                self.add_error(ADDRESSES, f"{url}: {as_sentence(error)}")
                continue
            first = replace(first, guarded=first.guarded or known.guarded)
        return first

    @property
    def _takes_keys(self) -> bool:
        return "api_key_env" in self.fields


def _applies(name: str, backend: str) -> bool:
    """Return whether judges of a backend with a server use a parameter."""
    return name in OF_DECISIONS if backend == "decisions" else name not in OWN_PARAMS


def _used_by(name: str) -> str:
    if name in OWN_PARAMS:
        return "of-decisions"
    return "" if name in OF_DECISIONS else "of-text"


def _widget(param: Option) -> forms.Widget:
    if param.lines:
        return forms.Textarea(attrs={"rows": param.lines, "spellcheck": "false"})
    return forms.Select(choices=param.choices) if param.values else forms.TextInput()


def _choice(field: forms.Field, choices: list[tuple[str, str]]) -> forms.ChoiceField:
    return forms.ChoiceField(required=False, choices=choices, help_text=field.help_text)
