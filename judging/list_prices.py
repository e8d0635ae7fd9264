"""Public list prices of providers' models, from a dated file, and price files in the same form.

A list price applies only to the provider's own host. A model of the same name on another server has
that server's price, which is not listed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tandem.files.toml import TomlError, read_toml

FILE = Path(__file__).with_suffix(".toml")
LONGEST_MODEL, HIGHEST, PLACES = 200, Decimal(999_999), 6
NEEDED = ("models", "prompt", "completion", "checked")
KNOWN = (*NEEDED, "wire", "host", "cached", "source")


class PriceFileError(ValueError):
    """A price file cannot be used. The message says what is wrong and what to do."""


@dataclass(frozen=True)
class ListPrice:
    """A model's price in US dollars per million tokens from a given day, and its source."""

    model: str
    since: date
    prompt: Decimal
    cached: Decimal
    completion: Decimal
    wire: str = ""
    host: str = ""
    source: str = ""


@cache
def list_prices() -> tuple[ListPrice, ...]:
    """Return the list prices that come with Tandem."""
    return read_prices(FILE)


def listed_price(model: str, endpoint: str, on: date) -> ListPrice | None:
    """Return the newest list price of a model that applies to an endpoint on a day."""
    host = urlsplit(endpoint).hostname
    found = [
        price
        for price in list_prices()
        if price.model == model and price.host == host and price.since <= on
    ]
    return max(found, key=lambda price: price.since, default=None)


def read_prices(path: Path) -> tuple[ListPrice, ...]:
    """Read a price file. Raises PriceFileError."""
    try:
        document = read_toml(path.read_text("utf-8"))
    except OSError as error:
        raise PriceFileError(f"{path}: cannot be read ({error.strerror}); correct it") from error
    except UnicodeDecodeError as error:
        raise PriceFileError(f"{path}: is not TOML ({error}); correct it") from error
    except TomlError as error:
        line = f", line {error.line}" if error.line else ""
        raise PriceFileError(f"{path}{line}: {error}; correct it") from error
    entries = document.get("price")
    if set(document) != {"price"} or not isinstance(entries, list):
        raise PriceFileError(f"{path}: has no [[price]], or something else besides; correct it")
    return tuple(
        price for n, entry in enumerate(entries, start=1) for price in _prices(entry, path, n)
    )


def _prices(entry: Any, path: Path, number: int) -> Iterator[ListPrice]:
    where = f"{path}, price {number}"
    if not isinstance(entry, dict) or set(entry) - set(KNOWN) or set(NEEDED) - set(entry):
        raise PriceFileError(f"{where}: its keys are not of {', '.join(KNOWN)}; correct them")
    models, since = entry["models"], entry["checked"]
    if type(since) is not date:
        raise PriceFileError(f"{where}: checked is not a day; write it as 2026-11-25")
    if not isinstance(models, list) or not models or not all(_is_name(each) for each in models):
        raise PriceFileError(f"{where}: models is not a list of names; correct it")
    prompt, cached, completion = (
        _amount(entry, name, where) for name in ("prompt", "cached", "completion")
    )
    wire, host, source = (str(entry.get(name, "")) for name in ("wire", "host", "source"))
    for model in models:
        yield ListPrice(model, since, prompt, cached, completion, wire, host, source)


def _is_name(model: Any) -> bool:
    return isinstance(model, str) and bool(model.strip()) and len(model) <= LONGEST_MODEL


def _amount(entry: dict[str, Any], name: str, where: str) -> Decimal:
    """Read an amount. Cached tokens without a price of their own cost as much as others."""
    try:
        return read_amount(str(entry.get(name, entry["prompt"])))
    except ValueError as error:
        raise PriceFileError(f"{where}: {name}: {error}") from error


def read_amount(text: str) -> Decimal:
    """Read US dollars for a million tokens. Raises ValueError, which says what is wrong."""
    message = f"{text!r} is not a price; give US dollars for a million tokens, such as 0.15"
    try:
        amount = Decimal(text)
    except InvalidOperation as error:
        raise ValueError(message) from error
    if not amount.is_finite() or not 0 <= amount <= HIGHEST:
        raise ValueError(message)
    if amount != round(amount, PLACES):
        raise ValueError(f"{text!r} has more than {PLACES} places; round it")
    return amount
