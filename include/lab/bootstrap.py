"""From any Python to the lab's own environment; standard library only.

The environment is in the cache, under a name made of the pins and of the Python, so every lab and every clone
with the same pins shares it and a warm start costs one ``stat``. It counts only once its stamp is written, last.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from lab.errors import LabError

INCLUDE = Path(__file__).resolve().parents[1]
PROJECT = INCLUDE.parent
REQUIREMENTS = INCLUDE / "requirements" / "requirements-lab.txt"
INSTALLERS = (
    INCLUDE / "requirements" / "requirements-build.txt"
)  # what installs those: uv, and what builds the one without wheels
OLDEST, NEWEST = (3, 11), (3, 14)  # wheels of every pin exist for these; confluent-kafka has none for 3.15
NEEDED_BYTES = 3 * 1024**3
STAMP = ".complete"
MARK = "KAFKA_DR_LAB_ENTERED"


def enter(arguments: Sequence[str]) -> int:
    """Run the lab's command line in the lab's environment, which is made first if it does not exist.

    :returns: the exit code; this process is replaced when another Python has to run the command.
    """
    try:
        check_python(sys.version_info[:2])
        environment = ensure_environment(cache_folder(os.environ), os.environ)
    except LabError as error:
        print(f"lab: {error}", file=sys.stderr)
        return 2
    python = environment / "bin" / "python"
    if Path(sys.prefix).resolve() == environment.resolve():
        from lab.cli import main

        return main(list(arguments))
    if os.environ.get(MARK) == str(environment):
        print(f"lab: {python} does not run in {environment}; remove that folder and try again", file=sys.stderr)
        return 2
    settings = os.environ | {"PYTHONPATH": str(INCLUDE), MARK: str(environment)}
    sys.stdout.flush()
    os.execve(python, [str(python), "-m", "lab", *arguments], settings)  # noqa: S606


def check_python(version: tuple[int, int]) -> None:
    """Refuse a Python that the pinned packages were not built for.

    :raises LabError: the version is out of bounds.
    """
    if not OLDEST <= version <= NEWEST:
        seen, low, high = (".".join(map(str, each)) for each in (version, OLDEST, NEWEST))
        raise LabError(
            f"this is Python {seen}, and the pinned packages exist for Python {low} to {high}: "
            f"call the lab with one of those, for example `python{low} include/lab`"
        )


def cache_folder(environ: Mapping[str, str]) -> Path:
    """Where the environment and the jars are kept: ``KAFKA_DR_CACHE``, else ``~/.cache/kafka-dr``."""
    chosen = environ.get("KAFKA_DR_CACHE")
    return Path(chosen).expanduser().absolute() if chosen else Path.home() / ".cache" / "kafka-dr"


def pins_digest(requirements: str) -> str:
    """Return a digest of the pins and hashes of requirement files; comments change nothing."""
    lines = (line.partition("#")[0].strip() for line in requirements.splitlines())
    return hashlib.sha256("\n".join(line for line in lines if line).encode()).hexdigest()[:16]


def environment_folder(cache: Path, requirements: str) -> Path:
    """The folder of the environment for these pins and this Python."""
    return cache / f"venv-{sys.implementation.cache_tag}-{pins_digest(requirements)}"


def ensure_environment(cache: Path, environ: Mapping[str, str]) -> Path:
    """Return the environment with everything of ``requirements-lab.txt`` in it; make it if it is not there whole.

    :raises LabError: it cannot be made; nothing that could be taken for a whole one is left behind.
    """
    folder = environment_folder(cache, INSTALLERS.read_text() + REQUIREMENTS.read_text())
    if (folder / STAMP).exists():
        return folder
    if importlib.util.find_spec("ensurepip") is None:
        raise LabError(
            "this Python has no `ensurepip`, which makes virtual environments: install it "
            f"(Debian, Ubuntu: `apt install python{sys.version_info[0]}.{sys.version_info[1]}-venv`) and try again"
        )
    with locked(cache, "environment.lock"):
        if (folder / STAMP).exists():  # another command made it while this one waited
            return folder
        check_space(cache, NEEDED_BYTES)
        shutil.rmtree(folder, ignore_errors=True)
        _make(folder, environ)
        (folder / STAMP).touch()
    return folder


def check_space(folder: Path, needed: int) -> None:
    """Refuse to start something that the disk has no room for.

    :raises LabError: fewer than ``needed`` bytes are free.
    """
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise LabError(
            f"the disk of {folder} has {free / 1024**3:.1f} GiB free and {needed / 1024**3:.0f} GiB are needed: "
            "make room, or choose another folder with KAFKA_DR_CACHE (downloads) or --home (the lab)"
        )


def installer_settings(environ: Mapping[str, str]) -> dict[str, str]:
    """Say to uv what the machine says to pip: its indexes, folders of wheels and certificates."""
    settings = dict(environ)
    names = {
        "PIP_INDEX_URL": "UV_DEFAULT_INDEX",
        "PIP_EXTRA_INDEX_URL": "UV_INDEX",
        "PIP_FIND_LINKS": "UV_FIND_LINKS",
        "PIP_CERT": "SSL_CERT_FILE",
    }
    for of_pip, of_uv in names.items():
        if environ.get(of_pip) and not environ.get(of_uv):
            settings[of_uv] = environ[of_pip]
    if settings.get("UV_FIND_LINKS"):
        settings["UV_FIND_LINKS"] = settings["UV_FIND_LINKS"].replace(" ", ",")
    return settings


def installations(python: Path, requirements: Path = REQUIREMENTS) -> tuple[list[str], ...]:
    """The commands that install everything into the environment of a Python; a file without its hash is refused."""
    pip, uv = (
        [str(python), "-m", *each, "install", "--quiet", "--require-hashes"] for each in (["pip"], ["uv", "pip"])
    )
    return (
        [*pip, "-r", str(INSTALLERS)],
        # What has no wheel is built with what was just installed: nothing is downloaded that has no hash here.
        [*uv, "--python", str(python), "--no-build-isolation", "-r", str(requirements)],
    )


def _make(folder: Path, environ: Mapping[str, str]) -> None:
    print("lab: first run with these pins: installing Python packages (about half a minute)", file=sys.stderr)
    python = folder / "bin" / "python"
    settings = installer_settings(environ) | {"VIRTUAL_ENV": str(folder)}
    settings.pop("PYTHONPATH", None)
    for step in ([sys.executable, "-m", "venv", str(folder)], *installations(python)):
        done = subprocess.run(step, env=settings, capture_output=True, text=True, check=False)
        if done.returncode:
            shutil.rmtree(folder, ignore_errors=True)
            raise LabError(
                f"installing the packages of requirements-lab.txt failed: {_last_line(done.stderr or done.stdout)}; "
                "check the network and pip's settings (index, certificates), then run the same command again"
            )


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else "no message"


@contextmanager
def locked(cache: Path, name: str) -> Iterator[None]:
    """Hold a lock of the cache; who else wants it waits, and gets it when its holder ends, however that ends.

    :raises LabError: the cache cannot be written
    """
    try:
        cache.mkdir(parents=True, exist_ok=True)
        handle = (cache / name).open("w")
    except OSError as error:
        raise LabError(f"{cache} cannot be written ({error.strerror}): choose another with KAFKA_DR_CACHE") from error
    with handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
