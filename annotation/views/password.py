"""The page on which people choose a new password of their own.

It asks for the old password or a code of the app first, as the pages of the second factor do, but
not after a log-in by a link that an admin gave them.
"""

from __future__ import annotations

from typing import Any

from allauth.account.decorators import reauthentication_required
from django.conf import settings
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.forms import SetPasswordForm
from django.contrib.auth.password_validation import password_validators_help_texts
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext_lazy as gettext
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from annotation.access import get_account
from annotation.models import User
from annotation.views.second_factor import done_at, own_account
from audit.recording import record


@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
@own_account
@reauthentication_required
def new_password(request: HttpRequest) -> HttpResponse:
    """Set a new password, which ends the account's other log-ins and its tokens."""
    if not settings.TANDEM_PASSWORDS:
        raise PermissionDenied
    user = get_account(request)
    form: SetPasswordForm[User] = SetPasswordForm(user, request.POST or None)
    # Django's list of rules is an HTML list, which cannot be inside a paragraph.
    form.fields["new_password2"].label = gettext("Repeat the new password")
    form.fields["new_password2"].help_text = ""
    form.fields["new_password1"].help_text = " ".join(password_validators_help_texts())
    if request.method == "POST" and form.is_valid():
        with transaction.atomic():
            form.save()
            record("account.password", of=("account", user.pk), by=user.pk)
        update_session_auth_hash(request, user)
        return redirect(done_at("mfa_index", "password"))
    context: dict[str, Any] = {"form": form, "part": "tokens"}
    return render(request, "accounts/password.html", context, status=422 if form.errors else 200)
