"""What a page paints beside and over its text: images, opaque areas, clips.

The page's display list is played to a device that looks at everything but the letters' shapes.
That costs a fiftieth of interpreting the page again.
"""

# mypy: allow-untyped-calls
# PyMuPDF says py.typed, but few of its functions are annotated.

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from ingest.extract.text_line import Hidden
from ocr.mupdf import pymupdf
from schemas.document import BoxTuple

mupdf = pymupdf.mupdf

Rgb = tuple[float, float, float]
_POINTS_PER_INCH = 72.0
_EDGE = 1.0
"""Points by which a clip may cut into the page, or into text, and be taken for none."""
_THIN = 2.0
"""What is less high or wide, in points, is a rule and covers no words."""


@dataclass(frozen=True, slots=True)
class PageImage:
    """An image as the page paints it."""

    box: BoxTuple
    """Hull in points of the displayed page; it may reach beyond the page."""
    dpi: float
    """The higher of its two resolutions."""
    opaque: bool
    """False where it has a mask, is one, or is painted with less than full opacity."""


@dataclass(frozen=True, slots=True)
class Cover:
    """An area that was painted without transparency: a filled rectangle or an image."""

    box: BoxTuple
    order: int
    """Number of the operation that painted it; text with a lower number lies below."""
    colour: Rgb | None
    """sRGB, 0 to 1; None for images."""


@dataclass(slots=True)
class Painting:
    """What a page paints, in points of the displayed page."""

    images: list[PageImage] = field(default_factory=list)
    covers: list[Cover] = field(default_factory=list)
    shapes: list[BoxTuple] = field(default_factory=list)
    """Hulls of what else is filled: curves, shadings, and all that is not opaque."""
    first_text: int | None = None
    """Number of the first operation that painted text; None without any."""
    shows_text: bool = False
    """True if some text has ink and opacity."""
    unseen: dict[int, Hidden] = field(default_factory=dict)
    """Numbers of the operations that painted text without."""
    clipped: bool = False
    """True if some text reaches beyond its clip."""
    overpainted: bool = False
    """True if some text was painted in one of the areas that were asked for before its cover."""


def read_painting(
    display: pymupdf.DisplayList,
    width: float,
    height: float,
    *,
    thorough: bool = False,
    areas: Mapping[int, BoxTuple] = MappingProxyType({}),
) -> Painting:
    """Play ``display`` and note what it paints on a page of ``width`` × ``height`` points.

    Args:
        display: what the page paints.
        width: of the page.
        height: of the page.
        thorough: look at every operation. Otherwise only text that may be clipped away or have no
            opacity by its group is looked at; text without opacity of its own is not found, and
            the numbers of operations tell no more than their order.
        areas: where there are words that a cover may hide, by the cover's index. The playing ends
            as soon as it is known whether text was painted there before.
    """
    device = _Device((width, height), thorough=thorough, areas=areas)
    everywhere = mupdf.FzRect(mupdf.FzRect.Fixed_INFINITE)
    mupdf.fz_run_display_list(display.this, device, mupdf.FzMatrix(), everywhere, device.cookie)
    mupdf.fz_close_device(device)
    return device.painting


class _Device(mupdf.FzDevice2):  # type: ignore[misc, name-defined]  # its base is untyped
    """Counts operations as MuPDF's text trace does, if thorough, so that the two can be compared.

    Every call from MuPDF into Python takes time, and most of a page's operations paint text.
    """

    def __init__(
        self, page: tuple[float, float], *, thorough: bool, areas: Mapping[int, BoxTuple]
    ) -> None:
        super().__init__()
        for name in _CALLBACKS:
            getattr(self, f"use_virtual_{name}")(True)
        if thorough:
            self.use_virtual_stroke_path(True)
        self.painting = Painting()
        self.cookie = mupdf.FzCookie()
        self._thorough = thorough
        self._areas = dict(areas)
        self._order = 0
        self._clips: list[tuple[BoxTuple, bool, bool]] = [((0.0, 0.0, *page), True, False)]
        """Hull of what all clips so far let through, whether the hull is just that, and whether it
        cuts into the page."""
        self._narrow = False
        self._opacities: list[float] = []
        self._watching = True

    def fill_path(
        self,
        _: Any,
        path: Any,
        even_odd: int,
        matrix: Any,
        space: Any,
        colour: Any,
        alpha: float,
        parameters: Any,
    ) -> None:
        bounds = mupdf.ll_fz_bound_path(path, None, matrix)
        box = x0, y0, x1, y1 = bounds.x0, bounds.y0, bounds.x1, bounds.y1
        if x1 - x0 >= _THIN and y1 - y0 >= _THIN:
            plain = alpha == 1 and mupdf.ll_fz_path_is_rect(path, matrix)
            visible = self._visible(box) if plain else None
            if visible is not None:
                self._cover(Cover(visible, self._order, _rgb(space, colour)))
            else:
                self.painting.shapes.append(box)
        self._order += 1

    def stroke_path(self, *_: Any) -> None:
        self._order += 1

    def fill_shade(self, _: Any, shade: Any, matrix: Any, *__: Any) -> None:
        bounds = mupdf.ll_fz_bound_shade(shade, matrix)
        self.painting.shapes.append((bounds.x0, bounds.y0, bounds.x1, bounds.y1))
        self._order += 1

    def fill_text(
        self, _: Any, text: Any, matrix: Any, space: Any, colour: Any, alpha: float, *__: Any
    ) -> None:
        if alpha and not self._narrow and not self._opacities and not self._areas:
            self.painting.shows_text = True
            self._next_text()
        else:
            self._text(text, None, matrix, alpha)
        if not self._thorough:
            self._watch()

    def stroke_text(
        self,
        _: Any,
        text: Any,
        stroke: Any,
        matrix: Any,
        space: Any,
        colour: Any,
        alpha: float,
        *__: Any,
    ) -> None:
        self._text(text, stroke, matrix, alpha)

    def ignore_text(self, *_: Any) -> None:
        self.painting.unseen[self._order] = "invisible"
        self._next_text()

    def _text(self, text: Any, stroke: Any, matrix: Any, alpha: float) -> None:
        painting = self.painting
        if alpha == 0 or 0.0 in self._opacities:
            painting.unseen[self._order] = "transparent"
        else:
            painting.shows_text = True
            narrow = self._narrow and not painting.clipped
            if narrow or self._areas:
                bounds = mupdf.ll_fz_bound_text(text, stroke, matrix)
                box = bounds.x0, bounds.y0, bounds.x1, bounds.y1
                if narrow:
                    clip = self._clips[-1][0]
                    painting.clipped = (
                        box[0] < clip[0] - _EDGE
                        or box[1] < clip[1] - _EDGE
                        or box[2] > clip[2] + _EDGE
                        or box[3] > clip[3] + _EDGE
                    )
                if any(touch(box, area) for area in self._areas.values()):
                    painting.overpainted = True
                    self._areas = {}
                    self._stop_if_known()
        self._next_text()

    def _watch(self) -> None:
        """Look at text only as long as something is to be learned from it."""
        wanted = (
            self._thorough
            or bool(self._areas)
            or not self.painting.shows_text
            or (self._narrow and not self.painting.clipped)
            or 0.0 in self._opacities
        )
        if wanted != self._watching:
            self._watching = wanted
            self.use_virtual_fill_text(wanted)

    def _stop_if_known(self) -> None:
        """End the playing once it is known whether text was painted where covers follow."""
        if not self._areas:
            self.cookie.m_internal.abort = 1

    def _cover(self, cover: Cover) -> None:
        if self._areas:
            self._areas.pop(len(self.painting.covers), None)
            self._stop_if_known()
        self.painting.covers.append(cover)

    def _next_text(self) -> None:
        if self.painting.first_text is None:
            self.painting.first_text = self._order
        self._order += 1

    def fill_image(self, _: Any, image: Any, matrix: Any, alpha: float, parameters: Any) -> None:
        opaque = alpha == 1 and not image.mask
        placed = _image(image, matrix, opaque)
        visible = self._visible(placed.box) if opaque and _upright(matrix) else None
        self.painting.images.append(placed)
        if visible is not None:
            self._cover(Cover(visible, self._order, None))
        else:
            self.painting.shapes.append(placed.box)
        self._order += 1

    def fill_image_mask(self, _: Any, image: Any, matrix: Any, *__: Any) -> None:
        placed = _image(image, matrix, False)
        self.painting.images.append(placed)
        self.painting.shapes.append(placed.box)
        self._order += 1

    def clip_path(self, _: Any, path: Any, even_odd: int, matrix: Any, scissor: Any) -> None:
        bounds = mupdf.ll_fz_bound_path(path, None, matrix)
        hull, exact, _ = self._clips[-1]
        box = common(hull, (bounds.x0, bounds.y0, bounds.x1, bounds.y1))
        if exact and box != hull:
            exact = mupdf.ll_fz_path_is_rect(path, matrix)
        self._push(box, exact)

    def clip_stroke_path(self, *_: Any) -> None:
        self._push_unknown()

    def clip_text(self, *_: Any) -> None:
        self._push_unknown()

    def clip_stroke_text(self, *_: Any) -> None:
        self._push_unknown()

    def clip_image_mask(self, *_: Any) -> None:
        self._push_unknown()

    def end_mask(self, *_: Any) -> None:
        # A soft mask is a clip from here on, and taken away like one.
        self._push_unknown()

    def pop_clip(self, *_: Any) -> None:
        if len(self._clips) > 1:
            self._clips.pop()
            self._set_narrow(self._clips[-1][2])

    def begin_group(
        self,
        _: Any,
        area: Any,
        space: Any,
        isolated: int,
        knockout: int,
        blend: int,
        alpha: float,
    ) -> None:
        # Only in the normal blend mode does an opaque colour hide what lies below.
        self._opacities.append(alpha if blend == 0 else alpha / 2)
        self._watch()

    def end_group(self, *_: Any) -> None:
        if self._opacities:
            self._opacities.pop()
            self._watch()

    def _push_unknown(self) -> None:
        self._push(self._clips[-1][0], False)

    def _push(self, hull: BoxTuple, exact: bool) -> None:
        page = self._clips[0][0]
        narrow = (
            self._narrow
            or hull[0] > page[0] + _EDGE
            or hull[1] > page[1] + _EDGE
            or hull[2] < page[2] - _EDGE
            or hull[3] < page[3] - _EDGE
        )
        self._clips.append((hull, exact, narrow))
        self._set_narrow(narrow)

    def _set_narrow(self, narrow: bool) -> None:
        if narrow != self._narrow:
            self._narrow = narrow
            self._watch()

    def _visible(self, box: BoxTuple) -> BoxTuple | None:
        """Return what clips leave of ``box``; None where that is unclear, or too thin for words."""
        hull, exact, _ = self._clips[-1]
        if not exact or any(opacity != 1 for opacity in self._opacities):
            return None
        left = common(hull, box)
        return left if min(left[2] - left[0], left[3] - left[1]) >= _THIN else None


_CALLBACKS = (
    "fill_path",
    "fill_shade",
    "fill_text",
    "stroke_text",
    "ignore_text",
    "fill_image",
    "fill_image_mask",
    "clip_path",
    "clip_stroke_path",
    "clip_text",
    "clip_stroke_text",
    "clip_image_mask",
    "end_mask",
    "pop_clip",
    "begin_group",
    "end_group",
)


def _image(image: Any, matrix: Any, opaque: bool) -> PageImage:
    a, b, c, d, e, f = matrix.a, matrix.b, matrix.c, matrix.d, matrix.e, matrix.f
    xs, ys = (e, e + a, e + c, e + a + c), (f, f + b, f + d, f + b + d)
    across, down = math.hypot(a, b), math.hypot(c, d)
    dpi = 0.0
    if across > 0 and down > 0:
        dpi = max(image.w / across, image.h / down) * _POINTS_PER_INCH
    return PageImage((min(xs), min(ys), max(xs), max(ys)), dpi, opaque)


def _upright(matrix: Any) -> bool:
    """Say whether an image's hull is the image itself."""
    slack = 1e-3 * max(abs(matrix.a), abs(matrix.b), abs(matrix.c), abs(matrix.d))
    turned: bool = abs(matrix.a) <= slack and abs(matrix.d) <= slack
    level: bool = abs(matrix.b) <= slack and abs(matrix.c) <= slack
    return turned or level


def touch(a: BoxTuple, b: BoxTuple) -> bool:
    """Say whether two boxes have any points in common."""
    return a[0] <= b[2] and b[0] <= a[2] and a[1] <= b[3] and b[1] <= a[3]


def common(a: BoxTuple, b: BoxTuple) -> BoxTuple:
    """Return the part of ``a`` that lies in ``b``; its sides are the wrong way round for none."""
    return max(a[0], b[0]), max(a[1], b[1]), min(a[2], b[2]), min(a[3], b[3])


_SRGB = mupdf.FzColorspace(mupdf.FzColorspace.Fixed_RGB)
_CONVERSION = mupdf.FzColorParams()
_CONVERSION_POINTER = _CONVERSION.internal()
"""Asking for it takes longer than ten conversions."""


def _rgb(space: Any, colour: Any) -> Rgb | None:
    if not space:
        return None
    red, green, blue, *_ = mupdf.ll_fz_convert_color(
        space, colour, _SRGB.m_internal, None, _CONVERSION_POINTER
    )
    return red, green, blue
