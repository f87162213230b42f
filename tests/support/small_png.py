"""A picture of a page in few bytes: a page has few colours, so each point is a number of one."""

from __future__ import annotations

import struct
import zlib
from collections import Counter
from itertools import chain

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
#: How many colours a palette has, and the bits of a colour that are kept where a page has more.
_MOST, _KEPT = 256, 0xF8


def small_png(png: bytes) -> bytes:
    """Return a picture with a palette of at most 256 colours.

    :param png: of 8 bits for each of three or four colours, without interlacing
    """
    width, height, channels, rows = _read(png)
    points = [[row[at : at + 3] for at in range(0, len(row), channels)] for row in rows]
    counted = Counter(chain.from_iterable(points))
    if len(counted) > _MOST:
        points = [[bytes(each & _KEPT | each >> 5 for each in point) for point in row] for row in points]
        counted = Counter(chain.from_iterable(points))
    palette = [point for point, _ in counted.most_common(_MOST)]
    number = {point: at for at, point in enumerate(palette)}
    for point in counted.keys() - number.keys():
        number[point] = min(range(len(palette)), key=lambda at: _distance(palette[at], point))
    lines = b"".join(b"\0" + bytes(number[point] for point in row) for row in points)
    head = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    parts = ((b"IHDR", head), (b"PLTE", b"".join(palette)), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b""))
    return _SIGNATURE + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts
    )


def _read(png: bytes) -> tuple[int, int, int, list[bytes]]:
    """Return width, height, bytes of a point, and the rows of a picture, without their filters."""
    at, data, head = len(_SIGNATURE), b"", b""
    while at < len(png):
        (size,), kind = struct.unpack(">I", png[at : at + 4]), png[at + 4 : at + 8]
        part = png[at + 8 : at + 8 + size]
        head, data = (part, data) if kind == b"IHDR" else (head, data + part if kind == b"IDAT" else data)
        at += size + 12
    width, height, depth, colours, *_, interlaced = struct.unpack(">IIBBBBB", head)
    assert (depth, interlaced) == (8, 0)
    channels = {2: 3, 6: 4}[colours]
    lines, rows, size = zlib.decompress(data), list[bytes](), width * channels
    for number in range(height):
        kind, line = lines[number * (size + 1)], lines[number * (size + 1) + 1 : (number + 1) * (size + 1)]
        rows.append(_unfiltered(kind, line, rows[-1] if rows else bytes(size), channels))
    return width, height, channels, rows


def _unfiltered(kind: int, line: bytes, above: bytes, channels: int) -> bytes:
    found = bytearray(line)
    for at in range(len(found) if kind else 0):
        left = found[at - channels] if at >= channels else 0
        corner = above[at - channels] if at >= channels else 0
        guess = (0, left, above[at], (left + above[at]) // 2, _paeth(left, above[at], corner))[kind]
        found[at] = (found[at] + guess) & 0xFF
    return bytes(found)


def _paeth(left: int, above: int, corner: int) -> int:
    straight = left + above - corner
    return min((left, above, corner), key=lambda each: abs(straight - each))


def _distance(one: bytes, other: bytes) -> int:
    return sum((left - right) ** 2 for left, right in zip(one, other, strict=True))
