"""Writing compound files ([MS-CFB] 9.0), version 3: a file system of storages and streams.

A mail in a mail of Outlook is a storage of it. Written as a file of its own it is one that every
program can open.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass

Tree = Mapping[str, "bytes | Tree"]
"""Streams and storages by name."""

_SECTOR = 512
_MINI_SECTOR = 64
_MINI_CUTOFF = 4096
_END = 0xFFFFFFFE
_FREE = 0xFFFFFFFF
_FAT_SECTOR = 0xFFFFFFFD
_DIFAT_SECTOR = 0xFFFFFFFC
_NONE = 0xFFFFFFFF
_ENTRY = 128
_IN_HEADER = 109
"""Sectors of the allocation table that the header names itself (§2.2)."""
_STORAGE, _STREAM, _ROOT = 1, 2, 5
_BLACK = 1


@dataclass
class _Entry:
    """A directory entry (§2.6.1)."""

    name: str
    kind: int
    data: bytes = b""
    child: int = _NONE
    left: int = _NONE
    right: int = _NONE
    start: int = 0


def write_compound_file(tree: Tree) -> bytes:
    """Return a compound file with ``tree`` at its root, the same bytes each time.

    Raises:
        ValueError: a name is empty or longer than 31 UTF-16 code units.
    """
    entries = [_Entry("Root Entry", _ROOT)]
    _add_children(entries, 0, tree)
    mini = bytearray()
    mini_table: list[int] = []
    for entry in entries:
        if entry.kind == _STREAM and len(entry.data) < _MINI_CUTOFF:
            entry.start = _append(mini, mini_table, entry.data, _MINI_SECTOR)
    body = bytearray()
    table: list[int] = []
    for entry in entries:
        if entry.kind == _STREAM and len(entry.data) >= _MINI_CUTOFF:
            entry.start = _append(body, table, entry.data, _SECTOR)
    entries[0].data = bytes(mini)
    entries[0].start = _append(body, table, entries[0].data, _SECTOR)
    mini_fat = struct.pack(f"<{len(mini_table)}I", *mini_table)
    mini_fat_start = _append(body, table, mini_fat, _SECTOR, fill=b"\xff")
    mini_fat_sectors = -(-len(mini_fat) // _SECTOR)
    directory = b"".join(map(_packed, entries))
    directory += _packed(_Entry("", 0)) * (-len(entries) % (_SECTOR // _ENTRY))
    directory_start = _append(body, table, directory, _SECTOR)
    named, more_start, more_sectors = _append_table(body, table)
    header = struct.pack(
        "<8s16xHHHHH6xIIIIIIIII",
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        0x3E,
        3,
        0xFFFE,
        9,
        6,
        0,
        table.count(_FAT_SECTOR),
        directory_start,
        0,
        _MINI_CUTOFF,
        mini_fat_start,
        mini_fat_sectors,
        more_start,
        more_sectors,
    )
    return header + struct.pack(f"<{_IN_HEADER}I", *named) + bytes(body)


def _append_table(body: bytearray, table: list[int]) -> tuple[list[int], int, int]:
    """Append the allocation table, and the sectors that say where it is.

    Returns:
        The sectors of the table that the header names; the first of the sectors that name the
        others; and how many these are.
    """
    per_sector = _SECTOR // 4
    used, fat, more = len(table), 0, 0
    # The table has entries for its own sectors and for those that name them.
    while fat * per_sector < used + fat + more:
        fat += 1
        more = -(-max(0, fat - _IN_HEADER) // (per_sector - 1))
    table += [_FAT_SECTOR] * fat + [_DIFAT_SECTOR] * more
    table += [_FREE] * (fat * per_sector - len(table))
    body += struct.pack(f"<{len(table)}I", *table)
    sectors = [*range(used, used + fat)]
    named = sectors[:_IN_HEADER] + [_FREE] * (_IN_HEADER - fat)
    first = used + fat
    for number in range(more):
        start = _IN_HEADER + number * (per_sector - 1)
        part = sectors[start : start + per_sector - 1]
        part += [_FREE] * (per_sector - 1 - len(part))
        part.append(first + number + 1 if number + 1 < more else _END)
        body += struct.pack(f"<{per_sector}I", *part)
    return named, first if more else _END, more


def _add_children(entries: list[_Entry], parent: int, tree: Tree) -> None:
    numbers = []
    # Siblings are ordered by the length of their names and then by these in capitals (§2.6.4).
    for name in sorted(tree, key=lambda name: (len(name), name.upper())):
        value = tree[name]
        numbers.append(len(entries))
        if isinstance(value, bytes):
            entries.append(_Entry(name, _STREAM, value))
        else:
            entries.append(_Entry(name, _STORAGE))
            _add_children(entries, numbers[-1], value)
    entries[parent].child = _balanced(entries, numbers)


def _balanced(entries: list[_Entry], numbers: list[int]) -> int:
    """Make a search tree of siblings, all of them black, and return its root."""
    if not numbers:
        return _NONE
    middle = len(numbers) // 2
    root = numbers[middle]
    entries[root].left = _balanced(entries, numbers[:middle])
    entries[root].right = _balanced(entries, numbers[middle + 1 :])
    return root


def _append(
    target: bytearray, table: list[int], data: bytes, sector: int, fill: bytes = b"\0"
) -> int:
    """Append ``data`` in whole sectors, chain them, and return the first; the end if empty."""
    if not data:
        return _END
    first = len(table)
    count = -(-len(data) // sector)
    target += data + fill * (count * sector - len(data))
    table += [*range(first + 1, first + count), _END]
    return first


def _packed(entry: _Entry) -> bytes:
    name = entry.name.encode("utf-16-le")
    if len(name) > 62 or (entry.kind and not name):
        raise ValueError(f"{entry.name!r} is no name for a storage or a stream")
    return struct.pack(
        "<64sHBBIII16x4x8x8xIQ",
        name,
        len(name) + 2 if name else 0,
        entry.kind,
        _BLACK,
        entry.left,
        entry.right,
        entry.child,
        entry.start if entry.kind in (_STREAM, _ROOT) else 0,
        len(entry.data),
    )
