"""Refusing a design whose campaign could not follow what it names."""

from __future__ import annotations

from annotation.design import Design, DesignError
from annotation.follows import FOLLOWS
from annotation.models import Campaign, Rater
from annotation.protocols.base import Protocol
from datasets.models import Batch


def check_prerequisite(protocol: Protocol, batch: Batch, design: Design) -> None:
    """Whether the prerequisite is there, of this batch and of a fit protocol. Raises DesignError.

    With the options that need one.
    """
    if design.sampling == "own" and not design.prerequisite:
        raise DesignError("option sampling=own draws from earlier answers; give a prerequisite too")
    if design.strata:
        _check_strata(protocol, design)
    if design.gate and not (design.prerequisite and protocol.name == "grounded-answer"):
        raise DesignError("option gate is for a second round of grounded-answer; leave it out")
    if design.prerequisite:
        _check_campaign(protocol, batch, design.prerequisite)
        _check_turn(protocol, design)


def _check_campaign(protocol: Protocol, batch: Batch, name: str) -> None:
    if protocol.name not in FOLLOWS:
        raise DesignError(f"option prerequisite means nothing to {protocol.name}; leave it out")
    first = Campaign.objects.filter(name=name).first()
    if first is None:
        raise DesignError(f"option prerequisite names campaign {name!r}, which is not there")
    if first.batch_id != batch.pk:
        raise DesignError(f"campaign {name!r} is over another batch; name one over {batch.name!r}")
    fit = FOLLOWS[protocol.name].after
    if first.protocol not in fit:
        wrong = f"{protocol.name} follows {' or '.join(fit)}, and campaign {name!r} is"
        raise DesignError(f"{wrong} {first.protocol}; name another")


def _check_turn(protocol: Protocol, design: Design) -> None:
    """Whether a campaign after a written answer says what it does with it."""
    if protocol.written and len({"action", "grounded"} & set(design.variables)) != 1:
        wanted = "either action, for a second round, or grounded, to validate the answers"
        raise DesignError(f"option prerequisite needs option variables with {wanted}; mend it")


def _check_strata(protocol: Protocol, design: Design) -> None:
    shared = protocol.drawn and design.prerequisite and design.sampling in (None, "shared")
    if not shared:
        raise DesignError("option strata is for a shared draw with a prerequisite; leave it out")
    if not Rater.objects.filter(name=design.strata, kind=Rater.Kind.JUDGE).exists():
        raise DesignError(f"option strata names judge {design.strata!r}, which is not there")
