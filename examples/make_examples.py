"""Make the sample sources that ``examples/sources.yaml`` points to, from ``examples/content/``.

    python examples/make_examples.py [--out DIR]

The same content and the same libraries give the same bytes: dates and file ids are fixed, noise is
seeded, and the only fonts are those that PyMuPDF carries.
"""

from __future__ import annotations

import argparse
import csv
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from email.utils import format_datetime
from pathlib import Path
from string import Template
from typing import Any

import jinja2
import numpy as np
import pymupdf
import yaml
from PIL import Image, ImageChops, ImageFilter
from typesetting import GREY, MARGIN_X, PAGE, SANS_BOLD, line_of_text, save, typeset

HERE = Path(__file__).resolve().parent
CONTENT = HERE / "content"
SCAN_DPI = 200
MANIFEST_COLUMNS = (
    "file", "document", "title", "version_label", "effective_from",
    "licence", "confidentiality", "client_id",
)  # fmt: skip
NOTE_COLUMNS = (
    "note_id", "account", "client_id", "contact", "subject", "note_date", "stage", "note",
)  # fmt: skip

# --- Reports -------------------------------------------------------------------------------------


def make_report(entry: Mapping[str, Any], folder: Path) -> None:
    """Typeset one report with its charts, footnotes, running lines and bookmarks."""
    html = (CONTENT / "reports" / entry["file"]).with_suffix(".html").read_text("utf-8")
    css = Template((CONTENT / "report.css").read_text("utf-8")).substitute(
        font=entry["font"], size=entry["size"], colour=entry["colour"]
    )
    notes: list[str] = []

    def refer(match: re.Match[str]) -> str:
        notes.append(" ".join(match[1].split()))
        return f'<sup id="fn{len(notes)}">{len(notes)}</sup>'

    html = re.sub(r"<fn>(.*?)</fn>", refer, html, flags=re.S)
    pieces = re.split(r"<!-- (cover|body|columns|chart \w+) -->", html)[1:]
    layout = typeset(zip(pieces[::2], pieces[1::2], strict=True), css, notes)
    document = layout.document
    colour = tuple(int(entry["colour"][i : i + 2], 16) / 255 for i in (1, 3, 5))
    for name, data in entry["charts"].items():
        index, rect = layout.places[f"chart {name}"]
        draw_chart(document[index], rect, data, colour)
    numbered = document.page_count - bool(entry.get("page_labels"))
    for page in list(document)[1:]:
        number = page.number + 1 - (document.page_count - numbered)
        line_of_text(page, (MARGIN_X, 46), entry["running"], 8)
        page.draw_line((MARGIN_X, 52), (PAGE.width - MARGIN_X, 52), color=GREY, width=0.4)
        line_of_text(page, (MARGIN_X, 804), "Licensed to Wexmarch Advisory Ltd", 8)
        right = (PAGE.width - MARGIN_X, 804)
        line_of_text(page, right, f"Page {number} of {numbered}", 8, "right")
    if entry.get("page_labels"):
        document.set_page_labels(
            [
                {"startpage": 0, "prefix": "", "style": "r", "firstpagenum": 1},
                {"startpage": 1, "prefix": "", "style": "D", "firstpagenum": 1},
            ]
        )
    headings = re.findall(r'<h2 id="(s\d+)">(.*?)</h2>', html)
    document.set_toc([[1, text, layout.places[name][0] + 1] for name, text in headings])
    save(document, folder / entry["file"], entry["title"], entry["author"], entry["effective_from"])


def draw_chart(
    page: pymupdf.Page, rect: pymupdf.Rect, data: Mapping[str, float], colour: tuple[float, ...]
) -> None:
    """Draw horizontal bars with their names and values into ``rect``."""
    step, left = rect.height / len(data), rect.x0 + 120
    scale = (rect.x1 - left - 40) / max(data.values())
    for row, (name, value) in enumerate(data.items()):
        y0 = rect.y0 + row * step + step * 0.18
        bar = pymupdf.Rect(left, y0, left + value * scale, y0 + step * 0.64)
        page.draw_rect(bar, color=None, fill=colour)
        baseline = (bar.y0 + bar.y1) / 2 + 3
        line_of_text(page, (left - 6, baseline), name, 8.5, "right")
        line_of_text(page, (bar.x1 + 5, baseline), f"{value:g}", 8.5, font=SANS_BOLD)


# --- Scanned contracts ---------------------------------------------------------------------------


def make_contract(entry: Mapping[str, Any], folder: Path) -> None:
    """Typeset one contract, sign it, and keep only the pictures of its pages."""
    source = (CONTENT / "contracts" / entry["template"]).read_text("utf-8")
    html = jinja2.Template(source, undefined=jinja2.StrictUndefined).render(entry["values"])
    layout = typeset([("body", html)], (CONTENT / "contract.css").read_text("utf-8"))
    rng = np.random.default_rng(entry["seed"])
    for name, (index, rect) in layout.places.items():
        if name.startswith("sign-"):
            sign(layout.document[index], rect, rng)
    pages = []
    for page in layout.document:
        line_of_text(page, (MARGIN_X, 806), entry["footer"], 8.5, colour=(0, 0, 0))
        number = f"{page.number + 1} / {layout.document.page_count}"
        line_of_text(page, (PAGE.width - MARGIN_X, 806), number, 8.5, "right", colour=(0, 0, 0))
        pixmap = page.get_pixmap(dpi=SCAN_DPI, colorspace=pymupdf.csGRAY)
        picture = Image.frombytes("L", (pixmap.width, pixmap.height), pixmap.samples)
        pages.append(scan(picture, entry["look"], entry["skew"], rng))
    save_scan(pages, folder / entry["file"], entry["effective_from"])


def sign(page: pymupdf.Page, rect: pymupdf.Rect, rng: np.random.Generator) -> None:
    """Scribble a signature over ``rect``: a few joined curves, never legible."""
    x, y = rect.x0 + 8, rect.y1 + 14
    shape = page.new_shape()
    here = pymupdf.Point(x, y)
    for _ in range(7):
        steps = rng.uniform((-4, -16), (22, 10), (3, 2))
        a, b, end = (here + pymupdf.Point(float(dx), float(dy)) for dx, dy in steps)
        end.y = min(max(end.y, y - 10), y + 6)
        shape.draw_bezier(here, a, b, end)
        here = end
    shape.finish(color=(0.1, 0.1, 0.2), width=1.1, closePath=False)
    shape.commit()


def scan(picture: Image.Image, look: str, skew: float, rng: np.random.Generator) -> Image.Image:
    """Make a clean page look scanned: tilt, soft edges, uneven light, grain; or black and white."""
    tilted = picture.rotate(skew, Image.Resampling.BICUBIC, fillcolor=255)
    soft = ImageChops.offset(tilted, 2, 1).filter(ImageFilter.GaussianBlur(0.6))
    ink = 1 - np.asarray(soft, dtype=np.float64) / 255
    height, width = ink.shape
    grain = rng.normal(0, 1, (height, width))
    if look == "bilevel":
        dark = ink + 0.06 * grain > 0.42
        specks = rng.integers(0, (height, width), (60, 2))
        dark[specks[:, 0], specks[:, 1]] = True
        return Image.fromarray(np.where(dark, 0, 255).astype(np.uint8)).convert("1")
    light = np.linspace(0, 1, width)[None, :] * 6 + np.linspace(1, 0, height)[:, None] * 4
    grey = (243 - light) * (1 - ink) + 38 * ink + 1.6 * grain
    return Image.fromarray(np.clip(grey, 0, 255).round().astype(np.uint8))


def save_scan(pages: Sequence[Image.Image], path: Path, date: str) -> None:
    """Write the pages as scanners do: CCITT Group 4 in TIFF or PDF, or JPEG in PDF."""
    first, rest = pages[0], list(pages[1:])
    if path.suffix == ".tif":
        first.save(
            path, save_all=True, append_images=rest, compression="group4", dpi=(SCAN_DPI, SCAN_DPI)
        )
        return
    when = time.strptime(date, "%Y-%m-%dT%H:%M:%SZ")
    quality = {} if first.mode == "1" else {"quality": 32}
    first.save(
        path, save_all=True, append_images=rest, resolution=SCAN_DPI, **quality,
        creationDate=when, modDate=when, producer="make_examples.py", title=path.stem,
    )  # fmt: skip


# --- Tables and news -----------------------------------------------------------------------------


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, str]]) -> None:
    """Write rows in UTF-8; columns that no row has are left out."""
    rows = list(rows)
    columns = [column for column in columns if any(column in row for row in rows)]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows({c: row[c] for c in columns if c in row} for row in rows)


def make_notes(folder: Path) -> None:
    """Write the CRM export."""
    data = load("crm-notes.yaml")
    rows = (
        {
            **note,
            "note_id": note["id"],
            "account": data["accounts"][note["client"]],
            "client_id": note["client"],
            "note_date": note["date"],
        }
        for note in data["notes"]
    )
    write_csv(folder / "notes.csv", NOTE_COLUMNS, rows)


def make_news(folder: Path) -> None:
    """Write the feed, and the article pages where the mirror of the source expects them."""
    data = load("news.yaml")
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(CONTENT / "news"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
    )
    for article in data["articles"]:
        published = datetime.fromisoformat(article["published"])
        path = f"{published.year}/{article['slug']}.html"
        body = (CONTENT / "news" / f"{article['slug']}.html").read_text("utf-8")
        article |= {
            "path": path,
            "url": data["site"] + path,
            "rfc822": format_datetime(published),
            "day": f"{published.day} {published:%B %Y}",
            "body": body.strip(),
        }
    by_slug = {article["slug"]: article for article in data["articles"]}
    sections = sorted({article["section"] for article in data["articles"]})
    for article in data["articles"]:
        related = [by_slug[slug] for slug in article["related"]]
        page = environment.get_template("article.html.j2").render(
            a=article | {"related": related}, site=data["site"], sections=sections
        )
        target = folder / "articles" / article["path"]
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(page, "utf-8")
    feed = environment.get_template("feed.xml.j2").render(data)
    (folder / "feed.xml").write_text(feed, "utf-8")


def load(name: str) -> Any:
    """Read one YAML file of the content folder."""
    return yaml.safe_load((CONTENT / name).read_text("utf-8"))


def make(out: Path) -> None:
    """Make everything below ``out``."""
    folders = {name: out / name for name in ("reports", "contracts", "crm", "news")}
    for folder in folders.values():
        folder.mkdir(parents=True, exist_ok=True)
    documents = load("documents.yaml")
    for entry in documents["reports"]:
        make_report(entry, folders["reports"])
    for entry in documents["contracts"]:
        make_contract(entry, folders["contracts"])
    reports = (e | {"licence": "norvale-2026"} for e in documents["reports"])
    write_csv(folders["reports"] / "terms.csv", MANIFEST_COLUMNS, reports)
    write_csv(folders["contracts"] / "manifest.csv", MANIFEST_COLUMNS, documents["contracts"])
    make_notes(folders["crm"])
    make_news(folders["news"])


def main() -> None:
    """Read the command line and make the examples."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=HERE, help="folder to write to")
    make(parser.parse_args().out)


if __name__ == "__main__":
    main()
