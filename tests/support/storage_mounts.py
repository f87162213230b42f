"""File systems that really hang, or are really full, mounted over a folder. Only root may mount them."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_DETACH = 2
_LIBC = ctypes.CDLL(None, use_errno=True)


@contextmanager
def hanging(folder: Path) -> Iterator[None]:
    """Let every access to a folder hang: a FUSE file system whose server never answers, as a dead NFS server does."""
    try:
        channel = os.open("/dev/fuse", os.O_RDWR)
    except OSError as error:
        pytest.skip(f"NOT TESTED: a file system that hangs needs /dev/fuse ({error})")
    try:
        with _mounted("fuse", folder, f"fd={channel},rootmode=40000,user_id=0,group_id=0"):
            yield
    finally:
        os.close(channel)


@contextmanager
def full(folder: Path) -> Iterator[None]:
    """Let a folder be on a disk without any space, and empty."""
    with _mounted("tmpfs", folder, "size=4k,nr_inodes=1"):
        yield


@contextmanager
def _mounted(kind: str, folder: Path, options: str) -> Iterator[None]:
    if _LIBC.mount(b"test", os.fsencode(folder), kind.encode(), 0, options.encode()) != 0:
        pytest.skip(f"NOT TESTED: this user may not mount {kind} ({os.strerror(ctypes.get_errno())})")
    try:
        yield
    finally:
        assert _LIBC.umount2(os.fsencode(folder), _DETACH) == 0, os.strerror(ctypes.get_errno())
