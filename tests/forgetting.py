"""An installation with one of each kind of trace, and the search for words that must be gone."""

# mypy: allow-untyped-calls
# PyMuPDF says py.typed, but few of its functions are annotated.

from __future__ import annotations

import base64
import gzip
import shutil
from collections.abc import Iterator
from contextlib import suppress
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pymupdf
import zstandard
from workspace import Workspace, pdf, scan

from ingest.pipeline import open_catalog
from schemas.identity import document_id

HERON = "The heron of Wexcombe pays ninety crowns to the miller each quarter"
OTTER = "The otter of Yarnbrook owes forty crowns for the ferry each winter"
LYNX = "The lynx of Zeal owes eleven crowns for the orchard each autumn"
STAYS = "The supplier delivers planning systems within ninety days of the order"
SHARED = "Both archives keep this very sheet about tolls on the northern road"

CRM = (
    "id,note,who\n"
    f"ada-bellweather-1,{OTTER}.,acme\n"
    f"ada-bellweather-2,{OTTER} and again each spring.,acme\n"
    f"bob-1,{STAYS} of Bob.,bolt\n"
)


def mail() -> bytes:
    """A mail with a PDF and a text inside, and a file that is refused."""
    message = EmailMessage()
    message["From"] = "Ada <ada@example.com>"
    message["To"] = "bob@example.com"
    message["Subject"] = "The lynx of Zeal"
    message.set_content(f"{LYNX}. Please see the papers.")
    for name, data in (
        ("lynx-terms.pdf", pdf(f"{LYNX}, as the terms say.")),
        ("lynx-broken.pdf", pdf(LYNX)[:300] + LYNX.encode()),
    ):
        message.add_attachment(data, maintype="application", subtype="pdf", filename=name)
    message.set_boundary("=boundary=")
    return message.as_bytes()


def make(folder: Path, **settings: Any) -> Workspace:
    """Return an installation after two runs, the second with a new version of a document."""
    ws = Workspace(folder, **settings)
    ws.write("reports/heron-deed.pdf", pdf(f"{HERON}.", "A second page."))
    ws.write("reports/shared-a.txt", f"{SHARED}.")
    ws.write("reports/shared-b.txt", f"{SHARED}.")
    ws.write("reports/stays.txt", f"{STAYS}.")
    ws.write("reports/heron-torn.pdf", pdf(HERON)[:300] + HERON.encode())
    ws.write("mails/lynx-mail.eml", mail())
    ws.write("mails/other.txt", f"{STAYS}, says the mail.")
    ws.write("contracts/heron-scan.pdf", scan(f"{HERON}.", dpi=110))
    ws.write("contracts/stays-scan.pdf", scan(f"{STAYS}.", dpi=110))
    ws.write("crm.csv", CRM)
    ws.add_source("reports")
    ws.add_source("mails")
    ws.add_source("contracts", kind="contract")
    ws.add_source(
        "crm", kind="crm", connector="csv", address="crm.csv", key="id", text=["note"], client="who"
    )
    ws.run()
    ws.write("reports/heron-deed.pdf", pdf(f"{HERON}, from now on.", "A second page."))
    ws.run()
    return ws


def doc(source_id: str, key: str) -> str:
    return document_id(source_id, key)


def copy_of(made: Workspace, folder: Path) -> Workspace:
    """Return a copy of an installation, with its sources where they were."""
    shutil.copytree(made.settings.home, folder / "home")
    ws = Workspace(made.folder)
    ws.settings = made.settings.model_copy(update={"home": folder / "home"})
    ws.sources = made.sources
    return ws


def holders(folder: Path, *words: str) -> set[str]:
    """Return the files under a folder that hold one of the words in any way they may be kept."""
    return {
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and any(_holds(path, word) for word in words)
    } | {
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if any(word in path.name for word in words)
    }


def _holds(path: Path, word: str) -> bool:
    spellings = (word.encode(), word.encode("utf-16-le"), base64.b64encode(word.encode())[:-4])
    return any(spelled in data for data in _unpacked(path) for spelled in spellings)


def _unpacked(path: Path) -> Iterator[bytes]:
    data = path.read_bytes()
    yield data
    if path.suffix == ".zst":
        yield zstandard.ZstdDecompressor().decompressobj().decompress(data)
    if data.startswith(b"\x1f\x8b"):
        yield gzip.decompress(data)
    if data.startswith(b"%PDF"):
        with suppress(pymupdf.FileDataError), pymupdf.open(stream=data, filetype="pdf") as document:
            yield "".join(page.get_text() for page in document).replace("\n", " ").encode()


def rows(ws: Workspace) -> set[str]:
    """Return the ids of the documents that the catalogue has."""
    return {document.doc_id for document in open_catalog(ws.settings).documents()}
