"""The registry of the jobs of campaigns: a new kind is a line here."""

from __future__ import annotations

from annotation.access import may_read
from annotation.campaign_setup import jobs as previews
from annotation.exports import jobs as exports
from annotation.exports.bundles import tells_answers
from annotation.models import User
from annotation.people.membership import manageable
from datasets.access import READERS
from datasets.jobs import Kind, Options, register


def _sees_export(user: User, options: Options) -> bool:
    if not manageable(user).filter(pk=options["campaign"]).exists():
        return False
    return not tells_answers(options["what"]) or may_read(user, options["campaign"])


def _sees_preview(user: User, options: Options) -> bool:
    return user.pk == options["user"] and user.role in READERS


register(Kind(previews.PREVIEW, "Preview", previews.state, previews.carry_out, _sees_preview))
register(Kind(exports.EXPORT, "Export", exports.state, exports.carry_out, _sees_export))
