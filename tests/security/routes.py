"""Every address that the site has, as its own resolver tells: new ones come in by themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from django.urls import URLPattern, URLResolver, get_resolver, reverse


@dataclass(frozen=True)
class Route:
    """One address with its arguments still open. `name` holds the name spaces that it stands in."""

    name: str
    path: str
    arguments: tuple[str, ...]

    @property
    def is_api(self) -> bool:
        """Whether a token opens it; every other takes a session, the API's own page among them."""
        return self.path.startswith(("api/v", "api/schema"))

    def address(self, values: Mapping[str, object]) -> str:
        return reverse(self.name, kwargs=dict(values))


def routes() -> list[Route]:
    return list(_below(get_resolver(), "", (), ()))


def _below(
    resolver: URLResolver, path: str, spaces: tuple[str, ...], arguments: tuple[str, ...]
) -> Iterator[Route]:
    for each in resolver.url_patterns:
        inner, taken = path + str(each.pattern), (*arguments, *each.pattern.regex.groupindex)
        if isinstance(each, URLResolver):
            within = (*spaces, each.namespace) if each.namespace else spaces
            yield from _below(each, inner, within, taken)
        elif isinstance(each, URLPattern):
            yield Route(":".join((*spaces, each.name or "")), inner, taken)
