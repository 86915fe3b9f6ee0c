"""The only calls that write files: one place to see, and to let fail, every write."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
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


def within(folder: Path, name: str) -> Path:
    """The path of a file in a folder, by its name there, which may have folders of its own.

    Raises:
        OSError: The name leads out of the folder, or a link stands where it has a folder.
    """
    parts = Path(name).parts
    if not parts or Path(name).is_absolute() or ".." in parts or "\0" in name:
        raise OSError(errno.EINVAL, "found a name that leads out of its folder", str(folder / name))
    for place in range(1, len(parts)):
        on_the_way = folder.joinpath(*parts[:place])
        if on_the_way.is_symlink():
            raise OSError(errno.ELOOP, f"found a link, expected a folder: {on_the_way}", str(on_the_way))
    return folder.joinpath(*parts)


def opened(path: Path, flags: int) -> int:
    """A descriptor of a file, made if the flags say so, which is no link, folder or pipe.

    Raises:
        OSError: It is something else, or cannot be opened.
    """
    if path.is_symlink():
        raise OSError(errno.ELOOP, "found a link, expected a file", str(path))
    # A pipe would be waited for.
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "found something else than a file", str(path))
    return descriptor


def read(path: Path) -> bytes:
    """The content of a file, which is no link, folder or pipe."""
    with os.fdopen(opened(path, os.O_RDONLY), "rb") as file:
        return file.read()


def digest(path: Path) -> str:
    """SHA-256 of a file, which is no link, folder or pipe."""
    found = hashlib.sha256()
    with os.fdopen(opened(path, os.O_RDONLY), "rb") as file:
        while block := file.read(1 << 20):
            found.update(block)
    return found.hexdigest()


def created(path: Path) -> int:
    """A descriptor of a new file; a link of that name is removed, and what it leads to stays as it is."""
    path.unlink(missing_ok=True)
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)


def write_new(path: Path, content: bytes) -> None:
    """A new file with this content.

    Raises:
        FileExistsError: Something has that name: it stays as it is.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
    try:
        append(descriptor, content)
        sync(descriptor)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)


def own_folder(path: Path) -> None:
    """Makes a folder if there is none; what stands there may not be a link to another one."""
    path.mkdir(parents=True, exist_ok=True)
    if path.is_symlink():
        raise OSError(errno.ELOOP, "found a link, expected a folder", str(path))


def remove(path: Path) -> None:
    """Removes a file, or a folder with all that is in it; of a link the link alone."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def is_file(path: Path) -> bool:
    """Whether there is a file, by a name of whatever length."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def is_folder(path: Path) -> bool:
    """The same of a folder."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


BUFFERED = 1 << 16
"""Bytes of parts that are written together."""


def append_parts(descriptor: int, parts: Iterable[bytes]) -> None:
    """Appends all of them, of any size, as they come."""
    waiting = bytearray()
    for part in parts:
        waiting += part
        if len(waiting) >= BUFFERED:
            append(descriptor, bytes(waiting))
            waiting.clear()
    append(descriptor, bytes(waiting))


def write_beside(target: Path, content: bytes | Iterable[bytes], mark: str = "") -> Path:
    """A file with this content under a temporary name beside its target, on the disk, with its folder.

    Where several processes may write the same target, the `mark` tells their files apart.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}{mark}.part")
    try:
        descriptor = created(temporary)
        try:
            append_parts(descriptor, [content] if isinstance(content, bytes) else content)
            sync(descriptor)
        finally:
            os.close(descriptor)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return temporary


def remove_unfinished(folder: Path) -> None:
    """Removes what killed processes had written beside its target, below a folder that nobody else writes to now."""
    for temporary in folder.rglob(".*.part"):
        temporary.unlink(missing_ok=True)


@contextmanager
def locked(folder: Path) -> Iterator[int]:
    """Holds the lock of a folder, as long as this process lives and the block runs; its descriptor."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


LOCKED_WITHIN_S = 1.0
"""A temporary folder that is older is locked by whoever made it, if that is still there."""


@contextmanager
def temporary_folder(parent: Path, prefix: str) -> Iterator[Path]:
    """A folder that is gone after the block, and those below `parent` that killed processes left under this prefix."""
    for left in parent.glob(f"{prefix}*"):
        _remove_left(left)
    folder = Path(tempfile.mkdtemp(dir=parent, prefix=prefix))
    try:
        with locked(folder):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_left(folder: Path) -> None:
    """Removes a folder of ours that no process holds the lock of, or is about to."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        found = os.fstat(descriptor)
        if found.st_uid == os.geteuid() and time.time() - found.st_mtime > LOCKED_WITHIN_S:
            shutil.rmtree(folder, ignore_errors=True)
    except OSError:
        return
    finally:
        os.close(descriptor)


def expect_file(target: Path) -> None:
    """Raises if there is something else than a file, which cannot be replaced by one; a link can."""
    if target.is_dir() and not target.is_symlink():
        raise IsADirectoryError(errno.EISDIR, "found a folder, expected a file")
    if target.exists() and not target.is_file() and not target.is_symlink():
        raise OSError(errno.EINVAL, "found something else than a file")


def write(target: Path, content: bytes | Iterable[bytes]) -> None:
    """A file with this content: a reader sees the old one or the new one, never a part."""
    expect_file(target)
    temporary = write_beside(target, content)
    try:
        replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
