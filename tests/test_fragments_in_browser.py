"""Links to passages, opened in a real browser: what lights up is the chunk."""

from __future__ import annotations

import shutil
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from extract.checks import read
from PIL import Image
from strategies import counter

from ingest.chunking import Chunker
from ingest.fragments import PageText, with_fragment
from ingest.settings import ChunkingSettings

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
HEIGHT = 40
STYLE = f"""<style>
* {{ margin: 0; padding: 0; font: 10px/12px sans-serif; border-spacing: 0; }}
p, h1, h2, li, tr {{ height: {HEIGHT}px; display: block; overflow: hidden; color: #000; }}
::target-text {{ background: #f00; color: #f00; }}
</style>"""

CLAUSE = "The Supplier shall deliver the goods, free of charges &amp; duties, within ten (10) days."
NOTE = "Either party may end this well-known arrangement by notice in writing to the other party."
REPEATS = (
    *("<h1>Terms of delivery</h1>", f"<p>{CLAUSE}</p>", f"<p>{NOTE}</p>"),
    *("<h2>Scope</h2>", f"<p>{CLAUSE}</p>", "<p>Part one covers desks.</p>", f"<p>{NOTE}</p>"),
    *("<h2>Scope</h2>", f"<p>{CLAUSE}</p>", "<p>Part two covers chairs.</p>", f"<p>{NOTE}</p>"),
    *("<h2>Übergang der Gefahr</h2>", "<p>Die Gefahr geht über – „früh“ und ganz.</p>"),
    *(f"<p>{CLAUSE}</p>", "<ul><li>First item of a list</li><li>Second item of a list</li></ul>"),
    *("<p>第一条 本协议自双方签字之日起生效。</p>", f"<p>{NOTE}</p>"),
    "<table><tr><td>Article</td><td>Unit price</td></tr><tr><td>Desk</td><td>9 €</td></tr></table>",
    *(f"<p>{NOTE}</p>", "<h2>Last</h2>", f"<p>{CLAUSE}</p>", "<p>The end of all this.</p>"),
)
HEAD = f"<head><meta charset=utf-8><title>t</title>{STYLE}</head>"
PAGE = f"<!DOCTYPE html><html>{HEAD}<body>{''.join(REPEATS)}</body></html>"


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    (tmp_path / "page.html").write_text(PAGE, encoding="utf-8")
    handler = partial(_Quiet, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/page.html"
        server.shutdown()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


def lit_lines(url: str, folder: Path, lines: int) -> list[int]:
    """Open the page and return the numbers of its lines that have highlighted words."""
    assert CHROMIUM
    picture = folder / "page.png"
    picture.unlink(missing_ok=True)
    subprocess.run(
        [
            *(CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic"),
            *("--no-first-run", "--disable-background-networking", "--disable-component-update"),
            *("--disable-sync", "--hide-scrollbars", f"--user-data-dir={folder / 'profile'}"),
            *(f"--window-size=900,{HEIGHT * (lines + 4)}", f"--screenshot={picture}", url),
        ],
        capture_output=True,
        check=True,
        timeout=60,
    )
    pixels = np.asarray(Image.open(picture).convert("RGB")).astype(int)
    red = (pixels[..., 0] > 200) & (pixels[..., 1] < 80) & (pixels[..., 2] < 80)
    return sorted({int(row) // HEIGHT for row in np.nonzero(red.any(axis=1))[0]})


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_a_browser_highlights_the_chunk(address: str, tmp_path: Path) -> None:
    extraction = read(PAGE.encode(), "page.html")
    # One line of the page for each row of a table and for each other element.
    lines = [
        (run.char_start, run.char_end)
        for element in extraction.elements
        for run in (element.rows or (element,))
    ]
    settings = ChunkingSettings(max_tokens=40, min_tokens=8)
    chunks = Chunker(counter(), settings).chunk(extraction)
    assert len(chunks) >= 10
    page = PageText(extraction)
    whole = 0
    for chunk in chunks:
        held = [
            number
            for number, (start, end) in enumerate(lines)
            if start < chunk.char_end and chunk.char_start < end
        ]
        directive = page.fragment(chunk.char_start, chunk.char_end)
        assert directive
        lit = lit_lines(with_fragment(address, directive), tmp_path, len(lines))
        # Where a chunk begins with what stands earlier too, less of it is shown, never other text.
        assert lit, (chunk.text, directive)
        assert set(lit) <= set(held), (chunk.text, directive)
        assert lit[-1] == held[-1], (chunk.text, directive)
        whole += lit == held
    assert whole >= len(chunks) - 2
