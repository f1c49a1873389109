"""The same work by other packages, where they are installed: pip install -e '.[bench]'.

pure-ldp (Cormode, Maddock and Maple, 2021) and multi-freq-ldpy (Arcolezi et al., 2022) perturb and aggregate one
attribute after another. They count nothing for joint distributions, so they aggregate less than what we count.
"""

import importlib.util
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.benchmarks.speed.measuring import Work

_EPSILON = 2.0


def perturbing(values: NDArray[np.integer[Any]], sizes: Sequence[int]) -> dict[str, Work]:
    """Perturb each attribute of each user by symmetric unary encoding; one unit is a user."""
    users = values.tolist()
    works: dict[str, Work] = {}
    if importlib.util.find_spec("pure_ldp"):
        from pure_ldp.frequency_oracles.unary_encoding import UEClient  # noqa: PLC0415

        clients = [UEClient(_EPSILON, size, index_mapper=int) for size in sizes]
        works["pure-ldp"] = Work(
            run=lambda: [[client.privatise(v) for client, v in zip(clients, user, strict=True)] for user in users],
            units=len(users),
        )
    if importlib.util.find_spec("multi_freq_ldpy"):
        from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Client  # noqa: PLC0415

        works["multi-freq-ldpy"] = Work(
            run=lambda: [
                [UE_Client(v, k, _EPSILON, False) for k, v in zip(sizes, user, strict=True)] for user in users
            ],
            units=len(users),
        )
    return works


def aggregating(bits: NDArray[np.uint8], sizes: Sequence[int]) -> dict[str, Work]:
    """Aggregate the unary encodings of each attribute of each user; one unit is a user.

    bits: of all reports, shape (users, sum of sizes).
    """
    reports = [list(part) for part in np.split(bits.astype(np.float64), np.cumsum(sizes)[:-1], axis=1)]
    works: dict[str, Work] = {}
    if importlib.util.find_spec("pure_ldp"):
        from pure_ldp.frequency_oracles.unary_encoding import UEServer  # noqa: PLC0415

        servers = [UEServer(_EPSILON, size) for size in sizes]
        works["pure-ldp"] = Work(
            run=lambda: [
                server.aggregate(each) for server, part in zip(servers, reports, strict=True) for each in part
            ],
            units=len(bits),
        )
    if importlib.util.find_spec("multi_freq_ldpy"):
        from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI  # noqa: PLC0415

        works["multi-freq-ldpy"] = Work(
            run=lambda: [UE_Aggregator_MI(part, _EPSILON, False) for part in reports], units=len(bits)
        )
    return works
