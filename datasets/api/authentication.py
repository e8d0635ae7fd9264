"""Authentication by a token in a header. Cookies are ignored."""

from __future__ import annotations

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from knox.auth import TokenAuthentication
from rest_framework.authentication import get_authorization_header
from rest_framework.exceptions import AuthenticationFailed

from tandem.verbs import verb_of

WORDS = ("Token", "Bearer")
"""The words before a token. They mean the same: many HTTP libraries only know the second."""


class TokenInHeader(TokenAuthentication):
    """`Authorization: Token …` or `Bearer …`, by `manage.py create_token`, stored as a hash."""

    def authenticate_header(self, request: Any) -> str:
        """Return the word that the request uses, which is also the one of a refusal."""
        used = get_authorization_header(request).partition(b" ")[0].lower()
        return next((word for word in WORDS if word.lower().encode() == used), WORDS[0])

    def authenticate_credentials(self, token: bytes) -> tuple[Any, Any]:
        if not token.isascii():
            raise AuthenticationFailed
        user_and_token: tuple[Any, Any] = super().authenticate_credentials(token)
        return user_and_token


class TokenScheme(OpenApiAuthenticationExtension):
    target_class = "datasets.api.authentication.TokenInHeader"
    name = ["token", "bearer"]

    def get_security_requirement(self, auto_schema: Any) -> list[dict[str, list[Any]]]:
        """Return one requirement for each scheme: either of them suffices."""
        return [{name: []} for name in self.name]

    def get_security_definition(self, auto_schema: Any) -> list[dict[str, Any]]:
        creates = f"`{verb_of('create_token')} NAME` creates one."
        return [
            {
                "type": "apiKey",
                "in": "header",
                "name": "Authorization",
                "description": f"`Token tandem_…`, including the word `Token`. {creates}",
            },
            {
                "type": "http",
                "scheme": "bearer",
                "description": f"`Bearer tandem_…`: the same tokens. {creates}",
            },
        ]
