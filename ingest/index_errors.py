"""What Qdrant, its client and the network raise, as the pipeline's own errors."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

import grpc  # type: ignore[import-untyped]  # its stubs are a package of their own
import httpx
from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from ingest.errors import ConfigurationError, FatalError, MunimentError, RetriableError
from ingest.index_lock import index_locked
from ingest.storage import explain_os_error

_GRPC_STATUS = {
    grpc.StatusCode.UNAUTHENTICATED: 401,
    grpc.StatusCode.PERMISSION_DENIED: 403,
    grpc.StatusCode.NOT_FOUND: 404,
    grpc.StatusCode.RESOURCE_EXHAUSTED: 429,
    grpc.StatusCode.INVALID_ARGUMENT: 400,
    grpc.StatusCode.FAILED_PRECONDITION: 400,
    grpc.StatusCode.OUT_OF_RANGE: 400,
    grpc.StatusCode.UNIMPLEMENTED: 400,
    grpc.StatusCode.ALREADY_EXISTS: 409,
}
"""The HTTP status that says the same; any other code is a failure of server or network."""

_SHOWN = 300


@contextmanager
def translated(where: str) -> Iterator[None]:
    """Turn the errors of the index into the pipeline's.

    Args:
        where: the index in words, for the message.

    Raises:
        RetriableError: no answer, too slow, 429 or 5xx, or the embedded index is open elsewhere.
        ConfigurationError: the key was refused, or the address is not Qdrant's.
        FatalError: the collection does not exist, the request was refused, or the disk failed.
    """
    try:
        yield
    except ResourceExhaustedResponse as error:
        raise _for_status(where, 429, str(error)) from error
    except UnexpectedResponse as error:
        text = error.content.decode("utf-8", "replace")
        raise _for_status(where, error.status_code or 500, text) from error
    except ResponseHandlingException as error:
        raise _for_source(where, error.source) from error
    except json.JSONDecodeError as error:
        raise index_address(where, f"not JSON: {error}") from error
    except grpc.RpcError as error:
        code, details = error.code(), error.details() or ""
        raise _for_status(where, _GRPC_STATUS.get(code, 503), f"{code.name}: {details}") from error
    except OSError as error:
        what = f"{where} could not be read or written"
        raise explain_os_error(error, what, local=True) from error
    except sqlite3.Error as error:
        raise FatalError(
            "index_storage",
            f"{where} cannot be read or written ({error}). Check that the disk is not full and "
            "that this user may write there.",
        ) from error
    except RuntimeError as error:
        if "already accessed" not in str(error):
            raise
        raise index_locked(where) from error
    except ValueError as error:
        if "not found" not in str(error):
            raise
        raise _for_status(where, 404, str(error)) from error


def _for_status(where: str, status: int, text: str) -> MunimentError:
    said = text[:_SHOWN]
    if status in (401, 403):
        return ConfigurationError(
            "index_key_refused",
            f"{where} refused the API key ({status}: {said}). Set MUNIMENT_QDRANT__API_KEY to one "
            "that may read and write.",
        )
    if status == 404:
        return FatalError(
            "collection_missing",
            f"{where} has no such collection ({said}). Run the pipeline once to create it.",
        )
    if status in (408, 429) or status >= 500:
        return _unreachable(where, f"{status}: {said}")
    return FatalError("index_refused", f"{where} refused a request ({status}: {said}).")


def _for_source(where: str, source: Exception) -> MunimentError:
    if isinstance(source, httpx.TransportError):
        return _unreachable(where, f"{type(source).__name__}: {source}")
    return index_address(where, str(source))


def index_address(where: str, why: str) -> ConfigurationError:
    """Return the error for an address where there is no Qdrant."""
    return ConfigurationError(
        "index_address",
        f"{where} does not answer as Qdrant does ({why[:_SHOWN]}). Set MUNIMENT_QDRANT__URL to an "
        "address such as http://localhost:6333.",
    )


def _unreachable(where: str, why: str) -> RetriableError:
    return RetriableError(
        "index_unreachable",
        f"{where} does not answer ({why}). It is tried again; if that goes on, see whether the "
        "server runs and has memory and disk left.",
    )
