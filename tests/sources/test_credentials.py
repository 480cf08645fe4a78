"""Credentials by name, and what is never shown of them."""

from __future__ import annotations

import base64
import io
import json
import logging
import pickle
import traceback

import pytest

from ingest.errors import ConfigurationError, ItemError
from ingest.secrets import MASK, redact, register
from ingest.sources.credentials import Credentials, from_environment


def _only(password: str) -> Credentials:
    return Credentials(password=password)


IN_DATABASE = Credentials("ann", "p%w#x", "db.example", schema="crm/x")
WITH_BLANK = Credentials("ann", "ü €", "h", extra={"a": "", "b": "1&2"})


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (
            '{"login": "ann", "password": "s3cret!", "host": "h", "port": 22, "schema": "crm"}',
            Credentials("ann", "s3cret!", "h", 22, "crm"),
        ),
        ('{"login": "", "extra": "{\\"region\\": \\"eu\\"}"}', Credentials(extra={"region": "eu"})),
        (
            "sftp://ann:p%40ss%2Fword@drop.example:2222/in?host_key=ssh",
            Credentials("ann", "p@ss/word", "drop.example", 2222, "in", {"host_key": "ssh"}),
        ),
        (" {} ", Credentials()),
        ('{"login": null, "password": null, "port": "22", "extra": null}', Credentials(port=22)),
        ('{"conn_type": "sftp", "description": "x", "password": "a\\u00fc\\"b"}', _only('aü"b')),
        # As Airflow writes URIs: without host, with an extra of its own, with percent signs.
        ("aws:///?region_name=eu-central-1", Credentials(extra={"region_name": "eu-central-1"})),
        (
            "aws://AKIA:a%2Bb%2Fc%3D%3D@/?__extra__=%7B%22a%22%3A+%7B%22b%22%3A+%5B1%5D%7D%7D",
            Credentials("AKIA", "a+b/c==", extra={"a": {"b": [1]}}),
        ),
        ("http://:t%3Aok%40en@", _only("t:ok@en")),
        ("postgres://ann:p%25w%23x@db.example/crm%2Fx", IN_DATABASE),
        ("x://ann:%C3%BC%20%E2%82%AC@h?a=&b=1%262", WITH_BLANK),
    ],
)
def test_json_and_uris_are_read(
    monkeypatch: pytest.MonkeyPatch, value: str, expected: Credentials
) -> None:
    monkeypatch.setenv("MUNIMENT_CONNECTION_MY_DROP_1", value)
    assert from_environment("my-drop.1") == expected


@pytest.mark.parametrize(
    "value",
    [
        "hunter22-no-uri",
        '{"password": "hunter22"',
        '["hunter22"]',
        '{"passwort": "hunter22"}',
        '{"password": "hunter22", "port": "many"}',
        '{"password": "hunter22", "extra": "no json"}',
        "x://hunter22@host:port99/",
        "x://ann:hunter22@[::1/",
        "x://ann:hunter22@ho\u2100st/",
        "x://ann@host/?__extra__=hunter22",
        "x://ann@host/?__extra__=%5B%22hunter22%22%5D",
        '{"password": "hunter22", "extra": ["a"]}',
        '{"password": "hunter22", "port": []}',
        '{"password": ["hunter22"]}',
        '{"login": {"a": "hunter22"}}',
        '{"password": "hunter22"} trailing',
        '{"password": "hunter22\nsecond line"}',
        "hunter22:\\x/://",
        "://hunter22@host",
        " ",
    ],
)
def test_what_is_neither_is_refused_and_not_shown(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("MUNIMENT_CONNECTION_DROP", value)
    with pytest.raises(ConfigurationError) as caught:
        from_environment("drop")
    assert caught.value.code == "connection_invalid"
    assert "MUNIMENT_CONNECTION_DROP" in caught.value.message
    assert "hunter22" not in "".join(traceback.format_exception(caught.value))


def test_a_connection_that_is_not_there_says_which_variable_to_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("MUNIMENT_CONNECTION_DROP", raising=False)
    with pytest.raises(ConfigurationError, match="Set MUNIMENT_CONNECTION_DROP") as caught:
        from_environment("drop")
    assert caught.value.code == "connection_unknown"


def test_secrets_are_masked_in_errors_logs_and_representations(
    caplog: pytest.LogCaptureFixture,
) -> None:
    found = Credentials("ann", "Wort mit/Leer 1", extra={"keys": ["tief-verborgen-2"]})
    assert "Wort" not in repr(found)
    assert "tief" not in repr(found)
    error = ItemError("x", "https://ann:Wort+mit%2FLeer+1@h/ and Wort mit/Leer 1")
    assert str(error) == f"https://ann:{MASK}@h/ and {MASK}"
    assert str(pickle.loads(pickle.dumps(error))) == str(error)  # noqa: S301
    caplog.set_level(logging.DEBUG)
    logging.getLogger("some.library").debug("sent %s", "tief-verborgen-2")
    assert caplog.messages == [f"sent {MASK}"]


def test_a_secret_is_masked_however_it_is_written() -> None:
    key = "-----BEGIN X-----\nMIIEverySecretLineOfIt\nSecond+Secret/Line==\n-----END X-----\n"
    Credentials("ann", 'Wort"mit\\Zeichen ü', extra={"private_key": key})
    secret = 'Wort"mit\\Zeichen ü'
    for text in (
        json.dumps({"password": secret}),
        json.dumps({"password": secret}, ensure_ascii=False),
        repr({"password": secret}),
        f"Basic {base64.b64encode(f'ann:{secret}'.encode()).decode()}",
        base64.b64encode(secret.encode()).decode(),
        repr(key),
        "line 2: MIIEverySecretLineOfIt",
        base64.urlsafe_b64encode(key.encode()).decode(),
    ):
        shown = redact(text)
        assert MASK in shown
        for part in ("Wort", "Zeichen", "MIIE", "Second", base64.b64encode(b"ann:Wort").decode()):
            assert part not in shown, text


def test_what_is_no_secret_is_not_masked() -> None:
    """Else messages would lose the words that say what is wrong."""
    extra = {
        "region_name": "eu-central-1",
        "endpoint_url": "https://s3.example",
        "sslmode": "require",
    }
    Credentials("ann", "Wort-7-geheim", extra=extra)
    said = "https://s3.example in eu-central-1: a login is required"
    assert redact(said) == said
    Credentials(extra={"endpoint_url": "https://ann:tief-drin-8@s3.example"})
    assert "tief-drin-8" not in redact("at https://ann:tief-drin-8@s3.example")


def test_tracebacks_in_logs_are_masked() -> None:
    register("in-der-Ausnahme-9")
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    logger = logging.getLogger("some.other.library")
    logger.addHandler(handler)
    try:
        try:
            raise ValueError("server said in-der-Ausnahme-9")
        except ValueError as error:
            try:
                raise KeyError("after it") from error
            except KeyError:
                logger.exception("failed")
    finally:
        logger.removeHandler(handler)
    assert f"server said {MASK}" in stream.getvalue()
    assert "Ausnahme" not in stream.getvalue()
    assert "KeyError" in stream.getvalue()


def test_short_words_are_no_secrets() -> None:
    register("abc")
    assert redact("abcdef") == "abcdef"
