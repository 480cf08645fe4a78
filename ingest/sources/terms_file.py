"""An item's own terms: a YAML file beside it."""

from __future__ import annotations

import yaml
from pydantic import ValidationError

from ingest.sources.base import UnlistableError
from ingest.yaml_file import load_yaml
from schemas.document import ExtractionWarning
from schemas.licence import Licence, Terms, narrowed, widening

SUFFIX = ".terms.yaml"
"""Behind the whole name of the file that the terms are about."""
MAX_BYTES = 64 * 1024


def read_terms(data: bytes, licence: Licence) -> tuple[Terms, tuple[ExtractionWarning, ...]]:
    """Return the terms in a file, and a warning where they allow more than the licence does.

    Raises:
        UnlistableError: ``terms_invalid``: it says nothing that can be understood, or what is left
            of the licence under these terms is no licence.
    """
    if len(data) > MAX_BYTES:
        raise _invalid(f"it is larger than {MAX_BYTES:,} bytes")
    try:
        terms = Terms.model_validate(load_yaml(data))
        narrowed(licence, terms)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f"line {mark.line + 1}: " if mark is not None else ""
        raise _invalid(f"{line}{getattr(error, 'problem', None) or error}") from error
    except ValidationError as error:
        said = (
            ".".join(map(str, detail["loc"])) + f": {detail['msg']}" for detail in error.errors()
        )
        raise _invalid("; ".join(said)) from error
    except (ValueError, OverflowError) as error:
        raise _invalid(str(error)) from error
    wider = widening(licence, terms)
    if not wider:
        return terms, ()
    message = (
        f"Its own terms allow more than the licence {licence.id!r}, which counts for nothing: "
        f"{'; '.join(wider)}."
    )
    return terms, (ExtractionWarning(code="terms_widen", message=message),)


def _invalid(reason: str) -> UnlistableError:
    return UnlistableError(
        "terms_invalid",
        f"its own terms ({SUFFIX}) cannot be followed: {reason}. Known are "
        f"{', '.join(Terms.model_fields)}",
    )
