"""The registry of campaigns' jobs: a new kind needs a line here."""

from __future__ import annotations

from annotation import long_items
from annotation.access import may_read
from annotation.audit_file import TRAIL_KIND
from annotation.campaign_setup import preview_job as previews
from annotation.campaign_setup import replay
from annotation.campaign_setup import suitable_protocols as fits
from annotation.campaigns.text_views import KIND as RENDERINGS
from annotation.derivation import service as derivations
from annotation.exports import bundles as exports
from annotation.exports.bundles import reveals_answers
from annotation.imports import import_job as imports
from annotation.models import Campaign, User
from annotation.people.membership import may_manage
from datasets import lineage
from datasets.access import READERS, manages, visible_batches
from datasets.models import Batch
from datasets.work import Kind, Options, register, register_name


def _may_see_export(user: User, options: Options) -> bool:
    if not may_manage(user, options["campaign"]):
        return False
    return not reveals_answers(options["what"]) or may_read(user, options["campaign"])


def _may_see_preview(user: User, options: Options) -> bool:
    return user.pk == options["user"] and user.role in READERS


def _may_see_derivation(user: User, options: Options) -> bool:
    """Whether a person may derive from the batch, and may still read the campaigns that decide."""
    batch = visible_batches(user).filter(pk=options["batch"]).first()
    may_derive = batch is not None and manages(user, batch)
    readable = all(may_read(user, each.pk) for each in derivations.campaigns_of(options))
    return user.pk == options["user"] and may_derive and readable


def _may_see_sample(user: User, options: Options) -> bool:
    managed = may_manage(user, options["campaign"])
    return managed and may_read(user, options["campaign"])


def _may_see_import(user: User, options: Options) -> bool:
    return user.pk == options["user"] and _may_see_sample(user, options)


def _campaign(key: int) -> str:
    return Campaign.objects.filter(pk=key).values_list("name", flat=True).first() or ""


def _batch(key: int) -> str:
    return Batch.objects.filter(pk=key).values_list("name", flat=True).first() or ""


def _may_see_fits(user: User, options: Options) -> bool:
    return visible_batches(user).filter(pk=options["batch"]).exists()


def _may_see_batch(user: User, options: Options) -> bool:
    return visible_batches(user).filter(lineage=options["lineage"]).exists()


def _may_see_nothing(user: User, options: Options) -> bool:
    """Whether a job may run for a person: its result is empty, so anybody's page may request it."""
    return True


register_name("campaign", _campaign)
register_name("batch", _batch)
register_name("what", str)
register(
    Kind(imports.IMPORT, "Imported labels", imports.state, imports.carry_out, _may_see_import),
    Kind(previews.PREVIEW, "Preview", previews.state, previews.carry_out, _may_see_preview),
    Kind(fits.FITS, "Tasks", fits.state, fits.carry_out, _may_see_fits, listed=False),
    Kind(lineage.BEHIND, "Lineage", lineage.state, lineage.carry_out, _may_see_batch, listed=False),
    Kind(
        derivations.DERIVATION,
        "Derived batch",
        derivations.state,
        derivations.carry_out,
        _may_see_derivation,
    ),
    Kind(exports.EXPORT, "Export", exports.state, exports.carry_out, _may_see_export),
    Kind(replay.SAMPLE, "Sample", replay.state, replay.carry_out, _may_see_sample),
    TRAIL_KIND,
    Kind(
        RENDERINGS,
        "Rendered texts",
        long_items.state,
        long_items.carry_out,
        _may_see_nothing,
        listed=False,
    ),
)
