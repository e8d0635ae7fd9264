"""Links signed by Prolific: which signatures are valid, for whom, and for how long."""

from __future__ import annotations

import gzip
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import Settings

from annotation.models import Participant
from annotation.people.membership import PeopleError, set_most_items, set_pool
from annotation.people.prolific import (
    Keys,
    KeysAwayError,
    parameters_of,
    published_keys,
    set_study,
)
from tests.annotation.people.test_prolific import link
from tests.once import once
from tests.page_cast import Study, client_of, make_study

pytestmark = pytest.mark.django_db
HOST, HOUR = "testserver", 3600


@dataclass
class Publisher:
    """A server that publishes keys as Prolific does, and counts how often it was asked."""

    keys: dict[str, rsa.RSAPrivateKey] = field(default_factory=dict)
    asked: int = 0
    status: int = 200
    address: str = ""
    zipped: bool = False
    takes: float = 0.0

    def body(self) -> bytes:
        published = [
            {**json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key())), "kid": name}
            for name, key in self.keys.items()
        ]
        return json.dumps({"keys": published}).encode()

    def token(self, kid: str = "k1", by: str = "", **claims: Any) -> str:
        said = {
            "aud": f"https://{HOST}", "exp": time.time() + HOUR,
            "prolific": {
                "PROLIFIC_PID": "p1", "STUDY_ID": "study1", "SESSION_ID": "s1",
                "workspace_id": "w",
            },
        } | claims  # fmt: skip
        signer = self.keys[by or kid]
        return jwt.encode(said, signer, algorithm="RS256", headers={"kid": kid})


@pytest.fixture(scope="module")
def pair() -> dict[str, rsa.RSAPrivateKey]:
    return {name: rsa.generate_private_key(65537, 2048) for name in ("k1", "k2")}


@pytest.fixture
def prolific(pair: dict[str, rsa.RSAPrivateKey], settings: Settings) -> Iterator[Publisher]:
    publisher = Publisher({"k1": pair["k1"]})

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            publisher.asked += 1
            time.sleep(publisher.takes)
            self.send_response(publisher.status)
            if publisher.zipped:
                self.send_header("Content-Encoding", "gzip")
            self.end_headers()
            body = publisher.body()
            self.wfile.write(gzip.compress(body) if publisher.zipped else body)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    publisher.address = f"http://127.0.0.1:{server.server_port}/jwks.json"
    settings.TANDEM_PROLIFIC_KEYS = publisher.address
    serving = {"poll_interval": 0.02}
    threading.Thread(target=server.serve_forever, kwargs=serving, daemon=True).start()
    yield publisher
    server.shutdown()
    server.server_close()


@once
def study() -> Study:
    study = make_study(reports=3)
    set_pool(study.campaign, "named")
    set_most_items(study.campaign, 2)
    set_study(study.campaign, "study1", "CODE", 2, signed=True)
    return study


def address(study: Study, token: str, plain: str = "") -> str:
    return f"{reverse('prolific', args=[study.campaign.pk])}?{plain}prolific_token={token}"


class TestStudyWithSignedLinks:
    def test_a_signed_link_lets_a_person_in_from_any_browser_repeatedly(
        self, study: Study, prolific: Publisher
    ) -> None:
        token = prolific.token()
        first = Client().post(address(study, token))
        again = Client().post(address(study, prolific.token()))
        assert first.status_code == 302
        assert again["Location"] == first["Location"]
        assert Participant.objects.get().pid == "p1"

    def test_plain_parameters_let_nobody_in(self, study: Study, prolific: Publisher) -> None:
        for client in (Client(), client_of(study.ada)):
            for answer in (client.get(link(study)), client.post(link(study))):
                assert answer.status_code == 422
        assert not Participant.objects.exists()
        assert prolific.asked == 0

    def test_parameters_beside_the_token_must_agree_with_it(
        self, study: Study, prolific: Publisher
    ) -> None:
        token = prolific.token()
        assert Client().post(address(study, token, "PROLIFIC_PID=p1&")).status_code == 302
        assert Client().post(address(study, token, "PROLIFIC_PID=p2&")).status_code == 422

    def test_the_start_page_stays_valid_after_the_token_has_expired(
        self, study: Study, prolific: Publisher
    ) -> None:
        client, where = Client(), address(study, prolific.token(exp=time.time() - 50))
        page = client.get(where)
        assert page.status_code == 200
        sealed = page.context["sealed"]
        late = address(study, prolific.token(exp=time.time() - 300))
        assert client.post(late).status_code == 422
        assert client.post(late, {"arrival": sealed + "x"}).status_code == 422
        assert client.post(late, {"arrival": sealed}).status_code == 302

    def test_a_token_for_another_study_is_refused(self, study: Study, prolific: Publisher) -> None:
        named = {"PROLIFIC_PID": "p1", "STUDY_ID": "another", "SESSION_ID": "s1"}
        assert Client().post(address(study, prolific.token(prolific=named))).status_code == 422
        assert not Participant.objects.exists()

    def test_a_researcher_switches_signed_links_on_and_off_on_the_page(self, study: Study) -> None:
        where = reverse("campaign-people-change", args=[study.campaign.pk])
        form = {"order": "prolific", "study_id": "s9", "completion_code": "X1", "most_people": 9}
        root = client_of(study.root)
        for given, signed in ((form, False), (form | {"signed": "on"}, True)):
            assert root.post(where, given).status_code == 302
            study.campaign.prolific.refresh_from_db()
            assert study.campaign.prolific.signed is signed

    def test_people_are_asked_to_return_while_the_keys_cannot_be_fetched(
        self, study: Study, prolific: Publisher
    ) -> None:
        prolific.status = 500
        answer = Client().post(address(study, prolific.token()))
        assert (answer.status_code, answer["Retry-After"]) == (503, "60")


class TestSignature:
    @pytest.fixture
    def keys(self, prolific: Publisher) -> Keys:
        return Keys(prolific.address)

    @pytest.mark.every_case
    @pytest.mark.parametrize("audience", [HOST, f"https://{HOST}/x?y", ["other", HOST.upper()]])
    def test_a_token_for_this_site_is_accepted(
        self, prolific: Publisher, keys: Keys, audience: object
    ) -> None:
        assert parameters_of(prolific.token(aud=audience), HOST, keys)["PROLIFIC_PID"] == "p1"

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        "claims",
        [
            {"aud": "https://testserver.evil.example"}, {"aud": "https://evil.example/testserver"},
            {"aud": "testserver:1"}, {"aud": []}, {"aud": None},
            {"exp": 1}, {"exp": None}, {"exp": "soon"},
            {"prolific": None}, {"prolific": "p1"},
        ],
    )  # fmt: skip
    def test_a_token_for_another_site_or_time_is_refused(
        self, prolific: Publisher, keys: Keys, claims: dict[str, Any]
    ) -> None:
        with pytest.raises(PeopleError):
            parameters_of(prolific.token(**claims), HOST, keys)

    def test_a_token_must_be_signed_by_the_key_that_it_names(
        self, prolific: Publisher, keys: Keys, pair: dict[str, rsa.RSAPrivateKey]
    ) -> None:
        forger = Publisher(pair)
        with pytest.raises(PeopleError, match="not valid"):
            parameters_of(forger.token("k1", by="k2"), HOST, keys)
        with pytest.raises(PeopleError, match="not valid"):
            parameters_of(forger.token("k2"), HOST, keys)

    @pytest.mark.every_case
    @pytest.mark.parametrize("token", ["", "x", "a.b.c", "x" * 9000])
    def test_a_malformed_token_fetches_no_key(
        self, prolific: Publisher, keys: Keys, token: str
    ) -> None:
        with pytest.raises(PeopleError):
            parameters_of(token, HOST, keys)
        assert prolific.asked == 0

    def test_only_prolifics_signature_algorithm_is_accepted(
        self, prolific: Publisher, keys: Keys
    ) -> None:
        secret = str(prolific.keys["k1"].public_key().public_numbers().n)
        said = jwt.decode(prolific.token(), options={"verify_signature": False})
        for algorithm, key in (("HS256", secret), ("none", "")):
            token = jwt.encode(said, key, algorithm=algorithm, headers={"kid": "k1"})
            with pytest.raises(PeopleError, match="not valid"):
                parameters_of(token, HOST, keys)


class TestKeys:
    def test_keys_are_cached_for_a_day(self, prolific: Publisher) -> None:
        now = [0.0]
        keys = Keys(prolific.address, lambda: now[0])
        for hours in (0, 1, 23):
            now[0] = hours * HOUR
            keys.find("k1")
        assert prolific.asked == 1
        now[0] = 24 * HOUR
        keys.find("k1")
        assert prolific.asked == 2

    def test_a_new_key_is_fetched_at_once_and_a_made_up_one_once_a_minute(
        self, prolific: Publisher, pair: dict[str, rsa.RSAPrivateKey]
    ) -> None:
        now = [0.0]
        keys = Keys(prolific.address, lambda: now[0])
        keys.find("k1")
        prolific.keys = {"k2": pair["k2"]}
        now[0] = 61
        keys.find("k2")
        for _ in range(5):
            with pytest.raises(PeopleError, match="not valid"):
                keys.find("made up")
        assert prolific.asked == 2
        with pytest.raises(PeopleError, match="not valid"):
            keys.find("k1")

    def test_old_keys_are_used_for_a_week_while_new_ones_cannot_be_fetched(
        self, prolific: Publisher
    ) -> None:
        now = [0.0]
        keys = Keys(prolific.address, lambda: now[0])
        keys.find("k1")
        prolific.status = 503
        now[0] = 6 * 24 * HOUR
        keys.find("k1")
        with pytest.raises(KeysAwayError):
            keys.find("k2")
        now[0] = 8 * 24 * HOUR
        with pytest.raises(KeysAwayError):
            keys.find("k1")

    def test_waits_between_fetches_end_exactly_on_time(self, prolific: Publisher) -> None:
        now = [0.0]
        keys = Keys(prolific.address, lambda: now[0])
        keys.find("k1")
        for seconds, asked in ((59.9, 1), (60.0, 2), (119.9, 2), (120.0, 3)):
            now[0] = seconds
            with pytest.raises(PeopleError, match="not valid"):
                keys.find("made up")
            assert prolific.asked == asked, seconds
        now[0] = 120 + 24 * HOUR - 0.1
        keys.find("k1")
        assert prolific.asked == 3
        prolific.status = 503
        now[0] = 120 + 7 * 24 * HOUR - 0.1
        assert keys.find("k1").key_id == "k1"
        now[0] += 0.1
        with pytest.raises(KeysAwayError, match="cannot be fetched right now; try again in a"):
            keys.find("k1")

    def test_compressed_keys_are_accepted(self, prolific: Publisher) -> None:
        prolific.zipped = True
        assert Keys(prolific.address).find("k1").key_id == "k1"

    def test_one_thread_fetches_keys_while_others_wait(self, prolific: Publisher) -> None:
        prolific.takes = 0.05
        keys, barrier, found = Keys(prolific.address), threading.Barrier(4), list[str]()

        def find() -> None:
            barrier.wait()
            found.append(str(keys.find("k1").key_id))

        threads = [threading.Thread(target=find) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (found, prolific.asked) == (["k1"] * 4, 1)

    def test_only_rsa_keys_with_a_name_are_kept(
        self, prolific: Publisher, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (known,) = json.loads(prolific.body())["keys"]
        others = [
            {"kty": "oct", "k": "c2VjcmV0", "kid": "shared"},
            {name: value for name, value in known.items() if name != "kid"},
            known,
        ]
        monkeypatch.setattr(prolific, "body", lambda: json.dumps({"keys": others}).encode())
        keys = Keys(prolific.address)
        assert keys.find("k1").key_type == "RSA"
        with pytest.raises(PeopleError, match="not valid"):
            keys.find("shared")
        assert set(keys._keys) == {"k1"}

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        "body",
        [b"x", b"[]", b"\xff", b"{}", b'{"keys": 5}', b'{"keys": [5]}', b'{"keys": [{"kty": 5}]}',
         b'{"keys": [{"kid": "k1", "kty": "RSA", "n": 5, "e": "AQAB"}]}'],
    )  # fmt: skip
    def test_a_malformed_set_of_keys_is_refused(
        self, prolific: Publisher, monkeypatch: pytest.MonkeyPatch, body: bytes
    ) -> None:
        monkeypatch.setattr(prolific, "body", lambda: body)
        with pytest.raises(KeysAwayError):
            Keys(prolific.address).find("k1")


class TestToken:
    @pytest.fixture
    def keys(self, prolific: Publisher) -> Keys:
        return Keys(prolific.address)

    def refused(self, token: str, keys: Keys) -> str:
        with pytest.raises(PeopleError) as wrong:
            parameters_of(token, HOST, keys)
        return str(wrong.value)

    def test_a_token_may_be_a_minute_late(self, prolific: Publisher, keys: Keys) -> None:
        now = time.time()
        assert parameters_of(prolific.token(exp=now - 55), HOST, keys)
        assert self.refused(prolific.token(exp=int(time.time()) - 60), keys) == (
            "this link has expired; open the study on Prolific again"
        )

    def test_each_fault_of_a_token_has_its_message(self, prolific: Publisher, keys: Keys) -> None:
        lacks = "this link lacks Prolific’s signature; open the study there again"
        invalid = "Prolific’s signature of this link is not valid; open the study on Prolific again"
        assert self.refused("", keys) == self.refused("x" * 8193, keys) == lacks
        assert self.refused("x" * 8192, keys) == invalid
        assert self.refused(prolific.token(aud="other"), keys) == (
            "Prolific signed this link for another site; ask the researcher"
        )
        signer = prolific.keys["k1"]
        claims = jwt.decode(prolific.token(), options={"verify_signature": False})
        unnamed = jwt.encode(claims, signer, algorithm="RS256")
        another = jwt.encode(claims, signer, algorithm="RS384", headers={"kid": "k1"})
        assert self.refused(unnamed, keys) == self.refused(another, keys) == invalid

    def test_only_text_parameters_of_a_token_are_read(
        self, prolific: Publisher, keys: Keys
    ) -> None:
        said = {"PROLIFIC_PID": "p", "n": 7, "list": ["x"], "empty": ""}
        assert parameters_of(prolific.token(prolific=said), HOST, keys) == {
            "PROLIFIC_PID": "p", "empty": ""
        }  # fmt: skip

    def test_the_keys_of_an_address_are_fetched_once_for_all(
        self, prolific: Publisher, settings: Settings
    ) -> None:
        assert published_keys() is published_keys()
        parameters_of(prolific.token(), HOST)
        parameters_of(prolific.token(), HOST)
        assert prolific.asked == 1
        first = published_keys()
        settings.TANDEM_PROLIFIC_KEYS = "http://127.0.0.1:9/other.json"
        assert published_keys() is not first
        assert published_keys().address == "http://127.0.0.1:9/other.json"
