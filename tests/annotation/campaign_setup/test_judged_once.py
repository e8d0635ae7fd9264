"""Of equal citations of a query, only the first is asked where the design says so (TREC RAG)."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError

from analysis.campaigns.frames import campaign_frame
from analysis.release.asked import item_lines
from analysis.release.facts import campaign_facts
from analysis.release.measures import asked_content, computed
from analysis.release.measures import differences as differences_of_values
from annotation.campaign_setup.chosen_items import choose_items, create_chosen
from annotation.campaign_setup.creation import create_campaign
from annotation.campaign_setup.replay import differences
from annotation.campaigns.design import Design, DesignError
from annotation.models import Assignment, Campaign, Item, Unit, UnitSampling
from annotation.protocols import PROTOCOLS
from annotation.protocols.items import CITATION
from datasets.material import batch_rows
from datasets.models import Batch
from judging.models import JudgeCall
from tandem.labels.selection import ReportOptions
from tandem.scores.options import Options
from tandem.types import JSON
from tests import protocol_cast
from tests.cast import Line, campaign_of, load, run, write_lines

pytestmark = pytest.mark.django_db

TEXT = "Ada built it in 1901."


def _report(name: str, *sentences: tuple[str, list[str]]) -> Line:
    texts = [text for text, _ in sentences]
    return {
        "id": name,
        "text": " ".join(texts),
        "system": name.partition("-")[0],
        "sentences": texts,
        "sentence_citations": [cited for _, cited in sentences],
    }


def _query(number: int) -> Line:
    """Three runs say the same first, from passages of equal texts; `bare` says nothing else."""
    first = "Ada built it."
    return {
        "id": f"q{number}",
        "text": f"Who built bridge {number}?",
        "passages": [
            {"id": f"p{number}", "text": TEXT},
            {"id": f"again{number}", "text": TEXT},
            {"id": f"titled{number}", "text": TEXT, "title": "A bridge"},
        ],
        "reports": [
            _report(f"plain-{number}", (first, [f"p{number}"]), ("It is old.", [f"p{number}"])),
            _report(f"wide-{number}", (first, [f"again{number}"]), ("It is new.", [f"p{number}"])),
            _report(f"bare-{number}", (first, [f"p{number}"])),
            _report(f"other-{number}", (first, [f"titled{number}"]), ("ada built it.", [])),
        ],
    }


ASKED = {
    "plain-1": ["plain-1#1/p1", "plain-1#2/p1"],
    "wide-1": ["wide-1#2/p1"],
    "other-1": ["other-1#1/titled1"],
}
EQUAL = [
    {"item": "wide-1", "unit": "wide-1#1/again1"},
    {"item": "bare-1", "unit": "bare-1#1/p1"},
]
VALUES = {"plain-1#1/p1": "full", "plain-1#2/p1": "none", "wide-1#2/p1": "partial"}
"""What everybody says of the asked citations of a query; of those not listed, no support."""


def label_all(folder: Path, campaign: str, rater: str, values: dict[str, str]) -> None:
    units = Unit.objects.filter(item__campaign__name=campaign).select_related("item")
    lines = [
        {
            "item": unit.item.key,
            "unit": unit.key,
            "variable": "support",
            "value": values.get(re.sub("2(?=#|$)", "1", unit.key), "none"),
            "rater": rater,
        }
        for unit in units
    ]
    path = write_lines(folder / f"{campaign}-{rater}.jsonl", lines)
    run("import_labels", path, "--campaign", campaign)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    load(tmp_path, [_query(1), _query(2)], "b")
    campaign_of("citation-support", "--raters-per-item", "2", "--option", "same=once")
    return tmp_path


def stored(campaign: str = "c") -> dict[str, list[str]]:
    rows = Unit.objects.filter(item__campaign__name=campaign, item__query__key="q1")
    found: dict[str, list[str]] = {}
    for item, key in rows.order_by("item__position", "position").values_list("item__key", "key"):
        found.setdefault(item, []).append(key)
    return found


def measured(campaign: str) -> JSON:
    found: JSON = json.loads(run("measures", "--campaign", campaign, "--resamples", "20"))
    return found


def values(found: JSON) -> JSON:
    """Return the values of reports by each evaluator, and of systems, for each measure."""
    keys = "reports", "systems", "rankings"
    return {n: {key: of.get(key) for key in keys} for n, of in found["measures"].items()}


def test_only_the_first_of_equal_citations_of_a_query_is_asked(folder: Path) -> None:
    assert stored() == ASKED
    assert Item.objects.filter(key="bare-1").count() == 0
    # The same words about another query are asked again.
    assert Unit.objects.filter(key="plain-2#1/p2").exists()
    row = UnitSampling.objects.get(key="wide-1#1/again1")
    assert (row.kind, row.drawn, row.probability) == ("same", False, 0.0)


def test_without_the_option_each_is_asked_as_before(folder: Path) -> None:
    campaign_of("citation-support", name="each")
    assert [len(units) for units in stored("each").values()] == [2, 2, 1, 1]


def test_the_sample_is_replayed_and_the_site_is_sound(folder: Path) -> None:
    assert list(differences(Campaign.objects.get())) == []
    assert run("check_invariants") == "The invariants hold.\n"


def test_judges_are_called_once_for_equal_citations(folder: Path) -> None:
    run("create_judge", "floor", "--backend", "lexical")
    run("run_judge", "--judge", "floor", "--campaign", "c")
    asked = Assignment.objects.filter(rater__name="floor").values_list("asked", flat=True)
    assert sum(map(len, asked)) == 8
    assert JudgeCall.objects.count() <= 8


def test_measures_count_the_labels_for_all_equal_citations(folder: Path) -> None:
    campaign_of("citation-support", "--raters-per-item", "2", name="each")
    same = VALUES | {"wide-1#1/again1": "full", "bare-1#1/p1": "full"}
    for rater in ("ada", "ben"):
        label_all(folder, "c", rater, VALUES)
        label_all(folder, "each", rater, same)
    once = values(measured("c"))
    by_people = {name: of["reports"]["people"] for name, of in once.items()}
    # wide has full and partial support, (1 + .5) / 2; other has none.
    precision = {"plain": 0.5, "wide": 0.75, "bare": 1.0, "other": 0.0}
    assert by_people["weighted-precision"] == {
        f"{system}-{n}": value for n in (1, 2) for system, value in precision.items()
    }
    assert once == values(measured("each"))


def test_a_release_gives_the_same_values(folder: Path) -> None:
    label_all(folder, "c", "ada", VALUES)
    campaign = Campaign.objects.get()
    asked = asked_content(campaign_facts(campaign), PROTOCOLS["citation-support"])
    assert asked is not None
    queries = tuple(batch_rows(campaign.batch))
    now = computed(asked, campaign_frame(campaign, ReportOptions()), queries, Options())
    assert now["weighted-precision", "bare", "ada"] == 1.0
    assert list(differences_of_values(measured("c"), now)) == []
    items = [json.loads(line) for line in item_lines(campaign)]
    assert items[0]["units"][0] == {
        "kind": "sentence-citation", "unit": "plain-1#1/p1", "also": EQUAL,
    }  # fmt: skip


def test_a_dry_run_counts_what_is_asked(folder: Path) -> None:
    arguments = ("--protocol", "citation-support", "--batch", "b", "--dry-run")
    assert "6 items with 8 citations" in run(
        "create_campaign", "x", *arguments, "--option", "same=once"
    )
    assert "8 items with 12 citations" in run("create_campaign", "x", *arguments)


def test_agreement_counts_a_judgement_once(folder: Path) -> None:
    for rater in ("ada", "ben"):
        label_all(folder, "c", rater, VALUES)
    report = json.loads(run("report", "--campaign", "c", "--resamples", "20"))
    assert report["inputs"]["labels"] == 16
    assert report["variables"]["support"]["agreement"]["units"] == 8


def test_exports_name_the_citations_that_take_the_labels(folder: Path) -> None:
    run("export", "--campaign", "c", "--what", "units", "--output", folder / "units.jsonl")
    lines = [json.loads(line) for line in (folder / "units.jsonl").read_text().splitlines()]
    also = {line["unit"]: line["also"] for line in lines if "also" in line}
    assert also["plain-1#1/p1"] == EQUAL
    assert list(also) == ["plain-1#1/p1", "plain-2#1/p2"]


def test_a_gold_item_gives_no_labels_to_others(folder: Path) -> None:
    gold = [{"item": "plain-1", "unit": unit, "variable": "support", "value": "none", "rater": "g"}
            for unit in ASKED["plain-1"]]  # fmt: skip
    path = write_lines(folder / "gold.jsonl", gold)
    with pytest.raises(CommandError, match='"plain-1" is asked for equal citations of other items'):
        run("set_known", path, "--campaign", "c", "--use", "gold")
    gold = [{**gold[0], "item": "wide-1", "unit": "wide-1#2/p1"}]
    run("set_known", write_lines(path, gold), "--campaign", "c", "--use", "gold")


def test_answers_of_a_campaign_that_asked_each_are_carried_to_what_is_asked(folder: Path) -> None:
    campaign_of("citation-support", "--raters-per-item", "1", name="each")
    label_all(folder, "each", "ada", VALUES)
    campaign_of("citation-support", "--option", "same=once", "--continues", "each", name="once")
    assert stored("once") == ASKED
    done = Assignment.objects.filter(item__campaign__name="once", status="done")
    assert sum(len(asked) for asked in done.values_list("asked", flat=True)) == 8


def test_a_campaign_of_chosen_items_asks_each_of_their_citations(folder: Path) -> None:
    chosen = choose_items(Campaign.objects.get(), [("wide-1", CITATION, "wide-1#2/p1")])
    create_chosen(chosen, "first")
    assert stored("first") == {"wide-1": ["wide-1#1/again1", "wide-1#2/p1"]}


def test_a_derived_batch_keeps_equal_citations_together(folder: Path) -> None:
    for rater in ("ada", "ben"):
        label_all(folder, "c", rater, VALUES)
    run("derive_batch", "supported", "--batch", "b", "--from", "c", "--rule", "by-codes",
        "--set", "keep=support=full,partial")  # fmt: skip
    first = next(batch_rows(Batch.objects.get(name="supported")))
    assert {report.id: report.sentence_citations for report in first.reports} == {
        "plain-1": (("p1",), ()),
        "wide-1": (("again1",), ("p1",)),
        "bare-1": (("p1",),),
        "other-1": ((), ()),
    }


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("protocol", "design", "why"),
    [
        ("report-coverage", {}, "option same does not apply to report-coverage"),
        ("citation-support", {"passages": "relevant"}, "only where all are shown"),
        ("citation-support", {"chosen": ("plain-1",)}, "only where all are shown"),
    ],
)
def test_the_option_is_refused_where_it_would_mean_nothing_or_lose_labels(
    folder: Path, protocol: str, design: dict[str, Any], why: str
) -> None:
    with pytest.raises(DesignError, match=why):
        create_campaign("x", protocol, Batch.objects.get(), Design(same="once", **design))


def test_citations_whose_means_a_report_gives_by_system_are_each_asked(folder: Path) -> None:
    scale = protocol_cast.TEXT.replace(
        'codes = ["none", "partial", "full"]\nlevel = "ordinal"\nwords = { none = "Not at all" }',
        "scale = { from = 0, to = 2 }",
    )
    scale = scale.partition("[[evidence]]")[0] + "[guideline]" + scale.partition("[guideline]")[2]
    run("protocol", "add", protocol_cast.write_protocol(folder, scale))
    with pytest.raises(DesignError, match="means and shares by system"):
        create_campaign("x", protocol_cast.NAME, Batch.objects.get(), Design(same="once"))
