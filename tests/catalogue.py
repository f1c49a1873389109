"""Every mechanism, a line each, in a form that is small enough to be enumerated, with a twin that breaks its promise.

What each of them has to keep stands in tests/mechanisms/test_contract.py.
"""

from stream_ldp.mechanisms import (
    KRR,
    RRLDP,
    BitFlipResponse,
    BloomResponse,
    ChannelResponse,
    DirectResponse,
    FrequencyOracle,
    HadamardResponse,
    HalfSpaceResponse,
    HashedKRR,
    KSubset,
    LolohaResponse,
    Mechanism,
    OptimisedUnaryResponse,
    PiecewiseResponse,
    Randomizer,
    RepeatedResponse,
    SetHadamardResponse,
    SubsetResponse,
    UnaryResponse,
)
from stream_ldp.mechanisms.channel import exact_rows
from tests.audit import broken

#: Mechanisms for records, each with a broken twin of the same parameters.
OF_RECORDS: list[tuple[Mechanism, type[Mechanism]]] = [
    (RRLDP(sizes=(2, 3), f=0.5, p=0.5, q=0.75), broken.NeverClears),
    (RRLDP(sizes=(3, 2), f=0.3), broken.SendsInTheClear),
    (KRR(sizes=(3, 2), attribute_epsilon=2.0), broken.KeepsTooOften),
    (KRR(sizes=(3, 2), attribute_epsilon=2.0, report_epsilon=1.0), broken.SendsWhatItNames),
    (
        HashedKRR(sizes=(4, 2), attribute_epsilon=2.0, report_epsilon=1.0, buckets=2),
        broken.SendsTheNamedBucket,
    ),
    (KSubset(sizes=(4, 2), attribute_epsilon=0.5), broken.HoldsTooOften),
    (KSubset(sizes=(3, 4), attribute_epsilon=2.0), broken.HoldsTooOften),
]

#: Mechanisms for one value or a set of values, each with a broken twin of the same parameters.
OF_VALUES: list[tuple[FrequencyOracle, type[FrequencyOracle]]] = [
    (DirectResponse(size=5, dummies=2, epsilon=1.5), broken.SendsTheNextValue),
    (UnaryResponse(size=5, epsilon=2.0), broken.SpendsEpsilonOnEachBit),
    (OptimisedUnaryResponse(size=5, epsilon=2.0), broken.KeepsItsOwnBit),
    (HadamardResponse(size=5, epsilon=1.0), broken.FavoursARow),
    (HadamardResponse(size=4, epsilon=2.0, hash_bits=2), broken.SendsDummiesPlainly),
    (SetHadamardResponse(size=4, slots=2, epsilon=1.0, hash_bits=2), broken.AnswersForAHigherEpsilon),
    (SubsetResponse(size=5, epsilon=1.0, members=2), broken.DrawsOthersWithTheirOwn),
    (RepeatedResponse(size=4, epsilon=1.0, lifetime=2.0), broken.RepeatsThePermanentAnswer),
    (RepeatedResponse(size=2, epsilon=0.5, lifetime=2.0), broken.RepeatsThePermanentAnswer),
    (BitFlipResponse(size=2, epsilon=2.0, cohorts=3), broken.TellsWhichOfItsValues),
    (BitFlipResponse(size=1, epsilon=1.0, cohorts=4), broken.TellsWhichOfItsValues),
    (LolohaResponse(size=5, epsilon=1.0, lifetime=2.0), broken.SendsThePermanentSign),
]

#: Mechanisms for other inputs than values alone, each with a broken twin of the same parameters.
OF_NUMBERS: list[tuple[Randomizer, type[Randomizer]]] = [
    (ChannelResponse(table=exact_rows([(0.7, 0.2, 0.1), (0.2, 0.6, 0.2), (0.1, 0.2, 0.7)])), broken.ShiftsItsEnds),
    (
        ChannelResponse(table=exact_rows([(0.7, 0, 0.3), (0.4, 0, 0.6), (0.3, 0, 0.7), (0.5, 0, 0.5)])),
        broken.ShiftsItsEnds,
    ),
    (BloomResponse(size=4, hashes=2, lifetime=4.0), broken.SpendsEpsilonTwice),
    (BloomResponse(size=4, hashes=2, lifetime=4.0, p=0.25, q=0.75), broken.ForgetsTheSecondNoise),
    (BloomResponse(size=3, hashes=1, lifetime=2.0, p=0.1, q=1.0), broken.SpendsEpsilonTwice),
    (PiecewiseResponse(steps=6, width=3, epsilon=1.0), broken.SharesThePlateau),
    (PiecewiseResponse(steps=1, width=1, epsilon=2.0), broken.SharesThePlateau),
    *(
        (HalfSpaceResponse(dimensions=dimensions, epsilon=epsilon), broken.AnswersForTooMuch)
        for dimensions in (1, 3, 5)
        for epsilon in (1.0, 2.0)
    ),
    *(
        (HalfSpaceResponse(dimensions=dimensions, epsilon=epsilon), twin)
        for dimensions in (2, 4)
        for epsilon in (1.0, 2.0)
        for twin in (broken.SendsTiesFromBothSides, broken.NeverSendsTies)
    ),
]
