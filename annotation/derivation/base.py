"""The definition of a derivation rule, and the base classes of its work.

A rule is one module with a `RULE`, and one line in the registry of `annotation.derivation.rules`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from annotation.derivation.decisions import Decider, Decision
from annotation.derivation.labels import LabelledUnit, LabelReader, UnitReader
from annotation.models import Campaign, Rater
from datasets.derivation import DerivationError, Tally, UnitDigests
from datasets.models import Batch
from tandem.files import rows
from tandem.options import Option, options_of


@dataclass(frozen=True)
class Job:
    """The input of a rule. `rater` is the rater who decides alone, if any."""

    batch: Batch
    campaigns: list[Campaign]
    decider: Decider
    rater: Rater | None
    options: Any


class Work:
    """One run of a rule. `read` is called with the keys of some queries, then `apply` with each.

    `apply` returns the query of the new batch, or None to leave it out. `plural` names what is
    decided, for messages.
    """

    plural = "units"

    def __init__(self, job: Job) -> None:
        self.job, self.tally = job, Tally()
        self.digests = UnitDigests()

    def read(self, queries: Sequence[int]) -> None:
        """Read what the rule needs of these queries."""

    def apply(self, pk: int, query: rows.Query) -> rows.Query | None:
        raise NotImplementedError

    def finish(self) -> None:
        """Complete the tally after the last query."""


class LabelWork(Work):
    """The work of a rule that decides units. `variables` are those that it reads."""

    variables: tuple[str, ...] = ()

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        readers = [LabelReader(each, self.variables, job.rater) for each in job.campaigns]
        self._reader, self._units = UnitReader(readers), dict[int, list[LabelledUnit]]()
        self.digests = self._reader.digests

    def read(self, queries: Sequence[int]) -> None:
        self._units = self._reader.read(queries)

    def units(self, pk: int) -> list[LabelledUnit]:
        return self._units.get(pk, [])

    def keeps(self, decision: Decision, name: str) -> bool:
        """Note an undecided unit, and return whether the option for ties keeps it."""
        self.job.decider.note(decision.state, name)
        kept = self.job.decider.ties == "keep"
        state = {"tie": "tied", "nobody": "without a label"}.get(decision.state, "open")
        self.tally.undecided[f"{state}, {'kept' if kept else 'dropped'}"] += 1
        return kept


ANY_PROTOCOL = ("any protocol",)
"""The `protocols` of a rule that is for all of them, as messages name them."""


@dataclass(frozen=True)
class Rule:
    """One rule. `protocols` are those of the campaigns that it reads; without any it reads none.

    A rule for `ANY_PROTOCOL` reads the campaigns that it `fits`. `hints` say more about options, by
    name, where the campaigns are known.
    `makes` describes the derived batch in one line. `options` is a dataclass whose fields are the
    rule's options. `version` changes when the same labels would give another batch.
    """

    name: str
    title: str
    makes: str
    work: Callable[[Job], Work]
    protocols: tuple[str, ...] = ()
    options: type = field(default=type(None))
    version: str = "1"
    decides: bool = True
    fits: Callable[[Campaign], bool] = lambda campaign: True
    hints: Callable[[Sequence[Campaign]], Mapping[str, str]] = lambda campaigns: {}

    def names(self, protocol: str) -> bool:
        """Whether the rule is for campaigns of a protocol."""
        return self.protocols == ANY_PROTOCOL or protocol in self.protocols

    def reads(self, campaign: Campaign) -> bool:
        return self.names(campaign.protocol) and self.fits(campaign)

    @property
    def declared_options(self) -> tuple[Option, ...]:
        return () if self.options is type(None) else options_of(self.options)


def read_options(rule: Rule, given: Sequence[str]) -> dict[str, Any]:
    """Read options written as K=V, or several as K=V,K=V. Raises DerivationError.

    A part between commas that does not begin with an option's name belongs to the preceding value.
    """
    known = {option.name: option for option in rule.declared_options}
    found: dict[str, str] = {}
    for text in given:
        name = ""
        for part in text.split(","):
            key, equals, value = part.partition("=")
            if equals and key.strip() in known:
                name = key.strip()
                if name in found:
                    raise DerivationError(f"option {name} is given twice; keep one", "set")
                found[name] = value.strip()
            elif name:
                found[name] += f",{part.strip()}"
            else:
                names = ", ".join(known) or "none"
                raise DerivationError(
                    f"rule {rule.name} has no option {part!r}; its options are {names}", "set"
                )
    return {name: _value(known[name], value) for name, value in found.items()}


def _value(option: Option, text: str) -> Any:
    try:
        return option.parse(text)
    except ValueError:
        raise _wrong(option, text) from None


def _wrong(option: Option, value: Any) -> DerivationError:
    return DerivationError(f"option {option.name} {option.rule}, not {value!r}", "set")


def make_options(rule: Rule, given: Mapping[str, Any]) -> Any:
    """Return a rule's options from values by name. Raises DerivationError."""
    known = {option.name: option for option in rule.declared_options}
    if unknown := sorted(given.keys() - known.keys()):
        names = ", ".join(known) or "none"
        raise DerivationError(
            f"rule {rule.name} has no option {unknown[0]!r}; its options are {names}", "set"
        )
    for name, option in known.items():
        if option.required and not given.get(name):
            raise DerivationError(
                f"rule {rule.name} needs {name}, {option.help}; give --set {name}=…", "set"
            )
    for name, value in given.items():
        if known[name].kind == "text" and not isinstance(value, str):
            raise DerivationError(f"option {name} must be a text, not {value!r}", "set")
        if not known[name].allows(value):
            raise _wrong(known[name], value)
    return None if not known else rule.options(**{known[n].field: v for n, v in given.items()})
