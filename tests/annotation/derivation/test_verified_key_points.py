"""People verify key points, and the points that most of them keep become the next batch."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from django.core.management.base import CommandError

from annotation.derivation.service import DerivationRequest
from annotation.derivation.service import derive as derive_by_rule
from audit.models import Event
from datasets.lineage import lineage_of, units_behind
from datasets.models import Batch, LeftOut
from tests.annotation.derivation.cast import batch, campaign, derive, label, queries
from tests.cast import run

pytestmark = pytest.mark.django_db

YES, NEUTRAL = {"grounded": "yes", "key": "agree"}, {"grounded": "yes", "key": "neutral"}
OUT, NO = {"grounded": "yes", "key": "disagree"}, {"grounded": "no"}
MAJORITY = {
    "q1k0": [YES, YES, NO],
    "q1k1": [NO, NO, YES],
    "q1k2": [NEUTRAL, NEUTRAL, OUT],
    "q1k3": [YES, YES, OUT],
    "q2k0": [YES, YES, NO],
    "q2k1": [OUT, OUT, YES],
    "q2k2": [NO, YES, NO],
    "q2k3": [YES, YES, YES],
}
KEPT = {"q1": ["q1k0", "q1k3"], "q2": ["q2k0", "q2k3"]}


def kept(name: str) -> dict[str, list[str]]:
    return {key: [k.id for k in query.key_points] for key, query in queries(name).items()}


@pytest.fixture
def verified(tmp_path: Path) -> Path:
    batch(tmp_path)
    campaign("key-point-verification")
    label(tmp_path, MAJORITY)
    return tmp_path


def of(name: str, *arguments: object) -> str:
    return derive(name, "verified-key-points", *arguments, campaign="verify")


@pytest.mark.postgresql
def test_exactly_the_majoritys_points_stay_and_the_file_is_reproducible(verified: Path) -> None:
    """Cleo contradicts the other two nearly everywhere."""
    output = of("points", "--output", verified / "one.jsonl")
    assert "Derived batch 'points' with 2 queries" in output
    assert kept("points") == KEPT
    assert "not key 2" in output
    assert "not grounded 2" in output
    again = of("again", "--output", verified / "two.jsonl")
    assert "q1k1 (key points): not grounded" in again
    assert (verified / "one.jsonl").read_bytes() == (verified / "two.jsonl").read_bytes()
    run("load_batch", verified / "one.jsonl", "--name", "by file")
    digests = {Batch.objects.get(name=n).digest for n in ("points", "again", "by file")}
    assert len(digests) == 1


def test_everything_else_is_carried_over_untouched(verified: Path) -> None:
    before = queries("b")
    of("points")
    for key, after in queries("points").items():
        assert replace(after, key_points=before[key].key_points) == before[key]


def test_neutral_points_stay_if_requested(verified: Path) -> None:
    of("wide", "--set", "key=agree,neutral")
    assert kept("wide")["q1"] == ["q1k0", "q1k2", "q1k3"]


def test_a_lineage_says_what_was_read_kept_and_dropped(verified: Path) -> None:
    of("points")
    lineage = lineage_of(Batch.objects.get(name="points"))
    assert lineage is not None
    assert lineage.source.name == "b"
    assert lineage.campaigns == [{"name": "verify", "protocol": "key-point-verification"}]
    assert (lineage.decided_by, lineage.options) == ("adjudicated", {"key": "agree"})
    assert lineage.counts["kept"] == {"key points": 4, "queries": 2}
    assert lineage.counts["dropped"] == {"key points": {"not grounded": 2, "not key": 2}}
    assert len(lineage.labels) == 64
    dropped = dict(LeftOut.objects.filter(lineage=lineage).values_list("key", "reason"))
    assert dropped["q1k1"] == "not grounded"
    assert len(dropped) == 4
    assert Event.objects.filter(event="batch.derived").count() == 1
    tree = run("batch_lineage", "points")
    assert "points (2 queries)" in tree
    assert "from verify" in tree
    assert "file b.jsonl sha256" in tree


def test_a_tie_is_refused_with_the_options_to_settle_it(tmp_path: Path) -> None:
    batch(tmp_path)
    campaign("key-point-verification", people=2)
    label(tmp_path, {unit: [YES, YES] for unit in MAJORITY} | {"q1k1": [YES, NO]})
    with pytest.raises(CommandError, match=r"tie on 1 key points \(q1k1\).*--ties keep"):
        of("points")
    assert not Batch.objects.filter(name="points").exists()
    of("kept", "--ties", "keep")
    of("dropped", "--ties", "drop")
    assert "q1k1" in kept("kept")["q1"]
    assert "q1k1" not in kept("dropped")["q1"]
    lineage = lineage_of(Batch.objects.get(name="kept"))
    assert lineage is not None
    assert lineage.counts["undecided"] == {"tied, kept": 1}


def test_an_unfinished_campaign_is_refused_with_its_units_and_who_would_decide(
    tmp_path: Path,
) -> None:
    batch(tmp_path)
    campaign("key-point-verification")
    label(tmp_path, {unit: [YES, YES] for unit in MAJORITY})
    label(tmp_path, {unit: [YES] for unit in MAJORITY if unit != "q2k3"}, people=("cleo",))
    message = r"not finished: 1 key points .*\(q2k3\).*--decided-by ada or --decided-by ben"
    with pytest.raises(CommandError, match=message):
        of("points", "--ties", "keep")
    with pytest.raises(CommandError, match=message):
        of("points", "--dry-run")
    of("ada's", "--decided-by", "ada")
    assert not Batch.objects.filter(name="points").exists()


def test_a_dry_run_counts_and_stores_nothing(verified: Path) -> None:
    output = of("points", "--dry-run")
    assert "would have 2 queries" in output
    assert "Kept 4 key points" in output
    assert not Batch.objects.filter(name="points").exists()


def test_a_batch_is_behind_when_labels_change_and_is_not_if_they_change_back(
    verified: Path,
) -> None:
    of("points")
    lineage = lineage_of(Batch.objects.get(name="points"))
    assert lineage is not None
    assert units_behind(lineage) == 0
    label(verified, {"q1k0": [NO], "q1k1": [YES]}, people=("ben",))
    assert units_behind(lineage) == 2
    assert "behind: 2 units have other labels since" in run("batch_lineage", "points")
    label(verified, {"q1k0": [YES]}, people=("ben",))
    assert units_behind(lineage) == 1


def test_deriving_again_under_the_same_name_needs_the_same_content(verified: Path) -> None:
    of("points")
    assert "Nothing to do" in of("points")
    label(verified, {"q2k3": [OUT]}, people=("cleo",))
    assert "Nothing to do" in of("points")
    lineage = lineage_of(Batch.objects.get(name="points"))
    assert lineage is not None
    assert units_behind(lineage) == 0
    label(verified, {"q1k0": [NO]}, people=("ada",))
    with pytest.raises(CommandError, match="'points' has other content; choose another name"):
        of("points")


def test_unsuitable_input_is_refused_in_one_line_with_the_remedy(verified: Path) -> None:
    with pytest.raises(CommandError, match="use verified-key-points"):
        derive("x", "typed-queries", campaign="verify")
    with pytest.raises(CommandError, match="did you mean 'verified-key-points'"):
        derive("x", "verified-keypoints", campaign="verify")
    with pytest.raises(CommandError, match="name it with --from"):
        derive("x", "verified-key-points")
    with pytest.raises(CommandError, match="has no option 'kei=agree'; its options are key"):
        of("x", "--set", "kei=agree")
    batch(verified, name="other")
    with pytest.raises(CommandError, match="is over batch 'b', not 'other'; give --batch b"):
        derive("x", "verified-key-points", source="other", campaign="verify")
    with pytest.raises(CommandError, match="reads no campaign; leave --from out"):
        derive("x", "references-as-system", campaign="verify")


def test_an_interrupted_derivation_leaves_nothing_and_can_be_repeated(
    verified: Path,
) -> None:
    def die(done: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    source, output = Batch.objects.get(name="b"), verified / "points.jsonl"
    derivation = DerivationRequest("points", source, "verified-key-points", ["verify"])
    before = set(verified.iterdir())
    with pytest.raises(KeyboardInterrupt):
        derive_by_rule(derivation, output, progress=die)
    assert not Batch.objects.filter(name="points").exists()
    assert set(verified.iterdir()) == before
    of("points", "--output", output)
    assert kept("points") == KEPT
