"""Pages as pictures, with the box of every word, that tests make."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw, ImageFont

Box = tuple[float, float, float, float]

PROSE = (
    "This Agreement is made between the Supplier and the Customer on",
    "the date of its signature and binds both parties until one of",
    "them ends it by notice. Either party may terminate the contract",
    "by ninety days of notice in writing to the other party. A notice",
    "is given when it has been delivered to the address in the first",
    "schedule. Payments are due thirty days after the invoice was sent",
    "and bear interest at four per cent a year from that day. Nothing",
    "here limits the liability of a party for fraud or for death and",
    "injury caused by its negligence. Each clause stands by itself; if",
    "a court finds one to be void, the others keep their full effect.",
    "Neither side may assign its rights without the consent of the",
    "other, which may not be withheld or delayed without good reason.",
)


@dataclass(frozen=True)
class Drawn:
    """A picture of text."""

    image: Image.Image
    words: tuple[tuple[str, Box], ...]
    """In reading order, each with the hull of its ink."""
    lines: tuple[int, ...] = ()
    """The line of each word, from 1."""


def draw(
    lines: tuple[str, ...] = PROSE,
    *,
    size: int = 32,
    margin: int = 110,
    leading: float = 1.6,
    ink: int = 0,
    paper: int = 255,
) -> Drawn:
    """Draw lines of text upright and level; at ``size`` 32, they are of 11 points at 200 dpi."""
    font = ImageFont.load_default(size=size)
    space = font.getlength(" ")
    width = math.ceil(max(font.getlength(line) for line in lines)) + 2 * margin
    image = Image.new("L", (width, math.ceil(len(lines) * size * leading) + 2 * margin), paper)
    pen = ImageDraw.Draw(image)
    words, numbers = [], []
    for number, line in enumerate(lines):
        x, y = float(margin), margin + number * size * leading
        for text in line.split():
            # Whole pixels, so that the ink is where the font says.
            place = round(x), round(y)
            pen.text(place, text, font=font, fill=ink)
            words.append((text, pen.textbbox(place, text, font=font)))
            numbers.append(number + 1)
            x += font.getlength(text) + space
    return Drawn(image, tuple(words), tuple(numbers))


def tilt(drawn: Drawn, degrees: float) -> Drawn:
    """Turn the picture about its middle, clockwise, so that lines run downhill to the right."""
    image = drawn.image
    turned = image.rotate(-degrees, Image.Resampling.BICUBIC, fillcolor=image.getpixel((0, 0)))
    cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    middle = np.array([image.width / 2, image.height / 2])
    words = []
    for text, (x0, y0, x1, y1) in drawn.words:
        corners = np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]]) - middle
        corners = corners @ np.array([[cosine, sine], [-sine, cosine]]) + middle
        words.append((text, (*corners.min(axis=0).tolist(), *corners.max(axis=0).tolist())))
    return Drawn(turned, tuple(words), drawn.lines)


def turn(drawn: Drawn, degrees: int) -> Drawn:
    """Turn the picture clockwise by a multiple of 90 degrees."""
    image, words = drawn.image, drawn.words
    for _ in range(degrees % 360 // 90):
        height = image.height
        image = image.transpose(Image.Transpose.ROTATE_270)
        words = tuple((t, (height - y1, x0, height - y0, x1)) for t, (x0, y0, x1, y1) in words)
    return Drawn(image, words, drawn.lines)


def ink_box(image: Image.Image, box: Box, *, dark: int = 128) -> Box | None:
    """Return the hull of the ink inside ``box``; None without any."""
    left, top = math.floor(box[0]), math.floor(box[1])
    part = np.asarray(image.crop((left, top, math.ceil(box[2]), math.ceil(box[3])))) < dark
    if not part.any():
        return None
    columns, rows = np.flatnonzero(part.any(axis=0)), np.flatnonzero(part.any(axis=1))
    return left + columns[0], top + rows[0], left + columns[-1] + 1, top + rows[-1] + 1
