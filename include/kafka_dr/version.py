"""The version of this project, as every page of a run, the status page and the command line say it."""

from __future__ import annotations

VERSION = "0.1.0"
