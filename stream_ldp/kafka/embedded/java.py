"""Find the Java that runs the embedded Kafka."""

from __future__ import annotations

import os
import re
import shutil

from stream_ldp.kafka.embedded.broker import MissingTool
from stream_ldp.kafka.embedded.process import last_lines, run

MINIMUM_JAVA = 17


def find_java() -> str:
    """Return the path of a java that is recent enough: that of JAVA_HOME if it is set, otherwise the one on PATH.

    Raises:
        MissingTool: there is none, or it is too old.
    """
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=f"{home}/bin") if home else shutil.which("java")
    if java is None:
        where = f"JAVA_HOME ({home})" if home else "PATH"
        raise MissingTool(f"no java on {where}: the embedded Kafka needs a Java {MINIMUM_JAVA} runtime or later")
    answer = run(java, "-version").stdout
    version = re.search(r'version "(?:1\.)?(\d+)', answer)
    if version is None:
        raise MissingTool(f"{java} -version does not print its version:\n{last_lines(answer)}")
    if int(version[1]) < MINIMUM_JAVA:
        raise MissingTool(f"{java} is Java {version[1]}: the embedded Kafka needs {MINIMUM_JAVA} or later")
    return java
