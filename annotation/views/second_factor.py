"""Pages of the second factor: the step after the password, adding and removing factors, confirming.

The views are django-allauth's, with templates of our own and the limits of the log-in page.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import urlencode

from allauth.account.stages import LoginStageController
from allauth.account.views import ReauthenticateView
from allauth.mfa.adapter import get_adapter
from allauth.mfa.base.forms import AuthenticateForm, ReauthenticateForm
from allauth.mfa.base.views import AuthenticateView, IndexView
from allauth.mfa.base.views import ReauthenticateView as ReauthenticateByCodeView
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.views import (
    DownloadRecoveryCodesView,
    GenerateRecoveryCodesView,
    ViewRecoveryCodesView,
)
from allauth.mfa.stages import AuthenticateStage
from allauth.mfa.totp.views import ActivateTOTPView, DeactivateTOTPView
from django.conf import settings
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as gettext
from django.views.decorators.http import require_http_methods

from annotation.access import get_account
from annotation.models import User
from annotation.people import identities, login_limits, second_factor
from annotation.people.login_limits import accept_password, guess_of
from audit.recording import record
from datasets.access import EVERYBODY, role_required
from datasets.api_tokens import valid_tokens_of

View = Callable[..., HttpResponseBase]
DONE = {
    "password": gettext("Your password is changed."),
    "app": gettext("The app is added. Now store the recovery codes."),
    "no-app": gettext("The app is removed."),
    "codes": gettext("These are your new codes. The earlier ones no longer work."),
    "linked": gettext("Your account is linked."),
    "unlinked": gettext("The link is removed."),
}
"""What a page says after a change; `done_at` leads to it."""


def done_at(name: str, what: str) -> str:
    return f"{reverse(name)}?{urlencode({'done': what})}"


class _Done:
    """A page that says what was done on the previous page."""

    request: HttpRequest

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        found: dict[str, Any] = super().get_context_data(**kwargs)  # type: ignore[misc]
        return found | {"done": DONE.get(self.request.GET.get("done", ""), "")}


def own_account(view: View) -> View:
    """Restrict a view to accounts. Guests have nothing to log in with."""

    @role_required(*EVERYBODY)
    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if get_account(request).is_guest:
            raise PermissionDenied
        return view(request, *args, **kwargs)

    return guarded


def _clean(code: str) -> str:
    return "".join(code.split())


class _Once:
    """Accepts a code from an app only once, over all processes of the site."""

    def clean_code(self) -> str:
        form: Any = self
        form.cleaned_data["code"] = _clean(form.cleaned_data["code"])
        code: str = super().clean_code()  # type: ignore[misc]
        app = form.authenticator.type == Authenticator.Type.TOTP
        if app and not second_factor.use_once(form.authenticator, code):
            raise get_adapter().validation_error("incorrect_code")
        return code


class CodeForm(_Once, AuthenticateForm):
    """The code after the password."""


class ConfirmCodeForm(_Once, ReauthenticateForm):
    """A code that confirms the identity of the person who changes an account."""


class _Limited:
    """Counts a wrong code before it is checked, and answers 429 during the wait."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        self.counts = guess_of(request, self.account(request).username).codes()
        wait = login_limits.take(self.counts, timezone.now())
        if wait:
            # From this the middleware writes the page.
            request.log_in_wait = wait  # type: ignore[attr-defined]
            return HttpResponse(status=429)
        response: HttpResponseBase = super().post(request, *args, **kwargs)  # type: ignore[misc]
        return response

    def form_valid(self, form: Any) -> HttpResponse:
        login_limits.give_back(self.counts)
        response: HttpResponse = super().form_valid(form)  # type: ignore[misc]
        return response

    def account(self, request: HttpRequest) -> User:
        return get_account(request)


class SecondStep(_Limited, AuthenticateView):
    template_name = "accounts/second_step.html"

    def account(self, request: HttpRequest) -> User:
        user: User = self.stage.login.user
        return user


class Overview(_Done, IndexView):
    template_name = "accounts/second_factor.html"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        user = get_account(self.request)
        return super().get_context_data(**kwargs) | {
            "part": "tokens",
            "required": second_factor.is_required(user),
            "given": second_factor.is_confirmed(self.request),
            "tokens": valid_tokens_of(user).count(),
            "next": self.request.GET.get("next", ""),
            "single_sign_on": settings.TANDEM_OIDC_NAME,
            "linked": identities.is_linked(user),
            "may_set_password": settings.TANDEM_PASSWORDS,
            "may_unlink": settings.TANDEM_PASSWORDS and user.has_usable_password(),
        }


class AddApp(ActivateTOTPView):
    template_name = "accounts/add_app.html"
    extra_context = {"part": "tokens"}

    def form_valid(self, form: Any) -> HttpResponse:
        with transaction.atomic():
            response: HttpResponse = super().form_valid(form)
            user, code = get_account(self.request), _clean(form.cleaned_data["code"])
            with_tokens = "tokens" in self.request.POST
            kind = Authenticator.Type.TOTP
            second_factor.record_new_factor(self.request, user, kind, code, with_tokens)
        return response

    def get_success_url(self) -> str:
        return done_at("mfa_view_recovery_codes", "app")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        grants = valid_tokens_of(get_account(self.request))
        return super().get_context_data(**kwargs) | {"grants": grants}


class RemoveApp(DeactivateTOTPView):
    template_name = "accounts/remove_app.html"
    extra_context = {"part": "tokens"}

    def get_success_url(self) -> str:
        return done_at("mfa_index", "no-app")


class RecoveryCodes(_Done, ViewRecoveryCodesView):
    template_name = "accounts/recovery_codes.html"
    extra_context = {"part": "tokens"}


class NewRecoveryCodes(GenerateRecoveryCodesView):
    template_name = "accounts/new_recovery_codes.html"
    extra_context = {"part": "tokens"}

    def get_success_url(self) -> str:
        return done_at("mfa_view_recovery_codes", "codes")

    def form_valid(self, form: Any) -> HttpResponse:
        with transaction.atomic():
            response: HttpResponse = super().form_valid(form)
            user = get_account(self.request)
            record("factor.codes", of=("account", user.pk), by=user.pk)
        return response


class RecoveryCodesFile(DownloadRecoveryCodesView):
    template_name = "accounts/recovery_codes.txt"


class ConfirmByPassword(ReauthenticateView):
    template_name = "accounts/confirm.html"
    extra_context = {"part": "tokens"}

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not settings.TANDEM_PASSWORDS:
            raise PermissionDenied
        response: HttpResponse = super().post(request, *args, **kwargs)
        return response

    def form_valid(self, form: Any) -> HttpResponse:
        user = get_account(self.request)
        accept_password(self.request, user)
        # Django may have stored the password under a newer hash, which ends sessions.
        user.refresh_from_db(fields=["password"])
        update_session_auth_hash(self.request, user)
        return super().form_valid(form)


class ConfirmByCode(_Limited, ReauthenticateByCodeView):
    template_name = "accounts/confirm.html"
    extra_context = {"part": "tokens"}


def _for_own_account(view: View, *methods: str) -> View:
    return require_http_methods([*(methods or ("GET", "HEAD", "POST"))])(own_account(view))


READ = ("GET", "HEAD")
_step = SecondStep.as_view()


@require_http_methods(["GET", "HEAD", "POST"])
def second_step(request: HttpRequest) -> HttpResponseBase:
    """Ask for the code. A person who has not yet given a password is sent to the log-in."""
    pending = LoginStageController.enter(request, AuthenticateStage.key)
    if pending is not None and second_factor.is_outdated(request, pending.login.user):
        pending.abort()
        pending = None
    if pending is None and not request.user.is_authenticated:
        return redirect_to_login(reverse("home"))
    return _step(request)


overview = _for_own_account(Overview.as_view(), *READ)
add_app = _for_own_account(AddApp.as_view())
remove_app = _for_own_account(RemoveApp.as_view())
recovery_codes = _for_own_account(RecoveryCodes.as_view(), *READ)
new_recovery_codes = _for_own_account(NewRecoveryCodes.as_view())
recovery_codes_file = _for_own_account(RecoveryCodesFile.as_view(), *READ)
confirm_by_password = _for_own_account(ConfirmByPassword.as_view())
confirm_by_code = _for_own_account(ConfirmByCode.as_view())
