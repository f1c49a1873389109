"""Let a coverage-guided fuzzer loose on the decoders, one process for each.

python -m tests.fuzz --seconds 60 batches partials
"""

import argparse
import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

#: Longest input in bytes: some records of each kind, so that the fuzzer tries many.
MAX_BYTES = 4_096


def fuzz(name: str, *, seconds: int) -> subprocess.CompletedProcess[str]:
    """Try a decoder for so many seconds in a process of its own, which ends with the first fault."""
    command = [sys.executable, "-m", "tests.fuzz", "--alone", "--seconds", str(seconds), name]
    # The fuzzer ends its process without any cleaning up.
    with tempfile.TemporaryDirectory(prefix="stream-ldp-fuzz-") as scratch:
        environment = {**os.environ, "TMPDIR": scratch}
        return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def _alone(name: str, *, seconds: int) -> None:
    import atheris  # noqa: PLC0415  # needed by this process alone

    with atheris.instrument_imports(include=["stream_ldp"]):
        from tests.fuzz.decoders import DECODERS  # noqa: PLC0415

    decoder = DECODERS[name]
    with tempfile.TemporaryDirectory(prefix="stream-ldp-corpus-") as corpus:
        for number, example in enumerate(decoder.examples()):
            (Path(corpus) / str(number)).write_bytes(example)
        flags = [f"-max_total_time={seconds}", f"-max_len={MAX_BYTES}", "-rss_limit_mb=1500", "-timeout=10"]
        flags += [f"-artifact_prefix={corpus}/", "-close_fd_mask=0"]
        decoder.warm()
        atheris.Setup([sys.argv[0], *flags, corpus], partial(decoder.check, timed=True))
        atheris.Fuzz()


def main() -> None:
    """Fuzz what the command line names; the exit status is 1 if there was a fault."""
    arguments = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    arguments.add_argument("names", nargs="*", help="decoders to try; all if none is named")
    arguments.add_argument("--seconds", type=int, default=30, help="for each")
    arguments.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.alone:
        _alone(given.names[0], seconds=given.seconds)
        return
    from rich.console import Console  # noqa: PLC0415

    from tests.fuzz.decoders import DECODERS  # noqa: PLC0415

    console = Console(soft_wrap=True, highlight=False, markup=False)
    faults = 0
    for name in given.names or DECODERS:
        done = fuzz(name, seconds=given.seconds)
        console.print(f"{name}: {summary(done)}")
        faults += done.returncode != 0
    sys.exit(faults > 0)


def summary(done: subprocess.CompletedProcess[str]) -> str:
    """Say in a line what came of a process of `fuzz`."""
    lines = [*done.stderr.splitlines(), *done.stdout.splitlines()]
    if done.returncode == 0:
        return next((line.strip() for line in reversed(lines) if line.startswith("Done ")), "done")
    fault = next((place for place, line in enumerate(lines) if "Uncaught Python exception" in line), -1)
    return " | ".join(lines[fault + 1 :][:20] if fault >= 0 else lines[-8:])


if __name__ == "__main__":
    main()
