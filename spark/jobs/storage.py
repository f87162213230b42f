"""Small files that a job writes: in a folder of this machine, or on a file system or object store that Spark reaches.

Airflow reaches the same files by its own paths; both have the methods of ``pathlib.Path`` that are used.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from kafka_dr.errors import TryAgain


def path_of(uri: str, session: SparkSession) -> Any:
    """Return a path.

    :param uri: a path, a ``file://`` URI, or a URI that Spark's Hadoop libraries know
    """
    return local(uri) or HadoopPath(session, uri)


def local(uri: str) -> Path | None:
    """Return a path on this machine, for which no session is needed; ``None`` if the URI is of another storage."""
    path = uri.removeprefix("file://")
    return None if "://" in path else Path(path)


def uri_of(path: str) -> str:
    """Return a path, or a URI, as Spark's executors name it."""
    return path if "://" in path else f"file://{Path(path).absolute()}"


def rename_old_report(out: Any) -> None:
    """Rename the report of an earlier run, so that it is never taken for the report of a run that fails."""
    report = out.joinpath("report.json")
    try:
        report.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return
    report.rename(out.joinpath("report.before.json"))


class HadoopPath:
    """A path that Hadoop's file systems reach.

    :param uri: with its scheme, such as ``s3a://bucket/folder``
    """

    def __init__(self, session: SparkSession, uri: str) -> None:
        self._session = session
        self._uri = uri.rstrip("/")

    def __str__(self) -> str:
        return self._uri

    @property
    def name(self) -> str:
        """The last part."""
        return self._uri.rpartition("/")[2]

    @property
    def parent(self) -> HadoopPath:
        """The folder that contains it."""
        return HadoopPath(self._session, self._uri.rpartition("/")[0])

    def joinpath(self, *parts: str) -> HadoopPath:
        """Return a path below this one."""
        return HadoopPath(self._session, "/".join((self._uri, *parts)))

    def mkdir(self, *, parents: bool, exist_ok: bool) -> None:
        """Create the folder, and those that contain it; an existing folder is kept."""
        if not (parents and exist_ok):
            raise ValueError("Hadoop always creates the parent folders and keeps an existing folder")
        with _one_sentence(self._uri):
            self._files.mkdirs(self._path)

    def iterdir(self) -> Iterator[HadoopPath]:
        """Yield what the folder holds.

        :raises FileNotFoundError: the folder does not exist
        """
        with _one_sentence(self._uri):
            if not self._files.exists(self._path):
                raise FileNotFoundError(self._uri)
            names = [str(status.getPath().getName()) for status in self._files.listStatus(self._path)]
        yield from (self.joinpath(name) for name in names)

    def read_bytes(self) -> bytes:
        """Return the content of the file.

        :raises FileNotFoundError: the file does not exist
        """
        with _one_sentence(self._uri):
            if not self._files.exists(self._path):
                raise FileNotFoundError(self._uri)
            stream = self._files.open(self._path)
            try:
                return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream))
            finally:
                stream.close()

    def open(self, mode: str) -> _Draft:
        """Open the file for writing; the whole file is written when it is closed.

        :param mode: ``wb`` replaces an existing file
        """
        if mode != "wb":
            raise ValueError(f"only whole files are written: the mode is {mode}, expected wb")
        return _Draft(self)

    def rename(self, target: HadoopPath) -> None:
        """Replace another file by this one, at once."""
        with _one_sentence(self._uri):
            options = self._jvm.org.apache.hadoop.fs
            rename = getattr(options, "Options$Rename")
            overwrite = self._session.sparkContext._gateway.new_array(rename, 1)  # type: ignore[union-attr]
            overwrite[0] = rename.OVERWRITE
            context = options.FileContext.getFileContext(self._path.toUri(), self._configuration)
            context.rename(self._path, target._path, overwrite)

    def write(self, content: bytes) -> None:
        """Write the whole file."""
        with _one_sentence(self._uri):
            stream = self._files.create(self._path, True)
            stream.write(bytearray(content))
            stream.close()

    @property
    def _jvm(self) -> Any:
        return self._session._jvm

    @property
    def _configuration(self) -> Any:
        return self._session._jsparkSession.sessionState().newHadoopConf()

    @property
    def _path(self) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self._uri)

    @property
    def _files(self) -> Any:
        return self._path.getFileSystem(self._configuration)


class _Draft(io.BytesIO):
    """Content that is written when the draft is closed without an error."""

    def __init__(self, target: HadoopPath) -> None:
        super().__init__()
        self._target = target

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._target.write(self.getvalue())
        super().__exit__(kind, error, trace)


@contextmanager
def _one_sentence(uri: str) -> Iterator[None]:
    """Turn an error of Java into one sentence."""
    try:
        yield
    except Py4JJavaError as error:
        said = str(error.java_exception.toString()).splitlines()[0]
        raise TryAgain(f"{uri} cannot be read or written: {said}") from None
