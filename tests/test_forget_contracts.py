"""What is cleared of names stays readable: steps read again what other runs' steps wrote."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

import pytest
from pydantic import BaseModel
from test_forget_names import DOC, names

import schemas.run
from schemas.payload import Payload
from schemas.run import ChunkRecord


def choices(annotation: Any) -> Iterator[str]:
    """Yield the words that a field allows, if it allows but a few."""
    if get_origin(annotation) is Literal:
        yield from (one for one in get_args(annotation) if isinstance(one, str))
    for part in get_args(annotation):
        yield from choices(part)


def parts(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the models that a field holds by itself, not in a list: lists are emptied."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    elif get_origin(annotation) not in (tuple, list):
        for part in get_args(annotation):
            yield from parts(part)


def is_about_a_document(model: type[BaseModel]) -> bool:
    return not {"doc_id", "source_key"}.isdisjoint(model.model_fields) or any(
        is_about_a_document(part)
        for info in model.model_fields.values()
        for part in parts(info.annotation)
    )


def words(model: type[BaseModel]) -> Iterator[tuple[str, str]]:
    for name, info in model.model_fields.items():
        if name == "terms":
            continue  # it becomes None
        yield from ((name, word) for word in choices(info.annotation))
        for part in parts(info.annotation):
            yield from words(part)


WORDS = sorted(
    {
        pair
        for model in vars(schemas.run).values()
        if isinstance(model, type) and issubclass(model, BaseModel)
        if model not in (Payload, ChunkRecord) and is_about_a_document(model)
        for pair in words(model)
    }
)


@pytest.mark.parametrize(("name", "word"), WORDS)
def test_a_field_that_allows_but_few_words_keeps_its_own(name: str, word: str) -> None:
    about = {"doc_id": DOC, "part": {name: word}}
    assert names().cleaned(about)["part"][name] == word
