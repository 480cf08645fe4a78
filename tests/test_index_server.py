"""The index on a server: its failures become the operator's, and ``ensure`` sets it up.

No server is needed: stand-ins on this machine answer as told.
"""

from __future__ import annotations

import json
import threading
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import grpc
import pytest
from qdrant_client import QdrantClient

from ingest.errors import ConfigurationError, FatalError, MunimentError, RetriableError
from ingest.index import VectorIndex
from ingest.index_errors import translated
from ingest.settings import QdrantSettings
from schemas.payload import PAYLOAD_SCHEMA_VERSION, payload_indexes


class Answering(BaseHTTPRequestHandler):
    """Answers every request with the same status, after a pause."""

    status: ClassVar[int] = 200
    headers_sent: ClassVar[dict[str, str]] = {}
    pause: ClassVar[float] = 0
    body: ClassVar[bytes] = b'{"status": {"error": "as told"}}'

    def do_GET(self) -> None:
        time.sleep(self.pause)
        self.send_response(self.status)
        for name, value in self.headers_sent.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, format: str, *arguments: object) -> None:
        pass


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def remote(url: str, **settings: Any) -> VectorIndex:
    settings = {"url": url, "prefer_grpc": False, "timeout_seconds": 1, **settings}
    return VectorIndex(QdrantSettings(**settings), Path("unused"), model_name="t", dimension=4)


@pytest.mark.parametrize(
    ("answer", "error", "code"),
    [
        ({"status": 401}, ConfigurationError, "index_key_refused"),
        ({"status": 403}, ConfigurationError, "index_key_refused"),
        ({"status": 404}, FatalError, "collection_missing"),
        ({"status": 400}, FatalError, "index_refused"),
        ({"status": 429}, RetriableError, "index_unreachable"),
        (
            {"status": 429, "headers_sent": {"Retry-After": "7"}},
            RetriableError,
            "index_unreachable",
        ),
        ({"status": 500}, RetriableError, "index_unreachable"),
        ({"status": 503}, RetriableError, "index_unreachable"),
        ({"pause": 2.5}, RetriableError, "index_unreachable"),
        ({"body": b"<html>not Qdrant</html>"}, ConfigurationError, "index_address"),
    ],
)
def test_what_a_server_answers_becomes_what_the_operator_does(
    answer: dict[str, Any], error: type[MunimentError], code: str
) -> None:
    with serving(type("Handler", (Answering,), answer)) as url:
        with remote(url) as index, pytest.raises(error) as caught:
            index.ensure()
        assert caught.value.code == code
        assert url in caught.value.message


@pytest.mark.parametrize("prefer_grpc", [False, True])
def test_a_server_that_is_not_there_is_tried_again(*, prefer_grpc: bool) -> None:
    with serving(Answering) as url:
        pass
    with remote(url, prefer_grpc=prefer_grpc) as index, pytest.raises(RetriableError) as caught:
        index.count()
    assert caught.value.code == "index_unreachable"


@pytest.mark.parametrize("url", ["", "nonsense://host", "http://"])
def test_an_address_that_is_none_is_a_configuration_error(url: str) -> None:
    with pytest.raises(ConfigurationError) as caught, remote(url) as index:
        index.count()
    assert "MUNIMENT_QDRANT__URL" in caught.value.message


def test_no_message_shows_the_password_of_the_address_or_the_key() -> None:
    with serving(type("Handler", (Answering,), {"status": 500})) as url:
        secret = url.replace("//", "//user:hunter2@")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a key over plain http
            index = remote(secret, api_key="s3cret")
        with index, pytest.raises(RetriableError) as caught:
            index.count()
    assert "hunter2" not in caught.value.message
    assert "s3cret" not in caught.value.message


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (grpc.StatusCode.UNAUTHENTICATED, ConfigurationError),
        (grpc.StatusCode.PERMISSION_DENIED, ConfigurationError),
        (grpc.StatusCode.NOT_FOUND, FatalError),
        (grpc.StatusCode.INVALID_ARGUMENT, FatalError),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, RetriableError),
        (grpc.StatusCode.UNAVAILABLE, RetriableError),
        (grpc.StatusCode.DEADLINE_EXCEEDED, RetriableError),
        (grpc.StatusCode.INTERNAL, RetriableError),
        (grpc.StatusCode.UNKNOWN, RetriableError),
    ],
)
def test_the_same_over_grpc(code: grpc.StatusCode, error: type[MunimentError]) -> None:
    class Aborting(grpc.GenericRpcHandler):  # type: ignore[misc]
        def service(self, _: Any) -> Any:
            return grpc.unary_unary_rpc_method_handler(
                lambda _, context: context.abort(code, "as told")
            )

    server = grpc.server(ThreadPoolExecutor(1), handlers=[Aborting()])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    client = QdrantClient(
        host="127.0.0.1", grpc_port=port, prefer_grpc=True, check_compatibility=False, timeout=5
    )
    try:
        with pytest.raises(error, match="as told"), translated("Qdrant"):
            client.count("any")
    finally:
        client.close()
        server.stop(None).wait()


class Pretending(Answering):
    """Answers the requests of ``ensure`` as a fresh Qdrant server would, and writes them down."""

    asked: ClassVar[list[tuple[str, str, Any]]] = []

    def answer(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else None
        path = self.path.partition("?")[0]
        self.asked.append((self.command, path, body))
        result: Any = True
        if path.endswith("/exists"):
            result = {"exists": False}
        elif path == "/aliases":
            result = {"aliases": []}
        elif path.endswith("/index"):
            result = {"operation_id": 1, "status": "completed"}
        elif self.command == "GET":
            result = {
                "status": "green",
                "optimizer_status": "ok",
                "segments_count": 1,
                "config": {
                    "params": {"vectors": {"size": 4, "distance": "Cosine"}},
                    "hnsw_config": {"m": 16, "ef_construct": 100, "full_scan_threshold": 10000},
                    "optimizer_config": {
                        "deleted_threshold": 0.2,
                        "vacuum_min_vector_number": 1000,
                        "default_segment_number": 0,
                        "flush_interval_sec": 5,
                    },
                },
                "payload_schema": {"doc_id": {"data_type": "keyword", "points": 0}},
            }
        answer = json.dumps({"result": result, "status": "ok", "time": 0.0}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_GET = do_PUT = do_POST = do_PATCH = answer  # noqa: N815  # names that http.server calls


def test_ensure_gives_a_server_indexes_strict_mode_and_the_alias() -> None:
    Pretending.asked.clear()
    with serving(Pretending) as url, remote(url) as index:
        index.ensure()
    bodies = {(method, path): body for method, path, body in Pretending.asked}
    name = f"muniment-v{PAYLOAD_SCHEMA_VERSION}-t"
    collection = f"/collections/{name}"
    assert bodies["PUT", collection]["vectors"] == {"size": 4, "distance": "Cosine"}
    strict = bodies["PATCH", collection]["strict_mode_config"]
    assert strict["enabled"] is True
    assert strict["unindexed_filtering_retrieve"] is False
    assert strict["unindexed_filtering_update"] is False
    made = {
        body["field_name"]: body["field_schema"]
        for _, path, body in Pretending.asked
        if path.endswith("/index")
    }
    assert made == {name: kind for name, kind in payload_indexes().items() if name != "doc_id"}
    assert bodies["POST", "/collections/aliases"]["actions"] == [
        {"create_alias": {"collection_name": name, "alias_name": "muniment"}},
    ]
