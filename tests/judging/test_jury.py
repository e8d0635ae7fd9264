"""Several judges, or several samples of one, vote as one more judge."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.core.management.base import CommandError

from annotation.models import Assignment, Campaign, Label, Rater, Response
from judging import jury
from judging.backends.base import Request
from judging.jury import TIE, TOO_FEW, Vote, decide, decide_samples
from tandem.protocols.base import Variable
from tests.judging.cast import command, judge, run_scripted, yes

YES_NO = Variable("answerable", "question", "?", ("yes", "no"), escapes=("invalid",))
RATING = Variable("rating", "question", "?", tuple("012345"), level="ordinal")
TOPIC = Variable("category", "query", "?", ("art", "law", "sport"))


def votes(*values: str) -> list[Vote]:
    return [Vote(n, value) for n, value in enumerate(values)]


def saying(code: str, quote: str = "") -> Callable[[Request], str]:
    """A judge that gives every question the same label."""

    def script(request: Request) -> str:
        words = quote or request.facts.texts[0][:10]
        quotes = [{"quote": words, "start": None}] if code == "yes" else []
        answer = {"evidence": quotes, "answerable": code}
        return json.dumps({unit.name: answer for unit in request.facts.units})

    return script


def hold(campaign: Campaign, *given: str, name: str = "jury") -> str:
    return command("create_jury", name, "--campaign", campaign.name, *given)


def labels_of(name: str) -> list[str]:
    labels = Label.objects.filter(response__assignment__rater__name=name, response__current=True)
    return sorted(labels.values_list("value", flat=True))


@pytest.fixture
def three(campaign: Campaign) -> Campaign:
    """Two judges that say yes, and one that says no."""
    for name, code in (("a", "yes"), ("b", "yes"), ("c", "no")):
        run_scripted(campaign, judge(name), saying(code))
    return campaign


def test_the_majority_wins_and_the_score_is_the_mean() -> None:
    verdict = decide(YES_NO, votes("yes", "no", "yes"), 3, "majority")
    assert (verdict.value, verdict.winners, verdict.votes) == ("yes", (0, 2), {"yes": 2, "no": 1})
    assert verdict.score == pytest.approx(2 / 3)


def test_a_members_own_score_counts_in_the_mean() -> None:
    given = [Vote(0, "yes", 0.9), Vote(1, "yes", 0.6), Vote(2, "no", 0.3)]
    assert decide(YES_NO, given, 3, "majority").score == pytest.approx(0.6)


def test_a_tie_gives_no_label() -> None:
    verdict = decide(YES_NO, votes("yes", "no"), 2, "majority")
    assert (verdict.value, verdict.undecided) == (None, TIE)


@pytest.mark.parametrize("present", [0, 1, 2])
def test_half_of_the_votes_are_too_few(present: int) -> None:
    verdict = decide(YES_NO, votes("yes", "yes")[:present], 4, "majority")
    assert (verdict.value, verdict.undecided) == (None, TOO_FEW)


@pytest.mark.parametrize(
    ("given", "label", "mean"),
    [(("5", "2", "2"), "3", 3.0), (("3", "4"), "4", 3.5), (("0", "0", "1"), "0", 1 / 3)],
)
def test_a_mean_is_rounded_only_for_the_label(
    given: tuple[str, ...], label: str, mean: float
) -> None:
    verdict = decide(RATING, votes(*given), len(given), "mean")
    assert verdict.value == label
    assert verdict.score == pytest.approx(mean)


def test_unordered_categories_are_decided_by_majority_instead_of_mean() -> None:
    verdict = decide(TOPIC, votes("art", "law", "law"), 3, "mean")
    assert (verdict.value, verdict.score) == ("law", None)


def test_an_escape_code_can_win_and_adds_nothing_to_the_score() -> None:
    verdict = decide(YES_NO, votes("invalid", "invalid", "yes"), 3, "majority")
    assert (verdict.value, verdict.score) == ("invalid", 1.0)
    assert decide(YES_NO, votes("invalid", "invalid"), 2, "majority").score is None


def test_shares_of_samples_are_smoothed_after_jeffreys() -> None:
    verdict = decide_samples(YES_NO, votes(*["yes"] * 5), 5, "majority")
    assert verdict.value == "yes"
    assert verdict.shares == {"yes": pytest.approx(5.5 / 6), "no": pytest.approx(0.5 / 6)}
    assert verdict.score == pytest.approx(5.5 / 6)


def test_the_score_of_sampled_ratings_is_their_smoothed_mean() -> None:
    verdict = decide_samples(RATING, votes("4", "4", "5"), 3, "mean")
    whole = 3 + 6 / 2
    expected = (0.5 * (0 + 1 + 2 + 3) + 2.5 * 4 + 1.5 * 5) / whole
    assert verdict.value == "4"
    assert verdict.score == pytest.approx(expected)


def test_a_jury_is_a_judge_of_its_own(three: Campaign) -> None:
    said = hold(three, "--judges", "a,b,c")
    assert "12 labels, 0 ties, 0 without enough votes; 4 answers written" in said
    assert Rater.objects.get(name="jury").kind == Rater.Kind.JUDGE
    assert labels_of("jury") == ["yes"] * 12
    report = json.loads(command("report", "--campaign", three.name))
    assert set(report["variables"]["answerable"]["judges"]) == {"a", "b", "c", "jury"}


def test_a_label_of_a_jury_stores_the_votes(three: Campaign) -> None:
    hold(three, "--judges", "c,a,b")
    label = Label.objects.filter(response__assignment__rater__name="jury").first()
    assert label is not None
    assert label.score == pytest.approx(2 / 3)
    assert label.meta == {
        "jury": {"members": ["a", "b", "c"], "rule": "majority", "samples": None},
        "votes": {"yes": 2, "no": 1},
        "absent": 0,
    }


def test_a_jury_takes_the_quotes_of_the_winning_members_without_duplicates(
    campaign: Campaign,
) -> None:
    run_scripted(campaign, judge("a"), yes)
    run_scripted(campaign, judge("b"), yes)
    run_scripted(campaign, judge("c"), saying("no"))
    hold(campaign, "--judges", "a,b,c")
    of_jury = Label.objects.filter(response__assignment__rater__name="jury")
    assert {label.spans.count() for label in of_jury} == {1}
    assert {span.method for label in of_jury for span in label.spans.all()} == {"exact"}


def test_forming_the_same_jury_again_writes_nothing(three: Campaign) -> None:
    hold(three, "--judges", "a,b,c")
    responses = Response.objects.count()
    assert "0 answers written, 4 as they were" in hold(three, "--judges", "a,b,c")
    assert Response.objects.count() == responses


def test_changed_labels_are_written_as_a_revision(campaign: Campaign) -> None:
    for name in ("a", "b"):
        run_scripted(campaign, judge(name), saying("yes"))
    run_scripted(campaign, judge("c"), saying("no"), limit=1)
    assert "3 of 4" not in hold(campaign, "--judges", "a,b,c")
    run_scripted(campaign, judge("c"), saying("no"))
    said = hold(campaign, "--judges", "a,b,c")
    assert "3 answers written, 1 as they were" in said
    newest = Response.objects.filter(assignment__rater__name="jury", current=True)
    assert sorted(newest.values_list("revision", flat=True)) == [1, 2, 2, 2]


def test_a_tie_is_missing_and_counted(campaign: Campaign) -> None:
    run_scripted(campaign, judge("a"), saying("yes"))
    run_scripted(campaign, judge("b"), saying("no"))
    assert "0 labels, 12 ties" in hold(campaign, "--judges", "a,b")
    assert labels_of("jury") == []
    report = json.loads(command("report", "--campaign", campaign.name))
    assert report["variables"]["answerable"]["judges"]["jury"]["missing"] == {"declined": 12}


def test_missing_votes_of_members_are_left_out_and_counted(three: Campaign) -> None:
    run_scripted(three, judge("d"), lambda request: "no JSON")
    hold(three, "--judges", "a,b,c,d")
    label = Label.objects.filter(response__assignment__rater__name="jury").first()
    assert label is not None
    assert label.meta is not None
    assert (label.value, label.meta["absent"]) == ("yes", 1)


def test_a_unit_with_too_few_votes_is_missing_for_the_reason_of_its_members(
    campaign: Campaign,
) -> None:
    run_scripted(campaign, judge("a"), saying("yes"))
    run_scripted(campaign, judge("b"), lambda request: "no JSON")
    assert "0 labels, 0 ties, 12 without enough votes" in hold(campaign, "--judges", "a,b")
    row = Assignment.objects.filter(rater__name="jury").first()
    assert row is not None
    assert {r for each in row.missing.values() for r in each.values()} == {"unreadable"}


def test_members_asked_unit_by_unit_vote_like_others(campaign: Campaign) -> None:
    run_scripted(campaign, judge("a"), yes)
    run_scripted(campaign, judge("b", granularity="unit"), yes)
    assert "12 labels" in hold(campaign, "--judges", "a,b")


def test_a_jury_cannot_change_its_members_or_rule(three: Campaign) -> None:
    hold(three, "--judges", "a,b,c")
    with pytest.raises(CommandError, match="exists with a, b, c by majority"):
        hold(three, "--judges", "a,b")
    with pytest.raises(CommandError, match="choose a new name"):
        hold(three, "--judges", "a,b,c", "--rule", "mean")


@pytest.mark.first_case
@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--judges", "a"), "at least two members"),
        (("--judges", "a,nobody"), "there is no judge 'nobody'"),
        (("--judges", "a,ada"), "'ada' is not a judge"),
        (("--samples-of", "a"), "is asked everything once"),
    ],
)
def test_an_invalid_choice_of_members_is_refused(
    three: Campaign, given: tuple[str, ...], message: str
) -> None:
    Rater.objects.create(name="ada", kind=Rater.Kind.HUMAN)
    with pytest.raises(CommandError, match=message):
        hold(three, *given)


@pytest.mark.first_case
@pytest.mark.parametrize("name", ["a", "ada"])
def test_a_name_that_is_taken_is_refused(three: Campaign, name: str) -> None:
    Rater.objects.create(name="ada", kind=Rater.Kind.HUMAN)
    with pytest.raises(CommandError, match="belongs to another rater"):
        hold(three, "--judges", "b,c", name=name)


def test_samples_of_one_judge_can_form_a_jury(campaign: Campaign) -> None:
    answers: Any = {0: "yes", 1: "yes", 2: "no"}
    rater = judge("sampler", "openai", model="m", base_url="http://127.0.0.1:9/v1",
                  params={"samples": 3, "temperature": 0.7})  # fmt: skip
    run_scripted(campaign, rater, lambda request: saying(answers[request.sample])(request))
    assert "12 labels" in hold(campaign, "--samples-of", "sampler")
    label = Label.objects.filter(response__assignment__rater__name="jury").first()
    assert label is not None
    assert label.meta is not None
    assert (label.value, label.score) == ("yes", pytest.approx(2.5 / 4))
    assert label.meta["shares"] == {"yes": 0.625, "no": 0.375}


def test_a_jury_that_fails_at_its_creation_leaves_no_rater(
    three: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*given: Any) -> None:
        raise RuntimeError("the disk is full")

    monkeypatch.setattr(jury, "submit", fail)
    with pytest.raises(RuntimeError):
        hold(three, "--judges", "a,b,c")
    assert not Rater.objects.filter(name="jury").exists()
    assert not Assignment.objects.filter(rater__name="jury").exists()


def test_a_failed_jury_keeps_finished_chunks_and_continues_with_the_same_command(
    three: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[Any] = []
    whole = jury.submit

    def fail_at_third(*given: Any) -> Any:
        done.append(given)
        if len(done) == 3:
            raise RuntimeError("the disk is full")
        return whole(*given)

    monkeypatch.setattr(jury, "CHUNK", 2)
    monkeypatch.setattr(jury, "submit", fail_at_third)
    with pytest.raises(RuntimeError):
        hold(three, "--judges", "a,b,c")
    assert len(labels_of("jury")) == 6
    hold(three, "--judges", "a,b,c")
    assert len(labels_of("jury")) == 12


def test_members_without_answers_cannot_form_a_jury(campaign: Campaign) -> None:
    for name in ("a", "b"):
        judge(name)
    with pytest.raises(CommandError, match="have answered too little of study"):
        hold(campaign, "--judges", "a,b")
    assert not Rater.objects.filter(name="jury").exists()


@pytest.mark.first_case
@pytest.mark.parametrize(
    ("program", "message"),
    [("robustness", "no trials of its own; run the trials"), ("judge_manifest", "it has no runs")],
)
def test_commands_that_need_calls_refuse_a_jury_and_name_its_members(
    three: Campaign, program: str, message: str
) -> None:
    hold(three, "--judges", "a,b,c")
    with pytest.raises(CommandError, match=f"{message}.*: --judge a, --judge b, --judge c"):
        command(program, "--campaign", three.name, "--judge", "jury")
