"""Addresses on the web: what of a URL may be shown, and where it leads."""

from __future__ import annotations

import re
from urllib.parse import unquote_plus, urljoin, urlsplit

import httpx

_SECRET = frozenset(
    {"access_token", "api_key", "apikey", "auth", "awsaccesskeyid", "client_secret", "jwt", "key"}
    | {"key-pair-id", "googleaccessid", "password", "policy", "pwd", "secret", "sig", "signature"}
    | {"token", "x-api-key"}
)
_SECRET_PREFIXES = ("x-amz-", "x-goog-", "x-ms-")
_SIGNATURES = frozenset({"sig", "signature"})
_SIGNED = frozenset(
    {"expires", "rsct", "rscd", "sdd", "se", "sip", "ske", "skoid", "sks", "skt", "sktid", "skv"}
    | {"sp", "spr", "sr", "srt", "ss", "st", "sv"}
)
"""What accompanies a signature (S3 version 2, CloudFront, Azure), and changes with it."""
_HOST = re.compile(rb"[A-Za-z0-9._:-]+")
_NO_HOST = re.compile(r"https?:(?!//[^/?#])", re.IGNORECASE)
_USER_INFO = re.compile(r"^([a-z][a-z0-9+.-]*:)?//[^/?#]*@", re.IGNORECASE)


def public_url(url: str) -> str:
    """Return ``url`` without user info and without parameters that are secrets or signatures.

    It is what messages, citations and reports show. Signatures change at each listing; the result
    does not. All else stays as it is, also in what is no URL at all.
    """
    url = _USER_INFO.sub(r"\1//", url)
    start, mark, fragment = url.partition("#")
    path, question, query = start.partition("?")
    if not question:
        return url
    parts = query.split("&")
    names = [unquote_plus(part.partition("=")[0]).lower() for part in parts]
    signed = not _SIGNATURES.isdisjoint(names)
    kept = [
        part
        for part, name in zip(parts, names, strict=True)
        if name not in _SECRET
        and not name.startswith(_SECRET_PREFIXES)
        and not (signed and name in _SIGNED)
    ]
    return path + ("?" + "&".join(kept) if kept else "") + mark + fragment


def web_address(link: str, base: str | httpx.URL | None = None) -> httpx.URL:
    """Return where a link on the page ``base`` leads, without user info and fragment.

    No server is sent a fragment, and user info would be credentials that nobody configured.

    Raises:
        ValueError: that is no http or https address. The text says so, and quotes nothing.
    """
    try:
        target = urljoin(str(base), link) if base is not None else link
        if _NO_HOST.match(link):
            raise ValueError(link)  # programs make different things of "http:a" and "http:///a"
        urlsplit(target).port  # noqa: B018  # stricter than httpx about brackets and ports
        url = httpx.URL(target)
    except (ValueError, httpx.InvalidURL):
        # Their texts quote the address, with all that is in it.
        raise ValueError("it is no address") from None
    if url.scheme not in ("http", "https") or not _HOST.fullmatch(url.raw_host):
        raise ValueError("it is not an http or https address")
    return url.copy_with(username="", password="", fragment=None)


Origin = tuple[str, str, int]
"""Scheme, host and port."""


def origin(url: httpx.URL) -> Origin:
    """Return the scheme, host (in ASCII) and port of an http or https URL."""
    port = url.port or (443 if url.scheme == "https" else 80)
    return url.scheme, url.raw_host.decode("ascii").lower(), port
