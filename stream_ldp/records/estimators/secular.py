"""The eigenvectors of a diagonal matrix in the plane that is orthogonal to one direction.

With D = diag(a) and a unit vector z, B = I - z z' projects on that plane. The eigenvectors x of B D B in it solve a_i
x_i - lambda x_i = c z_i with z'x = 0. So x_i is in proportion to z_i / (a_i - lambda), and lambda is a root of the
secular equation (Golub, 1973)

    f(lambda) = sum_i z_i^2 / (a_i - lambda) = 0,

one between each two neighbours among the a_i. This takes time in proportion to the square of their number, and not to
its cube. Each root is found by the rational interpolation of Bunch, Nielsen and Sorensen (1978), as its distance from
the nearer neighbour. Vectors are made of the z that has these roots exactly (Gu and Eisenstat, 1994), so that they
are orthogonal however close the roots are.
"""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

#: Numbers nearer to each other than this share of the largest are one number, to rounding (LAPACK's dlaed2).
_ALIKE = 8.0 * np.finfo(np.float64).eps
#: Most steps to a root; four to eight are usual.
_STEPS = 100
#: Entries of the largest array that is formed at a time: 2 MB as float64 stay in a core's cache.
_LARGEST = 2**18


def eigh_beside(diagonal: FloatArray, direction: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Find the eigenvalues and eigenvectors of a diagonal matrix in the plane orthogonal to a direction.

    diagonal: shape (n,), n at least 2.
    direction: unit vector without a 0, shape (n,).

    Returns:
        The eigenvalues, ascending, shape (n - 1,), and the orthonormal eigenvectors as columns, shape (n, n - 1).
    """
    order = np.argsort(diagonal, kind="stable")
    groups = _alike(diagonal[order])
    vectors = np.zeros((len(diagonal), len(diagonal) - 1))
    lengths = np.array([np.linalg.norm(direction[order[group]]) for group in groups])
    numbers = diagonal[order[[each.start for each in groups]]]
    values, reduced = _between(numbers, lengths)
    found = [values]
    for number, length, each, row in zip(numbers, lengths, groups, reduced, strict=True):
        members = order[each]
        unit = direction[members] / length
        vectors[members, : len(values)] = unit[:, None] * row
        if len(members) > 1:
            # The plane orthogonal to the direction in the group: all but one column of a reflection that makes it an
            # axis (Householder).
            mirror = unit.copy()
            mirror[0] += np.copysign(1.0, unit[0])
            begin = sum(len(part) for part in found)
            columns = np.arange(len(unit) - 1)
            # In place: of an attribute with 25,000 values that nobody has named, it has 5 GB.
            reflection = np.outer(mirror, mirror[1:])
            reflection *= -2.0 / (mirror @ mirror)
            reflection[columns + 1, columns] += 1.0
            vectors[members, begin : begin + len(unit) - 1] = reflection
            found.append(np.full(len(unit) - 1, number))
    values = np.concatenate(found)
    ascending = np.argsort(values, kind="stable")
    return values[ascending], vectors[:, ascending]


def _alike(ascending: FloatArray) -> list[slice]:
    """Part ascending numbers into groups of equal numbers, up to rounding."""
    tolerance = _ALIKE * float(np.abs(ascending[[0, -1]]).max())
    begins = [0]
    for place, number in enumerate(ascending.tolist()):
        if number - ascending[begins[-1]] > tolerance:
            begins.append(place)
    return [slice(begin, end) for begin, end in zip(begins, [*begins[1:], len(ascending)], strict=True)]


def _between(numbers: FloatArray, direction: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Do what `eigh_beside` does for strictly ascending numbers."""
    n = len(numbers)
    values, distances = np.empty(n - 1), np.empty((n - 1, n))
    squares = direction**2
    step = max(1, _LARGEST // n)
    for begin in range(0, n - 1, step):
        part = np.arange(begin, min(begin + step, n - 1))
        # From the left end, since the middle of two neighbours may be rounded to one of them.
        to_middle = (numbers - numbers[part, None]) - 0.5 * (numbers[part + 1] - numbers[part])[:, None]
        above = (squares / to_middle).sum(axis=1) < 0.0
        origin = numbers[part + above]
        offsets = numbers - origin[:, None]
        roots = _roots(offsets, squares, part, above)
        values[part] = origin + roots
        distances[part] = offsets - roots[:, None]
    # Each factor is at most 1, and their product is the square of an entry, up to one constant for all.
    products = np.ones(n)
    for begin in range(0, n, step):
        part = np.arange(begin, min(begin + step, n))
        apart = numbers - numbers[part, None]
        ratios = np.ones((len(part), n))
        below, over = part[:, None] > np.arange(n), part[:, None] < np.arange(n)
        to_roots = -distances[:, part].T
        np.divide(to_roots, apart[:, :-1], out=ratios[:, :-1], where=below[:, :-1])
        np.divide(to_roots, apart[:, 1:], out=ratios[:, 1:], where=over[:, 1:])
        products[part] = ratios.prod(axis=1)
    vectors = np.sqrt(products)[:, None] / distances.T
    vectors /= np.linalg.norm(vectors, axis=0)
    return values, vectors


def _roots(offsets: FloatArray, squares: FloatArray, left: NDArray[np.intp], above: NDArray[np.bool_]) -> FloatArray:
    """Find the root of each row between its number at `left` and the next, as the distance from its origin.

    offsets: the numbers less the origin of the row, shape (rows, numbers).
    above: whether the root is above the middle of the interval, and its right end the origin.
    """
    rows = np.arange(len(left))
    a, b = offsets[rows, left], offsets[rows, left + 1]
    low, high = np.where(above, 0.5 * (a + b), a), np.where(above, b, 0.5 * (a + b))
    root = 0.5 * (low + high)
    open_ = rows
    for _ in range(_STEPS):
        apart = offsets[open_] - root[open_, None]
        terms = squares / apart
        slopes = terms / apart
        negative = np.arange(offsets.shape[1]) <= left[open_, None]
        first, first_slope = np.sum(terms, axis=1, where=negative), np.sum(slopes, axis=1, where=negative)
        second, second_slope = np.sum(terms, axis=1, where=~negative), np.sum(slopes, axis=1, where=~negative)
        value = first + second
        low[open_] = np.where(value <= 0.0, root[open_], low[open_])
        high[open_] = np.where(value >= 0.0, root[open_], high[open_])
        to_a, to_b = a[open_] - root[open_], b[open_] - root[open_]
        # f is about constant + p / (a - x) + q / (b - x), with its value and the slopes of both sums.
        p, q = first_slope * to_a**2, second_slope * to_b**2
        constant = value - first_slope * to_a - second_slope * to_b
        # constant t^2 - (constant (to_a + to_b) + p + q) t + value to_a to_b = 0 for the step t, its smaller root.
        linear = constant * (to_a + to_b) + p + q
        last = value * to_a * to_b
        discriminant = np.sqrt(np.maximum(linear**2 - 4.0 * constant * last, 0.0))
        moved = root[open_] + 2.0 * last / (linear + np.copysign(discriminant, linear))
        inside = (moved > low[open_]) & (moved < high[open_])
        moved = np.where(inside, moved, 0.5 * (low[open_] + high[open_]))
        still = np.abs(value) <= _ALIKE * (second - first)
        still |= np.abs(moved - root[open_]) <= np.finfo(np.float64).eps * np.abs(moved)
        root[open_] = np.where(np.abs(value) <= _ALIKE * (second - first), root[open_], moved)
        open_ = open_[~still]
        if not len(open_):
            break
    return root
