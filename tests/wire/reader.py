"""A client written from docs/wire.md alone, with the standard library alone: nothing of stream_ldp, and no numpy.

It is what somebody writes who has the page and the vectors, and neither the package nor its authors. Sections are
those of the page. It makes every decision bit by bit, and is not fast.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal, localcontext
from itertools import accumulate, combinations, pairwise
from typing import Any

WHOLE = 2**32
UNITS_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
HEADER_BYTES = 56

Json = Any
Words = Iterator[int]


# The beginning of the page, and section 2.


def duration_ms(text: str) -> int:
    number, unit = re.fullmatch(r"(\d+)\s*(ms|s|m|h|d)", text).groups()  # type: ignore[union-attr]
    return int(number) * UNITS_MS[unit]


def exact(number: float) -> Decimal:
    return Decimal(number)


def e_to(power: float | Decimal) -> Decimal:
    return Decimal(power).exp()


def floored(number: Decimal) -> int:
    return math.floor(number)


def threshold(probability: float) -> int:
    """Round x · 2^32 to the nearest integer, halves to even."""
    return round(probability * WHOLE)


def keyed(secret: bytes, person: str, data: bytes, length: int) -> bytes:
    return hashlib.blake2b(data, key=secret, person=person.encode(), digest_size=length).digest()


def word_of(digest: bytes) -> int:
    return int.from_bytes(digest, "little")


def words_of(secret: bytes, person: str, data: bytes) -> Words:
    """Words of consecutive blocks of 64 bytes."""
    block = 0
    while True:
        yield from struct.unpack("<16I", keyed(secret, person, data + struct.pack("<I", block), 64))
        block += 1


def uniform(words: Words, n: int) -> int:
    return next(word for word in words if word < WHOLE - WHOLE % n) % n


def width(n: int) -> int:
    """w(n), section 12."""
    return max(1, (n - 1).bit_length())


def packed(fields: Iterable[tuple[int, int]], *, size: int | None = None) -> bytes:
    """Pack (number, bits) from bit 0 of byte 0, and fill with zeros up to so many bytes."""
    number = bits = 0
    for value, wide in fields:
        number |= value << bits
        bits += wide
    return number.to_bytes(-(-bits // 8) if size is None else size, "little")


# Sections 5 and 6.


def canonical(meaning: Json) -> str:
    return json.dumps(meaning, ensure_ascii=False, separators=(",", ":"))


def fingerprint_of(meaning: str) -> bytes:
    return hashlib.sha256(meaning.encode()).digest()[:16]


def batch(rows: Sequence[bytes], *, fingerprint: bytes, batch_id: bytes, time_ms: int) -> bytes:
    checked = struct.pack("<BBHI16s16sq", 1, 0, len(rows[0]), len(rows), fingerprint, batch_id, time_ms)
    checked += b"".join(rows)
    return b"SLDP" + struct.pack("<I", zlib.crc32(checked)) + checked


def pane_ms(window: Mapping[str, str]) -> int:
    return duration_ms(window.get("hop", window["size"]))


def rounded_time(window: Mapping[str, str], time_ms: int) -> int:
    h = pane_ms(window)
    r = duration_ms(window["time_precision"]) if "time_precision" in window else min(max(1, h // 10), 60_000)
    return time_ms - (time_ms % h) % r


def reason_of(record: bytes, *, fingerprint: bytes, bits: int) -> str | None:
    """The reason of section 8 that depends on the bytes alone, for rr-ldp; None if there is none."""
    row = -(-bits // 8)
    if len(record) < HEADER_BYTES:
        return "too_short"
    magic, checksum, version, reserved, wide, count, carried = struct.unpack("<4sIBBHI16s", record[:32])
    rows = record[HEADER_BYTES:]
    reasons = {
        "bad_magic": magic != b"SLDP",
        "unknown_version": (version, reserved) != (1, 0),
        "wrong_length": len(rows) != wide * count,
        "bad_checksum": checksum != zlib.crc32(record[8:]),
        "unknown_fingerprint": carried != fingerprint,
        "zero_reports": count == 0,
        "wrong_width": wide != row,
        "padding_bits": any(rows[place] >> (bits - 8 * (row - 1)) for place in range(row - 1, len(rows), row)),
    }
    return next((reason for reason, found in reasons.items() if found), None)


# Values, sections 1 and 5.


def text_of(value: str | float) -> str:
    if isinstance(value, str):
        return value
    return str(int(value)) if float(value).is_integer() else repr(value)


class Values:
    """What an attribute of the file may be: a list, bins, and a value for what is missing."""

    def __init__(self, attribute: Mapping[str, Json]) -> None:
        self.name: str = attribute["name"]
        self.edges = [float(each) for each in attribute.get("bins", [])]
        self.missing: str | None = attribute.get("missing")
        self.values: list[str] = list(attribute.get("values", self._intervals()))
        if self.missing is not None and self.missing not in self.values:
            self.values.append(self.missing)

    def _intervals(self) -> list[str]:
        shown = [text_of(edge) if math.isfinite(edge) else str(edge) for edge in self.edges]
        last = len(shown) - 2
        return [
            f"{'(' if math.isinf(self.edges[place]) else '['}{shown[place]},{shown[place + 1]}"
            f"{']' if place == last and math.isfinite(self.edges[-1]) else ')'}"
            for place in range(last + 1)
        ]

    def number_of(self, value: str | float | None) -> int:
        if value is None:
            assert self.missing is not None
            return self.values.index(self.missing)
        text = text_of(value)
        if text in self.values:
            return self.values.index(text)
        number = float(text)
        assert self.edges[0] <= number <= self.edges[-1]
        inside = [place for place in range(len(self.edges) - 1) if self.edges[place] <= number]
        return inside[-1]


# Records, sections 1 to 6.


class Records:
    """A collection of records, from its file."""

    def __init__(self, file: Mapping[str, Json]) -> None:
        self.name: str = file["collection"]
        self.mechanism = file["mechanism"]
        self.attributes = [Values(each) for each in file["attributes"]]
        self.window = file["window"]
        self.sample = threshold(file.get("sample", 1.0))
        self.linked_ms = duration_ms(file["linked"]) if "linked" in file else None

    @property
    def sizes(self) -> list[int]:
        return [len(each.values) for each in self.attributes]

    @property
    def is_k_rr(self) -> bool:
        return bool(self.mechanism["kind"] == "k-rr")

    @property
    def thresholds(self) -> list[int]:
        """t_f, t_p, t_q."""
        given = self.mechanism
        return [threshold(given["f"] / 2), threshold(given.get("p", 0.0)), threshold(given.get("q", 1.0))]

    @property
    def runs(self) -> list[int]:
        with localcontext(prec=80):
            return [math.ceil(WHOLE / (e_to(self.mechanism["epsilon"]) + r - 1)) for r in self.sizes]

    @property
    def kept(self) -> list[int]:
        return [WHOLE - (r - 1) * run for r, run in zip(self.sizes, self.runs, strict=True)]

    @property
    def fresh(self) -> list[int] | None:
        """With `per_report`, the chance that what is named is sent; for each attribute."""
        if "per_report" not in self.mechanism:
            return None
        found = []
        for r, kept in zip(self.sizes, self.kept, strict=True):
            fresh_run = -(-(WHOLE - fresh_chance(kept, r, self.mechanism["per_report"])) // (r - 1))
            found.append(WHOLE - (r - 1) * fresh_run)
        return found

    @property
    def chances(self) -> list[Json]:
        """What the fingerprint of k-rr has for each attribute."""
        if self.fresh is None:
            return list(self.kept)
        return [list(pair) for pair in zip(self.kept, self.fresh, strict=True)]

    @property
    def meaning(self) -> str:
        noise = self.chances if self.is_k_rr else self.thresholds
        meaning: list[Json] = [
            self.name,
            self.mechanism["kind"],
            noise,
            [[each.name, each.values] for each in self.attributes],
        ]
        if self.sample < WHOLE:
            meaning += [self.sample, pane_ms(self.window)]
        if self.linked_ms is not None:
            meaning.append(["linked", self.linked_ms])
        return canonical(meaning)

    @property
    def fingerprint(self) -> bytes:
        return fingerprint_of(self.meaning)

    def values_of(self, record: Mapping[str, Json]) -> list[int]:
        return [each.number_of(record[each.name]) for each in self.attributes]

    def one_hot(self, values: Sequence[int]) -> list[int]:
        return [int(value == place) for value, size in zip(values, self.sizes, strict=True) for place in range(size)]

    def permanent_words(self, secret: bytes, values: Sequence[int]) -> list[int]:
        found: list[int] = []
        for place, (attribute, value) in enumerate(zip(self.attributes, values, strict=True)):
            named: list[Json] = [self.name, attribute.name, attribute.values]
            if self.is_k_rr:
                fresh = [] if self.fresh is None else [self.fresh[place]]
                named += ["k-rr", self.kept[place], *fresh]
            else:
                named.append(self.thresholds[0])
            context = hashlib.sha256(canonical(named).encode()).digest()
            count = 1 if self.is_k_rr else len(attribute.values)
            for block in range(-(-count // 16)):
                length = min(64, 4 * count - 64 * block)
                data = context + struct.pack("<II", value, block)
                digest = keyed(secret, "stream-ldp prr 1", data, length)
                found += struct.unpack(f"<{length // 4}I", digest)
        return found

    def permanent(self, values: Sequence[int], words: Sequence[int]) -> list[int]:
        """The permanent response: bits, or the values that k-rr names."""
        if self.is_k_rr:
            drawn = zip(values, words, self.sizes, self.kept, self.runs, strict=True)
            return [_other(v, word, r, kept, run) for v, word, r, kept, run in drawn]
        inverted = self.thresholds[0]
        return [bit ^ (word < inverted) for bit, word in zip(self.one_hot(values), words, strict=True)]

    def instantaneous(self, permanent: Sequence[int], fresh_words: Sequence[int]) -> list[int]:
        """What is sent, made of fresh words; none are drawn where there is no second noise."""
        if self.is_k_rr:
            if self.fresh is None:
                return list(permanent)
            drawn = zip(permanent, fresh_words, self.sizes, self.fresh, strict=True)
            return [_other(v, word, r, fresh, (WHOLE - fresh) // (r - 1)) for v, word, r, fresh in drawn]
        _, t_p, t_q = self.thresholds
        if "p" not in self.mechanism:
            return list(permanent)
        return [int(word < (t_q if bit else t_p)) for bit, word in zip(permanent, fresh_words, strict=True)]

    def row(self, sent: Sequence[int]) -> bytes:
        """The row without a pseudonym."""
        if self.is_k_rr:
            return packed((v, (r - 1).bit_length()) for v, r in zip(sent, self.sizes, strict=True))
        return packed((bit, 1) for bit in sent)

    def asked(self, secret: bytes, time_ms: int) -> tuple[int, int, bool]:
        """The number of the pane, the user's word, and whether the user is asked."""
        pane = time_ms // pane_ms(self.window)
        word = word_of(keyed(secret, "stream-ldp grp 1", self.fingerprint + struct.pack("<q", pane), 4))
        return pane, word, word < self.sample

    def pseudonym(self, secret: bytes, period: int) -> bytes:
        return keyed(secret, "stream-ldp lnk 1", self.fingerprint + struct.pack("<q", period), 8)

    def report(
        self, secret: bytes, record: Mapping[str, Json], *, time_ms: int, fresh_words: Sequence[int]
    ) -> bytes | None:
        """The whole row of a report; None if the user is not asked."""
        if not self.asked(secret, time_ms)[2]:
            return None
        values = self.values_of(record)
        named = self.permanent(values, self.permanent_words(secret, values))
        row = self.row(self.instantaneous(named, fresh_words))
        if self.linked_ms is None:
            return row
        return self.pseudonym(secret, time_ms // self.linked_ms) + row


def _other(value: int, word: int, r: int, kept: int, run: int) -> int:
    return value if word < kept else (value + 1 + (word - kept) // run) % r


def fresh_chance(kept: int, r: int, per_report: float) -> int:
    """a, section 5."""
    with localcontext(prec=80):
        odds, p = e_to(per_report), Decimal(kept) / WHOLE
        q = (1 - p) / (r - 1)
        x = odds * (1 - q) - (1 - p)
        return floored(WHOLE * x / (x + (r - 1) * (p - odds * q)))


# Item sets, sections 9 to 14.


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


def signs_of(rows: Sequence[int], value: int) -> int:
    """The hash of a value: bit i is popcount(j_i AND v) mod 2."""
    return sum(((row & value).bit_count() & 1) << place for place, row in enumerate(rows))


class Sets:
    """A collection of item sets, from its file."""

    def __init__(self, file: Mapping[str, Json]) -> None:
        mechanism = file["mechanism"]
        self.name: str = file["collection"]
        self.epsilon = float(mechanism["epsilon"])
        self.kind: str = mechanism.get("kind", "gfim-users" if self.epsilon <= 2 else "svim")
        self.set_size: int = mechanism.get("set_size", 1)
        self.split: Sequence[float] = mechanism.get("split", (0.6, 0.4))
        self.hash_bits: int | None = 1 if self.kind == "loloha" else mechanism.get("hash_bits")
        self.for_ever = float(mechanism.get("for_ever", min(2 * self.epsilon, 22.0)))
        items = file["items"]
        self.names: list[str] | None = items.get("names")
        self.count: int = items["size"] if self.names is None else len(self.names)
        self.size_ms = duration_ms(file["window"]["size"])
        self.epochs: str = file.get("epochs", "sequential")
        self.sample = threshold(file.get("sample", 1.0))

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
        return [
            (asked, low * self.sample // WHOLE, high * self.sample // WHOLE, each) for asked, low, high, each in found
        ]

    @property
    def signs(self) -> tuple[int, int]:
        """Permanent and fresh of `loloha`."""
        with localcontext(prec=80):
            odds = e_to(self.for_ever)
            permanent = floored(WHOLE * odds / (odds + 1))
            big, one = Decimal(permanent) / (WHOLE - permanent), e_to(self.epsilon)
            within = (big * one - 1) / (big - one)
            return permanent, floored(WHOLE * within / (within + 1))

    @property
    def meaning(self) -> str:
        phases = [[*phase, *(self.signs if self.kind == "loloha" else ())] for phase in self.phases]
        items = self.count if self.names is None else self.names
        return canonical(
            [self.name, self.kind, phases, self.set_size, self.hash_bits, items, self.size_ms, self.epochs]
        )

    @property
    def fingerprint(self) -> bytes:
        return fingerprint_of(self.meaning)

    def round_meaning(self, asked: Mapping[str, Json]) -> str:
        return canonical(
            [self.fingerprint.hex(), asked["epoch"], asked["phase"], asked["candidates"], asked["padding"]]
        )

    def trusts(self, asked: Mapping[str, Json]) -> bool:
        """Rules 1 to 4 of section 10."""
        phase, candidates = asked["phase"], asked["candidates"]
        return (
            asked["schema_version"] == 1
            and asked["collection_fingerprint"] == self.fingerprint.hex()
            and 2 <= phase <= len(self.phases)
            and asked["epsilon"] <= self.phases[phase - 1][3]
            and (asked["start_ms"], asked["end_ms"]) == self.bounds_ms(asked["epoch"], phase)
            and len(candidates) > 0
            and all(0 <= each < self.count for each in candidates)
            and all(one < other for one, other in pairwise(candidates))
            and 1 <= asked["padding"] <= len(candidates)
        )

    def bounds_ms(self, epoch: int, phase: int) -> tuple[int, int]:
        first = epoch * len(self.phases) if self.epochs == "sequential" else epoch
        start = (first + phase - 1) * self.size_ms
        return start, start + self.size_ms

    def word(self, secret: bytes, epoch: int) -> int:
        data = self.fingerprint + struct.pack("<q", epoch)
        return word_of(keyed(secret, "stream-ldp grp 1", data, 4))

    def is_asked(self, secret: bytes, epoch: int, phase: int) -> bool:
        _, low, high, _ = self.phases[phase - 1]
        return low <= self.word(secret, epoch) < high

    def numbers_of(self, items: Iterable[str]) -> list[int]:
        return sorted(int(item) if self.names is None else self.names.index(item) for item in items)

    def restricted(self, items: Iterable[int], asked: Mapping[str, Json] | None) -> list[int]:
        if asked is None:
            return sorted(items)
        return sorted(asked["candidates"].index(item) for item in items if item in asked["candidates"])

    def values_of(self, phase: int, asked: Mapping[str, Json] | None) -> tuple[int, int]:
        """n, the number of values, and l."""
        n = self.count if asked is None else len(asked["candidates"])
        counts = self.phases[phase - 1][0] == "count"
        return n + counts, self.set_size if asked is None else asked["padding"]

    def response(self, phase: int, asked: Mapping[str, Json] | None) -> tuple[str, int, int, int]:
        """Which response is made: its kind, t, the number of dummies, and kept."""
        target, _, _, epsilon = self.phases[phase - 1]
        n, slots = self.values_of(phase, asked)
        counts = target == "count"
        if self.kind == "loloha":
            return "loloha", 1, 0, self.signs[0]
        kind, t = self._response(phase, n, slots, epsilon, counts=counts)
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


# Randomizers, section 17.


def near_vectors(d: int) -> int:
    """C."""
    return sum(math.comb(d, agreeing) for agreeing in range(d + 1) if 2 * agreeing > d)


def bits_of(kind: str, parameters: Sequence[int]) -> int:
    match kind:
        case "direct" | "repeated":
            return width(parameters[0])
        case "hadamard":
            return parameters[1] * width(parameters[0]) + parameters[1]
        case "piecewise":
            return width(parameters[0] + parameters[1])
        case "channel":
            return width(parameters[1])
        case _:
            return parameters[0]


def direct(words: Words, value: int, choices: int, kept: int) -> int:
    return value if next(words) < kept else (value + 1 + uniform(words, choices - 1)) % choices


def answer(kind: str, parameters: Sequence[int], value: int, words: Words) -> int:
    """The row of an answer as a number, whose bits are the row's. `value` is a set of bits for `bloom`."""
    match kind:
        case "direct":
            choices, dummies, kept = parameters
            assert dummies == 0
            return direct(words, value, choices, kept)
        case "repeated":
            choices, kept, _ = parameters
            return direct(words, value, choices, kept)
        case "hadamard":
            n, t, kept = parameters
            rows = [uniform(words, 2 ** width(n)) for _ in range(t)]
            fields = [*rows, direct(words, signs_of(rows, value), 2**t, kept)]
            return sum(field << place * width(n) for place, field in enumerate(fields))
        case "unary":
            n, kept = parameters
            return sum(((place == value) ^ (next(words) >= kept)) << place for place in range(n))
        case "oue":
            n, kept = parameters
            return sum(
                (next(words) < (WHOLE // 2 if place == value else WHOLE - kept)) << place for place in range(n)
            )
        case "bloom":
            m, _, kept, _, _ = parameters
            return sum(((value >> place & 1) ^ (next(words) >= kept)) << place for place in range(m))
        case "k-subset":
            return subset(parameters, value, words)
        case "piecewise":
            m, w, kept = parameters
            if next(words) < kept:
                return value + uniform(words, w)
            u = uniform(words, m)
            return u if u < value else u + w
        case "channel":
            _, outputs, *table = parameters
            word = next(words)
            ends = accumulate(table[value * outputs : (value + 1) * outputs])
            return next(output for output, end in enumerate(ends) if end > word)
        case "mean-est":
            return half_space(parameters, value, words)
    raise ValueError(kind)


def subset(parameters: Sequence[int], value: int, words: Words) -> int:
    k, w, kept = parameters
    others = [each for each in range(k) if each != value]
    own = next(words) < kept
    chosen = {value} if own else set()
    for j in range(k - w if own else k - 1 - w, k - 1):
        u = uniform(words, j + 1)
        chosen.add(others[j] if others[u] in chosen else others[u])
    return sum(1 << each for each in chosen)


def half_space(parameters: Sequence[int], value: int, words: Words) -> int:
    d, kept = parameters
    near = next(words) < kept
    number = uniform(words, near_vectors(d) if near else 2**d - near_vectors(d))
    for agreeing in (each for each in range(d + 1) if (2 * each > d) == near):
        if number < math.comb(d, agreeing):
            break
        number -= math.comb(d, agreeing)
    # In the combinatorial number system, combinations of the same size ascend by their largest member first.
    ordered = sorted(combinations(range(d), agreeing), key=lambda places: places[::-1])
    agree = ordered[number]
    assert number == sum(math.comb(place, count) for count, place in enumerate(agree, 1))
    return sum((value >> place & 1 ^ (place not in agree)) << place for place in range(d))


def again(kind: str, parameters: Sequence[int], number: int, fresh_words: Words) -> int:
    """What a report sends of an answer that is repeated: the same, but for randomizers with noise of their own."""
    if kind == "repeated":
        choices, _, fresh = parameters
        return direct(fresh_words, number, choices, fresh)
    if kind == "bloom" and tuple(parameters[3:]) != (0, WHOLE):
        m, _, _, t_p, t_q = parameters
        return sum((next(fresh_words) < (t_q if number >> place & 1 else t_p)) << place for place in range(m))
    return number


def sides(kind: str, parameters: Sequence[int]) -> tuple[int, int, int]:
    """a, b and n of the table in section 15."""
    match kind:
        case "direct" | "repeated":
            return 1, parameters[0] - 1, 1
        case "hadamard":
            return 1, 2 ** parameters[1] - 1, 1
        case "unary":
            return 1, 1, 2
        case "oue":
            return 1, 1, 1
        case "k-subset":
            return parameters[1], parameters[0] - parameters[1], 1
        case "bloom":
            return 1, 1, 2 * parameters[1]
        case "piecewise":
            return parameters[1], parameters[0], 1
        case "mean-est":
            near = near_vectors(parameters[0])
            return near, 2 ** parameters[0] - near, 1
    raise ValueError(kind)


def kept_place(kind: str) -> int:
    return {"direct": 2, "hadamard": 2, "k-subset": 2, "bloom": 2, "piecewise": 2}.get(kind, 1)


def kept_of(kind: str, parameters: Sequence[int], epsilon: float) -> int:
    """Kept, as section 15 makes it of an epsilon."""
    a, b, n = sides(kind, parameters)
    with localcontext(prec=80):
        odds = a * e_to(exact(epsilon) / n)
        return floored(WHOLE * odds / (odds + b))


def loss_of(kind: str, parameters: Sequence[int], *, reports: float = math.inf) -> float:
    """What an answer costs that is shown in so many reports, in nats."""
    with localcontext(prec=80):
        if kind == "channel":
            _, outputs, *table = parameters
            columns = [table[place::outputs] for place in range(outputs)]
            return float(max((Decimal(max(each)) / min(each)).ln() for each in columns if any(each)))
        kept = parameters[kept_place(kind)]
        if kind == "repeated" and reports != math.inf:
            r, _, fresh = parameters
            p = Decimal(kept) / WHOLE
            q, x = (1 - p) / (r - 1), (Decimal(WHOLE - fresh) / ((r - 1) * fresh)) ** int(reports)
            return float(((p + (r - 1) * q * x) / (q + (p + (r - 2) * q) * x)).ln())
        a, b, n = sides(kind, parameters)
        return float((Decimal(kept) * b / ((WHOLE - kept) * a)).ln() * n)


# Sampled collections and views, section 17.


class Sampled:
    """A sampled collection, or one of views, from its meaning; `clips` names the attributes with `clip: true`."""

    def __init__(self, meaning: str, file: Mapping[str, Json]) -> None:
        self.fingerprint = fingerprint_of(meaning)
        self.name, _, self.domains, self.questions, self.ends = json.loads(meaning)
        self.attributes = [Values(each) for each in file["attributes"]]
        self.clips = {each["name"] for each in file["attributes"] if each.get("clip")}

    def word(self, secret: bytes) -> int:
        return word_of(keyed(secret, "stream-ldp qst 1", self.fingerprint, 4))

    def question(self, secret: bytes) -> int:
        word = self.word(secret)
        return next(number for number, end in enumerate(self.ends) if end > word)

    def _number(self, place: int, record: Mapping[str, Json]) -> float:
        name, (least, largest) = self.domains[place]
        number = float(text_of(record[name])) + 0.0
        return min(max(number, least), largest) if name in self.clips else number

    def _held(self, place: int, record: Mapping[str, Json]) -> bytes:
        name, domain = self.domains[place]
        if domain is None:
            return hashlib.sha256(text_of(record[name]).encode()).digest()
        if isinstance(domain[0], str):
            return struct.pack("<q", self.attributes[place].number_of(record[name]))
        return struct.pack("<d", self._number(place, record))

    def _rounded(self, place: int, record: Mapping[str, Json], m: int, words: Words) -> int:
        _, (least, largest) = self.domains[place]
        t: float = (self._number(place, record) - least) / (largest - least) * 2 - 1
        y = (min(max(t, -1.0), 1.0) + 1) / 2 * m
        b = min(math.floor(y), m - 1)
        return b + (next(words) < round((y - b) * WHOLE))

    def _input(self, number: int, record: Mapping[str, Json], words: Words) -> int:
        of, kind, parameters, *cohort = self.questions[number]
        if cohort:
            (place,), (cohort_number,) = of, cohort
            attribute = self.attributes[place]
            text = text_of(record[attribute.name])
            if self.domains[place][1] is not None:
                text = attribute.values[attribute.number_of(record[attribute.name])]
            h = parameters[1] if kind == "bloom" else 1
            buckets = [
                int.from_bytes(
                    hashlib.blake2b(struct.pack("<I", h * cohort_number + i) + text.encode(), digest_size=8).digest(),
                    "little",
                )
                % parameters[0]
                for i in range(h)
            ]
            return sum(1 << bucket for bucket in set(buckets)) if kind == "bloom" else buckets[0]
        if kind == "piecewise":
            return self._rounded(of[0], record, parameters[0], words)
        if kind == "mean-est":
            return sum(self._rounded(place, record, 1, words) << bit for bit, place in enumerate(of))
        v = 0
        for place in of:
            name, values = self.domains[place]
            v = v * len(values) + self.attributes[place].number_of(record[name])
        return v

    @property
    def answer_bytes(self) -> int:
        return max(-(-bits_of(kind, parameters) // 8) for _, kind, parameters, *_ in self.questions)

    def _packed(self, number: int, answered: int) -> bytes:
        count = len(self.questions)
        said = 0 if count == 1 else 1 if count <= 256 else 2
        return number.to_bytes(said, "little") + answered.to_bytes(self.answer_bytes, "little")

    def row(self, secret: bytes, record: Mapping[str, Json], fresh_words: Sequence[int] | None = None) -> bytes:
        """The row that is repeated; with fresh words, what one report sends of it."""
        number = self.question(secret)
        of, kind, parameters, *_ = self.questions[number]
        held = b"".join(self._held(place, record) for place in of)
        words = words_of(secret, "stream-ldp ans 1", self.fingerprint + struct.pack("<H", number) + held)
        answered = answer(kind, parameters, self._input(number, record, words), words)
        if fresh_words is not None:
            answered = again(kind, parameters, answered, iter(fresh_words))
        return self._packed(number, answered)


# Strings, section 18.


def mixed(x: int) -> int:
    mask = 2**64 - 1
    x = (x + 0x9E3779B97F4A7C15) & mask
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & mask
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & mask
    return x ^ (x >> 31)


def bucket_of(symbols: Sequence[int], seed: int, t: int) -> int:
    found = 0
    for place, symbol in enumerate(symbols):
        found ^= mixed((seed << 32) + (place << 16) + symbol)
    return found >> (64 - t)


class Strings:
    """A collection of strings, from its meaning."""

    def __init__(self, meaning: str) -> None:
        self.fingerprint = fingerprint_of(meaning)
        _, _, self.method, (self.name, self.alphabet, self.length), *rest = json.loads(meaning)
        self.randomizers, self.questions, self.ends = rest

    def drawn(self, secret: bytes) -> tuple[int, int]:
        """The number of the question, and the seed."""
        word, seed = struct.unpack("<II", keyed(secret, "stream-ldp str 1", self.fingerprint, 8))
        return next(number for number, end in enumerate(self.ends) if end > word), seed

    def symbols(self, string: str) -> list[int]:
        letters = string.encode() if self.alphabet is None else [self.alphabet.index(each) for each in string]
        assert 1 <= len(letters) <= self.length
        return [each + 1 for each in letters] + [0] * (self.length - len(letters))

    def inputs(self, number: int, seed: int, symbols: Sequence[int]) -> list[int]:
        asked = self.questions[number]
        if self.method == "pem":
            ((_, (buckets, _, _)),) = self.randomizers
            return [bucket_of(symbols[:asked], seed, buckets.bit_length() - 1)]
        m = len(self.alphabet) + 1
        longer = [*symbols, 0]
        return [bucket_of(symbols, seed, 7), *(longer[2 * i] * m + longer[2 * i + 1] for i in asked)]

    def row(self, secret: bytes, record: Mapping[str, str]) -> bytes:
        number, seed = self.drawn(secret)
        inputs = self.inputs(number, seed, self.symbols(record[self.name]))
        held = b"".join(struct.pack("<q", each) for each in inputs)
        words = words_of(secret, "stream-ldp ans 1", self.fingerprint + struct.pack("<H", number) + held)
        rows = [
            packed([(answer(kind, parameters, value, words), bits_of(kind, parameters))])
            for (kind, parameters), value in zip(self.randomizers, inputs, strict=True)
        ]
        return struct.pack("<BI", number, seed) + b"".join(rows)


# Places, section 19.


class Places:
    """A collection of places, from its meaning and its file, which names the regions."""

    def __init__(self, meaning: str, file: Mapping[str, Json]) -> None:
        self.fingerprint = fingerprint_of(meaning)
        _, _, self.places, self.questions = json.loads(meaning)
        self.epsilons = [float(each) for each in file["mechanism"]["epsilon"]]
        self.regions: dict[str, tuple[int, int]] = {}
        root = file.get("root", "everywhere")
        if "levels" in file:
            self._even(file["levels"], root, (), 0)
        else:
            self._named(file["places"], root, 0)

    def _even(self, levels: Sequence[int], root: str, way: tuple[int, ...], first: int) -> None:
        size = math.prod(levels[len(way) :])
        self.regions[".".join(map(str, way)) or root] = (first, first + size)
        if len(way) + 1 < len(levels):
            for number in range(levels[len(way)]):
                self._even(levels, root, (*way, number), first + number * (size // levels[len(way)]))

    def _named(self, nested: Json, name: str, first: int) -> int:
        self.regions[name] = (first, first)
        end = first
        if isinstance(nested, dict):
            for below, parts in nested.items():
                end = self._named(parts, below, end)
        else:
            end += len(nested)
        self.regions[name] = (first, end)
        return end

    def question(self, record: Mapping[str, Json]) -> int:
        region = list(self.regions).index(record["region"])
        return region * len(self.epsilons) + self.epsilons.index(float(record["epsilon"]))

    def row(self, secret: bytes, record: Mapping[str, Json]) -> bytes:
        number, place = self.question(record), self.places.index(record["place"])
        first, end, kind, parameters = self.questions[number]
        assert (first, end) == self.regions[record["region"]]
        assert first <= place < end
        data = self.fingerprint + struct.pack("<Hq", number, place)
        answered = answer(kind, parameters, place - first, words_of(secret, "stream-ldp ans 1", data))
        count = len(self.questions)
        said = 0 if count == 1 else 1 if count <= 256 else 2
        longest = max(bits_of(each[2], each[3]) for each in self.questions)
        return number.to_bytes(said, "little") + answered.to_bytes(-(-longest // 8), "little")
