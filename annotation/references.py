"""The other campaigns that a design or its terms name, and whether their maker may read them.

What a campaign draws on, shows or practises comes from answers in the campaigns that it names. So
to name one is to read it; and one that its maker may not read is refused in the words for one that
is not there. Nobody is `by` where a command asks, which may read everything.
"""

from __future__ import annotations

from annotation.design import DesignError
from annotation.models import Campaign, User
from annotation.people.members import readable
from annotation.terms import Terms


def check_named(where: str, name: str, by: User | None) -> None:
    """Whether `by` may read the campaign of this name, if there is a name. Raises DesignError."""
    if name and by is not None and not readable(by).filter(name=name).exists():
        raise DesignError(f"{where} names campaign {name!r}, which is not there; mend it")


def check_practice(campaign: Campaign, terms: Terms, by: User | None) -> None:
    """The same of the practice that terms name; the one that stands may be said again."""
    stands = campaign.practice_of.name if campaign.practice_of else ""
    if terms.practice_of != stands:
        check_named("practice", terms.practice_of or "", by)


def may_read(campaign: Campaign, by: User | None) -> bool:
    return by is None or readable(by).filter(pk=campaign.pk).exists()
