"""The Java processes of the lab: class path, memory, logging."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lab import class_archives

_LOGGING = """\
status = error
rootLogger.level = INFO
rootLogger.appenderRef.out.ref = out
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d{ISO8601}{UTC}Z %-5p %c{1}: %m%n
logger.configs.name = org.apache.kafka.common.config.AbstractConfig
logger.configs.level = WARN
logger.reflections.name = org.reflections
logger.reflections.level = ERROR
"""


@dataclass(frozen=True, slots=True)
class Jvm:
    """What every Java process of the lab has in common."""

    java_home: Path
    jars: Path
    #: Where archives of classes are, see :mod:`lab.class_archives`; ``None``: none is used.
    archives: Path | None = None
    #: Whether each process writes such an archive when it ends.
    recording: bool = False

    def argv(self, main_class: str, *arguments: str, heap_megabytes: int, folder: Path) -> tuple[str, ...]:
        """The command line of one Java process.

        :param folder: of the process's own files; its logging settings are written there.
        """
        logging = folder / "log4j2.properties"
        logging.write_text(_LOGGING)
        return (
            str(self.java_home / "bin" / "java"),
            f"-Xms{min(heap_megabytes, 128)}m",
            f"-Xmx{heap_megabytes}m",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",  # saves a third of the start; a lab lives too briefly to earn it back
            "-XX:MaxMetaspaceSize=192m",
            "-Xshare:auto",
            *self._archive(main_class, folder),
            "-Djava.awt.headless=true",
            f"-Dlog4j2.configurationFile={logging}",
            f"-Dkafka.logs.dir={folder}",
            "-cp",
            f"{self.jars}/*",
            main_class,
            *arguments,
        )

    def _archive(self, main_class: str, folder: Path) -> tuple[str, ...]:
        if self.recording and self.archives is not None:
            return class_archives.recording_options(self.archives, folder)
        return class_archives.options(self.archives, main_class)
