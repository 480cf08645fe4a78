"""Tables, views and queries of a database: each row is an item."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urldefrag
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError

from ingest.configuration import Configuration
from ingest.errors import ConfigurationError, RetriableError
from ingest.json_values import plain, record_bytes, text_of
from ingest.sources.base import Fetched, UnlistableError, fingerprint
from ingest.sources.credentials import CredentialLookup, Credentials, credentials_of
from ingest.sources.location import unavailable
from ingest.sources.records import JSON_RECORD, RecordFields, RecordItems
from schemas.base import sha256_bytes
from schemas.source import Item, ListingEntry, SqlSource

_STATEMENT_MS = 10 * 60 * 1_000
_REFUSED = ("28", "42501")
"""SQLSTATE of PostgreSQL: invalid authorization, insufficient privilege."""
_NOT_LET_IN = ("authentication failed", "FATAL: role", "pg_hba.conf")
"""What PostgreSQL says before there is a connection, and so without a SQLSTATE."""
_NO_SUCH = ("42P01", "42703", "3D000", "3F000", "42601")
"""No such table, column, database or schema; not even SQL."""


class SqlConnector:
    """Reads a table in the order of its key, a page at a time: each page begins after the last key.

    All pages of a listing come from one transaction that only reads; on PostgreSQL they show one
    moment (REPEATABLE READ). A record's bytes are a JSON object of the columns that are named (see
    `json_values.record_bytes`). Its state is the ``changed`` column, else the SHA-256 of its bytes.
    """

    def __init__(
        self,
        source: SqlSource,
        configuration: Configuration,
        *,
        credentials: CredentialLookup,
        cache: Path | None,
    ) -> None:
        del cache
        self._source = source
        self._licence = configuration.licences[source.licence]
        url = _url(source, configuration.base, credentials_of(source, credentials))
        self._uri = url.set(username=None, password=None, query={}).render_as_string()
        self._engine = _engine(source, url)
        optional = (source.title, source.date, source.client, source.changed)
        names = (source.key, *source.text, *(name for name in optional if name))
        columns: list[sa.ColumnClause[Any]] = [sa.column(name) for name in dict.fromkeys(names)]
        self._key = columns[0]
        self._select = sa.select(*columns).select_from(_origin(source))

    def list(self) -> Iterator[ListingEntry]:
        """Yield the rows as they are now; see Connector.

        Problems are ``key_missing``, ``key_duplicate``, ``date_invalid``, ``client_missing`` and
        ``too_large``.
        """
        items = RecordItems(self._source, self._licence, self._uri)
        with self._connected() as connection:
            self._check_columns(connection)
            nameless = sa.select(sa.func.count()).select_from(_origin(self._source))
            count = connection.scalar(nameless.where(self._key.is_(None)))
            if count:
                error = UnlistableError("key_missing", f"{count:,} rows have none")
                yield items.problem("", "rows without a key", error)
            last: Any = None
            number = 0
            while rows := self._page(connection, last):
                for row in rows:
                    number += 1
                    fields = self._fields(row)
                    try:
                        yield self._item(items, row, fields)
                    except UnlistableError as error:
                        yield items.problem(fields.key, f"row {number}", error)
                last = rows[-1][self._source.key]

    def fetch(self, item: Item) -> Fetched:
        """Return the record's bytes; see Connector."""
        place = parse_qs(urldefrag(item.fetch_uri).fragment)["key"][0]
        with self._connected() as connection:
            found = connection.execute(self._select.where(self._key == _key_of(place)))
            row = found.mappings().first()
        if row is None:
            raise unavailable(item.source_key, "the table no longer has a row with this key")
        data = record_bytes({str(name): value for name, value in row.items()})
        return Fetched(data, JSON_RECORD, fingerprint(self._state(row, data), item, self._licence))

    def _check_columns(self, connection: sa.Connection) -> None:
        """Look whether the columns are there: SQLite takes a quoted name that is none for a text.

        Raises:
            ConfigurationError: one is not there.
        """
        nothing = sa.select(sa.text("*")).select_from(_origin(self._source)).limit(0)
        known = list(connection.execute(nothing).keys())
        for column in self._select.selected_columns:
            if column.name not in known:
                raise ConfigurationError(
                    "column_missing",
                    f"{self._source.address}: there is no column {column.name!r}. There are "
                    f"{', '.join(map(repr, known))}. Correct the source's configuration.",
                )

    def _page(self, connection: sa.Connection, last: Any) -> Sequence[sa.RowMapping]:
        page = self._select.where(self._key.is_not(None))
        if last is not None:
            page = page.where(self._key > last)
        page = page.order_by(self._key).limit(self._source.page_rows)
        return connection.execute(page).mappings().all()

    def _item(self, items: RecordItems, row: sa.RowMapping, fields: RecordFields) -> Item:
        data = record_bytes({str(name): value for name, value in row.items()})
        return items.item(
            fields,
            fetch_uri=f"{self._uri}#key={_place_of(row[self._source.key])}",
            size=len(data),
            state=self._state(row, data),
            media_type=JSON_RECORD,
        )

    def _fields(self, row: sa.RowMapping) -> RecordFields:
        source = self._source

        def said(name: str | None) -> str:
            return text_of(plain(row[name])).strip() if name else ""

        return RecordFields(
            said(source.key), said(source.title), said(source.date), said(source.client)
        )

    def _state(self, row: sa.RowMapping, data: bytes) -> str:
        changed = self._source.changed
        return f"changed-{text_of(plain(row[changed]))}" if changed else sha256_bytes(data)

    @contextmanager
    def _connected(self) -> Iterator[sa.Connection]:
        """Connect for reading alone, and say what the database's errors mean."""
        try:
            with self._engine.connect() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise self._explained(error) from None

    def _explained(self, error: SQLAlchemyError) -> ConfigurationError | RetriableError:
        # Drivers' own words may hold the whole statement, but no password.
        original = error.orig if isinstance(error, DBAPIError) else error
        state = str(getattr(original, "sqlstate", None) or "")
        words = " ".join(str(original).split())
        address = self._source.address
        if state.startswith(_REFUSED) or any(sign in words for sign in _NOT_LET_IN):
            return ConfigurationError(
                "source_forbidden",
                f"{address}: the database refuses the connection's user ({words}). Correct the "
                "connection, or give that user the right to read.",
            )
        missing = ("no such table", "no such column", "unable to open", "syntax error")
        if state in _NO_SUCH or any(sign in words for sign in missing):
            return ConfigurationError(
                "source_missing",
                f"{address}: the database cannot find what is asked for ({words}). Correct the "
                "source's table, query or columns.",
            )
        if isinstance(original, RetriableError | ConfigurationError):
            return original
        return RetriableError(
            "source_unreachable",
            f"{address}: the database does not answer: {words}. It is tried again; if it keeps "
            "failing, check the network and the database.",
        )


_KEY_TYPES: dict[str, Callable[[str], Any]] = {
    "uuid": UUID,
    "decimal": Decimal,
    "date": date.fromisoformat,
}


def _place_of(key: Any) -> str:
    """Return a key as part of an address, with its type where JSON has no such thing."""
    kind = type(key).__name__.lower()
    value = {kind: str(key)} if kind in _KEY_TYPES else plain(key)
    return quote(json.dumps(value, ensure_ascii=False), safe="")


def _key_of(place: str) -> Any:
    """Return the key that :func:`_place_of` made a place of."""
    value = json.loads(place)
    if isinstance(value, dict):
        ((kind, text),) = value.items()
        return _KEY_TYPES[kind](text)
    return value


def _url(source: SqlSource, base: Path, credentials: Credentials | None) -> sa.URL:
    try:
        url = sa.make_url(source.address)
    except ArgumentError:
        raise ConfigurationError(
            "address_unsupported",
            f"{source.id}: its address is no SQLAlchemy URL, such as "
            "postgresql+psycopg://crm.internal/crm. Correct it.",
        ) from None
    if url.get_backend_name() == "sqlite" and url.database:
        # A database that is not there would be made, empty.
        return url.set(database=f"file:{base / url.database}", query={"mode": "ro", "uri": "true"})
    if credentials is None:
        return url
    return url.set(
        username=credentials.login or url.username,
        password=credentials.password,
        host=credentials.host or url.host,
        port=credentials.port or url.port,
        database=credentials.schema or url.database,
    )


def _engine(source: SqlSource, url: sa.URL) -> sa.Engine:
    options: dict[str, Any] = {}
    if url.get_backend_name() == "postgresql":
        options["isolation_level"] = "REPEATABLE READ"
        options["connect_args"] = {
            "connect_timeout": 30,
            "options": f"-c statement_timeout={_STATEMENT_MS} -c default_transaction_read_only=on",
        }
    try:
        # Parameters are values of keys, and errors reach logs.
        return sa.create_engine(url, poolclass=sa.NullPool, hide_parameters=True, **options)
    except (NoSuchModuleError, ImportError, ArgumentError) as error:
        raise ConfigurationError(
            "address_unsupported",
            f"{source.id}: no installed library reads {url.drivername} databases ({error}). "
            "Install its driver, or correct the address.",
        ) from error


def _origin(source: SqlSource) -> Any:
    """Return what is selected from; names are quoted where they need to be."""
    if source.query is not None:
        return sa.text(f"({source.query.rstrip().rstrip(';')}) AS records")
    schema, _, name = (source.table or "").rpartition(".")
    return sa.table(name, schema=schema or None)
