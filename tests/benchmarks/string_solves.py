"""How long solves of a window of strings take: `python -m tests.benchmarks.string_solves`.

A million users of 2,000 strings by Zipf's law, epsilon 2, in two partitions. The window is solved when 900,000 have
reported, and again for each further hundredth or thousandth of the users. Seconds of the processor: of the first
solve, the mean of the later ones, and of a solve of the whole window by itself, whose answer has to be the same.
"""

import sys
import time

import numpy as np

from stream_ldp.mechanisms import SeededEntropy, random_words
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.pipeline.window_series import WindowSeries
from stream_ldp.pipeline.window_task import Scratch, WindowTask
from stream_ldp.strings.answer import StringRanking
from stream_ldp.strings.collection import StringCollection
from stream_ldp.strings.solve import solve
from tests.benchmarks.zipf_strings import zipf_words

USERS, FIRST, STEPS, SOLVES = 1_000_000, 900_000, (10_000, 1_000), 10

WORDS = StringCollection.parse(
    "{collection: words, mechanism: {kind: strings, epsilon: 2}, window: {size: 1h}, "
    "string: {name: word, length: 6, alphabet: abcdefghijklmnopqrstuvwxyz}}"
)


def main() -> None:
    """Print the table."""
    words, shares = zipf_words()
    table = WORDS.table([WORDS.string.encode(word) for word in words])
    strings = table[np.random.default_rng(1).choice(len(words), USERS, p=shares)]
    questions, entropy = WORDS.method.questions, SeededEntropy(1)
    numbers, seeds = questions.numbers(random_words(USERS, entropy=entropy)), random_words(USERS, entropy=entropy)
    rows = questions.perturb(numbers, seeds, questions.inputs(numbers, seeds, strings), entropy=entropy)

    def solved(users: int, scratch: Scratch) -> tuple[StringRanking, float]:
        parts = tuple(RowCounts.of(part[: users // 2], bits=WORDS.bits) for part in np.split(rows, 2))
        task: WindowTask[WindowSeries, StringRanking] = WindowTask(
            series=WORDS.series[0], window_ms=0, final=True, windows=((1.0, parts),), before=None, scratch=scratch
        )
        begun = time.process_time()
        return solve(WORDS, task), time.process_time() - begun

    solved(1_000, Scratch())  # imports what solves need
    sys.stdout.write("| reports since | first solve | later solves | the last one alone |\n|---:|---:|---:|---:|\n")
    for step in STEPS:
        scratch = Scratch()
        _, first = solved(FIRST, scratch)
        later = [solved(FIRST + step * number, scratch) for number in range(1, SOLVES + 1)]
        alone, whole = solved(FIRST + step * SOLVES, Scratch())
        assert alone == later[-1][0]
        sys.stdout.write(f"| {step:,} | {first:.2f} | {np.mean([each for _, each in later]):.2f} | {whole:.2f} |\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
