"""A study in which every text is an injection attempt."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from annotation.answers.submission import submit
from annotation.assignments.queue import next_assignment
from annotation.models import Assignment, Campaign, Item, Rater, User, rater_of
from annotation.protocols import PROTOCOLS
from datasets.models import Batch
from tests.cast import campaign_of, run, write_lines
from tests.page_cast import PASSWORD
from tests.security.payloads import PAYLOADS

ALL = "\n".join(PAYLOADS)
REPORTS, PASSAGES = 3, len(PAYLOADS) // 3


def packed(longest: int) -> list[str]:
    """Return all payloads, joined to texts of at most `longest` characters."""
    texts = [""]
    for payload in PAYLOADS:
        if len(texts[-1]) + len(payload) + 1 > longest:
            texts.append("")
        texts[-1] += " " + payload
    return [text.strip() for text in texts]


def third(n: int, which: int) -> str:
    return PAYLOADS[(3 * n + which) % len(PAYLOADS)]


def batch_line() -> dict[str, Any]:
    passages = [
        {
            "id": f"p{n} {third(n, 2)}", "text": f"{n} {ALL}" if n == 0 else f"{n} {third(n, 1)}",
            "title": third(n, 0), "source": third(n, 1), "age": third(n, 2), "relevant": True,
        }
        for n in range(PASSAGES)
    ]  # fmt: skip
    systems = packed(250)[:REPORTS]
    return {
        "id": packed(250)[0],
        "text": ALL,
        "questions": [{"id": f"q {text}", "text": text} for text in PAYLOADS],
        "passages": passages,
        "key_points": [
            {"id": f"k{n} {text}", "text": text, "passage": passages[0]["id"], "spans": [text]}
            for n, text in enumerate(PAYLOADS)
        ],
        "nuggets": [
            {"id": f"n{n} {text}", "text": text, "importance": "vital", "sources": [text]}
            for n, text in enumerate(PAYLOADS)
        ],
        "reports": [
            {
                "id": f"r{n} {system}",
                "text": f"{n} {ALL}",
                "system": system,
                "sentences": [f"{n} {ALL}"],
                "sentence_citations": [[passages[0]["id"]]],
            }
            for n, system in enumerate(systems)
        ],
        "meta": {PAYLOADS[0]: PAYLOADS},
    }  # fmt: skip


def make(folder: Path) -> dict[str, Campaign]:
    """Create a campaign of each protocol, annotator `ada`, researcher `rita` and admin `root`."""
    path = write_lines(folder / "b.jsonl", [batch_line()])
    run("load_batch", path, "--name", "b " + PAYLOADS[1])
    batch = Batch.objects.get()
    batch.warnings = list(PAYLOADS)
    batch.save()
    Batch.objects.bulk_create(
        Batch(name=text, format=text[:40], digest="0" * 64, team=batch.team) for text in PAYLOADS
    )
    names = packed(190)
    campaigns = {
        protocol: campaign_of(protocol, name=f"{n} {names[n % len(names)]}", batch=batch.name)
        for n, protocol in enumerate(PROTOCOLS)
    }
    Campaign.objects.bulk_create(
        Campaign(
            name=text,
            protocol="report-coverage",
            protocol_version="1",
            batch=batch,
            team=batch.team,
        )
        for text in PAYLOADS
    )
    for name, role in (("ada", "annotator"), ("rita", "researcher"), ("root", "admin")):
        user = User(username=name, role=role, first_name=packed(140)[0], last_name=PAYLOADS[0])
        user.set_password(PASSWORD)
        user.save()
    _label(campaigns["report-coverage"])
    return campaigns


def _label(campaign: Campaign) -> None:
    """Have judges and people with hostile names answer every item."""
    for number, name in enumerate(packed(140)):
        rater = Rater.objects.create(name=name, kind="judge" if number % 2 else "human")
        for item in campaign.items.all():
            answer: dict[str, Any] = {"answerable": "no" if number % 3 else "yes", "evidence": []}
            units = list(item.units.values_list("name", flat=True))
            asked = Assignment.objects.create(item=item, rater=rater, asked=units)
            quoted = {**answer, "evidence": [{"quote": PAYLOADS[0], "start": None}]}
            given = dict.fromkeys(units, quoted if answer["answerable"] == "yes" else answer)
            submit(asked, {"units": given, "comment": ALL}, "judge")


def work_of(user: User, campaigns: dict[str, Campaign]) -> Iterator[tuple[str, Assignment]]:
    for protocol, campaign in campaigns.items():
        Item.objects.filter(campaign=campaign).update(quota=5)
        taken = next_assignment(campaign, rater_of(user))
        assert taken is not None
        yield protocol, taken
