"""What pages quote and claim is true: example output, examples of code, limits and names."""

from __future__ import annotations

import io
import json
import re
import sys
import tomllib
import types
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from django.core.checks import CheckMessage
from django.core.management import call_command
from django.db.models import F
from django.test import Client, override_settings
from django.urls import resolve
from pytest_django.live_server_helper import LiveServer

from analysis.campaigns.reports import campaign_report
from analysis.example_studies import EXAMPLES, files
from analysis.management.commands import demo
from annotation.campaign_setup.expected_widths import FEWEST_QUERIES, Assumptions
from annotation.imports.gold import EVERY
from annotation.models import Campaign, Item, LogInCount, Response, User, rater_of
from annotation.people.login_limits import digest_of
from annotation.protocols import PROTOCOLS
from annotation.protocols.schema import schema_of
from annotation.registry import STEPS
from config.apps import check_tls
from config.env import VARIABLES
from config.middleware import MAX_IDLE, MAX_SESSION
from config.rest import REST_FRAMEWORK
from datasets.api.hooks import HOURS
from datasets.api.permissions import SCOPES
from datasets.models import Batch
from judging.models import JudgeRun
from tandem.formats import FORMATS
from tandem.labels.selection import ReportOptions
from tests.annotation.protocol_cast import QUERY
from tests.cast import ROOT
from tests.docs.markdown import blocks, inline, read, written
from tests.docs.test_commands import command_and_arguments

TUTORIAL = "tutorials/researcher.md"


def run(*arguments: str) -> str:
    out = io.StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


@pytest.fixture
def study(transactional_db: None) -> str:
    """Create the demo's campaign with its labels, and return what the commands print."""
    files, campaign = demo.FILES, ("--campaign", demo.CAMPAIGN)
    return "\n".join(
        (
            run("load_batch", str(files / "batch.jsonl"), "--name", demo.BATCH),
            run("create_campaign", demo.CAMPAIGN, "--protocol", "report-coverage",
                "--batch", demo.BATCH, "--raters-per-item", str(demo.PEOPLE)),
            run("import_labels", str(files / "labels.jsonl"), *campaign),
        )
    )  # fmt: skip


def shown(line: str) -> bool:
    """Whether a line of an example is output; an ellipsis stands for omitted lines."""
    return bool(line.strip()) and "…" not in line and not re.match(r"\d\. ", line)


def quoted() -> list[str]:
    """The lines of the tutorial's examples and of its tables, which are the report's, up to where
    readers run a judge of their own."""
    before = read(TUTORIAL).partition("## 5.")[0]
    lines = [line for block in blocks(before, "text") for line in block.splitlines() if shown(line)]
    return lines + [line for line in before.splitlines() if line.startswith("|")]


def test_the_tutorial_quotes_what_the_commands_print(study: str) -> None:
    made = run("create_judge", demo.JUDGE, "--backend", "lexical")
    run("run_judge", "--campaign", demo.CAMPAIGN, "--judge", demo.JUDGE)
    report = campaign_report(Campaign.objects.get(name=demo.CAMPAIGN), ReportOptions())
    printed = set(f"{study}\n{made}\n{FORMATS['md'].render(report)}".splitlines())
    assert len(quoted()) > 60
    assert [line for line in quoted() if line not in printed] == []
    estimates = report["scores"]["coverage"]["estimate"].values()
    (method,) = {e["prediction_powered"]["method"].partition(";")[0] for e in estimates}
    assert f"`{method}`" in read(TUTORIAL)


def test_a_judge_asked_by_question_continues_as_the_tutorial_says(study: str) -> None:
    name = "lexical-by-question"
    said = run("create_judge", name, "--backend", "lexical", "--granularity", "unit")
    again = ("run_judge", "--campaign", demo.CAMPAIGN, "--judge", name)
    said += run(*again, "--limit", "50") + run(*again)
    (block, *_) = blocks(read(TUTORIAL).partition("## 5.")[2], "text")
    assert unnumbered(block) == unnumbered(said)


def test_the_administrators_tutorial_quotes_what_the_commands_print(transactional_db: None) -> None:
    page = read("tutorials/admin.md")
    said = run("load_batch", str(demo.FILES / "batch.jsonl"), "--name", "pilot")
    said += run("create_campaign", "pilot-coverage", "--protocol", "report-coverage",
                "--batch", "pilot", "--raters-per-item", "3")  # fmt: skip
    said += run("create_judge", "floor", "--backend", "lexical")
    for _ in range(2):
        said += run("run_judge", "--campaign", "pilot-coverage", "--judge", "floor")
    lines = [line for block in blocks(page, "text") for line in block.splitlines()]
    assert unnumbered("\n".join(lines)) == unnumbered(said)


def unnumbered(text: str) -> list[str]:
    """The lines without the number of the run, which depends on what ran before."""
    return [re.sub(r"^Run \d+", "Run", line) for line in text.splitlines()]


def test_the_annotators_tutorial_explains_every_state_of_the_page() -> None:
    script = (ROOT / "static" / "js" / "status.js").read_text("utf-8")
    states, more = re.findall(r"^const (?:WORDS|MORE) = \{(.*?)^\};", script, re.M | re.S)
    said = re.findall(r'"([^"]+)"', states + more)
    table = read("tutorials/annotator.md").partition("## 5.")[2].partition("## 6.")[0]
    assert len(set(said)) > 10
    assert not [word for word in said if word not in table]


def example_of(page: str, opening: str) -> dict[str, Any]:
    """The names that a page's Python example defines."""
    (source,) = [block for block in blocks(read(page), "python") if block.startswith(opening)]
    module = types.ModuleType("example")
    module.__dict__["__file__"] = str(ROOT / "docs" / "example.py")
    exec(compile(source, page, "exec"), module.__dict__)
    return module.__dict__


def test_the_example_protocol_makes_items() -> None:
    page = "how-to/add-a-protocol.md"
    with pytest.MonkeyPatch.context() as patch:
        declared = types.ModuleType("clarity")
        vars(declared).update(example_of(page, '"""Clarity'))
        patch.setitem(sys.modules, "tandem.protocols.clarity", declared)
        protocol = example_of(page, '"""The items of clarity')["PROTOCOL"]
    items = list(protocol.make_items(QUERY, protocol.variables))
    assert [item.key for item in items] == [report.id for report in QUERY.reports]
    assert [unit.key for unit in items[0].units] == ["r#1", "r#2"]
    assert schema_of(protocol, (), ()).variable("clear") is not None


def test_the_example_script_says_why_it_was_refused(study: str, live_server: LiveServer) -> None:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("TANDEM_SITE", live_server.url)
        environment.setenv("TANDEM_TOKEN", "tandem_nobody")
        with pytest.raises(SystemExit, match=r"^401: .*error"):
            example_of("how-to/use-the-api.md", '"""Answers')


def test_the_message_about_a_missing_highlight_is_quoted_exactly() -> None:
    said = (ROOT / "static" / "js" / "sheet.js").read_text("utf-8")
    (line,) = re.findall(r't\("\{word\}( needs a highlight: [^"]+)"', said)
    page = " ".join(read("tutorials/annotator.md").split())
    assert f"Yes{line}" in page
    words = PROTOCOLS["report-coverage"].variables[0].words
    assert all(f"**{word}**" in page for word in words.values())


def test_the_start_up_error_about_tls_is_quoted_exactly() -> None:
    (warning,) = check_tls_alone()
    assert f"Not started: ({warning.id}) {warning.msg}" in read("how-to/deploy.md")
    assert f"({warning.id}) {warning.msg}" in read("how-to/troubleshooting.md")


def check_tls_alone() -> list[CheckMessage]:
    with override_settings(PLAIN_HTTP=False, PROXIES=0):
        return check_tls()


def test_the_documented_api_limits_match_the_settings() -> None:
    rules = read("how-to/use-the-api.md").partition("## Rules")[2]
    rates = REST_FRAMEWORK["DEFAULT_THROTTLE_RATES"]
    scripts = {
        "user": "600/min",
        "report": "120/h",
        "export": "12/h",
        "import": "60/h",
        "invite": "60/h",
    }
    assert rates == scripts | {"join": "20/h", "arrive": "60/h"}
    assert all(f"{rate.partition('/')[0]} " in rules for rate in scripts.values())
    people = read("how-to/people.md")
    assert "20 tries an hour from one address" in people
    assert "60 arrivals an hour from one address" in people


def test_sessions_last_as_long_as_the_pages_say() -> None:
    hours, days = MAX_IDLE // 3600, MAX_SESSION // 86400
    assert f"{hours} hours after the last request, {days} days at most" in read("privacy.md")
    assert f"{hours} hours after the last request, and {days}" in read("how-to/deploy.md")


def test_the_readme_and_the_pages_create_the_first_account_by_the_same_command() -> None:
    command = "docker compose exec web python manage.py create_account"
    assert command in read("how-to/deploy.md")
    assert command in (ROOT / "README.md").read_text("utf-8")


def test_the_example_script_answers_an_item(
    study: str, live_server: LiveServer, capsys: pytest.CaptureFixture[str]
) -> None:
    Campaign.objects.update(name="study", pool="open")
    # The imported answers take all slots, so that one more person is asked.
    Item.objects.update(quota=F("quota") + 1)
    ada = User.objects.create_user("ada", role=User.Role.ANNOTATOR)
    capsys.readouterr()
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("TANDEM_SITE", live_server.url)
        environment.setenv("TANDEM_TOKEN", run("create_token", "ada").strip())
        example_of("how-to/use-the-api.md", '"""Answers')
    assert capsys.readouterr().out == "saved as revision 1\n"
    answer = Response.objects.get(assignment__rater__user=ada)
    assert set(answer.labels.values_list("value", flat=True)) == {"no"}


def test_the_example_that_sets_up_a_study_does_so_once(
    study: str, live_server: LiveServer, capsys: pytest.CaptureFixture[str]
) -> None:
    Batch.objects.update(name="pilot")
    User.objects.create_user("rita", role=User.Role.RESEARCHER)
    run("create_judge", "overlap", "--backend", "lexical")
    scopes = ("--scope", "read", "--scope", "manage", "--scope", "judge")
    token = run("create_token", "rita", *scopes).strip()
    capsys.readouterr()
    for _ in range(2):
        with pytest.MonkeyPatch.context() as environment:
            environment.setenv("TANDEM_SITE", live_server.url)
            environment.setenv("TANDEM_TOKEN", token)
            example_of("how-to/use-the-api.md", '"""Sets up')
    first, second = capsys.readouterr().out.split("run queued with 30 open\n")[1:]
    assert first == second == "coverage until 2099-12-31T23:59:59Z\n"
    assert JudgeRun.objects.get().limit == 20
    assert Campaign.objects.filter(name="coverage").count() == 1


def test_the_documented_scopes_match_the_code() -> None:
    table = read("how-to/use-the-api.md").partition("| scope |")[2].partition("`--scope`")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == list(SCOPES)
    assert f"for {HOURS} hours" in " ".join(read("how-to/use-the-api.md").split())


def test_the_documented_preparation_addresses_match_the_api() -> None:
    section = read("how-to/prepare-a-batch.md").partition("## By a script")[2].partition("\n## ")[0]
    found = re.findall(r"^\| `(GET|POST) ([^`?]+)", section, re.MULTILINE)
    assert len(found) == 7
    for method, path in found:
        view: Any = resolve("/api/v1/" + path.replace("ID", str(UUID(int=1)))).func
        assert method in view.cls.roles, path


@pytest.mark.parametrize("page", ["how-to/bring-labels.md", "how-to/run-a-study.md"])
def test_example_lines_are_valid_json(page: str) -> None:
    lines = [line for block in blocks(read(page), "json") for line in block.splitlines()]
    assert lines
    assert all(isinstance(json.loads(line), dict) for line in lines)


def test_every_named_environment_variable_exists() -> None:
    compose = (ROOT / "compose.yaml").read_text("utf-8")
    found = {code.partition("=")[0] for text in written().values() for code in inline(text)}
    named = {
        name for name in found if re.fullmatch(r"TANDEM_[A-Z_]+|[A-Z]+_(?:URL|HOSTS|KEY)", name)
    }
    of_readers = {
        "JUDGE_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "TANDEM_SITE", "TANDEM_TOKEN",
    }  # fmt: skip
    assert not [n for n in named - set(VARIABLES) - of_readers if f"{{{n}:" not in compose]


def lines_of(page: str, command: str) -> Iterator[list[str]]:
    """The command and its arguments for each line of a page that calls it through the program."""
    for block in blocks(read(page), ""):
        for line in block.splitlines():
            program, _, rest = line.partition(" ")
            if program == "tandem":
                name, arguments = command_and_arguments(rest)
                if name == command:
                    yield [name, *arguments]


def test_the_commands_about_accounts_do_what_the_page_says(db: None, client: Client) -> None:
    ada = User.objects.create_user("ada", role=User.Role.ANNOTATOR)
    pseudonym = rater_of(ada).name
    token = run("create_token", "ada").strip()
    client.force_login(ada, "django.contrib.auth.backends.ModelBackend")
    assert client.get("/tasks/").status_code == 200
    guesses, unlock, factors, email, unlink, shown, role, off, on, end = lines_of(
        "how-to/accounts.md", "person"
    )
    LogInCount.objects.create(kind="address", account=digest_of("ada"), wrong=3)
    assert "within a day: 3" in run(*guesses)
    run(*unlock)
    assert not LogInCount.objects.filter(kind="address").exists()
    assert "has no second factor" in run(*factors)
    assert "ada@example.org" in run(*email)
    assert "has no linked OIDC log-in" in run(*unlink)
    assert pseudonym in run(*shown)
    run(*role)
    assert client.get("/tasks/").status_code == 302
    answer = client.get("/api/v1/", headers={"authorization": f"Token {token}"})
    assert answer.status_code == 401
    run(*off)
    ada.refresh_from_db()
    assert (ada.role, ada.is_active) == (User.Role.RESEARCHER, False)
    run(*on)
    ada.refresh_from_db()
    assert ada.is_active
    client.force_login(ada, "django.contrib.auth.backends.ModelBackend")
    assert client.get("/tasks/").status_code == 200
    run(*end)
    assert client.get("/tasks/").status_code == 302


def test_a_design_is_previewed_sampled_and_changed_as_the_page_says(db: None) -> None:
    page = "how-to/design-a-campaign.md"
    run("load_batch", str(demo.FILES / "batch.jsonl"), "--name", "study")
    tries = list(lines_of(page, "create_campaign"))
    assert len(tries) == 2
    for line in tries:
        assert "Nothing is stored." in run(*line)
    assert not Campaign.objects.exists()
    run(*tries[1][: tries[1].index("--dry-run")])
    (check,) = [line for line in lines_of(page, "draws") if "--check" in line]
    assert "agrees with its seed" in run(*check)
    registered, terms, _, gold, close, again, archive = lines_of(page, "set_campaign")
    run(*registered)
    assert "deadline 2026-12-31" in run(*terms)
    run(*gold)
    assert "is closed" in run(*close)
    assert "is open" in run(*again)
    assert "is archived" in run(*archive)
    study = Campaign.objects.get()
    assert (study.gold_every, study.qualify, study.deadline) == (20, 0.8, None)
    assert study.registered_queries == 50


def test_a_dry_run_assumes_what_the_page_says() -> None:
    page = " ".join(read("how-to/design-a-campaign.md").split())
    given = Assumptions()
    assert f"true kappa is {given.kappa:g}, half of the answers" in page
    assert f"intraclass correlation of {given.icc:g}" in page
    assert f"a correlation of {given.correlation:g} with people's" in page
    assert (given.prevalence, EVERY, FEWEST_QUERIES) == (0.5, 10, 10)
    assert "one in each ten" in page
    assert "Below ten queries" in page


def test_a_new_password_ends_log_ins_and_tokens_as_the_page_says(db: None, client: Client) -> None:
    ada = User.objects.create_user("ada", role=User.Role.ANNOTATOR)
    token = run("create_token", "ada").strip()
    client.force_login(ada, "django.contrib.auth.backends.ModelBackend")
    # What `changepassword` does once it has asked for the new password.
    ada.set_password("a-long-password-9")
    ada.save()
    assert client.get("/tasks/").status_code == 302
    answer = client.get("/api/v1/", headers={"authorization": f"Token {token}"})
    assert answer.status_code == 401


@pytest.mark.parametrize("preset", EXAMPLES)
def test_a_study_of_released_data_has_no_name_of_the_presets_study(preset: str) -> None:
    """Otherwise one of the two is refused after the other has been applied."""
    taken = names_in(files(preset, preset)["study.toml"])
    texts = blocks(read("how-to/paper-tables.md"), "toml")
    for released in (each for each in texts if f'name = "{preset}-released"' in each):
        assert not names_in(released) & taken


def names_in(study: str) -> set[str]:
    """The names of the batches, campaigns and judges of a study file."""
    tables = tomllib.loads(study)
    return {name for kind in ("batch", "campaign", "judge") for name in tables.get(kind, ())}


def test_every_step_of_preparation_is_listed() -> None:
    table = read("how-to/prepare-a-batch.md").partition("| step |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `([\w-]+)` \|", table, re.MULTILINE) == list(STEPS)
