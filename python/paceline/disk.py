"""The only calls that write files: one place to see, and to let fail, every write."""

from __future__ import annotations

import os
from pathlib import Path


def append(descriptor: int, content: bytes) -> None:
    """Appends all of it, or raises."""
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def sync(descriptor: int) -> None:
    """Returns when what was written would survive a power cut."""
    os.fsync(descriptor)


def sync_folder(folder: Path) -> None:
    """The same for the names of its files."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        sync(descriptor)
    finally:
        os.close(descriptor)


def replace(temporary: Path, target: Path) -> None:
    """A file that is written whole takes its place."""
    temporary.replace(target)
    sync_folder(target.parent)


def write_beside(target: Path, content: bytes, mark: str = "") -> Path:
    """A file with this content under a temporary name beside its target, on the disk, with its folder.

    Where several processes may write the same target, the `mark` tells their files apart.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}{mark}.part")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        try:
            append(descriptor, content)
            sync(descriptor)
        finally:
            os.close(descriptor)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return temporary


def write(target: Path, content: bytes) -> None:
    """A file with this content: a reader sees the old one or the new one, never a part."""
    temporary = write_beside(target, content)
    try:
        replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
