"""The order of texts that a judge file asks for: pairs in both orders, or shuffled by a seed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from annotation.models import Assignment, Campaign, Label
from judging import library
from judging.backends.base import Request
from judging.models import Judge
from tests.judging.cast import campaign_of, judge, run_scripted

pytestmark = pytest.mark.django_db
PAIRWISE = library.text_of("pairwise-preference")


def of_file(text: str, name: str = "j", **params: object) -> Judge:
    return judge(name, "openai", model="m", base_url="http://127.0.0.1:1", file=text, params=params)


@pytest.fixture
def pairs(tmp_path: Path) -> Campaign:
    return campaign_of(tmp_path, "answer-preference")


def better(request: Request) -> str:
    """Prefer the answer that names who built the bridge, at either position."""
    first, second = request.facts.texts[0], request.facts.texts[1]
    return "[[A]]" if "Anna Lee" in first and "Anna Lee" not in second else "[[B]]"


def test_each_pair_is_asked_in_both_orders_and_labelled_in_its_stored_order(
    pairs: Campaign,
) -> None:
    run, _, backend = run_scripted(pairs, of_file(PAIRWISE), better)
    assert run.done == len(backend.asked) == 4
    words = [request.messages[0].content for request in backend.asked]
    assert Counter(w.index("Anna Lee") < w.index("Nobody knows") for w in words) == {
        True: 2, False: 2,
    }  # fmt: skip
    assert set(Assignment.objects.values_list("replicate", flat=True)) == {0, 1}
    # The better answer is the same in either order.
    said = Label.objects.values_list("unit", "value").distinct()
    assert len(said) == 2


def test_a_judge_that_always_prefers_the_first_answer_contradicts_itself(pairs: Campaign) -> None:
    run_scripted(pairs, of_file(PAIRWISE), lambda request: "[[A]]")
    assert Counter(Label.objects.values_list("value", flat=True)) == {"first": 2, "second": 2}


def test_samples_are_divided_equally_between_both_orders(pairs: Campaign) -> None:
    run_scripted(pairs, of_file(PAIRWISE, samples=2, temperature=0.7), better)
    turned = [bool(shown) for shown in Assignment.objects.values_list("shown", flat=True)]
    assert Counter(turned) == {True: 4, False: 4}


def test_shuffled_orders_depend_on_the_seed_and_differ_between_requests(tmp_path: Path) -> None:
    text = library.text_of("faithfulness").replace('isolate = "response"', 'order = "shuffled"')
    study = campaign_of(tmp_path, "answer-rating")
    orders = []
    for name, seed in (("a", 0), ("b", 0), ("c", 7)):
        rater = of_file(text, name, seed=seed, samples=4, temperature=0.7)
        run_scripted(study, rater, lambda request: '{"verdict": 1}')
        rows = Assignment.objects.filter(rater=rater.rater).order_by("item", "scope", "replicate")
        orders.append(list(rows.values_list("shown", flat=True)))
    assert orders[0] == orders[1]
    assert orders[0] != orders[2]
    assert len({tuple(each) for each in orders[0]}) > 1
