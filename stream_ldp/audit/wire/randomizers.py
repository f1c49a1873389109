"""The randomizers of answers, and what an answer costs: sections 15 and 17 of docs/wire.md."""

import math
from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from itertools import accumulate

from stream_ldp.audit.wire.notation import (
    WHOLE,
    Unspecified,
    Words,
    e_to,
    exact,
    floored,
    signs_of,
    uniform,
    width,
)


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
            if dummies:
                raise Unspecified("sections 17 to 19 have no dummies")
            return direct(words, value, choices, kept)
        case "repeated":
            choices, kept, _ = parameters
            return direct(words, value, choices, kept)
        case "hadamard":
            n, t, kept = parameters
            rows = [uniform(words, 2 ** width(n)) for _ in range(t)]
            fields = [*rows, direct(words, signs_of(rows, value), 2**t, kept)]
            return sum(field << place * width(n) for place, field in enumerate(fields))
        case "unary" | "d-bit-flip":
            n, kept = parameters[:2]
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
            m, w, kept = parameters[:3]
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
    # The combinatorial number system: the largest place c_a is the last with binomial(c_a, a) not above the number.
    agree = set()
    for count in range(agreeing, 0, -1):
        place = next(each for each in reversed(range(d)) if math.comb(each, count) <= number)
        agree.add(place)
        number -= math.comb(place, count)
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
        case "d-bit-flip":
            return 1, 1, min(parameters[0], 2)
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


def _worst_share(loss: Callable[[float], float], *, values: int, reports: int) -> float:
    """The most that so many reports cost, of all sharings that have a report of each value."""
    # Of so many reports of the values so far, what the worst sharing costs; none where there are too few.
    worst = [0.0] + [-math.inf] * reports
    for _ in range(values):
        worst = [
            max((worst[total - part] + loss(part) for part in range(1, total + 1)), default=-math.inf)
            for total in range(reports + 1)
        ]
    return worst[reports]


def shared_loss(loss: Callable[[float], float], *, values: int, reports: int) -> float:
    """What so many reports of several values cost, shared out as costs most: rule 5 of section 15."""
    if values > 1 and loss(2) > 2 * loss(1):
        return _worst_share(loss, values=values, reports=reports)
    each, more = divmod(reports, values)
    return more * loss(each + 1) + (values - more) * (loss(each) if each else 0.0)


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
        if kind == "bloom" and reports != math.inf:
            _, h, _, t_p, t_q = parameters
            k = Decimal(kept) / WHOLE
            u, d = (Decimal(t_p) / t_q) ** int(reports), (Decimal(WHOLE - t_q) / (WHOLE - t_p)) ** int(reports)
            return float(h * sum(((k + (1 - k) * x) / (1 - k + k * x)).ln() for x in (u, d)))
        a, b, n = sides(kind, parameters)
        return float((Decimal(kept) * b / ((WHOLE - kept) * a)).ln() * n)
