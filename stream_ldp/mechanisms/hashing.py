"""Hashes of texts that every client computes alike: by cohort, and letter by letter.

They hide nothing. What they are drawn by, a cohort or a seed, is public and chosen whatever the data are; the bucket
that they lead to is perturbed afterwards.
"""

from __future__ import annotations

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
_SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31))


def bucket_of(value: str, *, cohort: int, buckets: int) -> int:
    """Return the bucket of a value: BLAKE2b of 8 bytes of (cohort u32 || UTF-8 text), little-endian, mod buckets."""
    digest = hashlib.blake2b(cohort.to_bytes(4, "little") + value.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") % buckets


def symbol_hashes(
    seeds: NDArray[np.integer], *, position: int, symbols: NDArray[np.integer] | int
) -> NDArray[np.uint64]:
    """Hash symbols at a position: SplitMix64's mixing function of (seed · 2^32 + position · 2^16 + symbol).

    seeds: below 2^32, shape (n,).
    position, symbols: below 2^16; a symbol for each seed, or one for all.
    """
    word: NDArray[np.uint64] = np.bitwise_or(np.uint64(position << 16), np.asarray(symbols, dtype=np.uint64))
    word = (seeds.astype(np.uint64) << np.uint64(32)) | word
    word += _INCREMENT
    shifted = np.empty_like(word)
    for shift, factor in zip(_SHIFTS, _FACTORS, strict=False):  # the last shift has no factor
        word ^= np.right_shift(word, shift, out=shifted)
        word *= factor
    word ^= np.right_shift(word, _SHIFTS[-1], out=shifted)
    return word


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

    bits: at most 8.

    Returns:
        Shape (bits, ceil(n / 64)), the lowest of these bits first; what comes after the last number is 0.
    """
    n = len(mixed)
    highest = (mixed >> np.uint64(64 - 8)).astype(np.uint8)
    planes = np.zeros((bits, -(-n // 64) * 8), dtype=np.uint8)
    for bit in range(bits):
        planes[bit, : -(-n // 8)] = np.packbits(highest & np.uint8(1 << (8 - bits + bit)))
    return planes.view(np.uint64)
