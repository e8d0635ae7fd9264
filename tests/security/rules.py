"""Which roles may use which methods of each route. A test names every route without a rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

ANONYMOUS, ANNOTATOR, OTHER, RESEARCHER, ADMIN = (
    "anonymous",
    "annotator",
    "other annotator",
    "researcher",
    "admin",
)
ROLES = (ANONYMOUS, ANNOTATOR, OTHER, RESEARCHER, ADMIN)
SAFE = ("GET", "HEAD")
UNSAFE = ("POST", "PUT", "PATCH", "DELETE")
METHODS = (*SAFE, *UNSAFE, "OPTIONS", "TRACE")

Who = frozenset[str]
NOBODY: Who = frozenset()
ALL: Who = frozenset(ROLES)
ACCOUNTS: Who = ALL - {ANONYMOUS}
WORKERS: Who = frozenset({ANNOTATOR, OTHER, RESEARCHER})
READERS: Who = frozenset({RESEARCHER, ADMIN})
ADMINS: Who = frozenset({ADMIN})


@dataclass(frozen=True)
class Rule:
    """Who may use which methods. GET includes HEAD; methods that are not named are refused.

    `answers` are the statuses that a request with an empty body gets from one's own object.
    """

    who: Mapping[str, Who]
    answers: frozenset[int] = field(default=frozenset({200, 302}))

    def who_may(self, method: str) -> Who | None:
        """Return who may use the method; None if the address does not accept it."""
        return self.who.get("GET" if method == "HEAD" else method)


def reads(who: Who) -> Rule:
    return Rule({"GET": who})


def takes(who: Who, *answers: int, method: str = "POST") -> Rule:
    return Rule({method: who}, frozenset(answers or (200, 302)))


RULES: dict[str, Rule] = {
    "home": reads(ACCOUNTS),
    "login": Rule({"GET": ALL, "POST": ALL}),
    "account_login": Rule({"GET": ALL, "POST": ALL}),
    # The second step needs a password first, and a link needs its key.
    "mfa_authenticate": Rule({"GET": ACCOUNTS, "POST": ACCOUNTS}, frozenset({302})),
    "log-in-link": Rule({"GET": ALL, "POST": ALL}, frozenset({410})),
    # No identity provider is configured.
    "openid_connect_login": takes(ALL, 404),
    "openid_connect_callback": Rule({"GET": ALL}, frozenset({404})),
    "mfa_index": reads(ACCOUNTS),
    # These ask for the password first, and the accounts have no second factor.
    "mfa_activate_totp": Rule({"GET": ACCOUNTS, "POST": ACCOUNTS}, frozenset({302})),
    "mfa_deactivate_totp": Rule({"GET": ACCOUNTS, "POST": ACCOUNTS}, frozenset({404})),
    "mfa_view_recovery_codes": Rule({"GET": ACCOUNTS}, frozenset({404})),
    "mfa_generate_recovery_codes": Rule({"GET": ACCOUNTS, "POST": ACCOUNTS}, frozenset({302})),
    "mfa_download_recovery_codes": Rule({"GET": ACCOUNTS}, frozenset({404})),
    "account_reauthenticate": Rule({"GET": ACCOUNTS, "POST": ACCOUNTS}),
    "mfa_reauthenticate": Rule({"GET": ACCOUNTS, "POST": ACCOUNTS}, frozenset({302})),
    "password": Rule({"GET": ACCOUNTS, "POST": ACCOUNTS}, frozenset({302})),
    "identity-remove": takes(ACCOUNTS, 302),
    "who": reads(ALL),
    "language": takes(ACCOUNTS, 302),
    "logout": takes(ALL),
    "tokens": Rule({"GET": ACCOUNTS, "POST": ACCOUNTS}, frozenset({200, 422})),
    "token-take-back": takes(ACCOUNTS, 302),
    "work": reads(WORKERS),
    "take-next": takes(WORKERS),
    "finished": reads(WORKERS),
    # Redirects, since the campaign asks for nothing; 404, since nobody here has given consent.
    "before": Rule({"GET": WORKERS, "POST": WORKERS}, frozenset({302})),
    "own-consent": Rule({"GET": WORKERS, "POST": WORKERS}, frozenset({404})),
    "item": reads(WORKERS),
    "jump": reads(WORKERS),
    "cannot-judge": takes(WORKERS, 302),
    "take-up": takes(WORKERS, 302, 404),
    "draft": takes(WORKERS, 200, 409, 422),
    "submit": takes(WORKERS, 200, 409, 422),
    "guideline": reads(WORKERS),
    "progress": reads(WORKERS),
    # 404 before the report is answered; an empty body corrects nothing.
    "nugget": Rule({"GET": WORKERS, "POST": WORKERS}, frozenset({200, 404, 422})),
    # 404 unless the item is a practice item, and before the answer.
    "feedback": Rule({"GET": WORKERS}, frozenset({200, 404})),
    # None of these accounts is an adjudicator: see tests/annotation/adjudication for those who are.
    "adjudication": reads(WORKERS),
    "adjudication-next": reads(WORKERS),
    "adjudication-guideline": reads(WORKERS),
    "adjudication-unit": reads(WORKERS),
    "decide": takes(WORKERS),
    "campaigns": reads(READERS),
    "search": reads(READERS),
    "exports": reads(READERS),
    # An empty body has no file.
    "campaign-import": Rule({"GET": READERS, "POST": READERS}, frozenset({200, 422})),
    "import-template-csv": reads(READERS),
    "import-template-xlsx": reads(READERS),
    "export-file": reads(READERS),
    "people": reads(ADMINS),
    "doctor": reads(ADMINS),
    "doctor-state": reads(ADMINS),
    "doctor-examine": takes(ADMINS, 302),
    # Only an admin creates teams; 422 without a name.
    "teams": Rule({"GET": READERS, "POST": ADMINS}, frozenset({200, 422})),
    "team": reads(READERS),
    "team-change": takes(READERS, 302),
    "api-teams": Rule({"GET": READERS, "POST": ADMINS}, frozenset({200, 400})),
    "api-team": reads(READERS),
    "api-team-members": takes(READERS, 400, method="PUT"),
    "api-team-shares": takes(ADMINS, 400, method="PUT"),
    "api-team-moves": takes(ADMINS, 400),
    "invite": Rule({"GET": ADMINS, "POST": ADMINS}, frozenset({200, 422})),
    "person": reads(ADMINS),
    "person-change": takes(ADMINS, 302),
    "invitation-revoke": takes(READERS, 302),
    "campaign-people": reads(READERS),
    "campaign-people-change": takes(READERS, 302),
    "campaign-invite": takes(READERS, 422),
    # Without a key there is no invitation.
    "join": Rule({"GET": ALL, "POST": ALL}, frozenset({404})),
    # 422 without the parameters that Prolific adds to the link.
    "prolific": Rule({"GET": ALL, "POST": ALL}, frozenset({422})),
    "campaign-progress": reads(READERS),
    "campaign-rater": reads(READERS),
    "rater-labels": reads(READERS),
    "campaign-quality": reads(READERS),
    "rater-quality": reads(READERS),
    "campaign-new": Rule({"GET": READERS, "POST": READERS}, frozenset({200, 422})),
    "campaign": reads(READERS),
    "campaign-data": reads(READERS),
    "campaign-item": reads(READERS),
    "guideline-look": takes(READERS, 200),
    "protocols": reads(READERS),
    "protocol-new": Rule({"GET": READERS, "POST": READERS}),
    "protocol-fits": takes(READERS, 200),
    "protocol": reads(READERS),
    "protocol-file": reads(READERS),
    "protocol-delete": takes(READERS, 302),
    "campaign-settings": reads(READERS),
    "campaign-judge-start": reads(READERS),
    "campaign-trials": Rule({"GET": READERS, "POST": READERS}, frozenset({200, 422})),
    "campaign-baseline": takes(READERS, 302),
    "judge-answers": reads(READERS),
    "campaign-terms": takes(READERS, 302),
    "campaign-turn": takes(READERS, 302),
    # An empty body has no file and no reason.
    "campaign-known": takes(READERS, 422),
    "campaign-admit": takes(READERS, 422),
    "campaign-draws": reads(READERS),
    "audit": reads(ADMINS),
    "audit-file": reads(ADMINS),
    "campaign-audit": reads(READERS),
    "campaign-audit-file": reads(READERS),
    "api-audit": reads(ADMINS),
    "api-campaign-audit": reads(READERS),
    "batches": reads(READERS),
    "batch": reads(READERS),
    "query": reads(READERS),
    "upload-new": Rule({"GET": READERS, "POST": READERS}, frozenset({200, 422})),
    "upload": reads(READERS),
    "upload-live": reads(READERS),
    # An empty body has no order.
    "upload-order": takes(READERS, 422),
    "batch-schema": reads(READERS),
    "batch-example": reads(READERS),
    "jobs": reads(READERS),
    "job-notices": reads(READERS),
    "job-live": reads(READERS),
    # An empty body has no order.
    "job-order": takes(READERS, 404),
    "api-jobs": reads(READERS),
    "api-job": reads(READERS),
    "api-job-cancel": takes(READERS, 200),
    "results": reads(READERS),
    "batch-measures": reads(READERS),
    # Addresses of earlier versions redirect.
    "report": Rule({"GET": READERS}, frozenset({301})),
    "disagreements": reads(READERS),
    "disagreements-file": reads(READERS),
    "disagreement": reads(READERS),
    # An empty body acts on all listed units to which the action applies; 422 if there is none.
    "disagreements-act": Rule({"GET": READERS, "POST": READERS}, frozenset({200, 422})),
    "api-disagreements": takes(READERS, 400),
    # 422, since no two judges have labels here.
    "label-first": Rule({"GET": READERS, "POST": READERS}, frozenset({200, 302, 422})),
    "api-label-first": takes(READERS, 400),
    # An order without a value does nothing; 422 where no plan is running.
    "trust": Rule({"GET": READERS, "POST": READERS}, frozenset({200, 302, 422})),
    # 404 without a certificate, and 422 for a plan that runs.
    "trust-certificate": Rule({"GET": READERS}, frozenset({200, 404})),
    "trust-wrong": Rule({"GET": READERS}, frozenset({200, 404, 422})),
    "api-trust": Rule({"GET": READERS, "POST": READERS}, frozenset({200, 400})),
    "api-trust-draws": takes(READERS, 422),
    "api-trust-looks": takes(READERS, 422),
    "api-trust-end": takes(READERS, 422),
    "api-trust-certificates": Rule({"GET": READERS, "POST": READERS}, frozenset({200, 422})),
    "more-queries": Rule({"GET": READERS, "POST": READERS}, frozenset({200, 302})),
    # An empty body is a draft without text.
    "change-drafts": Rule({"GET": READERS, "POST": READERS}, frozenset({200, 422})),
    "change-draft": Rule({"GET": READERS, "POST": READERS}, frozenset({200, 422})),
    "change-draft-try": takes(READERS, 422),
    # An empty body removes the tag.
    "disagreement-tag": takes(READERS, 302),
    "measures": Rule({"GET": READERS}, frozenset({301})),
    # 409: an empty body does not say which numbers the reader saw.
    # GET asks for the job that stores the snapshot; 404, since there is none.
    "freeze": Rule({"GET": READERS, "POST": READERS}, frozenset({302, 409})),
    "frozen": reads(READERS),
    # An empty body chooses no rule, and gets the form again.
    "batch-derive": Rule({"GET": READERS, "POST": READERS}, frozenset({200})),
    "batch-left-out": reads(READERS),
    "preparation": reads(READERS),
    # An empty body names no judge, no author, no name and no verdict.
    "preparation-begin": takes(READERS, 422),
    "preparation-accept": takes(READERS, 404),
    "preparation-build": Rule({"GET": READERS, "POST": READERS}, frozenset({200, 422})),
    "review": Rule({"GET": READERS, "POST": READERS}, frozenset({200, 422})),
    "judges": reads(READERS),
    "judge-new": Rule({"GET": READERS, "POST": READERS}, frozenset({200, 422})),
    # An empty body has no campaign; an empty judge file is checked like any other.
    "judge-new-try": takes(READERS, 422),
    "judge-file-check": takes(READERS, 200),
    "judge-file-load": takes(READERS, 200),
    # 404 if the judge has no file.
    "judge-file": Rule({"GET": READERS}, frozenset({200, 404})),
    "judge": reads(READERS),
    "judge-try": takes(READERS, 422),
    "judge-start": Rule({"GET": READERS, "POST": READERS}, frozenset({200, 422})),
    "judge-run": reads(READERS),
    "judge-run-live": reads(READERS),
    "judge-run-order": takes(READERS, 302),
    "judge-run-manifest": reads(READERS),
    "judge-calls": reads(READERS),
    "judge-call": reads(READERS),
    "judges-compared": reads(READERS),
    "judge-robustness": reads(READERS),
    "judge-bench": reads(READERS),
    "judge-bench-file": reads(READERS),
    "studies": reads(READERS),
    # Redirects to the only study, or to the campaigns.
    "start": reads(READERS),
    "study": reads(READERS),
    # An empty body gives no name.
    "study-evaluators": Rule({"GET": READERS, "POST": READERS}, frozenset({200, 422})),
    "batch-chain": reads(READERS),
    "study-paper": reads(READERS),
    "study-paper-file": reads(READERS),
    "api-root": reads(ACCOUNTS),
    "api-schema": reads(ACCOUNTS),
    "api-docs": reads(ACCOUNTS),
    "api-protocols": Rule({"GET": READERS, "POST": READERS}, frozenset({200, 400})),
    "api-protocol-schema": reads(READERS),
    "api-protocol-check": takes(READERS, 400),
    "api-protocol": reads(READERS),
    "api-protocol-delete": takes(READERS, 200),
    "api-batches": reads(READERS),
    "api-batch": reads(READERS),
    "api-queries": reads(READERS),
    "api-query": reads(READERS),
    # An empty body has no file, and is not a form.
    "api-uploads": Rule({"GET": READERS, "POST": READERS}, frozenset({200, 400, 415})),
    "api-upload": reads(READERS),
    "api-upload-keep": takes(READERS, 400),
    "api-upload-discard": takes(READERS, 200),
    "api-campaigns": Rule({"GET": ACCOUNTS, "POST": READERS}, frozenset({200, 400})),
    "api-campaign": reads(ACCOUNTS),
    "api-rehearsal": takes(READERS, 400),
    "api-terms": takes(READERS),
    "api-draws": reads(READERS),
    "api-known": takes(READERS, 400),
    "api-next": takes(WORKERS),
    "api-intake": reads(WORKERS),
    "api-own-consent": takes(WORKERS, 400, method="PUT"),
    "api-own-background": takes(WORKERS, 400, method="PUT"),
    "api-units": reads(READERS),
    "api-labels": reads(READERS),
    "api-responses": reads(READERS),
    "api-report": reads(READERS),
    "api-bench": reads(READERS),
    "api-figure": reads(READERS),
    "api-paper": reads(READERS),
    "api-studies": reads(READERS),
    "api-study": reads(READERS),
    "api-batch-chain": reads(READERS),
    "api-measures": reads(READERS),
    "api-progress": reads(READERS),
    "api-rater-progress": reads(READERS),
    "api-quality": reads(READERS),
    "api-attention": reads(READERS),
    "api-items": reads(READERS),
    "api-item": reads(READERS),
    "api-campaign-assignments": reads(READERS),
    "api-exports": reads(READERS),
    "api-export": reads(READERS),
    "api-imports": takes(READERS, 400),
    "api-reports": Rule({"GET": READERS, "POST": READERS}, frozenset({200, 400})),
    "api-frozen": reads(READERS),
    "api-judges": Rule({"GET": READERS, "POST": READERS}, frozenset({200, 400})),
    "api-judge-draft-try": Rule({"GET": READERS, "POST": READERS}, frozenset({400})),
    "api-judge-library": reads(READERS),
    "api-judge-library-file": reads(READERS),
    "api-judge": reads(READERS),
    # 400 without a campaign.
    "api-judge-estimate": Rule({"GET": READERS}, frozenset({400})),
    "api-judge-try": takes(READERS, 400),
    # 400 without a campaign.
    "api-judge-trials": Rule({"GET": READERS, "POST": READERS}, frozenset({400})),
    "api-judge-trials-estimate": Rule({"GET": READERS}, frozenset({400})),
    "api-judges-compared": reads(READERS),
    "api-runs": Rule({"GET": READERS, "POST": READERS}, frozenset({200, 400})),
    "api-run": reads(READERS),
    "api-run-order": takes(READERS, 400),
    "api-run-manifest": reads(READERS),
    "api-calls": reads(READERS),
    "api-call": reads(READERS),
    "api-derive": takes(READERS, 400),
    "api-lineage": reads(READERS),
    "api-left-out": reads(READERS),
    "api-preparation": reads(READERS),
    "api-preparation-step": Rule({"GET": READERS, "POST": READERS}, frozenset({200})),
    "api-prepared-list": reads(READERS),
    # An empty body names no author, no batch and no verdict.
    "api-preparation-accept": takes(READERS, 400),
    "api-preparation-build": takes(READERS, 400),
    "api-prepared": reads(READERS),
    "api-review": takes(READERS, 400),
    "api-people": reads(ADMINS),
    "api-person": Rule({"GET": ADMINS, "PUT": ADMINS}),
    # An empty body names no account.
    "api-forget": takes(ADMINS, 400),
    "api-invitations": Rule({"GET": READERS, "POST": READERS}, frozenset({200, 201, 422})),
    "api-revoke": takes(READERS, 200),
    "api-pay": reads(READERS),
    "api-campaign-people": Rule({"GET": READERS, "PUT": READERS}),
    "api-members": takes(READERS, 400, method="PUT"),
    "api-exclusion": takes(READERS, 400, method="PUT"),
    "api-admission": takes(READERS, 400, method="PUT"),
    "api-search": Rule({"GET": READERS}, frozenset({400})),
    "api-free": takes(READERS, 200),
    "api-disputes": reads(WORKERS),
    "api-dispute": Rule({"GET": WORKERS, "PUT": WORKERS}),
    "api-assignments": reads(WORKERS),
    "api-assignment": reads(WORKERS),
    "api-guideline": reads(WORKERS),
    # 404 unless the item is a practice item, and before the answer.
    "api-feedback": Rule({"GET": WORKERS}, frozenset({200, 404})),
    # 404 before the first answer; an empty body is not an answer.
    "api-response": Rule(
        {"GET": WORKERS, "POST": WORKERS, "PUT": WORKERS}, frozenset({200, 400, 404})
    ),
}
# The page that shows the API description loads it with the session of its reader.
BY_SESSION_TOO = {"api-schema"}
FAMILIES: dict[str, Rule] = {
    # One route for each format in the registry.
    "report-": reads(READERS),
    # 404: too few systems for a rank correlation, and queries of one kind have no slices.
    "measures-figure-": Rule({"GET": READERS}, frozenset({200, 404})),
    "measures-": reads(READERS),
    "frozen-": reads(READERS),
}


def rule_of(name: str) -> Rule | None:
    if name in RULES:
        return RULES[name]
    return next((rule for start, rule in FAMILIES.items() if name.startswith(start)), None)
