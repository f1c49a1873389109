"""Evaluation of collections of strings: how many of the most frequent are reported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stream_ldp.evaluation.trial import Assumed, Evaluation, KnownTable, Measured, Metric, Trial, quality
from stream_ldp.mechanisms import SeededEntropy, random_words
from stream_ldp.strings.attribute import END

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from stream_ldp.pipeline.cells import Totals
    from stream_ldp.strings.collection import StringCollection

#: Bits of the reports that are made at once: with a byte for each, 16 MiB.
_BITS_AT_ONCE = 2**24
#: Users whom a plan assumes, the strings that they have, their letters where there is no alphabet, and the power with
#: which the frequencies of strings fall: English words of at most 10 letters have shares of 0.027, 0.0127, 0.0071 and
#: 0.0036 at ranks 4, 8, 16 and 32 (wordfreq), and these 0.031, 0.0153, 0.0076 and 0.0038.
_ASSUMED, _STRINGS, _LETTERS, _EXPONENT = 100_000, 2_000, "abcdefghijklmnopqrstuvwxyz", 1.0


def _complete(document: dict[str, Any], table: KnownTable) -> None:
    """Fill in the string, if there is one column, and the length of the longest that occurs."""
    if len(table.columns) == 1:
        document.setdefault("string", {"name": table.columns[0]})
    string = document.get("string")
    if isinstance(string, dict) and isinstance(name := string.get("name"), str) and not string.get("length"):
        lengths = [len(each if string.get("alphabet") else each.encode()) for each in table.values(name)]
        string["length"] = max(1, *lengths)


def _measure(trial: Trial[StringCollection]) -> Iterator[Measured]:
    """Measure the ranking of all users.

    found is the number of reported strings that are among the k truly most frequent ones, and recall the share of
    these. reported is the number of all strings of the ranking, false that of the others, and nobodys that of strings
    which nobody has; expected is the ranking's bound on the latter. covered is the share of the reported strings
    whose true frequency is within two standard errors, 1 if there are none.
    """
    collection, people, entropy = trial.collection, trial.people, SeededEntropy(trial.noise)
    method, k = collection.method, collection.mechanism_spec.k
    questions = method.questions
    begun = trial.clock()
    rows = []
    step = max(1, _BITS_AT_ONCE // questions.bits)
    for first in range(0, len(people), step):
        part = people[first : first + step]
        numbers = questions.numbers(random_words(len(part), entropy=entropy))
        seeds = random_words(len(part), entropy=entropy)
        rows.append(questions.perturb(numbers, seeds, questions.inputs(numbers, seeds, part), entropy=entropy))
    found = method.find([(1.0, questions.answers(np.concatenate(rows)))], k=k)
    seconds = trial.clock() - begun
    strings, counts = np.unique(people, axis=0, return_counts=True)
    frequency = dict(zip(map(tuple, strings.tolist()), (counts / len(people)).tolist(), strict=True))
    top = sorted((each for each in frequency if each[0] != END), key=lambda each: (-frequency[each], each))[:k]
    ranked = [] if found is None else list(map(tuple, found.symbols.tolist()))
    hits = len(set(ranked) & set(top))
    truth = np.array([frequency.get(each, 0.0) for each in ranked])
    covered, expected = 1.0, 0.0
    if found is not None and ranked:
        covered = float((np.abs(found.frequency - truth) <= 2 * found.standard_error).mean())
        expected = float(found.expected_false.max())
    metrics = {
        "found": hits,
        "recall": hits / max(len(top), 1),
        "reported": len(ranked),
        "false": len(ranked) - hits,
        "nobodys": int((truth == 0).sum()),
        "expected": expected,
        "covered": covered,
    }
    yield Measured("strings", metrics, seconds)


def _assumed(collection: StringCollection) -> Assumed:
    """Draw users of some strings of random letters and lengths, which are of unequal frequency."""
    rng, length = np.random.default_rng(1), collection.string.length
    letters = np.array(list(collection.string.alphabet or _LETTERS))
    # No other strings than these where they are short, and all may be.
    count = min(_STRINGS, len(letters) ** length)
    lengths = rng.integers(min(2, length), length + 1, size=count)
    strings = ["".join(rng.choice(letters, each)) for each in lengths.tolist()]
    shares = np.arange(1, count + 1) ** -_EXPONENT
    drawn = rng.choice(count, _ASSUMED, p=shares / shares.sum())
    population = collection.table([collection.string.encode(each) for each in strings])[drawn]
    return Assumed(collection=collection, like={}, population=population)


EVALUATION = Evaluation(
    measure=_measure,
    complete=_complete,
    predicts={
        "recall": quality("the share of the most frequent strings that are reported"),
        "reported": Metric("how many strings are reported in all", falls=None),
    },
    assumed=_assumed,
    assumes="they have strings of all lengths and random letters, 2,000 different ones where there are as many, "
    "whose frequencies fall as one over their rank, as Zipf's law has it",
)


def totals(collection: StringCollection, table: NDArray[np.integer]) -> Totals:
    """Count the users with each string that anybody has, but for the empty one; see `Kind.totals`.

    table: symbols of the users' strings, shape (users, length).
    """
    strings, counts = np.unique(table, axis=0, return_counts=True)
    decode = collection.string.decode
    return {
        ("strings", ("", (decode(string),))): float(count)
        for string, count in zip(strings, counts.tolist(), strict=True)
        if string[0] != END
    }
