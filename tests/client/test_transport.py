"""Connections are lost in the middle, and nothing is done twice; errors have the site's words."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator
from typing import Any

import pytest

from tandem.client import Campaign, Client, SiteError
from tandem.client.transport import site_address
from tests.client.losing import Losing, losing
from tests.client.study import BATCH, labels
from tests.serving.site import Site

pytestmark = [pytest.mark.processes, pytest.mark.once]
FAULTS = ("after", "middle", "before")


def through(proxy: Losing, token: str, **more: Any) -> Client:
    """Return a client whose pauses are recorded instead of waited for, but for running work."""
    found = Client(proxy.url, token, progress=False, **more)
    pauses: list[float] = []
    wait = found.transport.sleep

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        wait(min(seconds, 0.2))

    found.transport.sleep = sleep
    found.pauses = pauses  # type: ignore[attr-defined]
    return found


@pytest.fixture(scope="module")
def other(site: Site) -> str:
    """The token of a second researcher, since an account may send six uploads an hour."""
    site.manage(("person", "ada", "--role", "researcher"))
    scopes = [w for s in ("read", "manage", "judge", "people") for w in ("--scope", s)]
    return site.manage(("create_token", "ada", *scopes)).split()[-1]


@pytest.fixture(params=FAULTS)
def lossy(request: Any, site: Site, other: str) -> Iterator[tuple[str, Losing, Client]]:
    """A client whose every write loses its connection the first time that it is sent."""

    def fault(method: str, path: str, sent: int) -> str:
        return request.param if sent == 1 and method == "POST" else ""

    with losing(site.url, fault) as proxy:
        yield request.param, proxy, through(proxy, other)


class TestLostConnections:
    @pytest.mark.first_case
    def test_a_whole_study_is_set_up_once(self, lossy: tuple[str, Losing, Client]) -> None:
        name, proxy, client = lossy
        queries = [{**query, "meta": {"fault": name}} for query in BATCH]
        batch = client.load_batch(name, queries)
        campaign = client.create_campaign(name, "report-coverage", batch)
        client.create_judge(f"judge-{name}", "lexical")
        run = campaign.run(f"judge-{name}", limit=2).wait(120)
        snapshot = campaign.freeze(campaign.report(resamples=20))

        assert [each.name for each in client.batches()].count(name) == 1
        assert [each.name for each in client.campaigns()].count(name) == 1
        assert [each.name for each in client.judges()].count(f"judge-{name}") == 1
        runs = client.transport.get("runs/", campaign=campaign.id).data["results"]
        assert [each["id"] for each in runs] == [run.id]
        assert (run.json["done"], run.json["calls"]) == (2, 2)
        frozen = client.transport.get("reports/", campaign=campaign.id).data["results"]
        assert [each["key"] for each in frozen] == [snapshot.key]
        uploads = client.transport.get("uploads/").data["results"]
        assert [each["name"] for each in uploads].count(name) == 1
        writes = [path for (method, path), n in proxy.seen.items() if method == "POST" and n > 1]
        assert len(writes) >= 6

    @pytest.mark.first_case
    def test_the_attempts_of_a_write_have_one_key_and_each_write_its_own(
        self, lossy: tuple[str, Losing, Client], site: Site
    ) -> None:
        _, proxy, client = lossy
        for note in ("one", "two"):
            client.transport.post("invitations/", {"note": note, "campaign": _any(client)})
        sent = [each for each in proxy.headers if each["path"].endswith("/invitations/")]
        keys = [each["Idempotency-Key"] for each in sent]
        assert keys[0] == keys[1] != keys[2]
        assert len(keys) == 3

    def test_an_invitation_whose_link_was_lost_is_revoked_and_replaced(
        self, lossy: tuple[str, Losing, Client]
    ) -> None:
        name, _, client = lossy
        campaign = next(each for each in client.campaigns() if each.id == _any(client))
        made = campaign.invite(f"lost {name}")
        assert "key=" in made.link
        found = [each for each in client.all("invitations/") if each["note"] == f"lost {name}"]
        states = sorted(each["state"] for each in found)
        assert states == (["open"] if name == "before" else ["open", "revoked"])
        assert next(each["id"] for each in found if each["state"] == "open") == made.id


def _any(client: Client) -> int:
    """Return the id of a campaign that the account may manage."""
    own = client.create_campaign("shared", "report-coverage", client.batches()[-1].name)
    return own.id


class TestReading:
    def test_a_file_that_breaks_off_is_read_again_from_its_beginning(
        self, site: Site, token: str, client: Client, campaign: Campaign
    ) -> None:
        def fault(method: str, path: str, sent: int) -> str:
            return "middle" if "/exports/" in path and sent <= 2 else ""

        own = client.create_campaign("files", "report-coverage", "ferries")
        own.import_labels(labels())
        with losing(site.url, fault) as proxy:
            found = through(proxy, token).campaign(own.name).labels("arrow")
            assert proxy.seen["GET", f"/api/v1/{own.path}exports/labels/parquet/"] == 3
        assert found.equals(own.labels("arrow"))
        assert found.num_rows == len(labels())

    @pytest.mark.parametrize("status", [429, 503])
    def test_a_refusal_for_now_is_repeated_after_the_time_that_it_names(
        self, site: Site, token: str, status: int
    ) -> None:
        def fault(method: str, path: str, sent: int) -> str:
            return f"{status} Retry-After: 7" if sent <= 2 else ""

        with losing(site.url, fault) as proxy:
            client = through(proxy, token)
            assert client.whoami()["account"] == "rita"
            assert client.pauses == [7.0, 7.0]  # type: ignore[attr-defined]

    def test_a_refusal_for_longer_than_the_patience_is_an_error_at_once(
        self, site: Site, token: str
    ) -> None:
        with losing(site.url, lambda *_: "429 Retry-After: 3600") as proxy:
            client = through(proxy, token, patience=60)
            with pytest.raises(SiteError, match=r"\(429, try again in 3600 s\)"):
                client.whoami()
            assert client.pauses == []  # type: ignore[attr-defined]

    def test_pauses_between_lost_connections_grow_and_end(self, site: Site, token: str) -> None:
        with losing(site.url, lambda *_: "before") as proxy:
            client = through(proxy, token, patience=1)
            with pytest.raises(SiteError, match="no answer from") as lost:
                client.whoami()
            assert lost.value.status is None
            assert client.pauses == sorted(client.pauses)  # type: ignore[attr-defined]

    def test_an_internal_error_is_not_repeated(self, site: Site, token: str) -> None:
        with losing(site.url, lambda *_: "500") as proxy:
            with pytest.raises(SiteError, match="the site answered 500"):
                through(proxy, token).whoami()
            assert sum(proxy.seen.values()) == 1

    def test_a_redirect_is_an_error_and_carries_the_token_nowhere(
        self, site: Site, token: str
    ) -> None:
        with losing(site.url, lambda *_: "") as elsewhere:
            target = f"302 Location: {elsewhere.url}/api/v1/"
            refused = pytest.raises(SiteError, match=f"leads to {elsewhere.url}")
            with losing(site.url, lambda *_: target) as proxy, refused:
                through(proxy, token).whoami()
            assert not elsewhere.seen

    def test_a_link_of_an_answer_stays_on_the_site(self, client: Client) -> None:
        path = client.transport.path_of("https://elsewhere.example/api/v1/jobs/ab/?job=1")
        assert path == "/api/v1/jobs/ab/?job=1"


class TestErrors:
    def test_an_error_has_the_words_of_the_site_and_each_field(self, client: Client) -> None:
        with pytest.raises(SiteError) as refused:
            client.create_campaign("x", "report-coverage", "no such batch", colour="red")
        assert refused.value.status == 400
        assert {each["field"] for each in refused.value.problems} == {"colour"}
        said = str(refused.value)
        assert said.startswith("POST campaigns/: the request does not match its description")
        assert "colour: is not a field here; remove it" in said
        assert said.endswith("(400)")

    def test_the_token_is_in_no_representation_and_no_error(
        self, site: Site, token: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.DEBUG)
        client = Client(site.url, token, progress=False)
        shown = [repr(client), str(vars(client)), str(vars(client.transport))]
        for wrong in (
            client,
            Client(site.url, token[:-1] + "x"),
            Client("http://127.0.0.1:9", token, patience=0),
        ):
            try:
                wrong.campaign("none") if wrong is client else wrong.whoami()
            except (SiteError, KeyError) as error:
                shown += [repr(error), "".join(traceback.format_exception(error))]
        assert len(shown) == 9
        assert not [text for text in (*shown, caplog.text) if token[:-1] in text]

    def test_an_invalid_token_is_said_in_the_words_of_the_site(self, site: Site) -> None:
        with pytest.raises(SiteError, match="the token is not valid") as refused:
            Client(site.url, "tandem_wrong").whoami()
        assert refused.value.status == 401


class TestSettings:
    def test_site_and_token_may_come_from_the_environment(
        self, site: Site, token: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("TANDEM_SITE", raising=False)
        monkeypatch.delenv("TANDEM_TOKEN", raising=False)
        with pytest.raises(ValueError, match="TANDEM_SITE and TANDEM_TOKEN"):
            Client(site.url)
        monkeypatch.setenv("TANDEM_SITE", site.url)
        monkeypatch.setenv("TANDEM_TOKEN", token)
        assert Client().whoami()["account"] == "rita"

    def test_an_address_may_be_that_of_the_api(self) -> None:
        for given in ("https://a.example", "https://a.example/", "https://a.example/api/v1/"):
            assert site_address(given) == "https://a.example"
        assert site_address("https://a.example/tandem/") == "https://a.example/tandem"
        for wrong in ("a.example", "ftp://a.example", "https://"):
            with pytest.raises(ValueError, match="not a site's address"):
                site_address(wrong)
        with pytest.raises(ValueError, match="no name or password"):
            site_address("https://me:secret@a.example")
