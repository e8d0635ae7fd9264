"""All routes of the site, read from Django's URL resolver."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from django.urls import URLPattern, URLResolver, get_resolver, reverse


@dataclass(frozen=True)
class Route:
    """One route. `name` includes its name spaces; `arguments` are the names in its path."""

    name: str
    path: str
    arguments: tuple[str, ...]

    @property
    def is_api(self) -> bool:
        """Whether requests need a token. All others need a session, the API's own page included."""
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
