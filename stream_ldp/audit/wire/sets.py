"""Item sets: sections 9 to 14 of docs/wire.md."""

import math
import struct
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal, localcontext
from itertools import pairwise

from stream_ldp.audit.wire.client import Turns
from stream_ldp.audit.wire.notation import (
    WHOLE,
    Json,
    Words,
    canonical,
    duration_ms,
    e_to,
    exact,
    fingerprint_of,
    floored,
    keyed,
    number,
    packed,
    signs_of,
    threshold,
    uniform,
    width,
    word_of,
    words_of,
)
from stream_ldp.audit.wire.randomizers import direct

#: Most items of a set that an audit compares.
_MAX_ITEMS = 64


def response_kept(kind: str, *, n: int, epsilon: float, t: int = 0, slots: int = 1, dummies: int = 0) -> int:
    """Kept of a response of section 12; of `direct`, with the epsilon of the slot, whose odds are E."""
    with localcontext(prec=80):
        odds = e_to(epsilon)
        match kind:
            case "direct":
                share = odds / (odds + n + dummies - 1)
            case "hadamard":
                share = odds / (odds + 2**t - 1)
            case "set-hadamard":
                share = odds / (2**t - slots + slots * odds)
            case _:
                odds = odds if n == 1 else e_to(exact(epsilon) / 2)
                share = odds / (odds + 1)
        return floored(WHOLE * share)


class Sets:
    """A collection of item sets, from its file."""

    def __init__(self, file: Mapping[str, Json]) -> None:
        mechanism: dict[str, Json] = {
            key: value if key in ("kind", "split") or value == "ask" else number(value)
            for key, value in file["mechanism"].items()
        }
        self.name: str = file["collection"]
        self.epsilon = float(mechanism["epsilon"])
        set_size = mechanism.get("set_size", "ask" if "kind" not in mechanism else 1)
        self.asks_sizes: bool = set_size == "ask"
        self.kind: str = mechanism.get("kind", "gfim-users" if self.asks_sizes or self.epsilon <= 2 else "svim")
        self.set_size: int = 1 if self.asks_sizes else int(set_size)
        self.split: Sequence[float] = [float(number(share)) for share in mechanism.get("split", (0.6, 0.4))]
        self.hash_bits: int | None = 1 if self.kind == "loloha" else mechanism.get("hash_bits")
        self.lifetime = float(mechanism.get("lifetime", min(2 * self.epsilon, 22.0)))
        items = file["items"]
        self.names: list[str] | None = items.get("names")
        self.count: int = int(number(items["size"])) if self.names is None else len(self.names)
        self.size_ms = duration_ms(file["window"]["size"])
        self.epochs: str = file.get("epochs", "sequential")
        self.sample = threshold(number(file.get("sample", 1.0)))
        asked = file.get("itemsets")
        self.sizes: list[int] = sorted(int(number(size)) for size in asked.get("sizes", [2])) if asked else []
        self.turns = Turns.of(file, windows=len(self.phases) if self.epochs == "sequential" else 1)

    @property
    def phases(self) -> list[tuple[str, int, int, float]]:
        """What each phase asks for, its interval, and its epsilon."""
        epsilon, (s_0, s_1) = self.epsilon, self.split
        match self.kind:
            case "gfim":
                first = epsilon * s_0 if s_0 >= s_1 else epsilon - epsilon * s_1
                later = epsilon - first if s_0 >= s_1 else epsilon * s_1
                found = [("item", 0, WHOLE, first), ("item", 0, 2**31, later), ("item", 2**31, WHOLE, later)]
            case "gfim-users":
                a = threshold(s_0)
                b = (a + WHOLE) // 2
                found = [("item", 0, a, epsilon), ("item", a, b, epsilon), ("item", b, WHOLE, epsilon)]
            case "ldpminer":
                found = [("item", 0, WHOLE, epsilon / 2)] * 2
            case "svim":
                a, b = 1717986918, 2147483648
                found = [("item", 0, a, epsilon), ("count", a, b, epsilon), ("item", b, WHOLE, epsilon)]
            case _:
                found = [("item", 0, WHOLE, epsilon)]
        if self.asks_sizes:
            a = 429496730
            found = [
                (asked, a + low * (WHOLE - a) // WHOLE, a + high * (WHOLE - a) // WHOLE, each)
                for asked, low, high, each in found
            ]
            found.insert(0, ("size", 0, a, epsilon))
        if self.sizes:
            a, b = 1717986918, 2233382994
            found = [(asked, low * a // WHOLE, high * a // WHOLE, each) for asked, low, high, each in found]
            found += [("count", a, b, epsilon), ("item", b, WHOLE, epsilon)]
        return [
            (asked, low * self.sample // WHOLE, high * self.sample // WHOLE, each) for asked, low, high, each in found
        ]

    @property
    def signs(self) -> tuple[int, int]:
        """Permanent and fresh of `loloha`."""
        with localcontext(prec=80):
            odds = e_to(self.lifetime)
            permanent = floored(WHOLE * odds / (odds + 1))
            big, one = Decimal(permanent) / (WHOLE - permanent), e_to(self.epsilon)
            within = (big * one - 1) / (big - one)
            return permanent, floored(WHOLE * within / (within + 1))

    @property
    def meaning(self) -> str:
        phases = [
            [
                *phase,
                *(self.signs if self.kind == "loloha" else ()),
                *([self.sizes] if self.asks_itemsets(place) else ()),
            ]
            for place, phase in enumerate(self.phases, start=1)
        ]
        items = self.count if self.names is None else self.names
        return canonical(
            [
                self.name,
                self.kind,
                phases,
                self.set_size,
                self.hash_bits,
                items,
                self.size_ms,
                self.epochs,
                *self.turns.entry,
            ]
        )

    @property
    def fingerprint(self) -> bytes:
        return fingerprint_of(self.meaning)

    def excesses(self) -> Iterator[str]:
        """Nothing: the fingerprint is made from the file."""
        return iter(())

    def round_meaning(self, asked: Mapping[str, Json]) -> str:
        return canonical(
            [
                self.fingerprint.hex(),
                asked["epoch"],
                asked["phase"],
                asked["candidates"],
                asked["padding"],
                *([True] if asked.get("missing") else []),
            ]
        )

    def asks_itemsets(self, phase: int) -> bool:
        return bool(self.sizes) and phase > len(self.phases) - 2

    def trusts(self, asked: Mapping[str, Json]) -> bool:
        """Rules 1 to 4 of section 10."""
        phase, candidates = asked["phase"], asked["candidates"]
        return (
            asked["schema_version"] == 1
            and asked["collection_fingerprint"] == self.fingerprint.hex()
            and 2 <= phase <= len(self.phases)
            and asked["epsilon"] <= self.phases[phase - 1][3]
            and (asked["start_ms"], asked["end_ms"]) == self.bounds_ms(asked["epoch"], phase)
            and (not asked.get("missing") or self.phases[phase - 2][0] == "count")
            and (candidates is None) == self.asks_all(phase)
            and (candidates is None or self._trusts_candidates(phase, candidates))
            and 1 <= asked["padding"] <= (min(self.count, 128) if candidates is None else len(candidates))
        )

    def _trusts_candidates(self, phase: int, candidates: Sequence[Json]) -> bool:
        named, sizes = self.named(candidates), self.sizes if self.asks_itemsets(phase) else [1]
        return bool(
            named
            and all(isinstance(each, list) == self.asks_itemsets(phase) for each in candidates)
            and all(len(each) in sizes for each in named)
            and all(one < other for each in named for one, other in pairwise(each))
            and all(0 <= item < self.count for each in named for item in each)
            and all(one < other for one, other in pairwise(named))
        )

    def asks_all(self, phase: int) -> bool:
        """Whether a phase asks about all items, or whole sets."""
        return phase <= (2 if self.asks_sizes else 1)

    @staticmethod
    def named(candidates: Sequence[Json]) -> list[list[int]]:
        """The items of each candidate; a single item is one of itself alone."""
        return [each if isinstance(each, list) else [each] for each in candidates]

    def bounds_ms(self, epoch: int, phase: int) -> tuple[int, int]:
        first = epoch * len(self.phases) if self.epochs == "sequential" else epoch
        start = (first + phase - 1) * self.size_ms
        return start, start + self.size_ms

    def word(self, secret: bytes, epoch: int) -> int:
        data = self.fingerprint + struct.pack("<q", epoch)
        return word_of(keyed(secret, "stream-ldp grp 1", data, 4))

    def is_asked(self, secret: bytes, epoch: int, phase: int) -> bool:
        _, low, high, _ = self.phases[phase - 1]
        return low <= self.word(secret, epoch) < high and self.turns.has(secret, self.fingerprint, epoch)

    def numbers_of(self, items: Iterable[str]) -> list[int]:
        return sorted(int(item) if self.names is None else self.names.index(item) for item in items)

    def restricted(self, items: Iterable[int], asked: Mapping[str, Json] | None) -> list[int]:
        if asked is None or asked["candidates"] is None:
            return sorted(items)
        candidates = self.named(asked["candidates"])
        lacks = bool(asked.get("missing"))
        return [place for place, each in enumerate(candidates) if (set(each) <= set(items)) != lacks]

    def values_of(self, phase: int, asked: Mapping[str, Json] | None) -> tuple[int, int]:
        """n, the number of values, and l."""
        n = self.count if asked is None or asked["candidates"] is None else len(asked["candidates"])
        slots = self.set_size if asked is None else asked["padding"]
        match self.phases[phase - 1][0]:
            case "count":
                return n + 1, slots
            case "size":
                return min(8, width(n) + 1), slots
            case _:
                return n, slots

    def response(self, phase: int, asked: Mapping[str, Json] | None) -> tuple[str, int, int, int]:
        """Which response is made: its kind, t, the number of dummies, and kept."""
        target, _, _, epsilon = self.phases[phase - 1]
        n, slots = self.values_of(phase, asked)
        counts = target != "item"
        if self.kind == "loloha":
            return "loloha", 1, 0, self.signs[0]
        kind, t = self._response(phase - self.asks_sizes, n, slots, epsilon, counts=counts)
        dummies = slots if kind == "direct" and not counts else 0
        if kind == "direct" and not counts:
            with localcontext(prec=80):
                odds = slots * (e_to(epsilon) - 1) + 1
                return kind, t, dummies, floored(WHOLE * odds / (odds + n + slots - 1))
        return kind, t, dummies, response_kept(kind, n=n, epsilon=epsilon, t=t, slots=slots)

    def _response(self, phase: int, n: int, slots: int, epsilon: float, *, counts: bool) -> tuple[str, int]:
        if self.kind == "ldpminer" and phase == 2:
            return "unary", 0
        if self.hash_bits is not None:
            return "hadamard", self.hash_bits
        e, m = math.exp(epsilon), 0.0 if counts else min(slots / n, 1.0)

        def variance(p: float, q: float, f: float) -> float:
            s = q + f * (p - q)
            return s * (1 - s) / (p - q) ** 2

        size = 1 if counts else slots
        k, odds = (n, e) if counts else (n + slots, slots * (e - 1) + 1)
        p = odds / (odds + k - 1)
        found = [(size**2 * variance(p, (1 - p) / (k - 1), m / size), "direct", 0)]
        found += [(size**2 * variance(e / (e + 2**t - 1), 2.0**-t, m / size), "hadamard", t) for t in range(1, 9)]
        if not counts and slots > 1:
            found += [
                (variance(e / (2**t - slots + slots * e), 2.0**-t, m), "set-hadamard", t)
                for t in range(1, 9)
                if 2**t >= 2 * slots
            ]
        _, kind, t = min(found, key=lambda each: each[0])
        return kind, t

    def number_of(self, phase: int, restricted: Sequence[int], n: int) -> int:
        """The value of a phase that asks for a count, or for a size as a power of two."""
        held = len(restricted)
        return min(n - 1, max(held - 1, 0).bit_length()) if self.phases[phase - 1][0] == "size" else held

    def slot_value(self, restricted: Sequence[int], slot: int, n: int) -> int:
        return restricted[slot] if slot < len(restricted) else n + slot - len(restricted)

    def row(self, phase: int, asked: Mapping[str, Json] | None, draws: Mapping[str, Json]) -> bytes:
        """The row of what was drawn and sent."""
        n, _ = self.values_of(phase, asked)
        kind, t, dummies, _ = self.response(phase, asked)
        if kind == "direct":
            return packed([(draws["sent"], width(n + dummies))])
        if kind == "unary":
            return packed((int(bit), 1) for bit in draws["sent"])
        return packed([*((row, width(n)) for row in draws["rows"]), (draws["sent"], t)])

    def held(self, padding: int) -> list[tuple[int, ...]]:
        """Sets of many sizes, among them those around the slots, and the last item, which may be no candidate."""
        sizes = {0, 1, 2, padding - 1, padding, padding + 1, self.count // 2, self.count}
        whole = [tuple(range(size)) for size in sorted(sizes) if size <= min(self.count, _MAX_ITEMS)]
        return list(dict.fromkeys([*whole, (self.count - 1,)]))

    def fresh_rows(
        self, phase: int, asked: Mapping[str, Json] | None, items: Sequence[int], words: Words
    ) -> Collection[bytes]:
        """The rows that a report made of these fresh words may be; one, but where hashes are drawn from a set."""
        n, slots = self.values_of(phase, asked)
        kind, t, dummies, kept = self.response(phase, asked)
        restricted = self.restricted(items, asked)
        if kind == "set-hadamard":
            rows = [uniform(words, 2 ** width(n)) for _ in range(t)]
            own = {signs_of(rows, item) for item in restricted}
            shown = next(words) < min(len(own), slots) * kept
            # Which hashes of too large a set are kept is drawn: any other may be the one that is sent.
            sent = own if shown else set(range(2**t)) - (own if len(own) <= slots else set())
            return [self.row(phase, asked, {"rows": rows, "sent": each}) for each in sent]
        if self.phases[phase - 1][0] == "item":
            value = self.slot_value(restricted, uniform(words, max(slots, len(restricted))), n)
        else:
            value = self.number_of(phase, restricted, n)
        if kind == "direct":
            return [self.row(phase, asked, {"sent": direct(words, value, n + dummies, kept)})]
        if kind == "unary":
            bits = [(place == value) ^ (next(words) >= kept) for place in range(n)]
            return [self.row(phase, asked, {"sent": bits})]
        rows = [uniform(words, 2 ** width(n)) for _ in range(t)]
        own_hash = signs_of(rows, value) if value < n else uniform(words, 2**t)
        sent_hash = direct(words, own_hash, 2**t, kept)
        if kind == "loloha":
            sent_hash = direct(words, sent_hash, 2, self.signs[1])
        return [self.row(phase, asked, {"rows": rows, "sent": sent_hash})]

    def cost(self, counts: Mapping[int, int]) -> float:
        """What so many reports to each phase cost a user whose set does not change: rules 4 and 5 of section 15."""
        if not self.memoises:
            return math.fsum(self.phases[phase - 1][3] * reports for phase, reports in counts.items())
        permanent, fresh = self.signs
        with localcontext(prec=80):
            hold = Decimal(permanent) / WHOLE
            other = 1 - hold
            shown = (Decimal(WHOLE) / fresh - 1) ** sum(counts.values())
            return float(((hold + other * shown) / (other + hold * shown)).ln())

    @property
    def memoises(self) -> bool:
        """Whether reports show a permanent response."""
        return self.kind == "loloha"

    # loloha

    def purpose(self, secret: bytes, purpose: bytes) -> Words:
        return words_of(secret, "stream-ldp lol 1", self.fingerprint + purpose)

    def row_index(self, secret: bytes) -> int:
        return uniform(self.purpose(secret, b"row"), 2 ** width(self.count))

    def sign(self, secret: bytes, items: Sequence[int]) -> int:
        words = self.purpose(secret, b"set" + b"".join(struct.pack("<I", each) for each in sorted(items)))
        slot = uniform(words, max(self.set_size, len(items)))
        if slot < len(items):
            return (self.row_index(secret) & sorted(items)[slot]).bit_count() & 1
        return uniform(words, 2)

    def permanent_sign(self, secret: bytes, sign: int) -> int:
        word = next(self.purpose(secret, b"sign" + bytes([sign])))
        return sign if word < self.signs[0] else 1 - sign

    def memoised_row(self, secret: bytes, items: Sequence[int], fresh_word: int) -> bytes:
        sign = self.permanent_sign(secret, self.sign(secret, items))
        sent = sign if fresh_word < self.signs[1] else 1 - sign
        return packed([(self.row_index(secret), width(self.count)), (sent, 1)])
