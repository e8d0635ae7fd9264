"""The job that derives a batch by a rule, or counts what the rule would create."""

from __future__ import annotations

from typing import Any

from annotation.derivation.service import DerivationRequest, derive, state_of_labels
from annotation.models import Campaign, User
from datasets.derivation import DerivationError, NotDecidedError
from datasets.models import Batch
from datasets.work import Options, Progress, Result
from tandem.files.rows import InputError
from tandem.options import named_options

DERIVATION = "derivation"


def question(order: DerivationRequest, dry_run: bool) -> dict[str, Any]:
    """Return the question of a derivation, for `datasets.work.ask`. It is one person's own."""
    assert order.by is not None
    return {
        "batch": order.batch.pk,
        "name": order.name,
        "rule": order.rule,
        "campaigns": list(order.campaigns),
        "decided_by": order.decided_by,
        "ties": order.ties,
        "options": dict(order.options),
        "user": order.by.pk,
        "dry_run": dry_run,
    }


def campaigns_of(options: Options) -> list[Campaign]:
    """Return the campaigns that decide, by name."""
    return list(Campaign.objects.filter(name__in=options["campaigns"]).order_by("name"))


def state(options: Options) -> Any:
    return list(map(state_of_labels, campaigns_of(options)))


def carry_out(options: Options, progress: Progress) -> Result:
    """Return the counts and the new batch's key, or the reason for a refusal with its field."""
    given = {name: options[name] for name in ("name", "rule", "campaigns", "decided_by", "ties")}
    batch, user = Batch.objects.get(pk=options["batch"]), User.objects.get(pk=options["user"])
    order = DerivationRequest(
        batch=batch, options=options["options"], by=user, reader=user, **given
    )
    queries = batch.counts.get("queries", 0)
    try:
        derived = derive(
            order, dry_run=options["dry_run"], progress=lambda done: progress(done, queries)
        )
    except InputError as error:
        # The error's place is not in a file of the user.
        return _refusal(f"{error.wrong}; {error.remedy}")
    except DerivationError as error:
        return _refusal(str(error), error.field, isinstance(error, NotDecidedError))
    return Result.of(
        {
            "batch": derived.batch.pk if derived.batch else None,
            "queries": derived.queries,
            **derived.tally.as_counts(),
            "facts": derived.tally.facts,
            "first": derived.tally.first_left_out,
        }
    )


def _refusal(why: str, field: str = "", undecided: bool = False) -> Result:
    return Result.of({"refused": named_options(why), "field": field, "undecided": undecided})
