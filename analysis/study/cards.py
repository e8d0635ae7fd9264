"""The cards of a study's chain: what each says, the order of the steps, and their JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from analysis.study.status import STATES
from annotation.campaigns.answer_totals import AnswerTotals
from annotation.models import Campaign


@dataclass(frozen=True)
class Number:
    """A count with its noun, and the address of the list behind it; "" if there is none."""

    number: int
    noun: str
    address: str = ""


@dataclass(frozen=True)
class Flow:
    """How many parts of a kind went in and came out, and the reasons for the difference.

    `came_in` is None for kinds that begin here.
    """

    noun: str
    came_in: Number | None
    came_out: Number
    left_out: tuple[Number, ...] = ()

    @property
    def percent(self) -> int:
        """The share that came out, in percent."""
        into = self.came_in.number if self.came_in else 0
        return 100 * self.came_out.number // into if into else 100


@dataclass(frozen=True)
class Answers:
    """One rater's answers to a campaign. `of` is None for a person, who takes any free item."""

    name: str
    is_judge: bool
    done: int
    of: int | None
    reserved: int
    failed: int
    address: str
    is_fake: bool = False


@dataclass(frozen=True)
class Step:
    """The next thing to do, who has to do it (people or a researcher), and where."""

    who: str
    what: str
    action: str = ""
    address: str = ""
    command: str = ""


@dataclass(frozen=True)
class Action:
    """A link of a card: its label, the word between it and the card's name, and its address."""

    label: str
    preposition: str
    address: str


@dataclass(frozen=True)
class Proof:
    """A campaign's newest plan: what it is about, what its last look showed, and its page."""

    about: str
    says: str
    address: str


@dataclass(frozen=True)
class Card:
    """A batch or campaign of the chain. `state` is one of those of `analysis.study.status`.

    `flows` has the kinds of parts whose number changed, and `has` the others. `progress` is the
    address of the list behind the answers.
    """

    kind: str
    name: str
    state: str
    address: str = ""
    how: str = ""
    flows: tuple[Flow, ...] = ()
    has: tuple[Number, ...] = ()
    note: str = ""
    raters: tuple[Answers, ...] = ()
    places: AnswerTotals | None = None
    progress: str = ""
    links: tuple[Action, ...] = ()
    steps: tuple[Step, ...] = ()
    proof: Proof | None = None

    @property
    def share(self) -> int:
        """People's answers in percent of the requested ones."""
        return 100 * self.places.answered // self.places.asked if self.places else 0

    @property
    def words(self) -> str:
        return STATES[self.state]

    @property
    def brief(self) -> str:
        """What a small box says: the state if something is left to do, else the largest change."""
        if self.state != "done":
            return self.words
        if self.places:
            return f"{self.places.items:,} item{'' if self.places.items == 1 else 's'}"
        for flow in self.flows:
            came_in = f"{flow.came_in.number:,} → " if flow.came_in else "+ "
            return f"{came_in}{flow.came_out.number:,} {flow.noun}"
        return f"{self.has[0].number:,} {self.has[0].noun}" if self.has else self.words


@dataclass
class Link:
    """A batch of the chain with the campaigns over it."""

    batch: Card
    campaigns: list[Card] = field(default_factory=list)


@dataclass(frozen=True)
class Chain:
    """A study's links in order, and the campaigns that exist.

    `steps` has the steps of all cards, in the order in which to do them. `earlier` counts the
    oldest campaigns, which are not shown.
    """

    name: str
    links: tuple[Link, ...]
    campaigns: tuple[Campaign, ...] = ()
    earlier: int = 0

    @property
    def cards(self) -> list[Card]:
        return [card for link in self.links for card in (link.batch, *link.campaigns)]

    @property
    def steps(self) -> list[Step]:
        return [step for card in self.cards for step in card.steps]

    @property
    def done(self) -> int:
        return sum(card.state == "done" for card in self.cards)

    @property
    def boxes(self) -> list[tuple[Card, str]]:
        """The cards with their names, without the study's own name at the beginning."""
        before = f"{self.name}-"
        return [(card, card.name.removeprefix(before) or card.name) for card in self.cards]

    def as_json(self) -> dict[str, Any]:
        """Return the chain in the form used by the API, without addresses of pages."""
        return {
            "name": self.name,
            "next": [{"who": step.who, "what": step.what} for step in self.steps],
            "links": [
                {
                    "batch": _card_json(link.batch),
                    "campaigns": list(map(_card_json, link.campaigns)),
                }
                for link in self.links
            ],
        }


def _card_json(card: Card) -> dict[str, Any]:
    return {
        "name": card.name,
        "state": card.state,
        "how": card.how,
        "has": {each.noun: each.number for each in card.has},
        "flows": [
            {
                "what": flow.noun,
                "in": flow.came_in.number if flow.came_in else None,
                "out": flow.came_out.number,
                "left_out": {each.noun: each.number for each in flow.left_out},
            }
            for flow in card.flows
        ],
        "asked": card.places.asked if card.places else None,
        "answered": card.places.answered if card.places else None,
        "plan": f"{card.proof.about}: {card.proof.says}" if card.proof else None,
    }
