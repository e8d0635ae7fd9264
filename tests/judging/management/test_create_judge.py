"""`create_judge`: a definition is checked once, and never changed."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.management.base import CommandError

from annotation.models import Rater
from annotation.protocols import PROTOCOLS
from judging.judge_backends import build_backend
from judging.judges import Definition, define
from judging.models import Judge
from judging.params import ParamError, read_params
from judging.prompts.request import request_hash
from judging.prompts.template import sha256_of
from tests.judging.backends.test_openai import REQUEST
from tests.judging.cast import command

pytestmark = pytest.mark.django_db
OPENAI = ("--backend", "openai", "--model", "m")


def create(*arguments: str) -> str:
    return command("create_judge", *arguments)


def refusal(*arguments: str) -> str:
    with pytest.raises(CommandError) as caught:
        create(*arguments)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_the_command_creates_a_judge_and_its_rater() -> None:
    assert create("floor", "--backend", "lexical").startswith("Created judge floor")
    judge = Judge.objects.get()
    assert (judge.rater.name, judge.rater.kind) == ("floor", "judge")
    assert (judge.backend, judge.granularity, judge.prompt, judge.params) == (
        "lexical",
        "item",
        "",
        {},
    )


def test_creating_the_same_judge_again_changes_nothing() -> None:
    create("j", *OPENAI, "--param", "temperature=0.5")
    assert create("j", *OPENAI, "--param", "temperature=0.50").startswith("Nothing to do")
    assert Judge.objects.count() == 1


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("change", "what"),
    [
        (("--model", "n"), "another model"),
        (("--granularity", "unit"), "another granularity"),
        (("--base-url", "http://h"), "another base url"),
        (("--param", "seed=1"), "another params"),
        (("--prompt", "report-coverage"), "another prompt"),
    ],
)
def test_another_definition_under_the_same_name_is_refused(
    change: tuple[str, str], what: str
) -> None:
    create("j", *OPENAI)
    assert what in refusal("j", *OPENAI, *change)


def test_a_persons_name_is_refused() -> None:
    Rater.objects.create(name="ada")
    assert "'ada' belongs to a person; choose another" in refusal("ada", "--backend", "lexical")


def test_the_name_of_an_imported_judge_is_refused() -> None:
    Rater.objects.create(name="gpt", kind="judge")
    assert "belongs to a judge from a file" in refusal("gpt", *OPENAI)


def test_the_key_is_named_and_never_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-canary")
    create("j", *OPENAI, "--api-key-env", "MY_KEY")
    create("k", *OPENAI)
    assert list(Judge.objects.values_list("api_key_env", flat=True)) == ["MY_KEY", "OPENAI_API_KEY"]
    assert "sk-canary" not in str(list(Judge.objects.values()))


def test_an_anthropic_judge_has_the_providers_key_and_refuses_unsupported_parameters() -> None:
    anthropic = ("--backend", "anthropic", "--model", "m")
    create("j", *anthropic)
    made = Judge.objects.get()
    assert (made.api_key_env, made.base_url) == ("ANTHROPIC_API_KEY", "")
    assert "no log probabilities" in refusal("k", *anthropic, "--param", "logprobs=5")
    assert "is for the vllm backend" in refusal("k", *anthropic, "--param", "max_model_len=4096")


def test_omitted_and_extra_body_keys_are_part_of_the_judge() -> None:
    changed = ("--param", "seed=null", "--param", 'extra_body={"top_k": 20}')
    create("j", *OPENAI, *changed)
    assert Judge.objects.get().params == {"omit": ["seed"], "extra_body": {"top_k": 20}}
    assert "Nothing to do" in create("j", *OPENAI, *changed)
    assert "exists with another params" in refusal("j", *OPENAI, "--param", "seed=null")


@pytest.mark.postgresql
def test_a_judge_reloaded_from_the_database_sends_the_same_bytes() -> None:
    """A database may store the keys of an object in a different order."""
    given = {"zz": 1, "a": {"yy": 1.5, "x": [{"dd": 1000.0, "c": "é"}]}, "bbbb": None}
    params = {"extra_body": given, "chat_template_kwargs": given["a"], "omit": ["seed"]}
    made, _ = define(Definition("j", "openai", "m", "http://h", params=params))
    again = Judge.objects.get()
    assert again.params == made.params
    assert len({request_hash(build_backend(each), REQUEST) for each in (made, again)}) == 1


def test_a_prompt_from_a_file_is_kept_with_its_hash(tmp_path: Path) -> None:
    path = tmp_path / "mine.md"
    path.write_text("Judge.\n---\n{texts}{units}{answer}", "utf-8")
    create("j", *OPENAI, "--prompt", str(path))
    judge = Judge.objects.get()
    assert (judge.prompt, judge.prompt_name) == (path.read_text("utf-8"), "mine.md")
    assert judge.prompt_sha256 == sha256_of(judge.prompt)


def test_a_protocols_prompt_can_be_named() -> None:
    create("j", *OPENAI, "--prompt", "rubric-passage")
    assert Judge.objects.get().prompt == PROTOCOLS["rubric-passage"].prompt


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"{texts}{units}{answer}{rubric}", "{rubric} is not a slot"),
        (b"{texts}{answer}", "the slot {units} is missing"),
        (b"\xff{texts}{units}{answer}", "is not UTF-8"),
        (b"{texts}{units}{answer}\0", "is not a prompt"),
    ],
)
def test_a_prompt_that_cannot_be_filled_is_refused(
    tmp_path: Path, content: bytes, expected: str
) -> None:
    path = tmp_path / "mine.md"
    path.write_bytes(content)
    message = refusal("j", *OPENAI, "--prompt", str(path))
    assert str(path) in message
    assert expected in message
    assert not Rater.objects.exists()


def test_an_unreadable_prompt_file_is_refused(tmp_path: Path) -> None:
    assert "cannot be read" in refusal("j", *OPENAI, "--prompt", str(tmp_path / "none.md"))
    assert "cannot be read" in refusal("j", *OPENAI, "--prompt", str(tmp_path))


def test_a_judge_with_a_server_needs_a_model() -> None:
    assert "give --model" in refusal("j", "--backend", "openai")


def test_an_address_with_a_password_is_refused() -> None:
    assert "remove it" in refusal("j", *OPENAI, "--base-url", "http://u:p@h/v1")


def test_parameters_are_typed() -> None:
    given = ["temperature=0.5", "seed=-3", "max_tokens=100", "logprobs=true", "timeout=2.5"]
    assert read_params(given) == {
        "temperature": 0.5,
        "seed": -3,
        "max_tokens": 100,
        "logprobs": 20,
        "timeout": 2.5,
    }


@pytest.mark.every_case
@pytest.mark.parametrize(
    "given",
    [
        "temperature=hot",
        "temperature=3",
        "temperature=nan",
        "seed=1.5",
        "max_tokens=0",
        "concurrency=0",
        "logprobs=21",
        "timeout=",
        "top_k=3",
        "temperature",
    ],
)
def test_an_invalid_parameter_is_refused(given: str) -> None:
    with pytest.raises(ParamError, match=given.split("=")[0]):
        read_params([given])


def test_a_repeated_parameter_is_refused() -> None:
    with pytest.raises(ParamError, match="twice"):
        read_params(["seed=1", "seed=2"])


def test_a_key_given_in_place_of_its_name_is_refused_without_quoting_it() -> None:
    said = refusal("a", *OPENAI, "--base-url", "http://localhost:1/v1", "--api-key-env", "sk-a b")
    assert "give its name, not the key" in said
    assert "sk-a" not in said
    assert not Judge.objects.exists()


@pytest.mark.parametrize(
    "unused", [("--model", "m"), ("--base-url", "http://x"), ("--param", "temperature=1")]
)
def test_the_lexical_judge_refuses_what_it_does_not_use(unused: tuple[str, str]) -> None:
    assert f"does not use {unused[0]}" in refusal("floor", "--backend", "lexical", *unused)


@pytest.mark.parametrize("option", ["--model", "--base-url"])
def test_a_value_too_long_for_the_database_is_refused(option: str) -> None:
    given = {"--model": "m", "--base-url": "http://localhost:1/v1"} | {option: "x" * 3000}
    arguments = [word for pair in given.items() for word in pair]
    assert "characters; shorten it" in refusal("a", "--backend", "openai", *arguments)


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("given", "what"),
    [
        (("a\nb", *OPENAI), "name has a line end; choose another"),
        (("j\u2028k", *OPENAI), "name has a line end; choose another"),
        (("j", "--backend", "openai", "--model", "m\x1b[31m"), "the model contains a line break"),
        (
            ("j", *OPENAI, "--base-url", "https://a.example\n/v1"),
            "the base url contains a line break",
        ),
        (("j", *OPENAI, "--api-key-env", "KEY\n"), "names an environment variable"),
        (("j", *OPENAI, "--prompt", "Judge.\n{texts}"), "in a file and name the file"),
    ],
)
def test_a_line_break_is_refused_in_plain_words(given: tuple[str, ...], what: str) -> None:
    with pytest.raises(CommandError) as caught:
        create(*given)
    assert what in str(caught.value)
    assert not Judge.objects.exists()
