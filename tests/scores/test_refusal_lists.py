"""A list of refusals that was shipped never changes: a new one gets the next number."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest

from tandem.scores.answers.refusals import FOLDER, refusal_list, refusal_lists
from tandem.scores.options import Options

pytestmark = pytest.mark.every_case

SHIPPED = {
    "plain-1": "0257e09bc5a6a4d3c096dbf4d840589d2d95896a3da21c672030b94680c9de65",
    "plain-2": "84fbb8f59bd7ebd6b65a553c03ac8c85cd24b238b42475b98efb8c1a9957222f",
}


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_list_never_changes(name: str) -> None:
    content = (FOLDER / f"{name}.toml").read_bytes()
    assert sha256(content).hexdigest() == SHIPPED[name], "add a list with the next number instead"


def test_every_list_has_its_digest_recorded_here() -> None:
    assert set(refusal_lists()) == set(SHIPPED), "add the new list's digest to SHIPPED"


# For each phrase, an answer that refuses and a similar answer that does not.
REFUSALS = {
    "unanswerable": ("Unanswerable.", "It is answerable: in 1890."),
    "cannot be answered": (
        "From these passages this cannot be answered.",
        "The letter could be answered only in 1890.",
    ),
    "can not be answered": ("It can not be answered here.", "It can be answered: in 1890."),
    "can't be answered": ("That can’t be answered.", "That can be answered: in 1890."),
    "cannot answer": ("I cannot answer this question.", "They cannot agree, so it has two names."),
    "can't answer": ("Sorry, I can't answer that.", "Phones can't ring, so they answer mail."),
    "unable to answer": ("I am unable to answer.", "Unable to pay, the builder sold it in 1890."),
    "not able to answer": ("I'm not able to answer.", "He was not able to swim."),
    "no answer": ("No answer.", "No other answer came; the bridge opened in 1890."),
    "could not find an answer": (
        "I apologize, but I could not find an answer to your question in the search results.",
        "They could not find an engineer, and answered with a ferry.",
    ),
    "couldn't find an answer": (
        "I apologize, but I couldn’t find an answer to your question in the search results.",
        "They couldn't find an engineer.",
    ),
    "cannot find an answer": (
        "I cannot find an answer in the passages.",
        "Those who cannot find an inn sleep at the bridge.",
    ),
    "can't find an answer": ("I can't find an answer.", "Boats can't find a way."),
    "could not find the answer": (
        "I could not find the answer.",
        "He could not find the site, and the answer was a map.",
    ),
    "couldn't find the answer": ("We couldn't find the answer.", "We found the answer: in 1890."),
    "there is not enough information": (
        "There is not enough information.",
        "There is enough information: it opened in 1890.",
    ),
    "there isn't enough information": (
        "There isn't enough information here.",
        "There isn't a toll on the bridge.",
    ),
    "there is not enough grounding": (
        "There is not enough grounding for an answer.",
        "There is not enough ground for a second pier, so it has one.",
    ),
    "there isn't enough grounding": (
        "There isn't enough grounding.",
        "There isn't enough ground for two piers.",
    ),
    "not enough information to answer": (
        "The texts hold not enough information to answer.",
        "Tourists have not enough information to choose; the ferry is cheaper.",
    ),
    "insufficient information": (
        "Insufficient information.",
        "Insufficient funds delayed it until 1890.",
    ),
    "does not contain the answer": (
        "The passage does not contain the answer.",
        "The steel does not contain nickel.",
    ),
    "doesn't contain the answer": (
        "The text doesn't contain the answer.",
        "The steel doesn't contain nickel.",
    ),
    "does not provide an answer": (
        "The passage does not provide an answer.",
        "The bridge does not provide a footway.",
    ),
    "does not provide any information": (
        "It does not provide any information on that.",
        "It does not provide any footway.",
    ),
    "is not mentioned in the passage": (
        "The year is not mentioned in the passage.",
        "It is mentioned in the passage: 1890.",
    ),
    "is not mentioned in the text": (
        "The year is not mentioned in the text.",
        "It is mentioned in the text: 1890.",
    ),
    "does not answer the question": (
        "What is there does not answer the question.",
        "It answers the question: in 1890.",
    ),
    "i do not know": (
        "I do not know. The passages are about ferries.",
        "I do not know the day, but it opened in 1890.",
    ),
    "i don't know": (
        "I don’t know when the bridge opened.",
        "I don't know about the 3.5 km road, but the bridge opened in 1890.",
    ),
    "does not mention": (
        "The passage does not mention the bridge.",
        "The passage does not mention the day, but the year: 1890.",
    ),
}


@pytest.mark.parametrize("phrase", REFUSALS)
def test_each_phrase_matches_a_refusal_but_not_a_similar_answer(phrase: str) -> None:
    refusals = refusal_list("plain-2")
    alone = type(refusals)(
        "one",
        "",
        tuple({phrase} & set(refusals.phrases)),
        hedges=tuple({phrase} & set(refusals.hedges)),
    )
    refusing, answering = REFUSALS[phrase]
    assert alone.refuses(refusing), "this phrase must match without the others"
    assert not refusals.refuses(answering)


def test_every_phrase_of_the_newest_list_has_two_example_answers() -> None:
    newest = refusal_list(Options().refusals)
    assert newest.name == refusal_lists()[-1]
    assert set(REFUSALS) == set(newest.phrases) | set(newest.hedges)


@pytest.mark.parametrize(
    ("answer", "refuses"),
    [
        ("I don't know the day, but it opened in 1890.", False),
        ("I don't know. But ferries ran before.", True),
        ("I don't know the day, but I don't know the year.", True),
        ("I don't know the day, but there is not enough information.", True),
        ("I don't know of any butter", True),
        (
            "I don't know, but it opened in 1890. I don't know who built it, but it was steel.",
            False,
        ),
    ],
)
def test_a_hedge_is_a_refusal_unless_its_sentence_goes_on_to_answer(
    answer: str, refuses: bool
) -> None:
    assert refusal_list("plain-2").refuses(answer) is refuses


def test_a_system_with_phrases_of_its_own_has_no_hedges(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(
        'phrases = ["no idea"]\nhedges = ["hard to say"]\n[systems.a]\nphrases = ["pass"]\n'
    )
    own = refusal_list(f"file:{path}")
    assert own.refuses("Hard to say.", "b")
    assert not own.refuses("Hard to say.", "a")


@pytest.mark.parametrize("hedges", ['"but"', '[" "]', "[1]"])
def test_hedges_that_are_not_a_list_of_texts_are_refused(tmp_path: Path, hedges: str) -> None:
    path = tmp_path / "own.toml"
    path.write_text(f'phrases = ["no idea"]\nhedges = {hedges}\n')
    with pytest.raises(ValueError, match="its `hedges` are a list of texts that are not blank"):
        refusal_list(f"file:{path}")
