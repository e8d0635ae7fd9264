"""Scores from log probabilities match numbers worked by hand, wherever tokens are cut."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from annotation.answers.types import Detail
from annotation.models import Assignment, Campaign, Label, Response
from annotation.protocols import PROTOCOLS
from annotation.protocols.schema import CampaignSchema
from judging.answers.logprobs import score_answer, select_logprobs
from judging.backends.base import Answer, AskedUnit, AskedVariable, Facts, Request
from judging.backends.logprobs import STORED_KEY
from judging.engine.worker import work
from judging.models import Judge, JudgeCall
from judging.parsers.base import Reading
from judging.prompts.request import Prepared
from judging.runs import lifecycle
from tandem.protocols.base import ItemSpec, UnitSpec
from tests.fake_openai.probabilities import Probabilities
from tests.fake_openai.running import Running
from tests.judging.cast import HASTY, judge

ANSWERABLE = AskedVariable("answerable", ("yes", "no", "invalid"), "nominal", {}, ("invalid",))
GROUNDED = AskedVariable("grounded", ("yes", "no"), "nominal")
RATING = AskedVariable("rating", tuple("012345"), "ordinal")
KEY = AskedVariable("key", ("agree", "neutral", "disagree"), "ordinal")
PREFERRED = AskedVariable("preferred", ("first", "second", "tie-good", "tie-bad"), "nominal")
COMPLEXITY = AskedVariable("complexity", ("simple", "simple-with-condition", "set"), "nominal")

SCHEMA = CampaignSchema(PROTOCOLS["report-coverage"], PROTOCOLS["report-coverage"].variables)
Piece = str | tuple[str, Mapping[str, float]]


def entry(token: str, share: float, raw: bytes | None = None) -> dict[str, Any]:
    logprob = math.log(share) if share else -9999.0
    return {"token": token, "logprob": logprob, "bytes": list(raw or token.encode())}


def logprobs_of(*pieces: Piece) -> dict[str, Any]:
    """A token for each piece: a certain one, or the first of alternatives with probabilities."""
    content = []
    for piece in pieces:
        shares = {piece: 1.0} if isinstance(piece, str) else piece[1]
        token = piece if isinstance(piece, str) else piece[0]
        tops = [entry(each, share) for each, share in shares.items()]
        content.append(entry(token, shares[token]) | {"top_logprobs": tops})
    return {"content": content}


def prepared(*variables: AskedVariable, unit_by_unit: bool = True, shown: Any = None) -> Prepared:
    asked = AskedUnit("question 1", "question", "When?", variables)
    facts = Facts("", (), (asked,), unit_by_unit)
    unit = UnitSpec("question", "q1", "When?")
    names = {"question 1": "q1"}
    assignment = Assignment(shown=shown or [])
    spec = ItemSpec("i", (unit,), ())
    return Prepared(
        assignment, spec, {"question 1": unit}, names, Request((), {}, facts), "", SCHEMA
    )


def scores(of: Prepared, answer: Answer) -> Mapping[Any, Detail]:
    return score_answer(of, answer, Reading({}, text=answer.text))


def selected(of: Prepared, answer: Answer) -> Any:
    return select_logprobs(of, answer, Reading({}, text=answer.text))


def details(variable: AskedVariable, *pieces: Piece, shown: Any = None) -> Mapping[Any, Detail]:
    text = "".join(piece if isinstance(piece, str) else piece[0] for piece in pieces)
    answer = Answer(text, logprobs=logprobs_of(*pieces))
    return scores(prepared(variable, shown=shown), answer)


def detail(variable: AskedVariable, *pieces: Piece, shown: Any = None) -> Detail:
    ((place, found),) = details(variable, *pieces, shown=shown).items()
    assert place == ("q1", variable.name)
    return found


def meta(found: Detail) -> Mapping[str, Any]:
    assert found.meta is not None
    return found.meta


def test_yes_against_no_is_renormalised_over_the_two() -> None:
    """0.6 / (0.6 + 0.2) = 0.75; the mass of both is 0.8."""
    shares = {"yes": 0.6, "no": 0.2, "The": 0.1}
    found = detail(GROUNDED, '{"grounded": "', ("yes", shares), '"}')
    assert found.score == pytest.approx(0.75)
    assert meta(found)["mass"] == pytest.approx(0.8)
    assert meta(found)["probabilities"] == pytest.approx({"yes": 0.75, "no": 0.25})
    assert "low_mass" not in meta(found)


def test_the_score_of_a_no_is_the_probability_of_yes_too() -> None:
    found = detail(GROUNDED, '{"grounded": "', ("no", {"no": 0.9, "yes": 0.1}), '"}')
    assert found.score == pytest.approx(0.1)


def test_probabilities_of_spellings_of_a_code_are_summed() -> None:
    """(0.3 + 0.2 + 0.1) / (0.6 + 0.2)."""
    shares = {"yes": 0.3, "Yes": 0.2, " yes": 0.1, "NO": 0.2}
    found = detail(GROUNDED, '{"grounded": "', ("yes", shares), '"}')
    assert found.score == pytest.approx(0.75)


def test_a_part_of_a_code_counts_only_in_its_own_case() -> None:
    """An "I" begins prose, while "in" may begin "invalid"."""
    shares = {"yes": 0.5, "no": 0.1, "I": 0.3, "in": 0.05}
    found = detail(ANSWERABLE, '{"answerable": "', ("yes", shares), '"}')
    assert meta(found)["mass"] == pytest.approx(0.65)


def test_an_escape_counts_towards_the_mass_but_not_the_score() -> None:
    """0.4 / (0.4 + 0.4); the escape's 0.2 counts only towards the mass."""
    shares = {"yes": 0.4, "no": 0.4, "invalid": 0.1999}
    found = detail(ANSWERABLE, '{"answerable": "', ("yes", shares), '"}')
    assert found.score == pytest.approx(0.5)
    assert meta(found)["mass"] == pytest.approx(0.9999)
    assert meta(found)["probabilities"]["invalid"] == pytest.approx(0.2, abs=1e-3)


def test_a_completed_code_is_not_counted_for_a_longer_one() -> None:
    """Listed: 0.2 for "simple", 0.1 for "set", and 0.6 * 0.6 = 0.36 for the longer one.

    At the second token, the end of "simple" is not listed, which does not change its probability.
    """
    first = {"simple": 0.6, 'simple"': 0.2, "set": 0.1}
    then = {"-with": 0.6, "-in": 0.3}
    found = detail(COMPLEXITY, '{"complexity": "', ("simple", first), ("-with", then),
                   '-condition"}')  # fmt: skip
    probabilities = {"simple": 0.2 / 0.66, "set": 0.1 / 0.66, "simple-with-condition": 0.36 / 0.66}
    assert meta(found)["probabilities"] == pytest.approx(probabilities)
    assert meta(found)["mass"] == pytest.approx(0.66)


def test_a_ratings_score_is_the_expectation_over_the_digits_with_its_variance() -> None:
    """3*0.5 + 4*0.25 + 2*0.25 = 3; the squares of the distances: 0.25 + 0.25 = 0.5."""
    shares = {"3": 0.4, "4": 0.2, "2": 0.2, "The": 0.1, "x": 1e-9}
    found = detail(RATING, '{"evidence": [], "rating": "', ("3", shares), '"}')
    assert found.score == pytest.approx(3.0)
    assert meta(found)["variance"] == pytest.approx(0.5)
    assert meta(found)["mass"] == pytest.approx(0.8)
    assert meta(found)["bounded"] == ["0", "1", "5"]


def test_a_label_of_several_tokens_is_followed_until_codes_differ() -> None:
    """P(tie) = 0.6, of which good has 0.75: 0.45 and 0.15; the other codes have 0.3 and 0.1."""
    found = detail(
        PREFERRED,
        '{"preferred": "',
        ("tie", {"tie": 0.6, "first": 0.3, "second": 0.0999}),
        ("-good", {"-good": 0.75, "-bad": 0.25}),
        '"}',
    )
    shares = meta(found)["probabilities"]
    expected = {"tie-good": 0.45, "tie-bad": 0.15, "first": 0.3, "second": 0.1}
    assert shares == pytest.approx(expected, abs=1e-3)
    assert found.score is None
    assert "unscored" not in meta(found)


def test_a_code_that_is_the_beginning_of_another_is_told_apart_by_its_end() -> None:
    found = detail(
        COMPLEXITY,
        '{"complexity": "',
        ("simple", {"simple": 0.8, "set": 0.2}),
        ('"', {'"': 0.5, "-with": 0.5}),
        "}",
    )
    shares = meta(found)["probabilities"]
    expected = {"simple": 0.4, "simple-with-condition": 0.4, "set": 0.2}
    assert shares == pytest.approx(expected)


def test_tokens_may_end_inside_the_label() -> None:
    """ye has 0.7, and s always follows; n begins only one code."""
    found = detail(
        GROUNDED,
        '{"grounded": "',
        ("ye", {"ye": 0.7, "n": 0.3}),
        ("s", {"s": 1.0}),
        '"}',
    )
    assert found.score == pytest.approx(0.7)


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("before", "spelled", "other", "after"),
    [
        ('{"grounded":', ' "yes', ' "no', '"}'),
        ('{"grounded":', '"yes"', '"no"', "}"),
        ('{\n  "grounded" :\t"', 'yes"}', 'no"}', ""),
        ('{"grounded": "', 'yes",', 'no",', '"key": "agree"}'),
        ('{"grounded"', ':"yes', ':"no', '"}'),
    ],
)
def test_the_labels_token_may_contain_quotation_marks_and_blanks(
    before: str, spelled: str, other: str, after: str
) -> None:
    found = detail(GROUNDED, before, (spelled, {spelled: 0.8, other: 0.2}), after)
    assert found.score == pytest.approx(0.8)


def test_a_token_of_only_a_quotation_mark_may_begin_any_code() -> None:
    shares = {' "yes': 0.6, ' "': 0.4}
    found = detail(GROUNDED, '{"grounded":', (' "yes', shares), '"}')
    assert found.score is None
    assert "begin alike" in meta(found)["unscored"]


def test_multibyte_text_before_the_label_does_not_shift_it() -> None:
    quote = '{"evidence": [{"quote": "🌉 قديم", "start": null}], "grounded": "'
    found = detail(GROUNDED, quote, ("yes", {"yes": 0.8, "no": 0.2}), '"}')
    assert found.score == pytest.approx(0.8)


def test_a_character_may_be_split_across_tokens() -> None:
    text = '{"quote": "🌉", "grounded": "yes"}'
    bridge = "🌉".encode()
    content = [
        *(entry(token, 1.0, raw) for token, raw in (('{"quote": "', None), ("�", bridge[:1]))),
        entry("�", 1.0, bridge[1:]),
        entry('", "grounded": "', 1.0),
        logprobs_of(("yes", {"yes": 0.8, "no": 0.2}))["content"][0],
        entry('"}', 1.0),
    ]
    answer = Answer(text, logprobs={"content": content})
    (found,) = scores(prepared(GROUNDED), answer).values()
    assert found.score == pytest.approx(0.8)


def test_broken_characters_in_place_of_bytes_do_not_lose_the_label() -> None:
    text = '{"quote": "🌉 قديم", "grounded": "yes"}'
    words = ['{"quote": "', "�", "�", " ", "�", "�", "�", "�", '", "', "grounded", '": "']
    content = [{"token": word, "logprob": 0.0} for word in words]
    content += logprobs_of(("yes", {"yes": 0.8, "no": 0.2}), '"}', "</s>")["content"]
    answer = Answer(text, logprobs={"content": content})
    (found,) = scores(prepared(GROUNDED), answer).values()
    assert found.score == pytest.approx(0.8)


def test_reasoning_before_the_answer_is_skipped() -> None:
    pieces: Sequence[Piece] = ('{"grounded": "', ("yes", {"yes": 0.8, "no": 0.2}), '"}')
    text = '{"grounded": "yes"}'
    thought = logprobs_of("Say ", '{"grounded": "no"}', ".", *pieces, "<|im_end|>")
    answer = Answer(text, logprobs=thought)
    (found,) = scores(prepared(GROUNDED), answer).values()
    assert found.score == pytest.approx(0.8)


def test_codes_with_all_probability_hide_the_label_mass() -> None:
    found = detail(GROUNDED, '{"grounded": "', ("yes", {"yes": 0.7, "no": 0.3}), '"}')
    assert meta(found)["mass"] is None


def test_each_unit_of_an_item_has_its_own_score() -> None:
    asked = tuple(AskedUnit(name, "question", "?", (GROUNDED,)) for name in ("a", 'b"é'))
    units = {unit.name: UnitSpec("question", unit.name, "?") for unit in asked}
    names = {"a": "real a", 'b"é': "real b"}
    both = Prepared(
        Assignment(shown=[]), ItemSpec("i", tuple(units.values()), ()), units, names,
        Request((), {}, Facts("", (), asked, unit_by_unit=False)), "", SCHEMA,
    )  # fmt: skip
    pieces: Sequence[Piece] = (
        '{"a": {"evidence": [{"grounded": "no"}], "grounded": "',
        ("yes", {"yes": 0.8, "no": 0.2}),
        '"}, "b\\"\\u00e9": {"grounded": "',
        ("no", {"yes": 0.1, "no": 0.9}),
        '"}}',
    )
    text = "".join(piece if isinstance(piece, str) else piece[0] for piece in pieces)
    assert json.loads(text)
    found = scores(both, Answer(text, logprobs=logprobs_of(*pieces)))
    assert {place: detail.score for place, detail in found.items()} == {
        ("real a", "grounded"): pytest.approx(0.8),
        ("real b", "grounded"): pytest.approx(0.1),
    }


def test_a_variable_that_is_not_asked_has_no_score() -> None:
    assert details(KEY, '{"key": null}') == {}


def test_without_probabilities_there_is_no_score() -> None:
    assert scores(prepared(GROUNDED), Answer('{"grounded": "yes"}')) == {}


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("logprobs", "why"),
    [
        ({"x": None}, "gave no log probabilities"),
        ({"content": []}, "gave no log probabilities"),
        ({"content": ["yes"]}, "cannot be read"),
        ({"content": [{"token": 3}]}, "cannot be read"),
        ({"content": [{"token": "yes", "logprob": 0.0, "bytes": 7}]}, "do not make up"),
        ({"content": [{"token": '{"grounded": "yes"}', "logprob": None}]}, "is not a number"),
        ({"content": [{"token": '{"grounded": "yes"}', "logprob": -(10**400)}]}, "is not a number"),
        ("garbage", "gave no log probabilities"),
    ],
)
def test_unreadable_probabilities_give_a_reason_and_no_score(logprobs: Any, why: str) -> None:
    answer = Answer('{"grounded": "yes"}', logprobs=logprobs)
    (found,) = scores(prepared(GROUNDED), answer).values()
    assert found.score is None
    assert why in meta(found)["unscored"]


@pytest.mark.every_case
@pytest.mark.parametrize("text", ["Yes.", "", "[1]", '{"grounded"', '{"grounded": "yes", ', "{1}"])
def test_an_unreadable_answer_has_no_scores(text: str) -> None:
    answer = Answer(text, logprobs=logprobs_of(text))
    assert all(not each.score for each in scores(prepared(GROUNDED), answer).values())


def test_the_fake_servers_probabilities_are_read_back() -> None:
    """0.8 for the chosen code, and the rest divided equally; 0.95 for all codes together."""
    schema = {"properties": {"rating": {"enum": list("012345")}}}
    value = {"rating": "4"}
    given = Probabilities("raw", sureness=0.8, mass=0.95).of(schema, value, 20)
    answer = Answer(json.dumps(value), logprobs=given)
    (found,) = scores(prepared(RATING), answer).values()
    assert found.score == pytest.approx(4 * 0.8 + 0.04 * (0 + 1 + 2 + 3 + 5))
    assert meta(found)["mass"] == pytest.approx(0.95)


@pytest.mark.first_case
@pytest.mark.parametrize("granularity", ["item", "unit"])
def test_a_run_stores_scores_beside_its_labels(
    campaign: Campaign, server: Running, granularity: str
) -> None:
    """0.9 for yes, 0.05 each for no and invalid, which is not a category: 0.9 / 0.95."""
    server.behave(reset=True)
    rater = judge(
        "scoring", "openai", model="fake-judge", base_url=server.url, granularity=granularity,
        params={"logprobs": 20},
    )  # fmt: skip
    run = lifecycle.start(campaign, rater)
    lease = lifecycle.lease_run(run)
    assert lease
    assert work(run, lease, patience=HASTY).how == "finished"
    labels = Label.objects.filter(response__assignment__rater=rater.rater)
    assert labels.count() == 12
    assert {label.value for label in labels} == {"yes"}
    assert [label.score for label in labels] == [pytest.approx(0.9 / 0.95)] * 12
    assert [(label.meta or {})["mass"] for label in labels] == [pytest.approx(0.95)] * 12


def kept_of(
    *pieces: Piece, asked: AskedVariable = GROUNDED, logprobs: Any = None
) -> tuple[Answer, Answer]:
    """An answer as it was received, and as it is stored."""
    text = "".join(piece if isinstance(piece, str) else piece[0] for piece in pieces)
    came = Answer(text, logprobs=logprobs or logprobs_of(*pieces))
    kept = selected(prepared(asked), came)
    return came, Answer(text, logprobs=json.loads(json.dumps(kept, allow_nan=False)))


LABEL: tuple[Piece, ...] = ('"grounded": "', ("yes", {"yes": 0.6, "no": 0.2, "The": 0.1}), '"}')


def test_only_the_tokens_of_labels_are_stored() -> None:
    """3,000 tokens with 20 alternatives each are about a megabyte; a label is one of them."""
    quote = [(f"word{n} ", {f"word{n} ": 0.5} | {f"x{m}": 0.02 for m in range(19)})
             for n in range(3000)]  # fmt: skip
    came, stored = kept_of('{"quote": "', *quote, '", ', *LABEL)
    assert len(json.dumps(came.logprobs)) > 2_000_000
    assert len(json.dumps(stored.logprobs)) < 500
    assert stored.logprobs["tokens"] == 3005


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("asked", "pieces"),
    [
        (GROUNDED, ('{"quote": "🌉 long", ', *LABEL)),
        (GROUNDED, ('{"grounded": "', ("ye", {"ye": 0.7, "n": 0.3}), ("s", {"s": 1.0}), '"}')),
        (GROUNDED, ('{"grounded":', (' "yes', {' "yes': 0.6, ' "': 0.4}), '"}')),
        (GROUNDED, ('{"grounded": "', ("yes", {"yes": 0.7, "no": 0.3, "The": 0.0}), '"}')),
        (RATING, ('{"rating": ', ("3", {"3": 0.5, "4": 0.499}), "}")),
        (
            COMPLEXITY,
            (
                '{"complexity": "', ("simple", {"simple": 0.8, "set": 0.2}),
                ('"', {'"': 0.5, "-with": 0.5}), "}",
            ),
        ),
        (PREFERRED, ('{"preferred": "', ("first", {"first": 0.5, "tie": 0.3}), '"}')),
        (GROUNDED, ('{"grounded": "', "yes", '"}')),
        (GROUNDED, ('{"grounded": "YES"}',)),
    ],
)  # fmt: skip
def test_scores_from_stored_tokens_equal_the_original_ones(asked: Any, pieces: Any) -> None:
    came, stored = kept_of(*pieces, asked=asked)
    of = prepared(asked)
    assert scores(of, stored) == scores(of, came)
    assert selected(of, stored) == stored.logprobs


@pytest.mark.every_case
@pytest.mark.parametrize(
    "logprobs",
    [
        {"x": None},
        {"content": ["yes"]},
        {"content": [{"token": '{"grounded": "yes"}', "logprob": None}]},
        {"content": [{"token": '{"grounded": "yes"}', "logprob": float("-inf")}]},
        {"content": [{"token": '{"grounded": "y', "logprob": 0.0}]},
        "garbage",
    ],
)
def test_stored_tokens_give_the_same_reason_for_a_missing_score(logprobs: Any) -> None:
    came, stored = kept_of('{"grounded": "yes"}', logprobs=logprobs)
    found = scores(prepared(GROUNDED), stored)
    assert found == scores(prepared(GROUNDED), came)
    assert found


def test_a_character_split_across_tokens_is_stored_by_its_bytes() -> None:
    text, bridge = '{"grounded": "ja 🌉"}', "🌉".encode()
    own = AskedVariable("grounded", ("ja 🌉", "ja nein"), "nominal")
    content = [
        entry('{"grounded": "', 1.0),
        *logprobs_of(("ja ", {"ja ": 0.8, "nein": 0.2}))["content"],
        *(entry("�", 1.0, raw) for raw in (bridge[:1], bridge[1:])),
        entry('"}', 1.0),
    ]
    came = Answer(text, logprobs={"content": content})
    kept = selected(prepared(own), came)
    stored = Answer(text, logprobs=json.loads(json.dumps(kept)))
    (found,) = scores(prepared(own), came).values()
    assert "ends inside a character" in meta(found)["unscored"]
    assert list(scores(prepared(own), stored).values()) == [found]


def test_a_resumed_run_scores_from_the_stored_tokens_of_labels(
    campaign: Campaign, server: Running
) -> None:
    server.behave(reset=True)
    rater = judge(
        "scoring", "openai", model="fake-judge", base_url=server.url, params={"logprobs": 20}
    )
    assert _worked(campaign, rater) == "finished"
    labels = Label.objects.filter(response__assignment__rater=rater.rater).order_by("unit")
    before = list(labels.values_list("unit", "value", "score", "meta"))
    for logprobs in JudgeCall.objects.values_list("logprobs", flat=True):
        assert logprobs is not None
        assert len(logprobs[STORED_KEY]) == 3 < logprobs["tokens"]
    Response.objects.all().delete()
    Assignment.objects.update(status="open")
    calls = JudgeCall.objects.count()
    assert _worked(campaign, rater) == "finished"
    assert list(labels.values_list("unit", "value", "score", "meta")) == before
    assert JudgeCall.objects.count() == calls


def _worked(campaign: Campaign, rater: Judge) -> str:
    run = lifecycle.start(campaign, rater)
    lease = lifecycle.lease_run(run)
    assert lease
    return work(run, lease, patience=HASTY).how
