"""Addresses in feeds: which are on the web, and which of their parts only count readers."""

from __future__ import annotations

from urllib.parse import urljoin

from ingest.sources.web import public_url

_PREFIXES = ("utm_", "mtm_", "pk_")
_NAMES = frozenset(
    {"fbclid", "gclid", "dclid", "gbraid", "wbraid", "msclkid", "yclid", "twclid", "igshid"}
    | {"mc_cid", "mc_eid", "mkt_tok", "_hsenc", "_hsmi", "oly_enc_id", "oly_anon_id", "wt_mc"}
)
"""Parameters that campaigns, mailings and advertisers add to follow a reader; no page depends on
them."""


def is_web(address: str) -> bool:
    """Tell whether an address is an http or https URL."""
    return address.lower().startswith(("http://", "https://"))


def absolute(base: str, link: str) -> str:
    """Return ``link`` as it is meant on the page ``base``."""
    try:
        return urljoin(base, link)
    except ValueError:  # such as a "[" without its "]": the address is refused when it is fetched
        return link


def without_tracking(url: str) -> str:
    """Return ``url`` without the parameters that only follow a reader; all else stays as it is."""
    start, mark, fragment = url.partition("#")
    path, question, query = start.partition("?")
    if not question:
        return url
    kept = [part for part in query.split("&") if not _is_tracking(part)]
    if len(kept) == query.count("&") + 1:
        return url
    return path + ("?" + "&".join(kept) if kept else "") + mark + fragment


def citable(url: str) -> str:
    """Return ``url`` as it may be shown, and as it stays: no tracking, no secrets, no signature."""
    return without_tracking(public_url(url))


def _is_tracking(parameter: str) -> bool:
    name = parameter.partition("=")[0].lower()
    return name.startswith(_PREFIXES) or name in _NAMES
