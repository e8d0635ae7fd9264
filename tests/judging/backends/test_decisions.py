"""The decisions backend asks in the form of its server, and stores what it returns."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from judging.backends.base import (
    Answer,
    AskedUnit,
    AskedVariable,
    BackendError,
    Facts,
    FatalError,
    Findings,
    Message,
    RejectedError,
    Request,
    Setup,
    SetupError,
    TransientError,
)
from judging.backends.decisions import DecisionModel
from tests.fake_openai.deciding import NOISE, Deciding
from tests.fake_openai.server import Behaviour, FakeOpenAI
from tests.judging.backends.test_openai import serving

RELEVANT = AskedVariable(
    "relevant",
    ("yes", "no"),
    "nominal",
    question="Is it relevant?",
    criteria={"yes": "it helps", "no": "it does not help"},
)
USE = AskedVariable(
    "use",
    ("answer", "related", "outdated"),
    "nominal",
    {"relevant": ("yes",)},
    question="What is it good for?",
    criteria={"answer": "it holds an answer"},
)
RATING = AskedVariable("rating", tuple("012345"), "ordinal", question="How well?")
ANSWERABLE = AskedVariable(
    "answerable", ("yes", "no", "invalid"), "nominal", {}, ("invalid",), "Can it be answered?"
)
STATE = "The texts:\n\nThe dam is high.\n\nThe query:\n\nHow high?"
INSTRUCTIONS = "You judge. The guideline: be fair."
Do = Callable[[DecisionModel], Coroutine[Any, Any, Any]]


def request(*variables: AskedVariable, units: int = 1, own: str = "", **more: Any) -> Request:
    asked = tuple(
        AskedUnit(f"u{n}", "passage", f"Passage {n}", variables, about=0)
        for n in range(1, units + 1)
    )
    facts = Facts("How high?", ("The dam is high.",), asked, unit_by_unit=False)
    user = Message("user", f"{STATE}\n\nAnswer with JSON.", len(STATE))
    return Request((Message("system", INSTRUCTIONS), user), {}, facts, **more)


def deciding(*forms: str, faults: dict[str, float] | None = None, **how: Any) -> FakeOpenAI:
    decides = Deciding(forms=forms or ("systemone",), **how)
    return FakeOpenAI(Behaviour(decides=decides, faults=faults or {}))


def inside(server: FakeOpenAI, do: Do, **params: Any) -> Any:
    async def run() -> Any:
        async with serving(server) as url:
            setup = Setup("fake-judge", url, "TANDEM_TEST_KEY", {"timeout": 5.0} | params)
            async with DecisionModel(setup) as backend:
                return await do(backend)

    return asyncio.run(run())


def ask(server: FakeOpenAI, asked: Request, **params: Any) -> Answer:
    answer: Answer = inside(server, lambda backend: backend.ask(asked), **params)
    return answer


def decisions(answer: Answer) -> dict[str, Any]:
    return dict(json.loads(answer.text)["answers"])


def probe(server: FakeOpenAI, **params: Any) -> Findings:
    found: Findings = inside(server, lambda backend: backend.probe(), **params)
    return found


def test_a_yes_no_variable_is_asked_as_a_noul_with_guideline_and_texts_of_the_prompt():
    server = deciding()
    answer = ask(server, request(RELEVANT))
    assert server.last == {
        "model": "fake-judge",
        "state": STATE,
        "instructions": INSTRUCTIONS,
        "questions": {
            "q1": {
                "type": "noul",
                "instructions": 'The passage: "Passage 1"\nIs it relevant?',
                "criteria": {"true": "it helps", "false": "it does not help"},
            }
        },
    }
    assert decisions(answer) == {
        "u1": {
            "relevant": {
                "probabilities": {"yes": 0.9, "no": 0.1},
                "mass": 0.95,
                "confidence": 0.9,
                "refused": False,
            }
        }
    }
    assert (json.loads(answer.text)["form"], answer.model) == ("systemone", "fake-judge")


def test_two_codes_are_asked_by_option_if_the_judge_says_so():
    server = deciding()
    ask(server, request(RELEVANT), two_codes="choice")
    asked = server.last["questions"]["q1"]
    assert (asked["type"], list(asked["criteria"])) == ("choice", ["yes", "no"])


def test_other_codes_are_a_choice_with_the_guidelines_description_of_each():
    server = deciding()
    answer = ask(server, request(ANSWERABLE))
    asked = server.last["questions"]["q1"]
    assert (asked["type"], asked["criteria"]) == (
        "choice", {"yes": None, "no": None, "invalid": None}
    )  # fmt: skip
    # The escape is an option like any other.
    assert set(decisions(answer)["u1"]["answerable"]["probabilities"]) == {"yes", "no", "invalid"}


def test_an_ordered_scale_is_a_score_from_low_to_high():
    server = deciding(says={"How well?": "4"})
    answer = ask(server, request(RATING))
    asked = server.last["questions"]["q1"]
    assert (asked["type"], asked["criteria"]) == ("score", list("012345"))
    assert decisions(answer)["u1"]["rating"]["probabilities"]["4"] == 0.9


def test_all_units_share_one_request():
    server = deciding()
    answer = ask(server, request(RELEVANT, RATING, units=10))
    # One of the two calls is the probe, since there was none before.
    assert server.calls == 2
    assert len(server.last["questions"]) == 20
    assert list(decisions(answer)) == [f"u{n}" for n in range(1, 11)]
    assert answer.usage["completion_tokens"] == 20


def test_a_conditional_variable_is_asked_afterwards_if_its_condition_holds():
    server = deciding(says={"Passage 2": "no"})
    answer = decisions(ask(server, request(RELEVANT, USE, units=3)))
    assert server.calls == 3
    second = server.last["questions"]
    assert [each["instructions"] for each in second.values()] == [
        f'The passage: "Passage {n}"\nWhat is it good for?\n'
        "It is already known that relevant is yes."
        for n in (1, 3)
    ]
    assert [list(answer[unit]) for unit in ("u1", "u2", "u3")] == [
        ["relevant", "use"], ["relevant"], ["relevant", "use"]
    ]  # fmt: skip


def test_a_conditional_variable_is_not_asked_if_its_condition_has_no_label():
    server = deciding(off=["Passage 1"])
    answer = decisions(ask(server, request(RELEVANT, USE)))
    assert answer["u1"]["relevant"]["mass"] == NOISE
    assert list(answer["u1"]) == ["relevant"]


def test_more_questions_than_the_server_accepts_are_split_into_several_requests():
    server = deciding()
    answer = decisions(ask(server, request(RELEVANT, units=150)))
    assert (len(answer), server.calls) == (150, 1 + 3)


@pytest.mark.parametrize("most", [40, 7])
def test_a_lower_limit_of_questions_is_learned_from_the_servers_message(most: int):
    server = deciding(questions=most)

    async def twice(backend: DecisionModel) -> list[Answer]:
        return [await backend.ask(request(RELEVANT, units=60)) for _ in range(2)]

    first, second = inside(server, twice)
    assert decisions(first) == decisions(second)
    needed = -(-60 // most)
    assert server.calls == 1 + 1 + 2 * needed


def test_more_options_than_the_server_accepts_are_asked_in_groups():
    topics = tuple(f"topic {n}" for n in range(60))
    variable = AskedVariable("topic", topics, "nominal", question="Which topic?")
    server = deciding(says={"In which group": "group 2", "Which topic?": "topic 25"})
    answer = decisions(ask(server, request(variable)))
    shares = answer["u1"]["topic"]["probabilities"]
    # p(group 2) * p(topic 25 | group 2)
    assert shares["topic 25"] == pytest.approx(0.9 * 0.9, rel=1e-6)
    assert (len(shares), sum(shares.values())) == (60, pytest.approx(1))
    assert answer["u1"]["topic"]["mass"] == 0.95


def test_a_lower_limit_of_options_is_learned_as_well():
    variable = AskedVariable("topic", tuple("abcdefghijkl"), "nominal", question="Which?")
    server = deciding(options=8, says={"In which": "group 1"})
    assert len(decisions(ask(server, request(variable)))["u1"]["topic"]["probabilities"]) == 12


def test_groups_of_options_are_asked_in_as_many_requests_as_they_need():
    topics = tuple(f"topic {n}" for n in range(30))
    variable = AskedVariable("topic", topics, "nominal", question="Which topic?")
    server = deciding(
        questions=2, options=8, says={"In which group": "group 4", "Which topic?": "topic 25"}
    )
    shares = decisions(ask(server, request(variable)))["u1"]["topic"]["probabilities"]
    assert max(shares, key=shares.__getitem__) == "topic 25"
    assert (len(shares), sum(shares.values())) == (30, pytest.approx(1))


def test_a_refusal_affects_only_its_own_question():
    for form in ("systemone", "decisions"):
        answer = decisions(ask(deciding(form, refuses=["Passage 2"]), request(RELEVANT, units=3)))
        assert [answer[unit]["relevant"]["refused"] for unit in answer] == [False, True, False]


def test_a_server_without_mass_and_confidence_gives_its_probabilities():
    answer = decisions(ask(deciding(less=True), request(RELEVANT)))
    assert answer["u1"]["relevant"] == {
        "probabilities": {"yes": 0.9, "no": 0.1}, "mass": None, "confidence": None,
        "refused": False,
    }  # fmt: skip


def test_openais_form_asks_the_same_questions():
    server = deciding("decisions", says={"How well?": "3", "good for": "related"})
    answer = ask(server, request(RELEVANT, RATING, USE))
    found = decisions(answer)["u1"]
    assert json.loads(answer.text)["form"] == "decisions"
    assert found["relevant"]["probabilities"] == {"yes": 0.9, "no": 0.1}
    assert max(found["rating"]["probabilities"], key=found["rating"]["probabilities"].get) == "3"
    assert max(found["use"]["probabilities"], key=found["use"]["probabilities"].get) == "related"
    assert server.last["input"] == f"{INSTRUCTIONS}\n\n{STATE}"
    (use,) = server.last["questions"]
    assert use["choices"] == [
        {"value": "answer", "description": "it holds an answer"},
        {"value": "related"},
        {"value": "outdated"},
    ]


def test_a_server_without_decisions_is_asked_question_by_question_for_the_first_token():
    server = deciding("first-token", absent=501, says={"How well?": "3"})
    answer = ask(server, request(RELEVANT, RATING, ANSWERABLE, units=2))
    found = decisions(answer)["u2"]
    assert json.loads(answer.text)["form"] == "first-token"
    assert server.last["max_tokens"] == 1
    assert server.last["messages"][-1]["content"] == (
        f'{STATE}\n\nThe passage: "Passage 2"\nCan it be answered?\nA: yes\nB: no\nC: invalid\n'
        "Answer with the letter of one option, and nothing else."
    )
    assert found["relevant"]["mass"] == pytest.approx(0.95)
    assert found["rating"]["probabilities"]["3"] == pytest.approx(0.9)
    assert found["answerable"]["probabilities"]["yes"] == pytest.approx(0.9)


def test_the_probe_finds_the_form_in_which_the_server_answers():
    found = probe(deciding())
    assert (found.facts["form"], found.facts["mass"], found.warnings) == ("systemone", 0.95, ())
    assert (found.facts["server"], found.facts["version"]) == ("vllm", "0.32.0")
    assert probe(deciding("decisions")).facts["form"] == "decisions"


def test_the_probe_says_so_if_only_the_first_token_can_be_read():
    found = probe(deciding("first-token", absent=501))
    assert found.facts["form"] == "first-token"
    assert found.facts["tried"] == {"systemone": "status 501", "decisions": "status 501"}
    assert "read from the first token" in found.warnings[0]


def test_a_form_can_be_forced():
    server = deciding("systemone", "decisions", "first-token")
    for form in ("systemone", "decisions", "first-token"):
        assert probe(server, form=form).facts["form"] == form
        assert json.loads(ask(server, request(RELEVANT), form=form).text)["form"] == form
    assert "systemone: status 404" in probe(deciding("decisions"), form="systemone").refusal


def test_a_server_that_answers_in_no_form_is_refused_and_is_said_to_list_the_model():
    found = probe(FakeOpenAI(Behaviour()))
    assert "gives no probabilities" in found.refusal
    assert "the server lists the model 'fake-judge', but" in found.refusal
    assert "does not know" not in found.refusal
    with pytest.raises(FatalError, match="answers questions in no form"):
        ask(FakeOpenAI(Behaviour()), request(RELEVANT))


def test_the_probe_warns_of_low_or_unreported_label_mass():
    noisy = probe(deciding(off=["sky"]))
    assert noisy.facts["mass"] == NOISE
    assert "1.8e-10" in noisy.warnings[0]
    assert "does not report" in probe(deciding(less=True)).warnings[0]


def test_instructions_precede_the_state_if_the_server_takes_none():
    server = deciding(instructions=False)
    ask(server, request(RELEVANT))
    assert server.last["state"] == f"{INSTRUCTIONS}\n\n{STATE}"
    assert "instructions" not in server.last


def test_thinking_is_turned_off_if_the_server_rejects_it():
    server = deciding(thinking=True)
    ask(server, request(RELEVANT))
    assert server.last["chat_template_kwargs"] == {"enable_thinking": False}
    assert server.last["instructions"] == INSTRUCTIONS


def test_the_state_is_the_whole_message_if_the_questions_come_before_the_texts():
    asked = request(RELEVANT)
    message = Message("user", f"Answer with JSON.\n\n{STATE}", 5)
    server = deciding()
    ask(server, Request((message,), {}, asked.facts))
    assert server.last["state"] == f"Answer with JSON.\n\n{STATE}"
    assert "instructions" not in server.last


def test_a_request_for_a_written_text_is_rejected():
    unit = AskedUnit("u", "query", "?", (RELEVANT,), written="text")
    asked = Request((Message("user", "?"),), {}, Facts("", (), (unit,), unit_by_unit=True))
    with pytest.raises(RejectedError, match="no written texts"):
        ask(deciding(), asked)


def test_a_question_with_too_many_options_for_the_server_is_rejected():
    topics = tuple(f"topic {n}" for n in range(12))
    variable = AskedVariable("topic", topics, "nominal", question="Which?")
    with pytest.raises(RejectedError) as caught:
        ask(deciding(options=2), request(variable))
    assert caught.value.status == 400


@pytest.mark.parametrize(
    ("fault", "kind"),
    [("500", TransientError), ("reset", TransientError), ("truncated-json", TransientError),
     ("401", FatalError)],
)  # fmt: skip
def test_failures_are_classified_as_in_other_backends(fault: str, kind: type[BackendError]):
    with pytest.raises(kind):
        ask(deciding(faults={fault: 1.0}), request(RELEVANT), form="systemone")


def test_a_retry_asks_only_unanswered_questions():
    server = FakeOpenAI(Behaviour(decides=Deciding(forms=("systemone",))))
    asked = request(RELEVANT, USE, units=2)

    async def again(backend: DecisionModel) -> Answer:
        await backend.probe()
        server.behave(Behaviour(decides=Deciding(forms=("systemone",)), script=("ok", "500")))
        with pytest.raises(TransientError):
            await backend.ask(asked)
        calls = server.calls
        answer = await backend.ask(asked)
        assert server.calls == calls + 1
        return answer

    answer = inside(server, again)
    assert [len(found) for found in decisions(answer).values()] == [2, 2]
    assert answer.usage["completion_tokens"] == 4


def test_a_requests_identity_covers_its_questions_and_parameters():
    def identity(asked: Request, **params: Any) -> str:
        setup = Setup("m", "http://host.example", params=params)
        return json.dumps(DecisionModel(setup).identity(asked))

    same = request(RELEVANT, USE)
    others = [
        identity(request(RELEVANT)),
        identity(request(RELEVANT, USE, units=2)),
        identity(request(RELEVANT, USE, sample=1)),
        identity(same, form="decisions"),
        identity(same, two_codes="choice"),
        identity(same, mass_floor=0.2),
    ]
    assert identity(same) == identity(request(RELEVANT, USE))
    assert identity(same) == identity(same, timeout=3.0, concurrency=2)
    assert len({identity(same), *others}) == 7


def test_another_process_uses_the_facts_of_an_earlier_probe():
    server = deciding("decisions")

    async def recalled(backend: DecisionModel) -> Answer:
        backend.recall(facts)
        return await backend.ask(request(RELEVANT))

    facts = json.loads(json.dumps(dict(probe(server).facts)))
    server.forget()
    answer = inside(server, recalled)
    assert (json.loads(answer.text)["form"], server.calls) == ("decisions", 1)


@pytest.mark.parametrize(
    ("params", "words"),
    [({"form": "rest"}, "form is one of"), ({"two_codes": "three"}, "noul or choice")],
)
def test_a_wrong_definition_is_refused(params: dict[str, Any], words: str):
    with pytest.raises(SetupError, match=words):
        DecisionModel(Setup("m", params=params))
    with pytest.raises(SetupError, match="needs a model"):
        DecisionModel(Setup())
