"""The cost of a call follows from the price on its day."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError

from datasets.models import Team
from judging import list_prices as listing
from judging.costs import (
    PriceBook,
    Rates,
    cost_of_call,
    find_rates,
    format_money,
    longest_completion,
    price_book_of,
    tokens_in,
)
from judging.list_prices import PriceFileError, list_prices, read_amount, read_prices
from judging.models import Judge, JudgeRun, Lane, Price
from tests.judging.cast import command

RATES = Rates(Decimal("2.5"), Decimal("1.25"), Decimal("10"))
USAGE = {"prompt_tokens": 1000, "completion_tokens": 100}
CACHED = USAGE | {"prompt_tokens_details": {"cached_tokens": 800}}
MAY, JUNE = date(2026, 5, 1), date(2026, 6, 1)


def made(model: str, since: date, prompt: str, completion: str) -> None:
    Price.objects.create(
        model=model, since=since, prompt=prompt, cached=prompt, completion=completion
    )


def test_the_cost_of_a_call_is_that_of_its_prompt_and_completion() -> None:
    assert RATES.cost(USAGE) == Decimal("0.0035")


def test_cached_prompt_tokens_have_their_own_rate() -> None:
    # 200 at 2.5, 800 at 1.25 and 100 at 10 dollars for a million.
    assert RATES.cost(CACHED) == Decimal("0.0025")


@pytest.mark.every_case
@pytest.mark.parametrize(
    "usage",
    [
        {},
        {"prompt_tokens": 5},
        {"completion_tokens": 5},
        {"prompt_tokens": "5", "completion_tokens": 1},
        {"prompt_tokens": True, "completion_tokens": 1},
        {"prompt_tokens": -1, "completion_tokens": 1},
        {"prompt_tokens": 2**40, "completion_tokens": 1},
    ],
)
def test_a_cost_without_usage_is_unknown_and_not_zero(usage: dict[str, object]) -> None:
    assert RATES.cost(usage) is None


def test_cached_tokens_are_counted_up_to_those_of_the_prompt() -> None:
    usage = USAGE | {"prompt_tokens_details": {"cached_tokens": 5000}}
    assert tokens_in(usage) == (1000, 1000, 100)
    assert tokens_in(USAGE | {"prompt_tokens_details": None}) == (1000, 0, 100)


@pytest.mark.every_case
@pytest.mark.parametrize("details", [{}, {"cached_tokens": None}, {"cached_tokens": -1}, 7])
def test_an_invalid_count_of_cached_tokens_is_read_as_zero(details: object) -> None:
    assert tokens_in(USAGE | {"prompt_tokens_details": details}) == (1000, 0, 100)


@pytest.mark.every_case
@pytest.mark.parametrize(("count", "known"), [(0, True), (2**31 - 1, True), (2**31, False)])
def test_a_count_too_large_to_be_stored_is_ignored(count: int, known: bool) -> None:
    for name in ("prompt_tokens", "completion_tokens"):
        assert (tokens_in(USAGE | {name: count}) is not None) == known


def test_a_cost_is_rounded_to_the_stored_precision() -> None:
    assert Rates(Decimal("0.15"), Decimal(0), Decimal(0)).cost_of_tokens(1, 0, 0) == Decimal("0")
    assert Rates(Decimal("0.15"), Decimal(0), Decimal(0)).cost_of_tokens(10, 0, 0) == Decimal(
        "0.000002"
    )


def test_an_amount_is_shown_in_cents_and_never_as_zero() -> None:
    assert format_money(Decimal("1234.5")) == "1,234.50 US dollars"
    assert format_money(Decimal("0.0001")) == "0.01 US dollars"


def test_the_newest_price_up_to_the_day_applies(db: None) -> None:
    made("m", MAY, "1", "2")
    made("m", JUNE, "3", "4")
    assert find_rates("m", date(2026, 4, 30)) is None
    assert find_rates("m", date(2026, 5, 31)) == Rates(Decimal(1), Decimal(1), Decimal(2))
    assert find_rates("m", JUNE) == Rates(Decimal(3), Decimal(3), Decimal(4))
    assert find_rates("other", JUNE) is None


def test_the_cost_of_a_model_without_a_price_is_unknown(db: None) -> None:
    made("m", MAY, "2.5", "10")
    assert cost_of_call(USAGE, "m", JUNE) == Decimal("0.0035")
    assert cost_of_call(USAGE, "other", JUNE) is None


def test_a_run_looks_up_a_price_once_per_day(db: None, django_assert_num_queries: Any) -> None:
    made("m", JUNE, "1", "2")
    book = PriceBook("m")
    with django_assert_num_queries(2):
        assert [book.on(day) is None for day in (MAY, MAY, JUNE, JUNE)] == [
            True,
            True,
            False,
            False,
        ]


def test_a_price_of_a_team_applies_only_to_that_team(db: None) -> None:
    made("gpt-4.1-mini", MAY, "7", "8")
    own, other = Team.objects.get(), Team.objects.create(name="another")
    rates = Rates(Decimal(7), Decimal(7), Decimal(8))
    assert find_rates("gpt-4.1-mini", AFTER, team=own.pk) == rates
    assert find_rates("gpt-4.1-mini", AFTER, team=other.pk) is None
    run = JudgeRun(judge=Judge(model="gpt-4.1-mini", team=other), lane=Lane(endpoint=PUBLIC))
    assert price_book_of(run).on(AFTER) == LISTED
    run.lane = None
    assert price_book_of(run).on(AFTER) is None
    run.judge.team = own
    assert price_book_of(run).on(AFTER) == rates


def test_the_maximum_completion_is_read_from_either_parameter() -> None:
    assert longest_completion({"max_tokens": 5, "max_completion_tokens": 7}) == 5
    assert longest_completion({"max_completion_tokens": 7}) == 7
    assert longest_completion({}) is None


def test_the_command_writes_a_price(db: None) -> None:
    said = command(
        "create_price", "m", "--since", "2026-05-01", "--prompt", "2.5", "--cached", "1.25",
        "--completion", "10",
    )  # fmt: skip
    assert said.startswith("Created a price of m from 2026-05-01 on: 2.5 US dollars")
    assert find_rates("m", MAY) == RATES


def test_cached_tokens_cost_as_much_as_others_by_default(db: None) -> None:
    command("create_price", "m", "--since", "2026-05-01", "--prompt", "2", "--completion", "3")
    assert find_rates("m", MAY) == Rates(Decimal(2), Decimal(2), Decimal(3))


def test_a_second_price_for_a_day_is_refused(db: None) -> None:
    price = ("create_price", "m", "--since", "2026-05-01", "--prompt", "2", "--completion", "3")
    command(*price)
    with pytest.raises(CommandError, match="has a price from 2026-05-01 already"):
        command(*price)
    assert Price.objects.count() == 1


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--since", "1 May", "is not a day"),
        ("--prompt", "cheap", "is not a price"),
        ("--prompt", "nan", "is not a price"),
        ("--prompt", "-1", "is not a price"),
        ("--completion", "1e9", "is not a price"),
        ("--completion", "0.0000001", "more than 6 places"),
    ],
)
def test_an_invalid_price_is_refused(db: None, option: str, value: str, said: str) -> None:
    given = {"--since": "2026-05-01", "--prompt": "2", "--completion": "3"} | {option: value}
    arguments = [f"{name}={each}" for name, each in given.items()]
    with pytest.raises(CommandError, match=said):
        command("create_price", "m", *arguments)
    assert not Price.objects.exists()


def test_a_model_without_a_name_is_refused(db: None) -> None:
    with pytest.raises(CommandError, match="1 to 200 characters"):
        command("create_price", " ", "--since", "2026-05-01", "--prompt", "2", "--completion", "3")


PUBLIC = "https://api.openai.com/v1"
AFTER = date(2026, 12, 1)
LISTED = Rates(Decimal("0.4"), Decimal("0.1"), Decimal("1.6"))
ENTRY = "[[price]]\nmodels = {models}\nprompt = {prompt}\ncompletion = 1\nchecked = {checked}\n"


def test_every_list_price_is_dated_and_names_its_source() -> None:
    for price in list_prices():
        assert price.since >= date(2026, 11, 25)
        assert price.source.startswith("https://")
        assert price.wire
        assert price.host
        assert 0 <= price.cached <= price.prompt < price.completion


@pytest.mark.django_db
def test_a_list_price_applies_to_the_providers_own_address_from_its_day_on() -> None:
    assert find_rates("gpt-4.1-mini", AFTER, PUBLIC) == LISTED
    assert find_rates("gpt-4.1-mini", date(2026, 11, 25), PUBLIC) == LISTED
    assert find_rates("gpt-4.1-mini", date(2026, 11, 24), PUBLIC) is None
    assert find_rates("gpt-4.1-mini", AFTER, "http://127.0.0.1:8000/v1") is None
    assert find_rates("gpt-4.1-mini", AFTER) is None
    assert find_rates("of-nobody", AFTER, PUBLIC) is None


def test_the_newest_list_price_up_to_the_day_applies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = 'host = "a.example"\n'
    first, then = (
        ENTRY.format(models='["m"]', prompt=prompt, checked=day) + host
        for prompt, day in ((3, MAY), (2, JUNE))
    )
    for text in (first + then, then + first):
        (tmp_path / "prices.toml").write_text(text)
        read = read_prices(tmp_path / "prices.toml")
        monkeypatch.setattr(listing, "list_prices", lambda read=read: read)
        prices = {
            day: listing.listed_price("m", "https://a.example/v1", day) for day in (MAY, JUNE)
        }
        assert {day: price and price.prompt for day, price in prices.items()} == {MAY: 3, JUNE: 2}


@pytest.mark.django_db
def test_a_stored_price_takes_precedence_over_a_list_price() -> None:
    made("gpt-4.1-mini", date(2020, 1, 1), "7", "8")
    assert find_rates("gpt-4.1-mini", AFTER, PUBLIC) == Rates(Decimal(7), Decimal(7), Decimal(8))


@pytest.mark.django_db
def test_prices_of_a_file_are_stored_once(tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(
        '[[price]]\nmodels = ["a", "b"]\nprompt = "1.5"\ncompletion = "3"\nchecked = 2026-11-01\n',
        "utf-8",
    )
    assert "Created 2 prices; 0 existed already" in command("create_price", "--file", str(path))
    assert "Created 0 prices; 2 existed already" in command("create_price", "--file", str(path))
    assert find_rates("b", AFTER) == Rates(Decimal("1.5"), Decimal("1.5"), Decimal(3))
    output = command("create_price", "a", "--list")
    assert "a from 2026-11-01: 1.5" in output
    assert "b from" not in output


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("prices", "is not TOML"),
        ("a = 1", "has no"),
        ('[[price]]\nmodels = ["a"]\n', "its keys"),
        (ENTRY.format(models="[]", prompt=1, checked="2026-01-01"), "models"),
        (ENTRY.format(models='["a"]', prompt='"x"', checked="2026-01-01"), "is not a price"),
        (ENTRY.format(models='["a"]', prompt=1, checked='"soon"'), "is not a day"),
    ],
)
def test_an_invalid_price_file_is_refused_as_a_whole(tmp_path: Path, text: str, what: str) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(CommandError, match=what):
        command("create_price", "--file", str(path))
    assert not Price.objects.exists()


def test_an_error_in_a_price_file_names_the_path_and_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    with pytest.raises(PriceFileError, match=r"prices.toml: cannot be read \(No such file"):
        read_prices(path)
    entry = {"models": '["m"]', "prompt": 2, "checked": "2026-11-25"}
    for wrong, message in (
        ({"prompt": -1}, "price 2: prompt: '-1' is not a price"),
        ({"models": "[]"}, "price 2: models is not a list of names"),
        ({"models": '["m", " "]'}, "price 2: models is not a list of names"),
        ({"models": '"m"'}, "price 2: models is not a list of names"),
        ({"checked": '"soon"'}, "price 2: checked is not a day"),
        ({"checked": "2026-11-25T00:00:00"}, "price 2: checked is not a day"),
    ):
        path.write_text(ENTRY.format(**entry) + ENTRY.format(**entry | wrong))
        with pytest.raises(PriceFileError, match=message):
            read_prices(path)
    lines = ENTRY.format(**entry).splitlines(keepends=True)
    for text in (
        *("".join(lines[:n] + lines[n + 1 :]) for n in range(1, len(lines))),
        "".join([*lines, "discount = 1\n"]),
        "price = [1]",
    ):
        path.write_text(text)
        with pytest.raises(PriceFileError, match="price 1: its keys are not of models, prompt"):
            read_prices(path)
    path.write_text(ENTRY.format(**entry) + "[other]\n")
    with pytest.raises(PriceFileError, match="something else besides"):
        read_prices(path)
    path.write_text(ENTRY.format(**entry))
    (price,) = read_prices(path)
    assert (price.cached, price.completion) == (Decimal(2), Decimal(1)), "cached cost as others do"


def test_a_price_is_between_0_and_999999_dollars_with_six_decimal_places() -> None:
    for text in ("0", "999999", "0.000001"):
        assert read_amount(text) == Decimal(text)
    for text in ("-0.000001", "999999.000001", "0.0000001", "infinity"):
        with pytest.raises(ValueError, match=text):
            read_amount(text)


def test_the_name_of_a_model_has_up_to_200_characters(tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    entry = {"prompt": 2, "checked": "2026-11-25"}
    path.write_text(ENTRY.format(models=f'["{"m" * 200}"]', **entry))
    assert [price.model for price in read_prices(path)] == ["m" * 200]
    path.write_text(ENTRY.format(models=f'["{"m" * 201}"]', **entry))
    with pytest.raises(PriceFileError, match="models is not a list of names"):
        read_prices(path)
