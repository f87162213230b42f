"""The modules that tasks import, sent to executors: nothing of this project has to be installed where they run.

They run Python of the driver's version with numpy and pyarrow.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from pathlib import Path

from pyspark import SparkFiles
from pyspark.sql import SparkSession

import copy_audit
import kafka_dr.audit

_ALWAYS = (1980, 1, 1, 0, 0, 0)


def send_modules(session: SparkSession) -> None:
    """Let tasks of this application import ``copy_audit``, and what it imports. Sent once, it is not sent again."""
    context, content = session.sparkContext, archive()
    # Drivers that share an application add the same file.
    path = Path(SparkFiles.getRootDirectory()) / f"kafka_dr-{hashlib.sha256(content).hexdigest()[:16]}.zip"
    if path.name not in (context._python_includes or ()):
        if not path.exists():
            draft = path.with_suffix(".part")
            draft.write_bytes(content)
            draft.replace(path)
        context.addPyFile(str(path))


def archive() -> bytes:
    """Return the modules in one file; it is the same for the same modules."""
    core, compared = Path(kafka_dr.audit.__path__[0]).parent, Path(copy_audit.__path__[0])
    files = {*compared.glob("*.py"), *core.glob("*.py"), *core.glob("audit/*.py")}
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(files):
            root = compared if compared in file.parents else core
            archive.writestr(zipfile.ZipInfo(str(file.relative_to(root.parent)), _ALWAYS), file.read_bytes())
    return content.getvalue()
