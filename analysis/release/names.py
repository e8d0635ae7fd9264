"""The study file in a release, with pseudonyms for the accounts that it names.

Only admins may see who is behind a pseudonym, and a release is public.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from analysis.study import StudyFile
from annotation.models import Rater
from annotation.people.shares import read_shares
from tandem.files.rows import InputError, Place


def published_text(file: StudyFile) -> str:
    """Return the text of a study file with pseudonyms in its shares and for `by`.

    Raises InputError if a name cannot be replaced without changing something else.
    """
    shares = [part.options["share"] for part in file.parts if part.options.get("share")]
    in_shares = dict.fromkeys(name for each in shares for name in read_shares(each))
    by = dict.fromkeys(_named_by(file))
    accounts = list({**in_shares, **by})
    if not accounts:
        return file.text
    raters = Rater.objects.filter(user__username__in=accounts)
    known = dict(raters.values_list("user__username", "name"))
    names = {name: known.get(name, f"person-{n}") for n, name in enumerate(accounts, start=1)}
    # In a share, a name precedes an equals sign, bare or in quotation marks.
    share, value = rf"(?<![\w.-])(?:{_any_of(in_shares)})(?=[\"']?\s*=)", _any_of(by)
    text = re.sub(share, lambda found: names[found[0]], file.text) if in_shares else file.text
    if by:
        quoted = rf"((?<![\w.-])by\s*=\s*[\"'])({value})(?=[\"'])"
        text = re.sub(quoted, lambda found: f"{found[1]}{names[found[2]]}", text)
    if tomllib.loads(text) != _renamed(tomllib.loads(file.text), names):
        wrong = "an account in a share has the name of a key, and a release hides accounts"
        raise InputError(Place(file.path), wrong, "take the shares out of the file")
    return text


def _named_by(file: StudyFile) -> Iterator[str]:
    """Yield the accounts that own or review what a part creates."""
    for part in file.parts:
        terms = (part.options, *(j.terms for j in part.judges), *(r.options for r in part.reviews))
        yield from (options["by"] for options in terms if options.get("by"))


def _any_of(names: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, names), key=len, reverse=True))


def _renamed(document: dict[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Return the tables of a study file with other names of accounts."""
    for table in document.get("campaign", {}).values():
        given = table.get("share")
        if isinstance(given, Mapping):
            table["share"] = {names.get(name, name): share for name, share in given.items()}
        elif isinstance(given, list):
            pairs = ((pair, pair.rpartition("=")[0].strip()) for pair in given)
            table["share"] = [pair.replace(name, names[name], 1) for pair, name in pairs]
    for table in (*document.get("batch", {}).values(), *document.get("campaign", {}).values()):
        reviews = table.get("reviews", [])
        files = reviews if isinstance(reviews, list) else [reviews]
        for each in (table, *(file for file in files if isinstance(file, dict))):
            if "by" in each:
                each["by"] = names[each["by"]]
    return document
