"""Stores that fsspec can reach: how each takes credentials, and how each says no."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

from ingest.errors import ConfigurationError
from ingest.sources.credentials import Credentials

_S3 = ("s3", "s3a")
_SFTP = ("sftp", "ssh")
_HTTP = ("http", "https")
_AZURE = ("az", "abfs", "abfss")
_GOOGLE = ("gs", "gcs")
NAMELESS = _SFTP
"""Protocols whose paths, as fsspec has them, do not name the host."""
_S3_CLIENT = ("endpoint_url", "region_name")
_TIMEOUT_SECONDS = 60.0
_HEAD_REFUSALS = ("401", "403", "Forbidden", "InvalidAccessKeyId", "SignatureDoesNotMatch")


def store_arguments(
    protocol: str, credentials: Credentials | None, options: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what fsspec's file system for ``protocol`` is opened with.

    Every source has a file system of its own: fsspec would share one between sources with equal
    arguments, and keep its listings.

    Raises:
        ConfigurationError: the credentials lack what the store needs.
    """
    arguments: dict[str, Any] = {"skip_instance_cache": True, **options}
    if protocol == "file":
        return dict(options)
    if protocol in _SFTP:
        return arguments | _sftp(credentials)
    if credentials is None:
        return arguments
    login, password, extra = credentials.login, credentials.password, credentials.extra
    if protocol in _S3:
        client: dict[str, Any] = {
            name: extra[name] for name in ("endpoint_url", "region_name") if name in extra
        }
        if client:
            arguments["client_kwargs"] = {**client, **arguments.get("client_kwargs", {})}
        return _given(arguments, key=login, secret=password, token=extra.get("session_token"))
    if protocol in _HTTP:
        from aiohttp import BasicAuth

        client = {"auth": BasicAuth(login or "", password or "")}
        return arguments | {"client_kwargs": {**client, **arguments.get("client_kwargs", {})}}
    if protocol in _AZURE:
        return _given(
            arguments,
            account_name=login,
            account_key=password,
            connection_string=extra.get("connection_string"),
        )
    if protocol in _GOOGLE:
        return _given(arguments, token=extra or None)
    return _given(arguments, username=login, password=password, **extra)


def _given(arguments: dict[str, Any], **more: Any) -> dict[str, Any]:
    return arguments | {name: value for name, value in more.items() if value is not None}


def _sftp(credentials: Credentials | None) -> dict[str, Any]:
    import paramiko  # type: ignore[import-untyped]  # ships no types

    found: dict[str, Any] = {"timeout": _TIMEOUT_SECONDS, "look_for_keys": False}
    if credentials is None:
        return found | {"allow_agent": True}
    found |= {"allow_agent": False}
    extra = credentials.extra
    if "private_key" in extra:
        try:
            found["pkey"] = _private_key(extra["private_key"], extra.get("passphrase"))
        except (paramiko.SSHException, ValueError):
            # The parsers' own errors may show parts of the key.
            raise ConfigurationError(
                "connection_invalid",
                "The private_key in the connection's extra is none in OpenSSH or PEM form, or its "
                "passphrase is wrong. Correct the connection.",
            ) from None
    return _given(
        found,
        username=credentials.login,
        password=credentials.password,
        host_key=extra.get("host_key"),
    )


def _private_key(text: str, passphrase: str | None) -> Any:
    import paramiko

    kinds = (paramiko.Ed25519Key, paramiko.ECDSAKey, paramiko.RSAKey)
    for kind in kinds:
        try:
            return kind.from_private_key(io.StringIO(text), passphrase)
        except (paramiko.SSHException, ValueError):
            if kind is kinds[-1]:
                raise
    return None


def register_stores() -> None:
    """Have fsspec open SFTP servers with their host keys checked."""
    from fsspec import register_implementation  # type: ignore[import-untyped]  # ships no types

    for protocol in _SFTP:
        register_implementation(protocol, "ingest.sources.sftp.StrictSftp", clobber=True)


def http_state(url: str, arguments: Mapping[str, Any]) -> str:
    """Return what a web server says of the state of a file: an index page tells no more than names.

    Args:
        url: of the file.
        arguments: what `store_arguments` gave for its file system.

    Raises:
        FileNotFoundError: the server has no such file.
        httpx.HTTPError: the server does not answer, or not well.
    """
    import httpx

    auth = arguments.get("client_kwargs", {}).get("auth")
    answer = httpx.head(
        url,
        auth=(auth.login, auth.password) if auth else None,
        follow_redirects=True,
        timeout=_TIMEOUT_SECONDS,
        trust_env=False,
    )
    if answer.status_code in (404, 410):
        raise FileNotFoundError(url)
    if answer.status_code in (401, 403):
        raise PermissionError(f"{url}: the server answered {answer.status_code}")
    answer.raise_for_status()
    if "etag" in answer.headers:
        return f"etag-{answer.headers['etag']}"
    return f"{answer.headers.get('content-length')}-{answer.headers.get('last-modified', '')}"


def refuses_access(error: BaseException) -> bool:
    """Say whether a store's error means that the credentials, or their rights, do not do."""
    if isinstance(error, PermissionError):
        return True
    name = type(error).__name__
    if name in ("AuthenticationException", "BadHostKeyException", "NoCredentialsError"):
        return True
    status = getattr(error, "status", None)
    if status in (401, 403):
        return True
    response = getattr(error, "response", None)
    if isinstance(response, dict):
        code = str(response.get("Error", {}).get("Code", ""))
        return code in _HEAD_REFUSALS
    return "not found in known_hosts" in str(error)
