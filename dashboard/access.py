"""Who may act: with the installation's token, or as a user whom the host application knows."""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from urllib.parse import urlsplit

from fastapi import Request

from ingest.settings import Settings


@dataclass(frozen=True)
class TokenAccess:
    """Acting needs the token of the settings, with each form; without one nobody may act."""

    settings: Settings
    asks_token = True

    def may_act(self, request: Request) -> bool:
        """Whether forms are worth showing."""
        return self.settings.dashboard.token is not None

    def refusal(self, request: Request, token: str) -> str | None:
        """Return why a request may not act; None if it may."""
        wanted = self.settings.dashboard.token
        if wanted is None:
            return "Nobody may act here: MUNIMENT_DASHBOARD__TOKEN is not set."
        if not hmac.compare_digest(token.encode(), wanted.get_secret_value().encode()):
            return "The token is not the one that is set."
        return None if _same_site(request, unknown=True) else "The form is another site's."


@dataclass(frozen=True)
class UserAccess:
    """Acting needs a user with the right to; ``request.state.may_act`` says whether it is one."""

    asks_token = False

    def may_act(self, request: Request) -> bool:
        """Whether this user may act."""
        return getattr(request.state, "may_act", False) is True

    def refusal(self, request: Request, token: str) -> str | None:
        """Return why a request may not act; None if it may."""
        if not self.may_act(request):
            return "You may look at this, and not change it."
        # The session's cookie comes along with another site's form too, so that a form has to
        # prove where it is from.
        return None if _same_site(request, unknown=False) else "The form is another site's."


Access = TokenAccess | UserAccess


def _same_site(request: Request, *, unknown: bool) -> bool:
    """Say whether a form is of this site (Fetch Metadata, RFC 6454); ``unknown`` if nothing does.

    Browsers send no Fetch Metadata to plain http, but an origin.
    """
    sent_from = request.headers.get("Sec-Fetch-Site")
    if sent_from is not None:
        return sent_from == "same-origin"
    origin = request.headers.get("Origin")
    if origin is not None:
        return urlsplit(origin).netloc == request.headers.get("Host")
    return unknown
