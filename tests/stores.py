"""Servers of files that tests start: SFTP, S3, and index pages."""

from __future__ import annotations

import asyncio
import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import asyncssh

USER, PASSWORD = "reader", "Zugang:7?xq"


class _Server(asyncssh.SSHServer):
    def __init__(self, keys: tuple[str, ...], connections: list[Any]) -> None:
        self._keys = keys
        self._connections = connections

    def connection_made(self, connection: Any) -> None:
        self._connections.append(connection)

    def begin_auth(self, username: str) -> bool:
        return True

    def password_auth_supported(self) -> bool:
        return True

    def validate_password(self, username: str, password: str) -> bool:
        return (username, password) == (USER, PASSWORD)

    def public_key_auth_supported(self) -> bool:
        return True

    def validate_public_key(self, username: str, key: Any) -> bool:
        shown = key.export_public_key().decode().split()[:2]
        return username == USER and any(known.split()[:2] == shown for known in self._keys)


@contextmanager
def sftp_server(folder: Path, *keys: str) -> Iterator[tuple[str, str]]:
    """Serve ``folder`` as the root, and yield the URL and the host's key.

    ``USER`` comes in with ``PASSWORD``, or with one of the public ``keys``.
    """
    host_key = asyncssh.generate_private_key("ssh-ed25519")
    connections: list[Any] = []
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    def root(channel: Any) -> asyncssh.SFTPServer:
        return asyncssh.SFTPServer(channel, chroot=str(folder).encode())

    async def start() -> Any:
        return await asyncssh.create_server(
            lambda: _Server(keys, connections),
            "127.0.0.1",
            0,
            server_host_keys=[host_key],
            sftp_factory=root,
        )

    server = asyncio.run_coroutine_threadsafe(start(), loop).result(30)
    public = " ".join(host_key.export_public_key().decode().split()[:2])
    try:
        yield f"sftp://127.0.0.1:{server.get_port()}", public
    finally:

        async def stop() -> None:
            server.close()
            for connection in connections:
                connection.abort()
            await server.wait_closed()
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(stop(), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def sftp_connection(host_key: str, **more: Any) -> str:
    """Return the connection to the server as the environment holds it."""
    return json.dumps({"login": USER, "password": PASSWORD, "extra": {"host_key": host_key}} | more)


@contextmanager
def index_pages(folder: Path, login: str, password: str) -> Iterator[str]:
    """Serve ``folder`` with pages that list what is in it, to who knows the password."""
    known = f"Basic {base64.b64encode(f'{login}:{password}'.encode()).decode()}"

    class Handler(SimpleHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.headers["Authorization"] == known:
                super().do_GET()
            else:
                self.send_error(401)

        def do_HEAD(self) -> None:
            if self.headers["Authorization"] == known:
                super().do_HEAD()
            else:
                self.send_error(401)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


S3_KEY, S3_SECRET = "AKIAEXAMPLEKEY", "geheim/S3+wort=42"


@contextmanager
def s3_server() -> Iterator[str]:
    """Run an S3 server and yield its endpoint; it asks nobody for a key."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        yield f"http://{host}:{port}"
    finally:
        server.stop()


def s3_connection(endpoint: str) -> str:
    """Return the connection to the server as the environment holds it."""
    extra = {"endpoint_url": endpoint, "region_name": "eu-central-1"}
    return json.dumps({"login": S3_KEY, "password": S3_SECRET, "extra": extra})


def s3_client(endpoint: str) -> Any:
    """Return a client of the server's own, with which tests put things there."""
    import boto3

    return boto3.client(
        "s3",
        endpoint_url=endpoint,
        region_name="eu-central-1",
        aws_access_key_id=S3_KEY,
        aws_secret_access_key=S3_SECRET,
    )
