"""The pages of judges: who may see them, and how a judge is defined there."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Campaign, Rater, User
from judging.judges import Definition
from judging.judges import define as define_judge
from judging.models import Judge
from judging.params import ON_PAGES
from judging.servers import GUARDED
from tests.judging.cast import judge, run_scripted
from tests.page_cast import client_of

pytestmark = pytest.mark.django_db

FORM = {
    "name": "llama",
    "backend": "openai",
    "granularity": "item",
    "server": "new",
    "base_url": "https://models.example.org",
    "model": "llama-8b",
}
PROMPT = "Judge.\n---\n{texts}\n{query}\n{units}\n{answer}"


def user(role: str) -> User:
    return User.objects.create(username=role, role=role)


@pytest.fixture
def rita(db: None) -> Client:
    return client_of(user("researcher"))


@pytest.fixture
def root(db: None) -> Client:
    return client_of(user("admin"))


def define(client: Client, **changes: Any) -> Any:
    return client.post(reverse("judge-new"), FORM | changes)


def problems(answer: Any) -> dict[str, str]:
    assert answer.status_code == 422
    return {name: " ".join(errors) for name, errors in answer.context["form"].errors.items()}


def test_an_annotator_sees_no_link_to_judges(campaign: Campaign) -> None:
    page = client_of(user("annotator")).get(reverse("work"))
    assert reverse("judges") not in page.content.decode()


def test_a_researcher_finds_the_page_of_judges_and_the_link_to_a_new_one(rita: Client) -> None:
    assert reverse("judges") in rita.get(reverse("campaigns")).content.decode()
    empty = rita.get(reverse("judges")).content.decode()
    assert "No judge yet" in empty
    assert reverse("judge-new") in empty


def test_the_list_of_judges_takes_a_constant_number_of_queries(
    rita: Client, campaign: Campaign, django_assert_num_queries: Any
) -> None:
    for n in range(5):
        run_scripted(campaign, judge(f"judge {n}"))
    rita.get(reverse("judges"))
    with django_assert_num_queries(7):
        page = rita.get(reverse("judges")).content.decode()
    assert all(f"judge {n}" in page for n in range(5))


def test_a_judge_is_created_from_the_form(rita: Client) -> None:
    answer = define(
        rita, prompt=PROMPT.replace("\n", "\r\n"), granularity="unit", temperature="0.5", seed="7"
    )
    made = Judge.objects.get()
    assert answer.headers["Location"] == reverse("judge", args=[made.pk])
    assert (made.rater.name, made.model) == ("llama", "llama-8b")
    assert made.base_url == "https://models.example.org/v1"
    assert (made.prompt, made.granularity) == (PROMPT, "unit")
    assert made.params == {"temperature": 0.5, "seed": 7, GUARDED: 1}
    page = rita.get(answer.headers["Location"]).content.decode()
    assert "llama-8b" in page
    assert "defined in the browser" in page


def test_whoever_came_from_a_campaign_returns_to_it_with_the_new_judge(
    rita: Client, campaign: Campaign
) -> None:
    start = reverse("campaign-judge-start", args=[campaign.pk])
    here = f"{reverse('judge-new')}?campaign={campaign.pk}"
    assert f'href="{here}"' in rita.get(start).content.decode()
    page = rita.get(here)
    assert page.context["attempt"]["campaign"].value() == campaign.pk
    assert f'action="{here}"' in page.content.decode()
    wrong = rita.post(here, FORM | {"model": ""})
    assert f'action="{here}"' in wrong.content.decode()
    answer = rita.post(here, FORM)
    made = Judge.objects.get()
    assert answer.headers["Location"] == f"{start}?judge={made.pk}"
    assert rita.get(answer.headers["Location"]).context["judge"] == made
    elsewhere = rita.post(f"{reverse('judge-new')}?campaign=999", FORM | {"name": "other"})
    assert elsewhere.headers["Location"].startswith("/judges/")


def test_every_parameter_is_in_one_group_which_opens_if_one_is_filled_in(rita: Client) -> None:
    form = rita.get(reverse("judge-new")).context["form"]
    grouped = [field.name for _, _, fields in form.param_groups for _, field in fields]
    assert grouped == [*ON_PAGES]
    assert len({title for title, _, _ in form.param_groups}) == len(form.param_groups) == 5
    closed, wrong = rita.get(reverse("judge-new")), define(rita, temperature="9")
    more = '<details class="card more-params"'
    assert f"{more}>" in closed.content.decode()
    assert f"{more} open>" in wrong.content.decode()
    define(rita, granularity="unit")
    like = rita.get(reverse("judge-new"), {"like": Judge.objects.get().pk})
    assert f"{more} open>" in like.content.decode()


def test_samples_and_a_repair_can_be_requested(rita: Client) -> None:
    define(rita, samples="5", temperature="0.7", repair="1")
    made = Judge.objects.get()
    assert made.params == {"temperature": 0.7, "samples": 5, "repair": 1, GUARDED: 1}


def test_the_form_changes_single_keys_of_the_request_body(rita: Client) -> None:
    changed = {
        "omit": "seed, response_format", "extra_body": '{"top_k": 20}', "api": "responses",
        "reasoning_effort": "low", "max_completion_tokens": "900",
    }  # fmt: skip
    define(rita, **changed)
    made = Judge.objects.get()
    assert made.params == {
        "omit": ["response_format", "seed"], "extra_body": {"top_k": 20}, "api": "responses",
        "reasoning_effort": "low", "max_completion_tokens": 900, GUARDED: 1,
    }  # fmt: skip
    like = rita.get(reverse("judge-new"), {"like": made.pk}).context["form"].initial
    assert {name: like[name] for name in changed} == changed | {
        "omit": "response_format,seed", "max_completion_tokens": 900,
    }  # fmt: skip
    assert "response_format,seed" in rita.get(reverse("judge", args=[made.pk])).content.decode()


def test_a_judge_of_anthropic_has_its_own_server_and_key(rita: Client) -> None:
    own = {"backend": "anthropic", "base_url": "", "temperature": "1"}
    server = "https://api.openai.com/v1 OPENAI_API_KEY"
    assert "does not speak this protocol" in problems(define(rita, **own, server=server))["server"]
    define(rita, **own, server="https://api.anthropic.com/v1 ANTHROPIC_API_KEY")
    made = Judge.objects.get()
    assert (made.backend, made.api_key_env) == ("anthropic", "ANTHROPIC_API_KEY")
    wrong = define(
        rita, **own | {"name": "b", "logprobs": "5", "base_url": "https://a.example.org"}
    )
    assert "gives no log probabilities" in wrong.content.decode()


def test_a_decision_model_has_its_own_parameters(rita: Client) -> None:
    own = {"backend": "decisions", "temperature": "", "max_tokens": ""}
    define(rita, **own, form="first-token", two_codes="choice", mass_floor="0.2")
    made = Judge.objects.get()
    assert made.backend == "decisions"
    assert made.params["form"] == "first-token"
    assert (made.params["two_codes"], made.params["mass_floor"]) == ("choice", 0.2)
    wrong = define(rita, **own | {"name": "other", "temperature": "1"})
    assert "does not use it" in problems(wrong)["temperature"]
    wrong = define(rita, name="other", mass_floor="0.2")
    assert "does not use it" in problems(wrong)["mass_floor"]


def test_a_judge_without_a_key_never_gets_the_default_one(rita: Client) -> None:
    define(rita)
    assert Judge.objects.get().api_key_env == ""


def test_a_lexical_judge_needs_no_model_and_no_server(rita: Client) -> None:
    define(rita, backend="lexical", model="", base_url="")
    made = Judge.objects.get()
    assert (made.backend, made.params, made.base_url) == ("lexical", {}, "")


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"name": ""}, "name", "Give it a name"),
        ({"model": ""}, "model", "Enter the model"),
        ({"base_url": ""}, "base_url", "Enter an address"),
        ({"base_url": "http://127.0.0.1:8000"}, "base_url", "not a public address"),
        ({"base_url": "http://169.254.169.254/latest"}, "base_url", "not a public address"),
        ({"base_url": "file:///etc/passwd"}, "base_url", "of the form http://HOST"),
        ({"base_url": "https://me:word@example.org"}, "base_url", "user"),
        ({"base_url": "https://example.org:22"}, "base_url", "and not 22"),
        ({"temperature": "9"}, "temperature", "0 to 2"),
        ({"name": "two\nlines"}, "name", "a judge's name has a line end"),
        ({"samples": "5"}, "samples", "all samples are equal"),
        ({"samples": "50", "temperature": "1"}, "samples", "from 1 to 20"),
        ({"repair": "2"}, "repair", "0 or 1"),
        ({"extra_body": "top_k"}, "extra_body", "This is not JSON"),
        ({"extra_body": '{"model": "x"}'}, "extra_body", "may not change 'model'"),
        ({"omit": "model"}, "omit", "not sent by itself"),
        ({"max_tokens": "many"}, "max_tokens", "whole number"),
        ({"prompt": "no slots"}, "prompt", "{texts} is missing"),
        ({"prompt": PROMPT + "{secret}"}, "prompt", "{secret} is not a slot"),
        ({"backend": "vllm"}, "backend", "vllm"),
        ({"server": "http://127.0.0.1:1/v1 ", "base_url": ""}, "server", "valid choice"),
    ],
)
def test_an_error_is_shown_at_its_field(
    rita: Client, changes: dict[str, str], field: str, words: str
) -> None:
    answer = define(rita, **changes)
    assert words.lower() in problems(answer)[field].lower()
    assert not Judge.objects.exists()
    page = answer.content.decode()
    assert f'id="id_{field}_error"' in page


def test_the_name_of_another_rater_is_refused(rita: Client) -> None:
    Rater.objects.create(name="llama", kind="human")
    assert "has this name already" in problems(define(rita))["name"]


def test_only_an_admin_may_name_a_key_for_a_new_address(rita: Client, root: Client) -> None:
    assert b"api_key_env" not in rita.get(reverse("judge-new")).content
    define(rita, api_key_env="TANDEM_KEY_A")
    assert Judge.objects.get().api_key_env == ""
    define(root, name="keyed", api_key_env="TANDEM_KEY_A")
    assert Judge.objects.get(rater__name="keyed").api_key_env == "TANDEM_KEY_A"


@pytest.mark.every_case
@pytest.mark.parametrize("key", ["SECRET_KEY", "DATABASE_URL", "OPENAI_API_KEY", "AWS_SECRET"])
def test_even_an_admin_may_name_only_keys_reserved_for_judges(root: Client, key: str) -> None:
    assert "TANDEM_KEY_" in problems(define(root, api_key_env=key))["api_key_env"]


def test_the_server_of_another_judge_can_be_chosen_with_its_key(root: Client, rita: Client) -> None:
    define(root, name="keyed", api_key_env="TANDEM_KEY_A")
    server = "https://models.example.org/v1 TANDEM_KEY_A"
    define(rita, server=server, base_url="")
    made = Judge.objects.get(rater__name="llama")
    assert made.api_key_env == "TANDEM_KEY_A"
    assert made.params[GUARDED] == 1


def test_a_server_of_the_operator_remains_trusted(rita: Client) -> None:
    judge("local", "openai", model="m", base_url="http://127.0.0.1:8001/v1", api_key_env="K")
    define(rita, server="http://127.0.0.1:8001/v1 K", base_url="")
    assert GUARDED not in Judge.objects.get(rater__name="llama").params


def test_a_listed_host_may_have_a_private_address(rita: Client, settings: Any) -> None:
    settings.TANDEM_JUDGE_HOSTS = ["vllm:9000"]
    define(rita, base_url="http://vllm:9000")
    assert Judge.objects.get().base_url == "http://vllm:9000/v1"


def test_a_judge_like_another_begins_with_all_its_settings(rita: Client) -> None:
    define(rita, prompt=PROMPT, temperature="0.5", family="llama family")
    assert Judge.objects.get().family == "llama family"
    page = rita.get(reverse("judge-new"), {"like": Judge.objects.get().pk})
    initial = page.context["form"].initial
    assert (initial["name"], initial["prompt"]) == ("llama 2", PROMPT)
    assert (initial["temperature"], initial["family"]) == (0.5, "llama family")
    assert rita.get(reverse("judge-new"), {"like": "999999999999"}).status_code == 200


def test_a_judge_like_one_of_the_operator_begins_with_its_server(rita: Client) -> None:
    definition = Definition("own", "openai", "m", "http://127.0.0.1:8000", "OWN_KEY")
    like = {"like": define_judge(definition)[0].pk}
    form = rita.get(reverse("judge-new"), like).context["form"]
    assert form.initial["server"] == "http://127.0.0.1:8000/v1 OWN_KEY"
    assert form.initial["server"] in form.servers


def test_a_custom_prompt_can_begin_with_that_of_a_protocol(rita: Client) -> None:
    page = rita.get(reverse("judge-new"), {"prompt": "report-coverage"})
    assert "{units}" in page.context["form"].initial["prompt"]


def test_a_prompt_in_the_form_is_never_read_as_a_path(rita: Client) -> None:
    assert "missing" in problems(define(rita, prompt="/etc/passwd"))["prompt"]
