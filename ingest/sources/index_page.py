"""Folders that a web server shows as index pages: which links are files in it, and their state."""

from __future__ import annotations

import base64
import html
from collections.abc import Mapping
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx

from ingest.secrets import register

TIMEOUT_SECONDS = 60.0


def web_arguments(login: tuple[str, str] | None) -> dict[str, Any]:
    """Return what fsspec's HTTP file system is opened with.

    Args:
        login: user and password for basic authentication; None without.
    """
    from aiohttp import ClientTimeout, TraceConfig

    async def stay(session: Any, context: Any, redirect: Any) -> None:
        del session, context
        to = redirect.response.headers.get("Location") or redirect.response.headers.get("URI", "")
        check_redirect(str(redirect.url), to)

    trace = TraceConfig()
    trace.on_request_redirect.append(stay)
    client: dict[str, Any] = {
        "trace_configs": [trace],
        # As long as bytes come, a download may take its time.
        "timeout": ClientTimeout(
            total=None, sock_connect=TIMEOUT_SECONDS, sock_read=TIMEOUT_SECONDS
        ),
    }
    if login is not None:
        pair = base64.b64encode(":".join(login).encode()).decode()
        register(pair)
        client["headers"] = {"Authorization": f"Basic {pair}"}
    return {"client_kwargs": client, "simple_links": False}


def check_redirect(url: str, to: str) -> None:
    """Let a server redirect within itself and to its own HTTPS, and nowhere else.

    The source names one host; others, such as those of the network that this runs in, are not for
    its pages to choose.

    Raises:
        PermissionError: the redirect leads elsewhere.
    """
    before, after = urlsplit(url), urlsplit(urljoin(url, to))
    ports = (_port(before.scheme, before.port), _port(after.scheme, after.port))
    same = ports[0] == ports[1] and before.scheme == after.scheme
    if before.hostname != after.hostname or not (
        same or (ports == (80, 443) and after.scheme == "https")
    ):
        raise PermissionError(
            f"{before.hostname} redirects to {after.scheme}://{after.netloc.rpartition('@')[2]}, "
            "and only the source's own host is read"
        )


def _port(scheme: str, port: int | None) -> int:
    return port or (443 if scheme == "https" else 80)


def encoded(url: str) -> str:
    """Return ``url`` as servers write it in links: with a space as "%20"."""
    return str(httpx.URL(url))


def in_folder(folder: str, listed: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the entries that are files and folders right in ``folder``.

    Index pages also link to the folder above, to themselves in another order, and elsewhere.

    Args:
        folder: its URL, without a slash at its end.
        listed: what fsspec found on the page.
    """
    found: dict[str, dict[str, Any]] = {}
    for info in listed:
        rest = html.unescape(info["name"]).removeprefix(f"{folder}/").removeprefix("./")
        name = rest.rstrip("/")
        if name in ("", ".", "..") or any(sign in name for sign in "/?#") or ":" in name[:12]:
            continue
        found[name] = info | {"name": f"{folder}/{name}"}
    return [found[name] for name in sorted(found)]


class Heads:
    """Asks a web server for the heads of files: an index page tells no more than names."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        self._client = httpx.Client(
            headers=dict(headers),
            event_hooks={"response": [self._check]},
            follow_redirects=True,
            timeout=TIMEOUT_SECONDS,
            trust_env=False,
        )

    def state(self, url: str) -> str:
        """Return what the server says of the state of a file.

        Raises:
            FileNotFoundError: the server has no such file.
            PermissionError: it does not give it to these credentials, or names another host.
            httpx.HTTPError: it does not answer, or not well.
        """
        answer = self._client.head(url)
        if answer.status_code in (404, 410):
            raise FileNotFoundError(url)
        if answer.status_code in (401, 403):
            raise PermissionError(f"{url}: the server answered {answer.status_code}")
        answer.raise_for_status()
        if "etag" in answer.headers:
            return f"etag-{answer.headers['etag']}"
        return f"{answer.headers.get('content-length')}-{answer.headers.get('last-modified', '')}"

    @staticmethod
    def _check(answer: httpx.Response) -> None:
        if answer.is_redirect:
            check_redirect(str(answer.url), answer.headers.get("Location", ""))
