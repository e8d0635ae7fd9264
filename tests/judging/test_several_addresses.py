"""One judge on three servers: a killed one costs its calls in flight, and all have to be equal."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from django.test import Client, override_settings
from django.urls import reverse

from annotation.models import Campaign, User
from judging.doctor.processes import check_judge_servers
from judging.engine import Control, Ending
from judging.engine.worker import work
from judging.manifest import is_sealed, manifest_of
from judging.models import Judge, JudgeCall, JudgeRun, Lane
from judging.runs import ledger, lifecycle
from judging.servers import address_of
from tests.fake_openai.running import Running, fake_openai
from tests.judging.cast import HASTY, judge
from tests.patience import PATIENCE

UNITS, PLACES = 12, 2
PROBES, COMPARED = 11, 5
"""The completions that probe each server before a run, and compare its answers at the end."""


@pytest.fixture
def three() -> Iterator[list[Running]]:
    with ExitStack() as stack:
        yield [stack.enter_context(fake_openai()) for _ in range(3)]


def on(servers: list[Running], **fields: str) -> Judge:
    first, *further = (f"{server.url}/v1" for server in servers)
    params = {"addresses": further, "concurrency": PLACES}
    return judge(
        "on three", "openai", model="fake-judge", base_url=first, granularity="unit",
        params=params, **fields,
    )  # fmt: skip


def go(campaign: Campaign, rater: Judge, control: Control | None = None) -> tuple[JudgeRun, Ending]:
    run = lifecycle.start(campaign, rater)
    lease = lifecycle.lease_run(run)
    assert lease is not None
    ending = work(run, lease, control, None, HASTY)
    run.refresh_from_db()
    return run, ending


def counts(servers: list[Running]) -> list[int]:
    """The calls of the run that each server got, without those of the probe."""
    return [server.stats()["calls"] - PROBES for server in servers]


def when(state: Callable[[], bool], act: Callable[[], None]) -> threading.Thread:
    """Do something in a thread as soon as a state is reached."""

    def wait() -> None:
        until = time.monotonic() + PATIENCE
        while not state() and time.monotonic() < until:
            time.sleep(0.005)
        act()

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def test_a_server_killed_in_the_middle_of_a_run_costs_only_its_calls(
    campaign: Campaign, three: list[Running]
) -> None:
    a, b, c = three
    b.behave(holds_after=PROBES)
    rater = on(three)
    held: list[int] = []

    def kill() -> None:
        held.append(b.stats()["held"])
        b.kill()

    killer = when(lambda: b.stats()["held"] == PLACES, kill)
    run, ending = go(campaign, rater)
    killer.join()
    assert ending.how == "finished"
    assert (run.state, run.done, run.failed) == ("done", UNITS, 0)
    assert held == [PLACES]
    assert sum(counts([a, c])) == UNITS + 2 * COMPARED
    assert min(counts([a, c])) > COMPARED
    assert max(server.stats()["most"] for server in (a, c)) <= max(PLACES, PROBES)
    states = Counter(JudgeCall.objects.filter(run=run).values_list("state", flat=True))
    # A connection that the server had not accepted yet may be reset, too.
    assert states["answered"] == UNITS
    assert states["reset"] >= PLACES
    assert states.total() <= UNITS + 2 * PLACES
    asked = JudgeCall.objects.filter(run=run).order_by("pk")
    cut_off = asked.filter(state="reset").first()
    assert cut_off is not None
    assert (cut_off.address, address_of(cut_off)) == (1, f"{b.url}/v1")
    assert set(asked.filter(state="answered").values_list("address", flat=True)) == {0, 2}
    made = manifest_of(run)
    assert is_sealed(made)
    shares = made["counts"]["calls_by_address"]
    assert list(shares) == [f"{server.url}/v1" for server in three]
    assert sum(shares.values()) == states.total()
    assert made["probe"]["facts"]["addresses"].keys() == shares.keys()


def test_the_address_of_a_call_is_on_its_page_and_in_the_api(
    campaign: Campaign, three: list[Running]
) -> None:
    run, _ = go(campaign, on(three))
    boss = Client()
    boss.force_login(User.objects.create(username="boss", role="admin"))
    call = JudgeCall.objects.filter(run=run, address=2).latest("pk")
    page = boss.get(reverse("judge-call", args=[call.pk]))
    assert f"{three[2].url}/v1" in page.content.decode()


def test_a_run_with_another_model_at_one_address_is_refused(
    campaign: Campaign, three: list[Running]
) -> None:
    three[1].behave(version="0.33.0")
    run, ending = go(campaign, on(three))
    words = (
        f"the version of {three[0].url}/v1 is 0.32.0, and that of {three[1].url}/v1 0.33.0; serve "
        "the same model in the same way at all addresses of a judge"
    )
    assert (ending.how, run.error) == ("fatal", words)
    assert counts(three) == [0, 0, 0]


def test_a_run_with_other_weights_under_the_same_name_is_refused(
    campaign: Campaign, three: list[Running]
) -> None:
    three[2].behave(weights="other")
    run, ending = go(campaign, on(three))
    assert ending.how == "fatal"
    assert f"{three[0].url}/v1 and {three[2].url}/v1 answer equal questions differ" in run.error


def test_an_address_with_another_key_is_left_out_and_its_lane_paused(
    campaign: Campaign, three: list[Running]
) -> None:
    three[1].behave(key="another")
    run, ending = go(campaign, on(three))
    assert (ending.how, run.done) == ("finished", UNITS)
    assert counts(three)[1] <= 0
    lanes = dict(Lane.objects.values_list("endpoint", "paused"))
    assert [bool(lanes[f"{server.url}/v1"]) for server in three] == [False, True, False]
    (warning,) = [w for w in run.manifest["warnings"] if "left out" in w]
    assert f"{three[1].url}/v1 is left out until it responds" in warning


def test_an_address_that_is_down_before_the_run_is_left_out(
    campaign: Campaign, three: list[Running]
) -> None:
    three[0].kill()
    run, ending = go(campaign, on(three))
    assert (ending.how, run.done) == ("finished", UNITS)
    assert set(JudgeCall.objects.filter(run=run).values_list("address", flat=True)) == {1, 2}


def test_a_server_that_changes_during_the_run_makes_it_mixed(
    campaign: Campaign, three: list[Running]
) -> None:
    c = three[2]
    c.behave(latency=0.05)
    changer = when(
        lambda: c.stats()["calls"] > PROBES, lambda: c.behave(latency=0.05, version="0.33.0")
    )
    run, ending = go(campaign, on(three))
    changer.join()
    assert (ending.how, run.done) == ("fatal", UNITS)
    assert run.error.startswith(f"the version of {c.url}/v1 was 0.32.0 when the run began")


def test_a_new_run_on_other_addresses_reuses_the_answers(
    campaign: Campaign, three: list[Running]
) -> None:
    go(campaign, on(three[:2]))
    alone = judge(
        "alone", "openai", model="fake-judge", base_url=f"{three[0].url}/v1", granularity="unit"
    )
    run = lifecycle.start(campaign, alone, reuse="all")
    lease = lifecycle.lease_run(run)
    assert lease
    work(run, lease, None, None, HASTY)
    run.refresh_from_db()
    assert (run.done, run.reused) == (UNITS, UNITS)


def test_a_worker_goes_on_with_what_the_first_one_compared(
    campaign: Campaign, three: list[Running]
) -> None:
    rater = on(three)
    for server in three:
        server.behave(latency=0.2)
    run = lifecycle.start(campaign, rater, queued=True)
    ends: list[str] = []
    for seconds in (0.05, 0.05, None):
        lease = lifecycle.lease_run(run)
        assert lease is not None
        ends.append(work(run, lease, Control(seconds=seconds), None, HASTY).how)
    run.refresh_from_db()
    assert (run.state, run.done) == ("done", UNITS)
    assert ends == ["time", "time", "finished"]
    assert not ledger.count_waiting(campaign, rater)


@override_settings(TANDEM_JUDGE_HOSTS=[])
def test_the_doctor_looks_at_each_address(campaign: Campaign, three: list[Running]) -> None:
    on(three)
    three[2].kill()
    says = [finding.says for finding in check_judge_servers()]
    assert f"{three[1].url}/v1 accepts connections" in says
    assert any(each.startswith(f"{three[2].url}/v1 cannot be reached") for each in says)
