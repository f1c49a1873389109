"""The attacks on mechanisms for records: they accuse nobody, and catch what is broken.

All randomness is seeded, so that a test gives the same result in every run.
"""

from collections.abc import Callable

import pytest

from stream_ldp.audit.attacks import Attack, attacks
from stream_ldp.audit.enumeration import Enumeration
from stream_ldp.mechanisms import KRR, RRLDP, Entropy, KSubset, Mechanism, PermanentWords, SeededEntropy
from tests import catalogue
from tests.audit import broken

SURVEY = {"f": 0.5, "p": 0.5, "q": 0.75}
LOW_NOISE = {"f": 0.3, "p": 0.2, "q": 0.8}
PERMANENT_ALONE = {"f": 0.5}

#: Reports of each value where nobody is to be caught: the rate of false alarms is the same for any number.
FEW = 200


def plan(
    mechanism: Mechanism,
    seed: int,
    *,
    words: type[PermanentWords] = PermanentWords,
    noise: Callable[[], Entropy] | None = None,
) -> tuple[Attack, ...]:
    """The attacks on a mechanism and its clients, from a seed."""
    entropy = SeededEntropy(seed)
    attributes = [
        (f"attribute {place}", [str(value) for value in range(size)]) for place, size in enumerate(mechanism.sizes)
    ]
    keyed = words(collection="audited", attributes=attributes, noise=mechanism.noise, counts=mechanism.words)
    return attacks(mechanism, keyed, noise=noise or (lambda: entropy), secrets=entropy)


def is_disproved(planned: tuple[Attack, ...], trials: int = 1_000) -> bool:
    """Decide whether an attack shows more than is claimed; on an honest system one does with 1 seed in 10,000."""
    entropy, confidence = SeededEntropy(0), 1 - 1e-4 / len(planned)
    # Those that ask for one user a call take the longest, and come last.
    return any(
        attack.run(trials=trials, confidence=confidence, entropy=entropy).epsilon > attack.claimed
        for attack in sorted(planned, key=lambda attack: attack.chunk == 1)
    )


def changing(mechanism: Mechanism) -> Attack:
    """The attack on users whose values change."""
    (attack,) = [each for each in plan(mechanism, 1) if each.target == "client, changing"]
    return attack


@pytest.mark.parametrize("mechanism", [each for each, _ in catalogue.OF_RECORDS], ids=str)
def test_the_epsilon_of_users_who_change_is_that_of_their_histories(mechanism: Mechanism) -> None:
    attack = changing(mechanism)
    ((first, second),) = attack.pairs
    enumerated = Enumeration.realised(mechanism).histories_epsilon(first.tolist(), second.tolist())
    assert enumerated <= attack.claimed == pytest.approx(enumerated, abs=1e-7)


@pytest.mark.parametrize(
    "mechanism",
    [
        KSubset(sizes=(8, 12), attribute_epsilon=1.0),
        KSubset(sizes=(2, 8, 12), attribute_epsilon=2.0),
        KRR(sizes=(2, 3, 2_000), attribute_epsilon=2.0),
    ],
    ids=str,
)
def test_a_wide_honest_mechanism_is_not_accused_of_changes(mechanism: Mechanism) -> None:
    attack = changing(mechanism)
    assert attack.claimed == pytest.approx(2 * mechanism.epsilon(neighbours=1), abs=1e-12)
    assert not is_disproved((attack,), trials=FEW)


@pytest.mark.parametrize("parameters", [SURVEY, PERMANENT_ALONE, LOW_NOISE])
def test_an_honest_mechanism_is_not_accused(parameters: dict[str, float]) -> None:
    assert not is_disproved(plan(RRLDP(sizes=(3, 3), **parameters), 1), trials=FEW)


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        (broken.NeverClears, SURVEY),
        pytest.param(broken.NeverClears, PERMANENT_ALONE, marks=pytest.mark.long),
        # By enumeration, tests/cli/test_audit.py catches it at once.
        pytest.param(broken.NeverClearsOneBit, LOW_NOISE, marks=pytest.mark.long),
        (broken.RedrawsPermanent, PERMANENT_ALONE),
        pytest.param(broken.RedrawsPermanent, LOW_NOISE, marks=pytest.mark.long),
    ],
)
def test_a_broken_mechanism_is_caught(kind: type[RRLDP], parameters: dict[str, float]) -> None:
    assert is_disproved(plan(kind(sizes=(3, 3), **parameters), 1))


@pytest.mark.parametrize(
    ("words", "parameters"),
    # That each of them is the same as another is quickly shown in test_record_reports.py.
    [
        pytest.param(words, parameters, marks=() if number == 0 else pytest.mark.long)
        for number, (words, parameters) in enumerate(
            [
                (broken.IgnoresSecret, PERMANENT_ALONE),
                (broken.IgnoresSecret, LOW_NOISE),
                (broken.IgnoresValue, PERMANENT_ALONE),
                (broken.IgnoresAttribute, LOW_NOISE),
                (broken.IgnoresAttribute, PERMANENT_ALONE),
                (broken.IgnoresBit, LOW_NOISE),
                (broken.IgnoresBit, PERMANENT_ALONE),
            ]
        )
    ],
)
def test_permanent_words_that_are_shared_are_caught(
    words: type[PermanentWords], parameters: dict[str, float]
) -> None:
    assert is_disproved(plan(RRLDP(sizes=(3, 3), **parameters), 1, words=words))


@pytest.mark.parametrize(
    "parameters",
    [pytest.param(SURVEY, marks=pytest.mark.long), PERMANENT_ALONE, pytest.param(LOW_NOISE, marks=pytest.mark.long)],
)
def test_a_generator_that_begins_anew_in_every_process_is_caught(parameters: dict[str, float]) -> None:
    assert is_disproved(plan(RRLDP(sizes=(3, 3), **parameters), 1, noise=broken.reused_generator), trials=FEW)


def averaged(sizes: tuple[int, ...], *, words: type[PermanentWords] = PermanentWords) -> Attack:
    """The attack on the averages of 30 reports."""
    (attack,) = [
        each for each in plan(RRLDP(sizes=sizes, **LOW_NOISE), 1, words=words) if each.target == "client, averaged"
    ]
    assert attack.reports == 30
    return attack


# That they are the same is quickly shown in test_record_reports.py.
@pytest.mark.long
def test_words_that_repeat_every_16_bits_are_caught_by_averages_of_30_reports() -> None:
    """Of value 0, bits 0 and 16 are inverted together, and so always differ: each alone tells nothing more."""
    broken_attack = averaged((18,), words=broken.RepeatsABlock)
    found = broken_attack.run(trials=1_000, confidence=0.9999, entropy=SeededEntropy(0))
    assert found.epsilon > broken_attack.claimed
    found = averaged((18,)).run(trials=1_000, confidence=0.9999, entropy=SeededEntropy(0))
    assert found.epsilon <= broken_attack.claimed


def test_an_average_of_30_reports_shows_nearly_all_that_is_ever_shown() -> None:
    """With p = 0.2 and q = 0.8: more than 80 % of epsilon; the least over 10 seeds was 0.90."""
    attack = averaged((2,))
    found = attack.run(trials=5_000, confidence=0.9999, entropy=SeededEntropy(0))
    assert 0.8 * attack.claimed < found.epsilon <= attack.claimed
