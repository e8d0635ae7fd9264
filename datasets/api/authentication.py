"""Authentication by a token in a header. Cookies are ignored."""

from __future__ import annotations

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from knox.auth import TokenAuthentication
from rest_framework.exceptions import AuthenticationFailed

from tandem.verbs import verb_of


class TokenInHeader(TokenAuthentication):
    """`Authorization: Token …`, created by `manage.py create_token` and stored as a hash."""

    def authenticate_credentials(self, token: bytes) -> tuple[Any, Any]:
        if not token.isascii():
            raise AuthenticationFailed
        user_and_token: tuple[Any, Any] = super().authenticate_credentials(token)
        return user_and_token


class TokenScheme(OpenApiAuthenticationExtension):
    target_class = "datasets.api.authentication.TokenInHeader"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:
        return {
            "type": "apiKey",
            "in": "header",
            "name": "Authorization",
            "description": "`Token tandem_…`, including the word `Token`. "
            f"`{verb_of('create_token')} NAME` creates one.",
        }
