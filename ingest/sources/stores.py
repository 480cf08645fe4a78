"""Stores that fsspec can reach: how each takes credentials, and how each says no."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

from ingest.errors import ConfigurationError
from ingest.sources.credentials import Credentials
from ingest.sources.index_page import web_arguments

_S3 = ("s3", "s3a")
_SFTP = ("sftp", "ssh")
WEB = ("http", "https")
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
    if protocol in WEB:
        pair = (credentials.login or "", credentials.password or "") if credentials else None
        found = web_arguments(pair)
        own = found["client_kwargs"]
        given = arguments.get("client_kwargs", {})
        headers = {**own.get("headers", {}), **given.get("headers", {})}
        return found | arguments | {"client_kwargs": {**own, **given, "headers": headers}}
    if credentials is None:
        return arguments
    login, password, extra = credentials.login, credentials.password, credentials.extra
    if protocol in _S3:
        client = {name: extra[name] for name in _S3_CLIENT if name in extra}
        if client:
            arguments["client_kwargs"] = {**client, **arguments.get("client_kwargs", {})}
        return _given(arguments, key=login, secret=password, token=extra.get("session_token"))
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
    from cryptography.exceptions import UnsupportedAlgorithm

    found: dict[str, Any] = {"timeout": _TIMEOUT_SECONDS, "look_for_keys": False}
    if credentials is None:
        return found | {"allow_agent": True}
    found |= {"allow_agent": False}
    extra = credentials.extra
    if "private_key" in extra:
        try:
            found["pkey"] = _private_key(extra["private_key"], extra.get("passphrase"))
        except (UnsupportedAlgorithm, ValueError, TypeError):
            # The parsers' own errors may show parts of the key.
            raise ConfigurationError(
                "connection_invalid",
                "The private_key in the connection's extra is none in OpenSSH or PEM form (RSA, "
                "ECDSA, Ed25519), or its passphrase is wrong. Correct the connection.",
            ) from None
    return _given(
        found,
        username=credentials.login,
        password=credentials.password,
        host_key=extra.get("host_key"),
    )


def _private_key(text: str, passphrase: str | None) -> Any:
    """Return the key that paramiko takes.

    It is read by cryptography: paramiko's own reader refuses some sound ECDSA keys, and all keys in
    PKCS #8.
    """
    import paramiko  # type: ignore[import-untyped]  # ships no types
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

    data = text.strip().encode() + b"\n"
    password = passphrase.encode() if passphrase else None
    is_openssh = data.startswith(b"-----BEGIN OPENSSH")
    load = serialization.load_ssh_private_key if is_openssh else serialization.load_pem_private_key
    key = load(data, password)
    if isinstance(key, rsa.RSAPrivateKey):
        return paramiko.RSAKey(key=key)
    if isinstance(key, ec.EllipticCurvePrivateKey):
        return paramiko.ECDSAKey(vals=(key, key.public_key()))
    if isinstance(key, ed25519.Ed25519PrivateKey):
        plain = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.OpenSSH,
            serialization.NoEncryption(),
        )
        return paramiko.Ed25519Key.from_private_key(io.StringIO(plain.decode()))
    raise ValueError("a kind of key that SSH does not use")


def register_stores() -> None:
    """Have fsspec open SFTP servers with their host keys checked."""
    from fsspec import register_implementation  # type: ignore[import-untyped]  # ships no types

    for protocol in _SFTP:
        register_implementation(protocol, "ingest.sources.sftp.StrictSftp", clobber=True)


def refuses_access(error: BaseException) -> bool:
    """Say whether a store's error means that the credentials, or their rights, do not do."""
    if isinstance(error, PermissionError):
        return True
    name = type(error).__name__
    if name in ("AuthenticationException", "BadHostKeyException", "NoCredentialsError"):
        return True
    # Each of the libraries has a name of its own for it, and some warn of those that it had before.
    said = next((name for name in ("status", "status_code", "code") if hasattr(error, name)), None)
    if said is not None and getattr(error, said) in (401, 403):
        return True
    response = getattr(error, "response", None)
    if isinstance(response, dict):
        code = str(response.get("Error", {}).get("Code", ""))
        return code in _HEAD_REFUSALS
    return "not found in known_hosts" in str(error)
