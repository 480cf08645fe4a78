"""Credentials by name, and what is never shown of them."""

from __future__ import annotations

import logging
import pickle
import traceback

import pytest

from ingest.errors import ConfigurationError, ItemError
from ingest.secrets import MASK, redact, register
from ingest.sources.credentials import Credentials, from_environment


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


def test_short_words_are_no_secrets() -> None:
    register("abc")
    assert redact("abcdef") == "abcdef"
