"""Archives of the classes that Kafka's processes load: a process that has one starts with a third of the work.

An archive belongs to one Java and one set of jars (class data sharing, JEP 350). It is made once for each cache, when
the processes of a short-lived lab end, and used by every lab afterwards. A process whose archive is missing or does not
fit starts without it.
"""

from __future__ import annotations

import hashlib
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from lab import jars, java
from lab.bootstrap import cache_folder, locked
from lab.errors import LabError
from lab.layout import Home

#: Where a lab's process of each main class keeps its files; the other datacenter loads the same classes.
PROCESS_FOLDERS: Mapping[str, Callable[[Home], Path]] = {
    "kafka.Kafka": lambda home: home.broker("east-broker-1"),
    "org.apache.kafka.connect.cli.ConnectDistributed": lambda home: home.connect("east"),
}
#: Main classes that load what another one loads, and use its archive.
_ALIKE = {"org.apache.kafka.connect.mirror.MirrorMaker": "org.apache.kafka.connect.cli.ConnectDistributed"}
_BASE = "base.jsa"
#: What a process writes when it ends, in its own folder.
_WRITTEN = "classes.jsa"
_DUMP_SECONDS = 120.0


def folder_of(cache: Path, *, java_home: Path, kafka: Path) -> Path:
    """Return where the archives for a Java and a folder of jars are, whether they exist or not."""
    release = java_home / "release"
    known = [str(java_home), release.read_text() if release.exists() else ""]
    known += [f"{jar} {jar.stat().st_size} {jar.stat().st_mtime_ns}" for jar in sorted(kafka.glob("*.jar"))]
    return cache / "classes" / hashlib.sha256("\n".join(known).encode()).hexdigest()[:16]


def options(folder: Path | None, main_class: str) -> tuple[str, ...]:
    """Return the arguments of a Java process that uses the archive of its main class, if there is one."""
    archive = folder / f"{_ALIKE.get(main_class, main_class)}.jsa" if folder else None
    # A line of Java's own about an archive that does not fit would be the first of what a tool prints.
    return (f"-XX:SharedArchiveFile={archive}", "-Xlog:cds*=off") if archive and archive.exists() else ()


def recording_options(folder: Path, process_folder: Path) -> tuple[str, ...]:
    """Return the arguments of a Java process that writes an archive of what it has loaded when it ends.

    :param process_folder: of the process's own files; see :func:`keep`
    """
    base = folder / _BASE
    archive = (f"-XX:ArchiveClassesAtExit={process_folder / _WRITTEN}", "-Xlog:cds*=off")
    return (f"-XX:SharedArchiveFile={base}", *archive) if base.exists() else archive


def make(environ: Mapping[str, str], run_lab: Callable[[Path], None]) -> None:
    """Make the archives of this machine's cache unless they exist.

    :param environ: names the cache and another Java
    :param run_lab: starts a lab in a folder with ``recording`` and ends it politely
    :raises LabError: Java makes no archive
    """
    cache = cache_folder(environ)
    kafka = jars.obtain(jars.KAFKA, cache=cache, environ=environ, progress=lambda _done, _of: None)
    home = java.java_home(environ)
    folder = folder_of(cache, java_home=home, kafka=kafka)
    with locked(cache, "classes.lock"):
        if all((folder / f"{name}.jsa").exists() for name in PROCESS_FOLDERS):
            return
        folder.mkdir(parents=True, exist_ok=True)
        _make_base(folder, home)
        with tempfile.TemporaryDirectory(prefix="kafka-dr-classes-") as made:
            run_lab(Path(made) / "lab")
            keep(Home(Path(made) / "lab"), folder)


def keep(home: Home, folder: Path) -> None:
    """Take the archives that the processes of a lab wrote when they ended."""
    for main_class, process_folder in PROCESS_FOLDERS.items():
        archive = process_folder(home) / _WRITTEN
        if not archive.exists():
            raise LabError(f"{main_class} wrote no {archive} when it ended: see whether {home.root} has space left")
        draft = folder / f".{main_class}.jsa"
        draft.write_bytes(archive.read_bytes())
        draft.replace(folder / f"{main_class}.jsa")


def _make_base(folder: Path, java_home: Path) -> None:
    """Make the archive of Java's own classes if this Java came without it; the others refer to it."""
    if any((java_home / "lib" / "server").glob("*.jsa")) or (folder / _BASE).exists():
        return
    draft = folder / f".{_BASE}"
    argv = [str(java_home / "bin" / "java"), "-Xshare:dump", "-XX:+UseSerialGC", f"-XX:SharedArchiveFile={draft}"]
    try:
        subprocess.run(argv, check=True, capture_output=True, timeout=_DUMP_SECONDS)
    except (OSError, subprocess.SubprocessError) as error:
        raise LabError(f"{argv[0]} makes no class archive: {error}") from error
    draft.replace(folder / _BASE)
