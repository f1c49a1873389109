"""Play many schedules and say of each whether everything was exact.

python -m tests.chaos --seed 7 --runs 20
"""

import argparse
import asyncio
import logging
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import AsyncExitStack
from pathlib import Path

from rich.console import Console

from tests.chaos.kinds import KINDS
from tests.chaos.run import Outcome, play
from tests.chaos.schedule import SCENES, Schedule, draw
from tests.chaos.stages import STAGES, Stage, StageMissing


async def play_all(
    schedules: Iterable[Schedule], *, say: Callable[[str], None], keep: Path | None = None, broken: str | None = None
) -> list[Outcome]:
    """Play schedules one after the other; each stage is set up once, with the first that needs it.

    say: called with a line for each run.
    keep: directory that keeps the workers' logs of runs that were not exact.
    broken: see `play`.
    """
    outcomes = []
    # A seed that needs what this machine lacks is left out, which is said once.
    stages: dict[str, tuple[Stage, AsyncExitStack] | None] = {}
    async with AsyncExitStack() as stack:
        for schedule in schedules:
            needs = schedule.scene.needs
            if needs not in stages:
                own = await stack.enter_async_context(AsyncExitStack())
                try:
                    stages[needs] = await own.enter_async_context(STAGES[needs]()), own
                except StageMissing as missing:
                    stages[needs] = None
                    say(f"left out: {missing}")
            if (found := stages[needs]) is None:
                continue
            stage, own = found
            with tempfile.TemporaryDirectory(prefix="stream-ldp-run-") as directory:
                outcome = await play(schedule, stage, directory=Path(directory), broken=broken)
                if outcome.problems and keep is not None:
                    kept = keep / f"seed-{schedule.seed}"
                    kept.mkdir(parents=True, exist_ok=True)
                    for log in Path(directory).iterdir():
                        (kept / log.name).write_bytes(log.read_bytes())
            if outcome.unplayed:
                # Whatever has ended it may have left the stage broken, which the next run sets up again.
                await own.aclose()
                del stages[needs]
            say(str(outcome))
            outcomes.append(outcome)
    return outcomes


def main() -> None:
    """Play what the command line asks for; the exit status is 1 if a run was not exact."""
    arguments = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    arguments.add_argument("--seed", type=int, default=1, help="seed of the first run; the next has the next one")
    arguments.add_argument("--runs", type=int, default=10)
    arguments.add_argument("--scene", choices=[scene.name for scene in SCENES], help="only faults of this kind")
    arguments.add_argument("--kind", choices=list(KINDS), help="kind of the first collection")
    arguments.add_argument("--keep", type=Path, help="directory for the workers' logs of runs that are not exact")
    arguments.add_argument("--broken", help="a rule for the workers to break; runs must then not be exact")
    given = arguments.parse_args()
    console = Console(soft_wrap=True, highlight=False, markup=False)
    # What the clients say of brokers that are away is part of the plan.
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    schedules = [
        draw(seed, scene=given.scene, kind=given.kind) for seed in range(given.seed, given.seed + given.runs)
    ]
    began = time.monotonic()
    outcomes = asyncio.run(play_all(schedules, say=console.print, keep=given.keep, broken=given.broken))
    exact = sum(not outcome.problems for outcome in outcomes)
    finals, letters = sum(each.finals for each in outcomes), sum(each.letters for each in outcomes)
    console.print(
        f"{exact} of {len(outcomes)} runs exact; {finals:,} finals, {letters:,} dead letters, "
        f"{time.monotonic() - began:.0f} s"
    )
    sys.exit(exact < len(outcomes))


if __name__ == "__main__":
    main()
