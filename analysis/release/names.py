"""The study file in a release, with pseudonyms for accounts named in shares.

Only admins may see who is behind a pseudonym, and a release is public.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from typing import Any

from analysis.study import StudyFile
from annotation.models import Rater
from annotation.people.shares import read_shares
from tandem.files.rows import InputError, Place


def published_text(file: StudyFile) -> str:
    """Return the text of a study file with pseudonyms in its shares.

    Raises InputError if a name cannot be replaced without changing something else.
    """
    shares = [part.options["share"] for part in file.parts if part.options.get("share")]
    accounts = list(dict.fromkeys(name for each in shares for name in read_shares(each)))
    if not accounts:
        return file.text
    raters = Rater.objects.filter(user__username__in=accounts)
    known = dict(raters.values_list("user__username", "name"))
    names = {name: known.get(name, f"person-{n}") for n, name in enumerate(accounts, start=1)}
    longest = sorted(map(re.escape, names), key=len, reverse=True)
    # A name precedes an equals sign, bare or in quotation marks.
    pattern = re.compile(rf"(?<![\w.-])(?:{'|'.join(longest)})(?=[\"']?\s*=)")
    text = pattern.sub(lambda found: names[found[0]], file.text)
    if tomllib.loads(text) != _renamed(tomllib.loads(file.text), names):
        wrong = "an account in a share has the name of a key, and a release hides accounts"
        raise InputError(Place(file.path), wrong, "take the shares out of the file")
    return text


def _renamed(document: dict[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Return the tables of a study file with other names in the shares."""
    for table in document.get("campaign", {}).values():
        given = table.get("share")
        if isinstance(given, Mapping):
            table["share"] = {names.get(name, name): share for name, share in given.items()}
        elif isinstance(given, list):
            pairs = ((pair, pair.rpartition("=")[0].strip()) for pair in given)
            table["share"] = [pair.replace(name, names[name], 1) for pair, name in pairs]
    return document
