"""The Java client, compiled without Maven: its sources and the programs of its tests that need no library."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from tests.paths import REPOSITORY

CLIENT = REPOSITORY / "clients" / "java"
PACKAGE = Path("org", "streamldp", "client")
MAIN = CLIENT / "client" / "src" / "main" / "java"
TESTS = CLIENT / "client" / "src" / "test" / "java"

#: Classes of the tests that need nothing but the client.
PROGRAMS = ("Bench", "ContractProgram", "GatewayProgram")

#: Classes of the client that need a library, which Maven fetches.
WITH_LIBRARIES = ("KafkaSender.java",)

#: A folder for each state of the sources; what is in it is whole.
BUILT = REPOSITORY / "build" / "java"

JAVA = shutil.which("java")
JAVAC = shutil.which("javac")

#: Programs that run for seconds need no long time to get fast. They run in a language whose numbers have other
#: digits: no text that another program reads may have those.
COMPILE = (str(JAVAC), "-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC")
RUN = (str(JAVA), "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Duser.language=ar", "-Duser.country=EG")


def missing() -> str | None:
    """Say what of a JDK is missing; None if it is there."""
    return None if JAVA and JAVAC else "a JDK, which compiles and runs the Java client, is not installed"


def sources() -> list[Path]:
    """List what is compiled."""
    client = sorted(each for each in (MAIN / PACKAGE).glob("*.java") if each.name not in WITH_LIBRARIES)
    return [*client, *(TESTS / PACKAGE / f"{each}.java" for each in PROGRAMS)]


def _folder() -> Path:
    digest = hashlib.sha256(b"".join(each.read_bytes() for each in sources())).hexdigest()
    return BUILT / digest[:16]


def compiled() -> Path:
    """Return the folder of the classes; compile them if no process has done it since they were changed."""
    folder = _folder()
    if not folder.is_dir():
        BUILT.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(dir=BUILT))
        subprocess.run(
            [*COMPILE, "--release", "11", "-Xlint:all,-try", "-Werror", "-d", draft, *sources()],
            check=True,
        )
        try:
            os.rename(draft, folder)
        except OSError:  # another process was faster
            shutil.rmtree(draft)
    return folder


def command(program: str) -> tuple[str, ...]:
    """Return the command that runs a program of the tests."""
    return (*RUN, "-cp", str(_folder()), program)
