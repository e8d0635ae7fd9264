"""How a campaign's setting is declared: its option, and how a campaign keeps it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

from django.db.models import Field

from annotation.campaigns.design import DesignError
from annotation.models import Campaign, User
from tandem.options import Option, options_of


def _keep(campaign: Campaign, value: Any, user: User | None) -> Any:
    return value


def _allow(campaign: Campaign, value: Any) -> None:
    pass


@dataclass(frozen=True)
class Setting:
    """A declared setting: `option` as commands, pages and the API offer it, and how it is kept.

    `column` is the campaign's; empty for what is kept in rows of its own. `current` returns the
    value from a campaign. `store(campaign, value, user)` stores a new value's own rows, if it has
    any, and returns what the column takes. `check(campaign, value)` raises ValueError for a wrong
    one. The option's reader takes a text or the API's JSON, and returns the value as `current`
    would. `shown` returns the text of a page's field.

    A continuation has the same value if it is `copied`. A dry run depends on it if it is
    `previewed`. What was typed for a new campaign is kept `for_any_task` if another one is chosen.
    `public` is the API's description of what everybody reads who sees the campaign. `removal`
    describes a command's option that removes the setting.
    """

    option: Option
    column: str
    current: Callable[[Campaign], Any]
    store: Callable[[Campaign, Any, User | None], Any] = _keep
    check: Callable[[Campaign, Any], None] = _allow
    shown: Callable[[Campaign], Any] | None = None
    copied: bool = True
    previewed: bool = True
    for_any_task: bool = False
    public: str = ""
    removal: str = ""

    @property
    def name(self) -> str:
        return self.option.name

    @property
    def attname(self) -> str:
        """The attribute of a campaign with the column's value; empty without a column."""
        if not self.column:
            return ""
        column = Campaign._meta.get_field(self.column)
        assert isinstance(column, Field)
        return column.attname

    def recorded(self, campaign: Campaign) -> tuple[str, Any]:
        """Return the name and the value that the campaign's history has."""
        if self.column:
            return self.attname, getattr(campaign, self.attname)
        return self.name, self.current(campaign)

    def read_value(self, given: Any) -> Any:
        """Read a text or a value of JSON. Raises DesignError."""
        try:
            return self.option.reader(given) if self.option.reader else given
        except ValueError as error:
            raise DesignError(str(error), self.name) from error

    def check_value(self, campaign: Campaign, value: Any) -> None:
        """Raises DesignError for a value that is wrong by itself, or for this campaign."""
        option = self.option
        if option.values and not option.allows(value):
            wrong = f"{self.name.replace('_', ' ')} is {value!r}"
            raise DesignError(f"{wrong}; give {' or '.join(option.values)}", self.name)
        if option.lines and isinstance(value, str):
            text = f"the {option.label.lower()}"
            if len(value) > (option.longest or len(value)):
                wrong = f"{text} is longer than {option.longest} characters"
                raise DesignError(f"{wrong}; cut it", self.name)
            if "\0" in value:
                raise DesignError(f"{text} contains a NUL character; remove it", self.name)
        try:
            self.check(campaign, value)
        except ValueError as error:
            raise DesignError(str(error), self.name) from error

    def stored(self, campaign: Campaign, value: Any, user: User | None) -> Any:
        """Store a value's own rows, and return what the column takes. Raises DesignError."""
        try:
            return self.store(campaign, value, user)
        except ValueError as error:
            raise DesignError(str(error), self.name) from error

    def field_value(self, campaign: Campaign) -> Any:
        """Return what the field of a page shows: a text, or a number or None."""
        shown = self.shown or self.current
        nothing = None if self.option.kind in ("whole", "number") else ""
        value = shown(campaign)
        return nothing if value in (None, self.option.empty) else value


def _settings_of(declaration: type) -> tuple[Setting, ...]:
    about = {each.name: each.metadata for each in fields(declaration)}
    own = {each.name for each in fields(Setting)}
    return tuple(
        _declared(option, {name: v for name, v in about[option.field].items() if name in own})
        for option in options_of(declaration)
    )


def _declared(option: Option, about: Mapping[str, Any]) -> Setting:
    column = about.get("column", option.field)
    return Setting(option, **{"column": column, "current": lambda of: getattr(of, column), **about})


settings_of: Callable[[type], tuple[Setting, ...]] = cache(_settings_of)
"""Returns the settings that the fields of a dataclass declare, in their order."""
