"""Measure what a program takes to import the client, and to make its first reporter, beside the libraries alone.

python -m tests.benchmarks.imports

Each is a fresh interpreter, whose modules have been compiled before, in turns; its time is the processor's.
"""

import os
import subprocess
import sys

from tests.schemas import recorded

#: Runs of each, of which the least counts.
RUNS = 7

#: The libraries as the client uses them: pydantic imports its models when they are first asked for.
LIBRARIES = "import numpy, aiokafka, yaml; from pydantic import BaseModel, Field"
CLIENT = "from stream_ldp import Reporter"
FIRST = "import sys; from stream_ldp import Reporter, Settings, parse_collection; "
FIRST += "Reporter(parse_collection(sys.argv[1]), settings=Settings())"
PROGRAMS = {
    "numpy, aiokafka, yaml and pydantic": LIBRARIES,
    "the same and pydantic-settings": f"{LIBRARIES}; from pydantic_settings import BaseSettings",
    "Reporter": CLIENT,
    **{f"a first reporter of {kind}": FIRST for kind in ("records", "sampled", "sets")},
}


def seconds(program: str, argument: str) -> float:
    """Return the processor's time of an interpreter that runs a program."""
    timed = f"{program}\nimport time; print(time.process_time())"
    # Also where no compiled modules may be written: else the package, alone, would be compiled in every run.
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": ""}
    command = [sys.executable, "-c", timed, argument]
    return float(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)


def main() -> None:
    """Measure and print."""
    least = dict.fromkeys(PROGRAMS, float("inf"))
    for run in range(RUNS + 1):
        for name, program in PROGRAMS.items():
            took = seconds(program, recorded.COLLECTIONS.get(name.rpartition(" ")[2], ""))
            if run:  # the first has compiled
                least[name] = min(least[name], took)
    first = next(iter(least.values()))
    for name, took in least.items():
        sys.stdout.write(f"{name}: {took:.3f} s, {took / first:.2f} of the libraries\n")


if __name__ == "__main__":
    main()
