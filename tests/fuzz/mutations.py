"""Ways in which files get damaged, each drawn from a seeded generator."""

from __future__ import annotations

import io
import random
import re
import zipfile
import zlib
from collections.abc import Callable, Sequence

Mutation = Callable[[bytes, random.Random, Sequence[bytes]], bytes]
_STREAM = re.compile(rb"stream\r?\n(.*?)\r?\nendstream", re.DOTALL)
_NUMBER = re.compile(rb"\d+")
_EXTREMES = (b"0", b"-1", b"65536", b"2147483648", b"99999999999999999999", b"1e400")


def flip_bits(data: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    """Flip single bits, as bad memory and bad disks do."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 4, 16, 64))):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def truncate(data: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    """Lose the end, as a broken download does."""
    return data[: rng.randrange(1, len(data))]


def lose_start(data: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    """Lose the beginning."""
    return data[rng.randrange(1, min(len(data), 2048)) :]


def zero_block(data: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    """Overwrite a block with zeros, as a file system does after a crash."""
    start = rng.randrange(len(data))
    length = rng.choice((16, 512, 4096))
    return data[:start] + b"\0" * min(length, len(data) - start) + data[start + length :]


def swap_blocks(data: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    """Exchange two blocks of the file."""
    size = max(1, min(len(data) // 4, rng.choice((32, 256, 2048))))
    a, b = sorted((rng.randrange(len(data) - size), rng.randrange(len(data) - size)))
    b = max(b, a + size)
    return (
        data[:a] + data[b : b + size] + data[a + size : b] + data[a : a + size] + data[b + size :]
    )


def repeat_block(data: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    """Write a block many times over."""
    start = rng.randrange(len(data))
    block = data[start : start + rng.choice((8, 128, 1024))]
    return data[:start] + block * rng.choice((2, 50)) + data[start:]


def splice(data: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    """Go on with another file from somewhere."""
    other = rng.choice(others)
    return data[: rng.randrange(1, len(data))] + other[rng.randrange(len(other)) :]


def extreme_number(data: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    """Replace a number in the file by one that no writer means."""
    found = list(_NUMBER.finditer(data))
    if not found:
        return flip_bits(data, rng, others)
    match = rng.choice(found)
    return data[: match.start()] + rng.choice(_EXTREMES) + data[match.end() :]


def damage_inside(data: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    """Damage what is compressed: a part of an archive, or a stream of a PDF."""
    inner = rng.choice((flip_bits, truncate, swap_blocks, repeat_block, extreme_number))
    if data.startswith(b"PK"):
        return _in_archive(data, rng, others, inner)
    streams = list(_STREAM.finditer(data))
    if not streams:
        return inner(data, rng, others)
    if len(streams) > 1 and rng.random() < 0.3:
        a, b = rng.sample(streams, 2)
        first, second = sorted((a, b), key=lambda match: match.start())
        return (
            data[: first.start(1)]
            + second[1]
            + data[first.end(1) : second.start(1)]
            + first[1]
            + data[second.end(1) :]
        )
    stream = rng.choice(streams)
    try:
        content = zlib.compress(inner(zlib.decompress(stream[1]) or b"\n\n\n\n\n", rng, others))
    except zlib.error:
        content = inner(stream[1] or b"\n\n\n\n\n", rng, others)
    return data[: stream.start(1)] + content + data[stream.end(1) :]


def _in_archive(data: bytes, rng: random.Random, others: Sequence[bytes], inner: Mutation) -> bytes:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        name = rng.choice([name for name, member in members.items() if len(member) > 8])
    except (zipfile.BadZipFile, zlib.error, EOFError, IndexError, NotImplementedError):
        return inner(data, rng, others)  # a mutation before this one went too far in
    members[name] = inner(members[name], rng, others)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    return buffer.getvalue()


MUTATIONS: tuple[Mutation, ...] = (
    flip_bits,
    truncate,
    lose_start,
    zero_block,
    swap_blocks,
    repeat_block,
    splice,
    extreme_number,
    damage_inside,
    damage_inside,
)
"""What can be compressed is damaged inside as often as outside: outside, most die at the door."""
