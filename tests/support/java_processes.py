"""Java processes next to a lab, which start as quickly as those of the lab."""

from __future__ import annotations

import os

from lab import class_archives, jars, java
from lab.bootstrap import cache_folder
from lab.jvm import Jvm


def java_processes() -> Jvm:
    """Return the lab's Kafka and Java, with the archives of their classes where this machine has them."""
    home, cache = java.java_home(os.environ), cache_folder(os.environ)
    kafka = jars.obtain(jars.KAFKA, cache=cache, environ=os.environ, progress=lambda *_: None)
    return Jvm(home, kafka, class_archives.folder_of(cache, java_home=home, kafka=kafka))
