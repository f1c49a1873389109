"""What a report of one of fifty strings costs: bytes, and time on client and server (table 4 of the survey)."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stream_ldp.marginals.collection import SampledCollection
from stream_ldp.mechanisms import SeededEntropy, random_words
from stream_ldp.pipeline.wire import Batch, encode
from stream_ldp.places.collection import PlaceCollection
from stream_ldp.places.solve import place_counts
from stream_ldp.questions.answers import gathered
from tests.benchmarks.papers.study import Row

#: Users whose time is taken, at once; all have the first string, and the time of none depends on what they have.
_USERS = 50_000
_EPSILON, _STRINGS = 1.0, 50
_NAMES = [f"V{number}" for number in range(1, _STRINGS + 1)]


@dataclass(frozen=True, kw_only=True)
class Method:
    """A method of the table.

    keys: of the mechanism.
    listed: whether clients need the list of the strings.
    communication, error: as the survey has them; the error is to be divided by epsilon √n.
    """

    keys: Mapping[str, Any]
    listed: bool
    communication: str
    error: str


METHODS = {
    "RAPPOR": Method(keys={"oracle": "rappor", "hashes": 2}, listed=True, communication="O(h)", error="k"),
    "O-RAPPOR": Method(keys={"oracle": "o-rappor"}, listed=False, communication="O(h)", error="k"),
    "S-Hist": Method(keys={"oracle": "s-hist"}, listed=True, communication="O(1)", error="√log k"),
    "PCE": Method(keys={"oracle": "hadamard"}, listed=True, communication="O(1)", error="√log k"),
    "k-RR": Method(keys={"oracle": "k-rr"}, listed=True, communication="O(1)", error="√k³"),
    "O-RR": Method(keys={"oracle": "o-rr"}, listed=False, communication="O(1)", error="√k³"),
    "k-Subset": Method(keys={"oracle": "k-subset"}, listed=True, communication="O(1)", error="k"),
    "as shipped": Method(keys={}, listed=True, communication="", error=""),
    "as shipped, any text": Method(keys={}, listed=False, communication="", error=""),
}


@dataclass(frozen=True, kw_only=True)
class Costs:
    """The costs of each method."""

    name: str

    def missing(self, directory: Path) -> str | None:
        """Nothing is needed."""
        return None

    def rows(self, directory: Path, *, repeats: int | None = None) -> list[Row]:
        """Measure, the fastest of some times: seconds of the processor."""
        return [row(name, method, users=_USERS, times=repeats or 5) for name, method in METHODS.items()]


#: The method that is a collection of places.
_PLACES = "PCE"


def row(name: str, method: Method, *, users: int, times: int) -> Row:
    """Measure a method: bytes of a report and of a batch of one, microseconds a report, milliseconds a window."""
    places = name == _PLACES
    collection: Any = _places(method) if places else _strings(method)
    questions = collection.questions
    people = _people(users, method=method, places=places)
    numbers = questions.numbers(random_words(users, entropy=SeededEntropy(0))) if not places else np.zeros(users, int)
    client, server, solve = [], [], []
    for _ in range(times):
        begun = time.process_time()
        rows = questions.perturb(numbers, people, entropy=SeededEntropy(1))
        client.append(time.process_time() - begun)
        begun = time.process_time()
        sums = questions.sums(rows)
        server.append(time.process_time() - begun)
        begun = time.process_time()
        if places:
            place_counts(collection, [(1.0, sums)])
        else:
            answers = gathered(questions, [(1.0, sums)], of=0)
            answers[0].question.estimate(answers, of=0)
        solve.append(time.process_time() - begun)
    about = (
        [(float(share), each) for share, each in zip(questions.shares, questions.questions, strict=True)]
        if not places
        else []
    )
    variance = questions.questions[0].randomizer.mean_variance if places else about[0][1].variance(about)
    batch = Batch(fingerprint=bytes(16), batch_id=bytes(16), time_ms=0, rows=rows[:1])
    return {
        "form": name,
        "at": _STRINGS,
        "series": "costs",
        "bytes": rows.shape[1],
        "batch_bytes": len(encode(batch)),
        "client_us": float(f"{1e6 * min(client) / users:.3g}"),
        "server_us": float(f"{1e6 * min(server) / users:.3g}"),
        "solve_ms": float(f"{1e3 * min(solve):.3g}"),
        "variance": float(f"{variance:.4g}"),
    }


def _strings(method: Method) -> SampledCollection:
    values = "values" if method.listed else "candidates"
    return SampledCollection.model_validate(
        {
            "collection": "strings",
            "mechanism": {"kind": "sampled", "epsilon": _EPSILON, **method.keys},
            "attributes": [{"name": "string", values: _NAMES}],
            "window": {"size": "1m"},
        }
    )


def _places(method: Method) -> PlaceCollection:
    return PlaceCollection.model_validate(
        {
            "collection": "strings",
            "mechanism": {"kind": "places", "epsilon": [_EPSILON], **method.keys},
            "places": _NAMES,
            "window": {"size": "1m"},
        }
    )


def _people(users: int, *, method: Method, places: bool) -> Any:
    if places:
        return np.zeros(users, dtype=[(str(place), "<i8") for place in range(3)])
    people = np.zeros(users, dtype=[("0", "<i8" if method.listed else object)])
    if not method.listed:
        people["0"] = _NAMES[0]
    return people
