"""A stand-in for a Qdrant server: its REST interface over the embedded engine, in this process.

It is unkind on purpose: the operations of one request are done one after another, those on several
points point by point, and readers may come in between, as on a real server with many segments. It
has no payload indexes, so strict mode is not tried here.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import urlsplit

from pydantic import BaseModel
from qdrant_client import QdrantClient, models

PAUSE_SECONDS = 0.002
"""Between two points, for readers to come in between."""


class Engine:
    """The points, and one lock that is given up between any two changes."""

    def __init__(self) -> None:
        self.client = QdrantClient(":memory:")
        self._lock = threading.Lock()
        self.requests: list[str] = []

    def do(self, work: Callable[[QdrantClient], Any]) -> Any:
        with self._lock:
            return work(self.client)

    def update(self, collection: str, operation: models.UpdateOperation) -> None:
        """Do one operation of a batch, point by point."""
        for part in list(self._parts(collection, operation)):
            self.do(lambda client, part=part: client.batch_update_points(collection, [part]))
            time.sleep(PAUSE_SECONDS)

    def _parts(
        self, collection: str, operation: models.UpdateOperation
    ) -> Iterator[models.UpdateOperation]:
        match operation:
            case models.SetPayloadOperation(set_payload=asked):
                for point in self._points(collection, asked.points, asked.filter):
                    one = models.SetPayload(payload=asked.payload, points=[point])
                    yield models.SetPayloadOperation(set_payload=one)
            case models.DeleteOperation(delete=models.PointIdsList(points=points)):
                for point in points:
                    yield models.DeleteOperation(delete=models.PointIdsList(points=[point]))
            case _:
                yield operation

    def _points(self, collection: str, points: Any, chosen: models.Filter | None) -> list[Any]:
        if points is not None:
            return list(points)
        found, _ = self.do(
            lambda client: client.scroll(collection, scroll_filter=chosen, limit=100_000)
        )
        return [record.id for record in found]


class _Handler(BaseHTTPRequestHandler):
    engine: ClassVar[Engine]
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        self._answer("GET")

    def do_PUT(self) -> None:
        self._answer("PUT")

    def do_POST(self) -> None:
        self._answer("POST")

    def do_PATCH(self) -> None:
        self._answer("PATCH")

    def do_DELETE(self) -> None:
        self._answer("DELETE")

    def _answer(self, method: str) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length) or b"{}")
        path = [part for part in urlsplit(self.path).path.split("/") if part]
        self.engine.requests.append(f"{method} /{'/'.join(path)}")
        try:
            status, result = 200, self._result(method, path, body)
        except KeyError as error:
            status, result = 404, {"error": str(error)}
        except ValueError as error:
            missing = "not found" in str(error)
            status, result = (404 if missing else 400), {"error": str(error)}
        answer: dict[str, Any] = {"time": 0.0, "status": "ok", "result": result}
        if status != 200:
            answer = {"time": 0.0, "status": result}
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _result(self, method: str, path: list[str], body: dict[str, Any]) -> Any:
        do = self.engine.do
        match [method, *path]:
            case ["GET", "aliases"]:
                return _json(do(lambda client: client.get_aliases()))
            case ["POST", "collections", "aliases"]:
                actions = models.ChangeAliasesOperation.model_validate(body).actions
                return do(lambda client: client.update_collection_aliases(actions))
            case ["GET", "collections", name, "exists"]:
                return {"exists": do(lambda client: client.collection_exists(name))}
            case ["GET", "collections"]:
                return _json(do(lambda client: client.get_collections()))
            case ["GET", "collections", name]:
                return _json(do(lambda client: client.get_collection(name)))
            case ["PUT", "collections", name]:
                vectors = models.VectorParams.model_validate(body["vectors"])
                return do(lambda client: client.create_collection(name, vectors_config=vectors))
            case ["DELETE", "collections", name]:
                return do(lambda client: client.delete_collection(name))
            case ["PATCH", "collections", _]:
                return True
            case ["PUT", "collections", _, "index"]:
                return _DONE
            case ["PUT", "collections", name, "points"]:
                points = models.PointsList.model_validate(body).points
                for point in points:
                    do(lambda client, point=point: client.upsert(name, [point]))
                return _DONE
            case ["POST", "collections", name, "points", "batch"]:
                for operation in models.UpdateOperations.model_validate(body).operations:
                    self.engine.update(name, operation)
                return [_DONE]
            case ["POST", "collections", name, "points", "delete"]:
                chosen = models.PointIdsList.model_validate(body)
                do(lambda client: client.delete(name, chosen))
                return _DONE
            case ["POST", "collections", name, "points", "scroll"]:
                asked = models.ScrollRequest.model_validate(body)
                records, offset = do(
                    lambda client: client.scroll(
                        name,
                        scroll_filter=asked.filter,
                        limit=asked.limit or 10,
                        offset=asked.offset,
                        with_payload=asked.with_payload,
                    )
                )
                return {"points": [_json(one) for one in records], "next_page_offset": offset}
            case ["POST", "collections", name, "points", "count"]:
                counted = models.CountRequest.model_validate(body)
                return _json(do(lambda client: client.count(name, counted.filter)))
            case ["POST", "collections", name, "points"]:
                wanted = models.PointRequest.model_validate(body)
                found = do(lambda client: client.retrieve(name, wanted.ids, with_payload=True))
                return [_json(one) for one in found]
        raise KeyError(f"Not found: {method} {self.path}")


_DONE = {"operation_id": 0, "status": "completed"}


def _json(model: BaseModel) -> Any:
    return model.model_dump(mode="json")


@contextmanager
def qdrant_server() -> Iterator[tuple[str, Engine]]:
    """Serve on a free port; give the address and the engine behind it."""
    engine = Engine()
    handler = type("Handler", (_Handler,), {"engine": engine})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", engine
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
