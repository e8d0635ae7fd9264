"""Vulnerabilities that were published for similar tools do not exist in Tandem.

The table in `docs/security.md` names the test for each advisory. Tests that no other module has are
here.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.core.cache import cache
from django.test import Client
from django.urls import reverse
from jinja2.sandbox import ImmutableSandboxedEnvironment

from annotation.models import Assignment, Campaign, User
from annotation.people.membership import add_member
from datasets.models import Batch, Upload
from judging.judge_file.template import ENVIRONMENT
from tests.api.cast import Script, script_of
from tests.cast import ROOT
from tests.datasets.upload_cast import as_file, posted, read
from tests.once import once
from tests.page_cast import Study, client_of, make_study
from tests.security.routes import routes

pytestmark = [pytest.mark.django_db, pytest.mark.once]

OURS = ("annotation", "analysis", "audit", "config", "datasets", "judging")
TABLE = ROOT / "docs" / "security.md"
HASH = "argon2"


@once
def study() -> Study:
    cache.clear()
    return make_study()


@pytest.fixture
def rita(study: Study) -> Script:
    return script_of(study.rita)


def modules_with(words: set[str]) -> Iterator[tuple[Path, ast.Module]]:
    """Yield the modules that contain one of these words; parsing all of them takes seconds."""
    word = re.compile(rf"\b(?:{'|'.join(map(re.escape, words))})\b")
    for app in OURS:
        for path in (ROOT / app).rglob("*.py"):
            if word.search(text := path.read_text("utf-8")):
                yield path, ast.parse(text)


class TestImports:
    """Label Studio CVE-2022-36551: an import from a URL read the server's own files."""

    @pytest.mark.parametrize("address", ["file:///etc/passwd", "http://169.254.169.254/latest"])
    def test_an_upload_fetches_nothing(
        self, study: Study, own_quarantine: Path, address: str
    ) -> None:
        client = client_of(study.rita)
        for name in ("url", "files", "name"):
            answer = client.post(reverse("upload-new"), {name: address})
            assert answer.status_code == 422
            assert "root:" not in answer.content.decode()
        assert not Upload.objects.exists()

    def test_an_address_in_a_file_is_a_text(self, study: Study, own_quarantine: Path) -> None:
        line = {"id": "q", "text": "file:///etc/passwd", "reports": [{"id": "r", "text": "x"}]}
        upload = read(study.rita, as_file([line]))
        assert upload.found["first"][0]["text"] == "file:///etc/passwd"


class TestUploadedFiles:
    """Label Studio CVE-2023-47115: an uploaded picture was served as a page."""

    PAGE = b"<html><script>caught(1)</script></html>"

    def test_uploaded_files_are_served_under_no_address(
        self, study: Study, own_quarantine: Path
    ) -> None:
        client = client_of(study.rita)
        sent = client.post(reverse("upload-new"), {"files": posted(as_file(), "x.html")})
        key = sent["Location"].rstrip("/").rpartition("/")[2]
        for path in (f"uploads/{key}/0.jsonl", f"media/{key}", f"static/../uploads/{key}/0.jsonl",
                     f"uploads/{key}/x.html", f"batches/uploads/{key}/0.jsonl"):  # fmt: skip
            assert client.get(f"/{path}").status_code == 404

    def test_downloads_are_sent_as_attachments(self, study: Study) -> None:
        client, pk = client_of(study.rita), study.campaign.pk
        addresses = [
            reverse("campaign-draws", args=[pk]),
            *(reverse(r.name) for r in routes() if r.name in ("batch-schema", "batch-example")),
            *(f"{reverse('exports', args=[pk])}{what}/jsonl/" for what in ("labels", "units")),
            f"{reverse('exports', args=[pk])}all/jsonl/",
        ]
        for address in addresses:
            answer = client.get(address)
            assert answer.status_code == 200, address
            assert answer["Content-Disposition"].startswith("attachment"), address
            assert "html" not in answer["Content-Type"], address
            assert answer["X-Content-Type-Options"] == "nosniff", address


class TestFilters:
    """Label Studio CVE-2023-47117: filters revealed password hashes letter by letter."""

    LOOKUPS = (
        "rater__user__password__startswith", "user__password__startswith", "name__startswith",
        "campaign__id", "ordering", "order_by", "rater__user__password", "fields", "expand",
    )  # fmt: skip

    @pytest.mark.every_case
    @pytest.mark.parametrize("lookup", LOOKUPS)
    def test_the_api_accepts_only_declared_filters(
        self, study: Study, rita: Script, lookup: str
    ) -> None:
        pk = study.campaign.pk
        for path in ("campaigns/", "batches/", "assignments/", "invitations/", "uploads/",
                     f"campaigns/{pk}/draws/", f"campaigns/{pk}/labels/", f"campaigns/{pk}/report/",
                     f"batches/{study.campaign.batch_id}/queries/"):  # fmt: skip
            answer = rita.get(f"{path}?{lookup}={HASH}")
            assert answer.status_code == 400, path
            assert lookup in answer.content.decode()

    @pytest.mark.every_case
    @pytest.mark.parametrize("lookup", LOOKUPS)
    def test_pages_ignore_undeclared_filters(self, study: Study, lookup: str) -> None:
        client = client_of(study.root)
        for name, arguments in (("people", []), ("campaigns", []), ("batches", []), ("judges", []),
                                ("batch", [study.campaign.batch_id])):  # fmt: skip
            address = reverse(name, args=arguments)
            plain, filtered = (client.get(address, q) for q in ({}, {lookup: HASH}))
            assert _still(filtered.content) == _still(plain.content), name


def _still(page: bytes) -> str:
    changing = r'(csrfmiddlewaretoken" value=|nonce=)"[^"]+"'
    return re.sub(changing, "", page.decode())


class TestStaticFiles:
    """GHSA-cpmr-mw4j-99r7: an alias in the example proxy configuration exposed other files."""

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        "path",
        ["/static../manage.py", "/static../config/settings.py", "/static/../manage.py",
         "/static/%2e%2e/manage.py", "/static/..%2fmanage.py", "/static//etc/passwd",
         "/static/css/../../manage.py", "//etc/passwd", "/static/%00/manage.py"],
    )  # fmt: skip
    def test_no_path_leads_out_of_the_static_files(self, path: str, db: None) -> None:
        answer = Client().get(path)
        assert answer.status_code in {400, 404}
        assert "DJANGO_SETTINGS_MODULE" not in answer.content.decode()

    def test_the_example_proxy_configuration_has_no_alias(self) -> None:
        example = (ROOT / "docs/how-to/deploy.md").read_text("utf-8")
        (nginx,) = re.findall(r"```nginx\n(.*?)```", example, re.S)
        assert "location / {" in nginx
        assert not re.search(r"\b(alias|root)\b", nginx)


class TestForeignBytes:
    """label-studio-ml CVE-2025-5173 and others: loading a pickled file ran its code."""

    LOADERS = {"pickle", "cPickle", "dill", "marshal", "shelve", "joblib", "torch", "cloudpickle"}
    CALLS = {"eval", "exec", "literal_eval", "__import__", "from_string", "Template"}
    # Messages of judge files, whose templates have no calls; tests/judging/judge_file tests this.
    SANDBOXED = (ROOT / "judging/judge_file/template.py", "from_string")
    # Between a process and its own fork, over a pair of sockets that nobody else can reach.
    FORKED = (ROOT / "judging/engine/apart.py", "pickle")

    def test_foreign_bytes_are_never_unpickled_or_executed(self) -> None:
        found = []
        for path, tree in modules_with(self.LOADERS | self.CALLS | {"allow_pickle"}):
            for node in ast.walk(tree):
                if isinstance(node, ast.Import | ast.ImportFrom):
                    names = [getattr(node, "module", None), *(each.name for each in node.names)]
                    found += [(path, n) for n in names if (n or "").split(".")[0] in self.LOADERS]
                if isinstance(node, ast.Call):
                    name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                    found += [(path, name)] if name in self.CALLS else []
                    found += [(path, k.arg) for k in node.keywords if k.arg == "allow_pickle"]
        assert set(found) == {self.SANDBOXED, self.FORKED}

    def test_user_templates_run_in_a_sandbox(self) -> None:
        assert isinstance(ENVIRONMENT, ImmutableSandboxedEnvironment)
        assert ENVIRONMENT.globals == {}

    def test_workers_accept_only_json_messages(self) -> None:
        assert settings.CELERY_ACCEPT_CONTENT == ["json"]
        assert settings.CELERY_TASK_SERIALIZER == "json"


class TestTemplates:
    """Argilla CVE-2026-116554 and -116555, factgenie: users' texts were rendered as markup."""

    def test_no_template_marks_a_text_as_safe(self) -> None:
        for path in (ROOT / "templates").rglob("*.html"):
            text = path.read_text("utf-8")
            assert not re.search(r"\|\s*safe(seq)?\b|autoescape\s+off", text), path

    def test_no_template_contains_an_inline_event_handler(self) -> None:
        """The content security policy would block them anyway."""
        for path in (ROOT / "templates").rglob("*.html"):
            text = path.read_text("utf-8")
            assert not re.search(r"<[^>]*\son[a-z]+\s*=|javascript:", text), path


class TestSharedLabels:
    """PraisonAI CVE-2026-61440: members could change the settings behind everyone's labels."""

    ORDERS = (
        ("campaign-terms", {"guideline": "mine"}), ("campaign-turn", {"to": "closed"}),
        ("campaign-known", {"use": "gold"}), ("campaign-people-change", {"order": "settings"}),
    )  # fmt: skip

    @pytest.mark.every_case
    @pytest.mark.parametrize(("name", "form"), ORDERS)
    def test_an_annotator_cannot_change_the_campaign(
        self, study: Study, name: str, form: dict[str, str]
    ) -> None:
        add_member(study.campaign, study.rita, "annotator")
        before = Campaign.objects.values().get()
        for user, status in ((study.ada, 403), (study.rita, 404)):
            answer = client_of(user).post(reverse(name, args=[study.campaign.pk]), form)
            assert answer.status_code == status
        assert Campaign.objects.values().get() == before

    def test_nobody_can_change_a_loaded_batch(self, study: Study, rita: Script) -> None:
        pk = study.campaign.batch_id
        for method in ("POST", "PUT", "PATCH", "DELETE"):
            assert rita.send(method, f"batches/{pk}/", {"name": "mine"}).status_code == 405
        assert Batch.objects.get().name == "harbour"


class TestAccounts:
    """LiteLLM CVE-2026-47102: an account could set its own role."""

    @pytest.mark.parametrize("who", ["ada", "rita"])
    def test_nobody_can_raise_their_own_role(self, study: Study, who: str) -> None:
        user = User.objects.get(username=who)
        before, script, client = user.role, script_of(user), client_of(user)
        for method, path in (("PUT", f"people/{user.pk}/"), ("POST", "invitations/")):
            answer = script.send(method, path, {"role": "admin"})
            assert answer.status_code in {403, 422}
        given = {"order": "role", "role": "admin"}
        assert client.post(reverse("person-change", args=[user.pk]), given).status_code == 403
        user.refresh_from_db()
        assert (user.role, user.is_superuser, user.is_staff) == (before, False, False)


class TestOwnership:
    """Label Studio CVE-2026-22033, doccano, meta-evaluator: knowing an ID was enough."""

    def test_another_persons_item_key_opens_nothing(self, study: Study) -> None:
        theirs = study.assignment(study.ben)
        for address in ("item", "draft", "submit", "progress", "guideline", "feedback"):
            path = reverse(address, args=[theirs.uid])
            answer = client_of(study.ada).generic("POST" if address == "draft" else "GET", path)
            assert answer.status_code in {404, 405}
        assert Assignment.objects.get(pk=theirs.pk).status == "open"

    def test_no_session_starts_without_a_log_in(self, study: Study) -> None:
        for address in ("/tasks/", "/campaigns/", "/batches/", "/judges/", "/people/"):
            assert Client().get(address)["Location"].startswith("/login/?next=")


def test_every_advisory_in_the_table_names_existing_tests() -> None:
    rows = re.findall(r"^\| (.+?) \| .+? \| (.+?) \|$", TABLE.read_text("utf-8"), re.M)
    named = {name for _, cell in rows for name in re.findall(r"`(tests/[\w/]+\.py::[\w:]+)`", cell)}
    assert len(rows) >= 16
    assert named
    for name in named:
        path, *parts = name.split("::")
        text = (ROOT / path).read_text("utf-8")
        for part in parts:
            assert re.search(rf"^\s*(async )?(def|class) {part}\b", text, re.M), name
