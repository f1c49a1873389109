"""Hashes of texts that every client computes alike: by cohort, and letter by letter.

They hide nothing. What they are drawn by, a cohort or a seed, is public and chosen whatever the data are; the bucket
that they lead to is perturbed afterwards.
"""

import hashlib

import numpy as np
from numpy.typing import NDArray

#: Bytes of a seed: two strings collide under a share of the 2^32 seeds that differs by about 2^-16 from the ideal.
SEED_BYTES = 4

#: Most bits of a hash. 2^8 buckets are best at epsilon 5.5, and hardly worse above it.
MAX_HASH_BITS = 8

# SplitMix64 (Steele, Lea and Flood, 2014, figure 19; variant 13 of its mixing function).
_INCREMENT = np.uint64(0x9E3779B97F4A7C15)
_FACTORS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_SHIFTS = (np.uint64(30), np.uint64(27))


def bucket_of(value: str, *, cohort: int, buckets: int) -> int:
    """Return the bucket of a value: BLAKE2b of 8 bytes of (cohort u32 || UTF-8 text), little-endian, mod buckets."""
    digest = hashlib.blake2b(cohort.to_bytes(4, "little") + value.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") % buckets


def symbol_hashes(
    seeds: NDArray[np.integer], *, position: int, symbols: NDArray[np.integer] | int
) -> NDArray[np.uint64]:
    """Hash symbols at a position: SplitMix64's mixing function of (seed · 2^32 + position · 2^16 + symbol).

    The function's last step is left out: it leaves the highest 31 bits as they are, and a hash has at most 8.

    seeds: below 2^32, shape (n,).
    position, symbols: below 2^16; a symbol for each seed, or one for all.
    """
    word: NDArray[np.uint64] = (seeds.astype(np.uint64) << np.uint64(32)) + _start(position, symbols)
    _mix(word, np.empty_like(word))
    return word


def _start(position: int, symbols: NDArray[np.integer] | int) -> NDArray[np.uint64]:
    start: NDArray[np.uint64] = np.bitwise_or(np.uint64(position << 16), np.asarray(symbols, dtype=np.uint64))
    return start + _INCREMENT


def _mix(word: NDArray[np.uint64], shifted: NDArray[np.uint64]) -> None:
    """Mix numbers in place, with the help of as many."""
    for shift, factor in zip(_SHIFTS, _FACTORS, strict=True):
        np.bitwise_xor(word, np.right_shift(word, shift, out=shifted), out=word)
        np.multiply(word, factor, out=word)


def hashes(symbols: NDArray[np.integer], seeds: NDArray[np.integer], *, bits: int) -> NDArray[np.int64]:
    """Hash one string for each seed to a bucket below 2^bits: the highest bits of the XOR of its symbols' hashes.

    This is tabulation hashing with tables that the seed determines. Two strings share a bucket under one seed of
    2^bits, and a string's hash is that of its beginning, changed by the symbols that follow: a program that tries
    strings letter by letter hashes each letter once.

    symbols: shape (n, length).

    Returns:
        Buckets, int64, shape (n,).
    """
    mixed = np.zeros(len(seeds), dtype=np.uint64)
    for position, column in enumerate(symbols.T):
        mixed ^= symbol_hashes(seeds, position=position, symbols=column)
    return (mixed >> np.uint64(64 - bits)).astype(np.int64)


def hash_planes(mixed: NDArray[np.uint64], *, bits: int) -> NDArray[np.uint64]:
    """Return the highest bits of numbers, a plane for each bit, so that the XOR of 64 numbers takes one operation.

    mixed: shape (n,), n a multiple of 64.
    bits: at most 8.

    Returns:
        Shape (bits, n / 64), the lowest of these bits first.
    """
    highest = (mixed >> np.uint64(64 - 8)).astype(np.uint8)
    planes = [np.packbits(highest & np.uint8(1 << (8 - bits + bit))) for bit in range(bits)]
    return np.array(planes).view(np.uint64)


def symbol_planes(
    seeds: NDArray[np.integer], *, position: int, symbols: NDArray[np.integer], bits: int
) -> NDArray[np.uint64]:
    """Return the planes of the hashes of each of some symbols, shape (symbols, bits, n / 64); see `hash_planes`.

    seeds: shape (n,), n a multiple of 64.
    """
    planes = np.empty((len(symbols), bits, len(seeds) // 64), dtype=np.uint64)
    shifted_seeds = seeds.astype(np.uint64) << np.uint64(32)
    word, shifted = np.empty_like(shifted_seeds), np.empty_like(shifted_seeds)
    for place, start in enumerate(_start(position, symbols)):
        _mix(np.add(shifted_seeds, start, out=word), shifted)
        planes[place] = hash_planes(word, bits=bits)
    return planes
