"""Several lists on one page, each paginated separately (`templates/_part_pages.html`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Page, Paginator


def pages_of(
    lists: Mapping[str, Any], asked: Mapping[str, str], of_a_page: int
) -> dict[str, Page[Any]]:
    """Return one page of each list; a list's name in the address is the number of its page."""
    return {
        name: Paginator(rows, of_a_page).get_page(asked.get(name)) for name, rows in lists.items()
    }


def other_pages(names: Mapping[str, Any], asked: Mapping[str, str]) -> dict[str, str]:
    """Return, for each list, the pages of the other lists, which its links keep in the address."""
    return {
        name: urlencode({key: value for key, value in asked.items() if key != name})
        for name in names
    }
