"""Records: sections 1 to 6 of docs/wire.md."""

import hashlib
import math
import struct
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal, localcontext
from functools import cached_property, partial
from itertools import islice

from stream_ldp.audit.wire.batch import pane_ms
from stream_ldp.audit.wire.client import Held, Turns, spread
from stream_ldp.audit.wire.notation import (
    WHOLE,
    Json,
    Words,
    canonical,
    duration_ms,
    e_to,
    fingerprint_of,
    floored,
    keyed,
    number,
    packed,
    threshold,
    word_of,
)
from stream_ldp.audit.wire.randomizers import loss_of, shared_loss
from stream_ldp.audit.wire.values import Values


class Records:
    """A collection of records, from its file."""

    def __init__(self, file: Mapping[str, Json]) -> None:
        self.name: str = file["collection"]
        self.mechanism = {key: value if key == "kind" else number(value) for key, value in file["mechanism"].items()}
        self.attributes = [Values(each) for each in file["attributes"]]
        self.window = file["window"]
        self.sample = threshold(number(file.get("sample", 1.0)))
        self.linked_ms = duration_ms(file["linked"]) if "linked" in file else None
        self.turns = Turns.of(file)

    @cached_property
    def sizes(self) -> list[int]:
        return [len(each.values) for each in self.attributes]

    @property
    def is_k_rr(self) -> bool:
        return bool(self.mechanism["kind"] == "k-rr")

    @property
    def is_k_subset(self) -> bool:
        return bool(self.mechanism["kind"] == "k-subset")

    @property
    def is_hashed(self) -> bool:
        return bool(self.mechanism["kind"] == "hashed-k-rr")

    @cached_property
    def buckets(self) -> list[int]:
        """What k-RR is of, for each attribute: its values, or the buckets that they are hashed to."""
        if not self.is_hashed:
            return self.sizes
        return [min(r, int(self.mechanism.get("buckets", 2))) for r in self.sizes]

    @cached_property
    def cohorts(self) -> list[list[list[int]]]:
        """The digits of each cohort, lowest first, of each attribute."""
        base = int(self.mechanism.get("buckets", 2))
        found = []
        for r in self.sizes:
            count = next(count for count in range(1, r + 1) if base**count >= r)
            found.append(
                [
                    digits(number, base, count)
                    for number in range(base**count)
                    if next((each for each in reversed(digits(number, base, count)) if each), 0) == 1
                ]
            )
        return found

    def bucket(self, place: int, cohort: int, value: int) -> int:
        """The bucket of a value of an attribute."""
        base, of_cohort = int(self.mechanism.get("buckets", 2)), self.cohorts[place][cohort]
        of_value = digits(value, base, len(of_cohort))
        return sum(one * other for one, other in zip(of_cohort, of_value, strict=True)) % base

    def cohort_of(self, place: int, word: int) -> int:
        """The cohort that a word chooses."""
        run = WHOLE // len(self.cohorts[place])
        first = WHOLE - run * (len(self.cohorts[place]) - 1)
        return 0 if word < first else 1 + (word - first) // run

    @cached_property
    def thresholds(self) -> list[int]:
        """t_f, t_p, t_q."""
        given = self.mechanism
        return [threshold(given["f"] / 2), threshold(given.get("p", 0.0)), threshold(given.get("q", 1.0))]

    @cached_property
    def members(self) -> list[int]:
        """w of each attribute: 1, but for k-subset."""
        if not self.is_k_subset:
            return [1] * len(self.buckets)
        with localcontext(prec=80):
            odds = e_to(self.mechanism["epsilon"])
            return [min(range(1, r), key=lambda w: (w * odds + r - w) ** 2 / (w * (r - w))) for r in self.sizes]

    @cached_property
    def runs(self) -> list[int]:
        with localcontext(prec=80):
            odds = e_to(self.mechanism["epsilon"])
            shapes = zip(self.buckets, self.members, strict=True)
            return [math.ceil((WHOLE + w - 1) / (w * odds + r - w)) for r, w in shapes]

    @cached_property
    def kept(self) -> list[int]:
        shapes = zip(self.buckets, self.members, self.runs, strict=True)
        return [WHOLE - (r - w) * run for r, w, run in shapes]

    @cached_property
    def fresh(self) -> list[int] | None:
        """With `per_report`, the chance that what is named is sent; for each attribute."""
        if "per_report" not in self.mechanism:
            return None
        found = []
        for r, kept in zip(self.buckets, self.kept, strict=True):
            fresh_run = -(-(WHOLE - fresh_chance(kept, r, self.mechanism["per_report"])) // (r - 1))
            found.append(WHOLE - (r - 1) * fresh_run)
        return found

    @property
    def chances(self) -> list[Json]:
        """What the fingerprint of all but rr-ldp has for each attribute."""
        if self.is_hashed and self.fresh is not None:
            return [list(each) for each in zip(self.buckets, self.kept, self.fresh, strict=True)]
        if self.is_k_subset:
            return [list(pair) for pair in zip(self.members, self.kept, strict=True)]
        if self.fresh is None:
            return list(self.kept)
        return [list(pair) for pair in zip(self.kept, self.fresh, strict=True)]

    @property
    def meaning(self) -> str:
        noise = self.thresholds if self.mechanism["kind"] == "rr-ldp" else self.chances
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
        return canonical(meaning + self.turns.entry)

    @property
    def fingerprint(self) -> bytes:
        return fingerprint_of(self.meaning)

    def values_of(self, record: Mapping[str, Json]) -> list[int]:
        return [each.number_of(record[each.name]) for each in self.attributes]

    def one_hot(self, values: Sequence[int]) -> list[int]:
        return [int(value == place) for value, size in zip(values, self.sizes, strict=True) for place in range(size)]

    @cached_property
    def contexts(self) -> list[bytes]:
        """The context of each attribute, sections 3 and 5."""
        found = []
        for place, attribute in enumerate(self.attributes):
            named: list[Json] = [self.name, attribute.name, attribute.values]
            if self.is_k_rr:
                fresh = [] if self.fresh is None else [self.fresh[place]]
                named += ["k-rr", self.kept[place], *fresh]
            elif self.is_hashed:
                named += ["hashed-k-rr", *self.chances[place]]
            elif self.is_k_subset:
                named += ["k-subset", self.members[place], self.kept[place]]
            else:
                named.append(self.thresholds[0])
            found.append(hashlib.sha256(canonical(named).encode()).digest())
        return found

    @cached_property
    def word_counts(self) -> list[int]:
        """The permanent words of each attribute."""
        if self.is_hashed:
            return [1 + g for g in self.buckets]
        return [1 if self.is_k_rr else r + self.is_k_subset for r in self.sizes]

    def permanent_words(self, secret: bytes, values: Sequence[int]) -> list[int]:
        found: list[int] = []
        for context, count, value in zip(self.contexts, self.word_counts, values, strict=True):
            value = 0 if self.is_hashed else value  # noqa: PLW2901
            for block in range(-(-count // 16)):
                length = min(64, 4 * count - 64 * block)
                data = context + struct.pack("<II", value, block)
                digest = keyed(secret, "stream-ldp prr 1", data, length)
                found += struct.unpack(f"<{length // 4}I", digest)
        return found

    def permanent(self, values: Sequence[int], words: Sequence[int]) -> list[int]:
        """The permanent response: bits, the values that k-rr names, or buckets by the number of their cohort."""
        if self.is_hashed:
            left, found = iter(words), list[int]()
            for j, (v, g, kept, run) in enumerate(zip(values, self.buckets, self.kept, self.runs, strict=True)):
                cohort = self.cohort_of(j, next(left))
                bucket = self.bucket(j, cohort, v)
                word = list(islice(left, g))[bucket]
                found.append(cohort * g + _other(bucket, word, g, kept, run))
            return found
        if self.is_k_subset:
            left, found = iter(words), list[int]()
            for v, r, w, kept, run in zip(values, self.sizes, self.members, self.kept, self.runs, strict=True):
                found += held(v, list(islice(left, r + 1)), w, kept, run)
            return found
        if self.is_k_rr:
            drawn = zip(values, words, self.sizes, self.kept, self.runs, strict=True)
            return [_other(v, word, r, kept, run) for v, word, r, kept, run in drawn]
        inverted = self.thresholds[0]
        return [bit ^ (word < inverted) for bit, word in zip(self.one_hot(values), words, strict=True)]

    def instantaneous(self, permanent: Sequence[int], fresh_words: Sequence[int]) -> list[int]:
        """What is sent, made of fresh words; none are drawn where there is no second noise."""
        if self.is_k_subset:
            return list(permanent)
        if self.is_k_rr or self.is_hashed:
            if self.fresh is None:
                return list(permanent)
            drawn = zip(permanent, fresh_words, self.buckets, self.fresh, strict=True)
            return [
                v - v % r + _other(v % r, word, r, fresh, (WHOLE - fresh) // (r - 1)) for v, word, r, fresh in drawn
            ]
        _, t_p, t_q = self.thresholds
        if "p" not in self.mechanism:
            return list(permanent)
        return [int(word < (t_q if bit else t_p)) for bit, word in zip(permanent, fresh_words, strict=True)]

    def row(self, sent: Sequence[int]) -> bytes:
        """The row without a pseudonym."""
        if self.is_hashed:
            sizes = [len(cohorts) * g for cohorts, g in zip(self.cohorts, self.buckets, strict=True)]
            return packed((v, (size - 1).bit_length()) for v, size in zip(sent, sizes, strict=True))
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

    @property
    def period_ms(self) -> int | None:
        return self.linked_ms

    @property
    def links(self) -> bool:
        return self.linked_ms is not None

    def held(self) -> list[Held]:
        """Records in which each value of each attribute comes, up to `MAX_HELD`."""
        return spread([(each.name, each.examples()) for each in self.attributes])

    def excesses(self) -> Iterator[str]:
        """Nothing: the fingerprint is made from the file."""
        return iter(())

    def branch(self, secret: bytes) -> int:  # noqa: ARG002
        return 0

    def asks(self, secret: bytes, time_ms: int) -> bool:
        return self.asked(secret, time_ms)[2] and self.turns.has(
            secret, self.fingerprint, time_ms // self.turns.turn_ms
        )

    def whole_row(
        self, secret: bytes | None, record: Held, *, time_ms: int, words: Words, memoises: bool = True
    ) -> bytes:
        """The row of a user who is asked; without a secret, or if it memoises nothing, all words are fresh."""
        values, name = self.values_of(record), b""
        key = secret if memoises else None
        if self.linked_ms is not None:
            fresh = struct.pack("<II", next(words), next(words)) if key is None else b""
            name = fresh if key is None else self.pseudonym(key, time_ms // self.linked_ms)
        given = list(islice(words, sum(self.word_counts))) if key is None else self.permanent_words(key, values)
        named = self.permanent(values, given)
        has_second = "per_report" in self.mechanism or "p" in self.mechanism
        return name + self.row(self.instantaneous(named, list(islice(words, len(named))) if has_second else []))

    def changes(self, secret: bytes, one: Held, other: Held) -> bool:
        return self.charged(secret, one) != self.charged(secret, other)

    def charged(self, secret: bytes, record: Held) -> list[int]:
        """What a record costs by: its values, or their buckets."""
        values = self.values_of(record)
        if not self.is_hashed:
            return values
        words, found = iter(self.permanent_words(secret, values)), []
        for place, (value, count) in enumerate(zip(values, self.word_counts, strict=True)):
            first, *_ = islice(words, count)
            found.append(self.bucket(place, self.cohort_of(place, first), value))
        return found

    def cost(self, secret: bytes, shown: Sequence[Held], *, memoises: bool = True) -> float:
        """What reports of these records cost, rule 5 of section 15."""
        table = [self.charged(secret, record) if memoises else self.values_of(record) for record in shown]
        total = 0.0
        for place in range(len(self.attributes)):
            loss = partial(self.loss, place)
            values = len({values[place] for values in table})
            total += shared_loss(loss, values=values, reports=len(table)) if memoises else len(table) * loss(1)
        return total

    def loss(self, place: int, reports: float) -> float:
        """What so many reports of one value of an attribute cost, in nats."""
        if self.is_k_subset:
            return float(self.mechanism["epsilon"])
        if self.is_k_rr or self.is_hashed:
            if self.fresh is None:
                return float(self.mechanism["epsilon"])
            return loss_of("repeated", [self.buckets[place], self.kept[place], self.fresh[place]], reports=reports)
        with localcontext(prec=80):
            flip, p, q = (Decimal(each) / WHOLE for each in self.thresholds)
            keep, t = 1 - flip, Decimal(0) if reports == math.inf else Decimal(reports)
            ones, zeros = (
                Decimal(0) if reports == math.inf or not over else (over / under) ** t
                for over, under in ((p, q), (1 - q, 1 - p))
            )
            sides = ((keep + flip * each) / (flip + keep * each) for each in (ones, zeros))
            return float(sum(side.ln() for side in sides))

    def report(
        self, secret: bytes, record: Mapping[str, Json], *, time_ms: int, fresh_words: Sequence[int]
    ) -> bytes | None:
        """The whole row of a report; None if the user is not asked."""
        if not self.asks(secret, time_ms):
            return None
        values = self.values_of(record)
        named = self.permanent(values, self.permanent_words(secret, values))
        row = self.row(self.instantaneous(named, fresh_words))
        if self.linked_ms is None:
            return row
        return self.pseudonym(secret, time_ms // self.linked_ms) + row


def digits(number: int, base: int, count: int) -> list[int]:
    """The digits of a number, lowest first."""
    return [number // base**place % base for place in range(count)]


def _other(value: int, word: int, r: int, kept: int, run: int) -> int:
    return value if word < kept else (value + 1 + (word - kept) // run) % r


def held(value: int, words: Sequence[int], w: int, kept: int, run: int) -> list[int]:
    """The set of k-subset, a bit for each value."""
    *keys, word = words
    order = sorted(range(len(keys)), key=keys.__getitem__)
    t = word * w // kept if word < kept else w + (word - kept) // run
    first = order.index(value) - t
    chosen = {order[(first + step) % len(order)] for step in range(w)}
    return [int(place in chosen) for place in range(len(order))]


def fresh_chance(kept: int, r: int, per_report: float) -> int:
    """a, section 5."""
    with localcontext(prec=80):
        odds, p = e_to(per_report), Decimal(kept) / WHOLE
        q = (1 - p) / (r - 1)
        x = odds * (1 - q) - (1 - p)
        return floored(WHOLE * x / (x + (r - 1) * (p - odds * q)))
