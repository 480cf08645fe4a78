"""The sources and the licence registry: read from YAML and checked as a whole."""

from __future__ import annotations

import codecs
import difflib
import re
from collections.abc import Container, Iterator
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import regex  # type: ignore[import-untyped]  # its stubs are a package of their own
from fsspec.utils import glob_translate  # type: ignore[import-untyped]  # fsspec ships no types
from pydantic import BaseModel, Field, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from ingest.errors import ConfigurationError
from ingest.misplaced import has_login, has_secret_parameter, secret_options
from ingest.yaml_file import Fault, Place, YamlFile, YamlFileError, read_yaml
from schemas.base import Model
from schemas.licence import Licence
from schemas.source import (
    Access,
    CsvSource,
    EffectiveDateRule,
    FeedSource,
    FilesSource,
    JsonLinesSource,
    ParquetSource,
    PortalFields,
    PortalSource,
    RecordsSource,
    Retention,
    Source,
    SqlSource,
    WebSourceBase,
)

NAME_GROUPS = frozenset({"document", "version_label", "effective_from", "title"})
"""Named groups that a files source's name_pattern may have."""

_CONNECTORS: dict[str, type[BaseModel]] = {
    "files": FilesSource,
    "csv": CsvSource,
    "jsonl": JsonLinesSource,
    "parquet": ParquetSource,
    "sql": SqlSource,
    "feed": FeedSource,
    "portal": PortalSource,
}
_SOURCE: TypeAdapter[Source] = TypeAdapter(Source)
_LICENCE: TypeAdapter[Licence] = TypeAdapter(Licence)

EntryT = TypeVar("EntryT", bound=Source | Licence)


class SourcesFile(Model):
    """The file with the configured sources."""

    sources: Annotated[tuple[Source, ...], Field(min_length=1)]


class LicencesFile(Model):
    """The licence registry."""

    licences: tuple[Licence, ...]


class Configuration(Model):
    """The configured sources and the licence registry."""

    sources: tuple[Source, ...]
    licences: dict[str, Licence]
    """By id; every source's licence is there."""
    base: Path
    """Folder of the sources file, at which relative addresses start."""

    def source(self, source_id: str) -> Source:
        """Return the source called ``source_id``.

        Raises:
            ConfigurationError: there is none.
        """
        for source in self.sources:
            if source.id == source_id:
                return source
        raise ConfigurationError(
            "unknown_source",
            f"There is no source {source_id!r}. The configured ones are "
            f"{', '.join(source.id for source in self.sources)}. Name one of them, or add it to "
            "the sources file.",
        )


def load_configuration(sources_file: Path, licences_file: Path) -> Configuration:
    """Read and check both files.

    Raises:
        ConfigurationError: something is wrong; the message lists all of it, each with its line.
    """
    faults: list[Fault] = []
    sources_yaml = _read(sources_file, faults)
    licences_yaml = _read(licences_file, faults)
    sources = _entries(sources_yaml, "sources", _SOURCE, faults)
    licences = _entries(licences_yaml, "licences", _LICENCE, faults)
    if sources_yaml is not None:
        if licences_yaml is not None:
            known = _ids(licences_yaml, "licences")
            faults += _unknown_licences(sources_yaml, known, licences_file)
        for index, source in sources:
            faults += (
                sources_yaml.fault(("sources", index, *place), message)
                for place, message in _broken_rules(source)
            )
    if faults:
        _refuse(faults, [sources_file, licences_file])
    return Configuration(
        sources=tuple(source for _, source in sources),
        licences={licence.id: licence for _, licence in licences},
        base=sources_file.absolute().parent,
    )


def json_schemas() -> dict[str, dict[str, Any]]:
    """Return the JSON Schema of both files by file name, for editors that complete and check."""
    return {
        "sources.schema.json": SourcesFile.model_json_schema(),
        "licences.schema.json": LicencesFile.model_json_schema(),
    }


def _read(path: Path, faults: list[Fault]) -> YamlFile | None:
    try:
        return read_yaml(path)
    except YamlFileError as error:
        faults += error.faults
        return None


def _entries(
    file: YamlFile | None, key: str, adapter: TypeAdapter[EntryT], faults: list[Fault]
) -> list[tuple[int, EntryT]]:
    """Return the valid entries with their index, and add what is wrong with the others."""
    if file is None:
        return []
    if not isinstance(file.data, dict):
        faults.append(file.fault((), f"should be a mapping with the key {key!r}"))
        return []
    for name in file.data:
        if name != key:
            faults.append(file.fault((str(name),), f"unknown key; the only one is {key!r}"))
    listed = file.data.get(key)
    if not isinstance(listed, list) or not listed:
        faults.append(file.fault((key,), f"should be a list with at least one of the {key}"))
        return []
    entries = []
    for index, raw in enumerate(listed):
        try:
            entries.append((index, adapter.validate_python(raw)))
        except ValidationError as error:
            faults += (_explained(file, key, index, detail) for detail in error.errors())
        except OverflowError:
            faults.append(file.fault((key, index), "has a date outside the years 1 to 9999 in UTC"))
    faults += _duplicates(file, key)
    return entries


def _explained(file: YamlFile, key: str, index: int, detail: ErrorDetails) -> Fault:
    """Say what pydantic found in the file's own words."""
    place: Place = detail["loc"]
    model: type[BaseModel] | None = Licence
    if key == "sources":
        # The first part is the tag of the union, which is no key of the file.
        model = _CONNECTORS.get(str(place[0])) if place else None
        place = place[1:]
    if place[:-1] == ("access",):
        model = Access
    elif place[:-1] == ("fields",):
        model = PortalFields
    elif place[:-1] == ("effective_date",):
        model = EffectiveDateRule
    elif place[:-1] == ("retention",):
        model = Retention
    kind, value = detail["type"], detail["input"]
    if kind == "extra_forbidden" and model is not None:
        message = f"unknown key{_hint(str(place[-1]), model)}"
    elif kind == "missing":
        message = "is required"
    elif kind in ("union_tag_not_found", "union_tag_invalid"):
        place = ("connector",)
        message = f"should be one of {', '.join(_CONNECTORS)}"
    elif kind == "value_error":
        message = detail["msg"].removeprefix("Value error, ")
    else:
        message = detail["msg"]
        if value is None or isinstance(value, str | int | float):
            message += f", not {value!r}"
    return file.fault((key, index, *place), message)


def _hint(name: str, model: type[BaseModel]) -> str:
    near = difflib.get_close_matches(name, model.model_fields, n=1)
    if near:
        return f"; is {near[0]!r} meant?"
    return f"; known are {', '.join(model.model_fields)}"


def _raw_values(file: YamlFile, key: str, field: str) -> Iterator[tuple[int, str]]:
    """Yield the texts of a field of all entries, those of broken entries too."""
    listed = file.data.get(key) if isinstance(file.data, dict) else None
    for index, raw in enumerate(listed if isinstance(listed, list) else []):
        if isinstance(raw, dict) and isinstance(raw.get(field), str):
            yield index, raw[field]


def _ids(file: YamlFile, key: str) -> set[str]:
    return {value for _, value in _raw_values(file, key, "id")}


def _duplicates(file: YamlFile, key: str) -> Iterator[Fault]:
    first: dict[str, int] = {}
    for index, value in _raw_values(file, key, "id"):
        if value in first:
            yield file.fault(
                (key, index, "id"), f"{value!r} is the id of {key}[{first[value]}] too"
            )
        else:
            first[value] = index


def _unknown_licences(sources: YamlFile, known: set[str], licences_file: Path) -> Iterator[Fault]:
    for index, value in _raw_values(sources, "sources", "licence"):
        if value not in known:
            names = ", ".join(sorted(known)) or "nothing"
            yield sources.fault(
                ("sources", index, "licence"),
                f"{value!r} is not in the registry {licences_file}, which has {names}",
            )


def _refuse(faults: list[Fault], files: list[Path]) -> None:
    faults.sort(key=lambda fault: (files.index(fault.file), fault.line or 0))
    lines = [str(fault) for fault in faults]
    count = "This one problem was" if len(lines) == 1 else f"These {len(lines)} problems were"
    lines.append(f"{count} found and nothing was started. Correct the files, then run it again.")
    raise ConfigurationError("configuration_invalid", "\n".join(lines))


# --- rules that concern several values of a source ----------------------------------------------


def _broken_rules(source: Source) -> Iterator[tuple[Place, str]]:
    yield from _broken_access(source)
    yield from _broken_dates(source.effective_date)
    if has_login(source.address):
        yield ("address",), "should not hold a login; name a connection"
    elif not isinstance(source, WebSourceBase) and has_secret_parameter(source.address):
        yield ("address",), "should not hold a token, a password or a signature; name a connection"
    if isinstance(source, FilesSource):
        yield from _broken_files(source)
    elif isinstance(source, RecordsSource):
        yield from _broken_records(source)
        if isinstance(source, CsvSource):
            yield from _broken_csv(source)
        elif isinstance(source, SqlSource):
            yield from _broken_sql(source)
    elif isinstance(source, WebSourceBase):
        yield from _broken_web(source)
        if isinstance(source, FeedSource):
            yield from _broken_feed(source)
        elif isinstance(source, PortalSource):
            yield from _broken_portal(source)


def _broken_access(source: Source) -> Iterator[tuple[Place, str]]:
    access = source.access
    named_by_column = isinstance(source, RecordsSource) and source.client is not None
    if access.confidentiality == "client" and not access.client_id and not named_by_column:
        yield ("access",), "confidentiality is 'client', so client_id is required"
    if access.client_id and access.confidentiality != "client":
        yield (
            ("access", "client_id"),
            f"names a client, but confidentiality is {access.confidentiality!r}; make it 'client', "
            "or take the client out",
        )


def _months_known() -> Container[str]:
    # Imported here, because the default needs none of it.
    from dateparser.data.languages_info import (  # type: ignore[import-untyped]  # ships no types
        language_order,
    )

    return set(language_order)


def _broken_dates(rule: EffectiveDateRule) -> Iterator[tuple[Place, str]]:
    for index, pattern in enumerate(rule.text):
        try:
            groups = regex.compile(pattern).groupindex
        except regex.error as error:
            yield ("effective_date", "text", index), f"is no regular expression: {error}"
            continue
        if "date" not in groups:
            yield ("effective_date", "text", index), "has no group named date: (?P<date>…)"
    for index, language in enumerate(rule.languages):
        if language != "en" and language not in _months_known():
            yield ("effective_date", "languages", index), "is no language whose months are known"
    try:
        ZoneInfo(rule.time_zone)
    except (ValueError, OSError, ZoneInfoNotFoundError):
        yield ("effective_date", "time_zone"), "is no time zone, such as Europe/Oslo"


def _broken_files(source: FilesSource) -> Iterator[tuple[Place, str]]:
    if PurePosixPath(source.pattern).is_absolute() or ".." in PurePosixPath(source.pattern).parts:
        yield ("pattern",), "should stay in the source's folder"
    try:
        glob_translate(source.pattern)
    except ValueError as error:
        yield ("pattern",), f"is no glob pattern: {error}"
    if re.match(r"https?://[^?#]*[?#]", source.address, re.IGNORECASE):
        yield ("address",), "should be the address of an index page, without a query"
    for name in secret_options(source.storage_options):
        yield ("storage_options",), f"should not hold {name!r}; secrets belong to the connection"
    if source.manifest is not None:
        manifest = PurePosixPath(source.manifest)
        if manifest.is_absolute() or ".." in manifest.parts or not manifest.name:
            yield ("manifest",), "should be the path of a file in the source's folder"
    if source.name_pattern is not None:
        yield from _broken_name_pattern(source.name_pattern)


def _broken_name_pattern(pattern: str) -> Iterator[tuple[Place, str]]:
    try:
        groups = set(regex.compile(pattern).groupindex)
    except regex.error as error:
        yield ("name_pattern",), f"is no regular expression: {error}"
        return
    known = ", ".join(sorted(NAME_GROUPS))
    if not groups:
        yield ("name_pattern",), f"has no named group, such as (?P<document>…); known are {known}"
    for name in sorted(groups - NAME_GROUPS):
        yield ("name_pattern",), f"has an unknown group {name!r}; known are {known}"


def _broken_records(source: RecordsSource) -> Iterator[tuple[Place, str]]:
    for index, name in enumerate(source.text):
        if name in source.text[:index]:
            yield ("text", index), f"{name!r} is there twice"


def _broken_sql(source: SqlSource) -> Iterator[tuple[Place, str]]:
    if (source.table is None) == (source.query is None):
        yield ("table",), "either table or query has to be there, and not both"


def _broken_csv(source: CsvSource) -> Iterator[tuple[Place, str]]:
    if source.delimiter is not None and source.delimiter in '"\r\n ':
        yield ("delimiter",), "should be neither a quote, a newline nor a space"
    if source.encoding is not None:
        try:
            "".encode(source.encoding)
            codecs.getincrementaldecoder(source.encoding)
        except LookupError:
            yield ("encoding",), f"{source.encoding!r} is no encoding of text that Python knows"


def _broken_feed(source: FeedSource) -> Iterator[tuple[Place, str]]:
    scheme, found, _ = source.address.partition("://")
    if found and scheme not in ("http", "https"):
        yield ("address",), "should be an http or https URL, or the path of a file"
    for prefix in source.mirror:
        if not re.match(r"https?://[^/]", prefix):
            yield ("mirror", prefix), "should be the start of an http or https URL"


def _broken_web(source: WebSourceBase) -> Iterator[tuple[Place, str]]:
    if source.auth != "none" and source.connection is None:
        yield ("auth",), f"is {source.auth!r}, so connection has to name the credentials"
    for index, host in enumerate(source.allow_hosts):
        if not re.fullmatch(r"[\w.-]+|\[?[0-9a-fA-F:.]+\]?", host):
            yield ("allow_hosts", index), "should be a host alone, without scheme, port and path"


def _broken_portal(source: PortalSource) -> Iterator[tuple[Place, str]]:
    # Imported here, because a sources file without portals needs no HTML and no JMESPath.
    from ingest.sources.portal_pages import ExpressionError, page_reader
    from ingest.sources.web.addresses import web_address

    try:
        web_address(source.address)
    except ValueError:
        yield ("address",), "should be an http or https URL"
    for name in ("links",) if source.listing == "json" else ("entries", "fields"):
        if name in source.model_fields_set:
            yield (name,), f"is not used where listing is {source.listing!r}"
    try:
        page_reader(source)
    except ExpressionError as error:
        yield error.place, error.fault
