"""Servers of files that tests start: SFTP, S3, and index pages."""

from __future__ import annotations

import asyncio
import base64
import json
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import asyncssh
import httpx

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


class _Folder(asyncssh.SFTPServer):
    """Lets nobody into folders called "closed"."""

    def scandir(self, path: bytes) -> Any:
        if path.endswith(b"closed"):
            raise asyncssh.SFTPPermissionDenied("closed")
        return super().scandir(path)


@contextmanager
def sftp_server(
    folder: Path, *keys: str, port: int = 0, host_key: Any = None
) -> Iterator[tuple[str, str]]:
    """Serve ``folder`` as the root, and yield the URL and the host's key.

    ``USER`` comes in with ``PASSWORD``, or with one of the public ``keys``. Folders called "closed"
    may not be read.
    """
    host_key = host_key or asyncssh.generate_private_key("ssh-ed25519")
    connections: list[Any] = []
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    def root(channel: Any) -> asyncssh.SFTPServer:
        return _Folder(channel, chroot=str(folder).encode())

    async def start() -> Any:
        return await asyncssh.create_server(
            lambda: _Server(keys, connections),
            "127.0.0.1",
            port,
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


@dataclass
class Pages:
    """A server that answers in ways of its own; its handler decides."""

    url: str
    asked: list[str] = field(default_factory=list)


@contextmanager
def answering(answer: Callable[[BaseHTTPRequestHandler], None]) -> Iterator[Pages]:
    """Serve what ``answer`` makes of each request."""
    pages = Pages("")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            pages.asked.append(f"{self.command} {self.path}")
            answer(self)

        def do_HEAD(self) -> None:
            self.do_GET()

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    pages.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield pages
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


def s3_connection(endpoint: str, key: str = S3_KEY, secret: str = S3_SECRET) -> str:
    """Return the connection to the server as the environment holds it."""
    extra = {"endpoint_url": endpoint, "region_name": "eu-central-1"}
    return json.dumps({"login": key, "password": secret, "extra": extra})


def s3_bucket(store: Any) -> str:
    """Make a bucket, and return its name: all servers of a process have one memory."""
    name = f"drop-{uuid.uuid4().hex[:12]}"
    store.create_bucket(
        Bucket=name, CreateBucketConfiguration={"LocationConstraint": "eu-central-1"}
    )
    return name


def s3_client(endpoint: str, key: str = S3_KEY, secret: str = S3_SECRET) -> Any:
    """Return a client of the server's own, with which tests put things there."""
    import boto3

    return boto3.client(
        "s3",
        endpoint_url=endpoint,
        region_name="eu-central-1",
        aws_access_key_id=key,
        aws_secret_access_key=secret,
    )


def s3_user(endpoint: str, name: str, **rights: str) -> tuple[str, str]:
    """Return key and secret of a user who may do nothing but these actions, each on a resource."""
    import boto3

    people = boto3.client(
        "iam",
        endpoint_url=endpoint,
        region_name="eu-central-1",
        aws_access_key_id=S3_KEY,
        aws_secret_access_key="any",
    )
    people.create_user(UserName=name)
    rules = [
        {"Effect": "Allow", "Action": f"s3:{action}", "Resource": f"arn:aws:s3:::{resource}"}
        for action, resource in rights.items()
    ]
    if rules:
        document = json.dumps({"Version": "2012-10-17", "Statement": rules})
        people.put_user_policy(UserName=name, PolicyName="p", PolicyDocument=document)
    key = people.create_access_key(UserName=name)["AccessKey"]
    return key["AccessKeyId"], key["SecretAccessKey"]


@contextmanager
def s3_rights(endpoint: str) -> Iterator[None]:
    """Have the server check signatures and rights meanwhile."""
    reset = f"{endpoint}/moto-api/reset-auth"
    httpx.post(reset, content="0").raise_for_status()
    try:
        yield
    finally:
        httpx.post(reset, content="inf").raise_for_status()
