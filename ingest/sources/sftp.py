"""SFTP with the server's key checked: fsspec's own trusts whoever answers first."""

# mypy: allow-untyped-calls

from __future__ import annotations

import paramiko  # type: ignore[import-untyped]  # ships no types
from fsspec.implementations.sftp import SFTPFileSystem  # type: ignore[import-untyped]

from ingest.errors import ConfigurationError


class StrictSftp(SFTPFileSystem):  # type: ignore[misc]  # its base is untyped
    """Connects only to servers whose key is known.

    The key is the connection's ``host_key`` (a line as in known_hosts, without the host's name:
    "ssh-ed25519 AAAA…"), else one in the user's known_hosts.
    """

    def _connect(self) -> None:
        arguments = dict(self.ssh_kwargs)
        host_key: str | None = arguments.pop("host_key", None)
        port = int(arguments.get("port") or 22)
        self.client = paramiko.SSHClient()
        self.client.set_missing_host_key_policy(paramiko.RejectPolicy())
        if host_key is None:
            self.client.load_system_host_keys()
        else:
            name = self.host if port == 22 else f"[{self.host}]:{port}"
            entry = paramiko.hostkeys.HostKeyEntry.from_line(f"{name} {host_key}")
            if entry is None or entry.key is None:
                raise ConfigurationError(
                    "connection_invalid",
                    "The host_key in the connection's extra is none. Take the line that "
                    "ssh-keyscan prints, without the host's name.",
                )
            self.client.get_host_keys().add(name, entry.key.get_name(), entry.key)
        self.client.connect(self.host, **arguments)
        self.ftp = self.client.open_sftp()
        # Without it a server that falls silent half-way would be waited for without end.
        self.ftp.get_channel().settimeout(self.ssh_kwargs.get("timeout"))

    def close(self) -> None:
        """End the connection."""
        self.client.close()
