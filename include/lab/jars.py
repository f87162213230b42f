"""The locked jars: fetched once, every one checked against its sha256, kept in the cache."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

import tenacity

from lab.bootstrap import check_space, locked
from lab.errors import LabError

LOCKS = Path(__file__).resolve().parent / "jar_locks"
KAFKA = LOCKS / "kafka-4.3.1.lock"
#: The last line of Kafka before 4, which many clusters run: for tests of what its brokers answer.
FORMER_KAFKA = LOCKS / "kafka-3.9.1.lock"
NEXT_KAFKA = LOCKS / "kafka-4.4.0.lock"
#: The versions that brokers of a lab can have.
BROKERS: Mapping[str, Path] = {each.stem.removeprefix("kafka-"): each for each in (FORMER_KAFKA, KAFKA, NEXT_KAFKA)}
#: For a test of a Connect that asks for a login; no worker of the lab runs it.
CONNECT_BASIC_AUTH = LOCKS / "connect-basic-auth-4.3.1.lock"
#: For a test of an application of Kafka Streams.
KAFKA_STREAMS = LOCKS / "kafka-streams-4.3.1.lock"
SPARK_KAFKA = LOCKS / "spark-kafka-4.2.0.lock"
MIRROR = "KAFKA_DR_MAVEN_MIRROR"
NEEDED_BYTES = 512 * 1024**2
THREADS = 8
ATTEMPTS = 5
PATIENCE_SECONDS = 30.0

Progress = Callable[[int, int], None]
Sleep = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class LockedJar:
    """One line of a lock file."""

    sha256: str
    group: str
    artifact: str
    version: str

    @property
    def file_name(self) -> str:
        """Name of the jar's file."""
        return f"{self.artifact}-{self.version}.jar"

    def __str__(self) -> str:
        """Maven's way to write it."""
        return f"{self.group}:{self.artifact}:{self.version}"


def read_lock(path: Path) -> tuple[LockedJar, ...]:
    """Read a lock file: ``sha256  group:artifact:version`` a line, ``#`` begins a comment."""
    jars = []
    for line in path.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            sha256, coordinate = line.split()
            group, artifact, version = coordinate.split(":")
            jars.append(LockedJar(sha256=sha256, group=group, artifact=artifact, version=version))
    return tuple(jars)


def obtain(
    lock: Path, *, cache: Path, environ: Mapping[str, str], progress: Progress, sleep: Sleep = time.sleep
) -> Path:
    """Return a folder with exactly the jars of the lock; fetch what the cache lacks or holds damaged.

    Of several commands one fetches, and the others find what it has fetched.

    :param progress: called with the number of jars that are there and the number of all.
    :param sleep: waits so many seconds before a server that could not be reached is asked again
    :raises LabError: a jar cannot be fetched, or is not the one that was locked; nothing unchecked stays.
    """
    folder = cache / "jars" / lock.stem
    jars = read_lock(lock)
    if _missing(jars, folder):
        with locked(cache, "jars.lock"):
            folder.mkdir(parents=True, exist_ok=True)
            check_space(folder, NEEDED_BYTES)
            missing = _missing(jars, folder)
            there = len(jars) - len(missing)
            _fetch_all(missing, folder, environ.get(MIRROR), lambda done: progress(there + done, len(jars)), sleep)
    wanted = {jar.file_name for jar in jars}
    for stranger in folder.glob("*.jar"):
        if stranger.name not in wanted:
            stranger.unlink()
    return folder


def _missing(jars: Sequence[LockedJar], folder: Path) -> list[LockedJar]:
    return [jar for jar in jars if not _is_whole(folder / jar.file_name, jar)]


def _fetch_all(
    jars: list[LockedJar], folder: Path, mirror: str | None, progress: Callable[[int], None], sleep: Sleep
) -> None:
    scratch = tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder.parent)
    with scratch, ThreadPoolExecutor(THREADS) as pool:
        fetches = [pool.submit(_fetch, jar, folder, Path(scratch.name), mirror, sleep) for jar in jars]
        try:
            for number, fetch in enumerate(as_completed(fetches), start=1):
                fetch.result()
                progress(number)
        except LabError:
            pool.shutdown(cancel_futures=True)
            raise


def _fetch(jar: LockedJar, folder: Path, scratch: Path, mirror: str | None, sleep: Sleep) -> None:
    source = mirror or "Maven Central"
    try:
        fetched = _resolve_patiently(jar, scratch, mirror, sleep)
    except Exception as error:
        raise LabError(
            f"{jar} could not be fetched from {source} ({error}): check the network or the disk, "
            f"or name a mirror of Maven Central in {MIRROR}, then run the same command again"
        ) from error
    if not _is_whole(fetched, jar):
        raise LabError(
            f"{jar} from {source} has sha256 {_sha256(fetched)} and the lock says {jar.sha256}: "
            f"it is not the jar that was tested, so it was thrown away; look at what serves it ({MIRROR})"
        )
    draft = folder / f".{jar.file_name}.{os.getpid()}"
    try:
        shutil.copyfile(fetched, draft)
        draft.replace(folder / jar.file_name)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise LabError(f"{folder} cannot be written ({error.strerror}): make room and try again") from error


def _resolve_patiently(jar: LockedJar, scratch: Path, mirror: str | None, sleep: Sleep) -> Path:
    """Ask again where the server could not be reached: one of hundreds may meet a name service at fault."""
    asking = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(OSError),  # as those of `requests` are
        stop=tenacity.stop_after_attempt(ATTEMPTS) | tenacity.stop_after_delay(PATIENCE_SECONDS),
        wait=tenacity.wait_random_exponential(max=8.0),
        sleep=sleep,
        reraise=True,
    )
    for attempt in asking:
        with attempt:
            number = attempt.retry_state.attempt_number
            return _resolve(jar, scratch / str(number), mirror)  # half a jar of another attempt would be in the way
    raise AssertionError("the last attempt returns or raises")


def _resolve(jar: LockedJar, scratch: Path, mirror: str | None) -> Path:
    from jgo.maven import MavenContext

    remotes = {"mirror": mirror.rstrip("/")} if mirror else None
    context = MavenContext(repo_cache=scratch, local_repos=[], remote_repos=remotes, timeout=60)
    return Path(context.project(jar.group, jar.artifact).at_version(jar.version).artifact().resolve())


def _is_whole(path: Path, jar: LockedJar) -> bool:
    return path.exists() and _sha256(path) == jar.sha256


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
