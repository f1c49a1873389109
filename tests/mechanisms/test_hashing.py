"""Hashes are the same on every client, spread evenly, and are found letter by letter."""

import numpy as np

from stream_ldp.mechanisms.hashing import bucket_of, hashes, symbol_hashes, symbol_planes

SEEDS = np.arange(20_000, dtype=np.uint32)


def test_a_hash_has_the_highest_bits_of_the_published_mixing_function() -> None:
    """SplitMix64 from state 0 makes 0xe220a8397b1dcdaf first (Vigna's reference, splitmix64.c)."""
    first = symbol_hashes(np.zeros(1, dtype=np.uint32), position=0, symbols=0)
    assert int(first[0]) >> 33 == 0xE220A8397B1DCDAF >> 33


def test_two_strings_share_a_bucket_under_one_seed_of_so_many() -> None:
    """Over 20,000 seeds, each count is 6 standard deviations off for one hash in 10^8."""
    for other in ([1, 2, 4], [2, 2, 3], [2, 1, 3], [0, 0, 0]):
        both = [hashes(np.tile(string, (len(SEEDS), 1)), SEEDS, bits=3) for string in ([1, 2, 3], other)]
        assert abs((both[0] == both[1]).sum() - 2_500) < 6 * 47
        table = np.bincount(both[0] * 8 + both[1], minlength=64)
        assert np.all(np.abs(table - 312.5) < 6 * 17.6)


def test_the_position_of_a_symbol_counts() -> None:
    swapped = [hashes(np.tile(string, (len(SEEDS), 1)), SEEDS, bits=8) for string in ([5, 6], [6, 5])]
    assert (swapped[0] == swapped[1]).mean() < 0.01


def test_planes_hold_the_highest_bits_of_the_hash_of_each_symbol() -> None:
    symbols = np.array([3, 0, 7])
    planes = symbol_planes(SEEDS[:128], position=1, symbols=symbols, bits=5)
    assert planes.shape == (3, 5, 2)
    for symbol, of_symbol in zip(symbols.tolist(), planes, strict=True):
        bits = np.unpackbits(of_symbol.view(np.uint8), axis=1)
        mixed = symbol_hashes(SEEDS[:128], position=1, symbols=symbol)
        assert np.array_equal(
            (bits * 2 ** np.arange(5)[:, None]).sum(axis=0), (mixed >> np.uint64(59)).astype(np.int64)
        )


def test_the_bucket_of_a_text_depends_on_its_cohort() -> None:
    assert [bucket_of("a.example", cohort=cohort, buckets=2**32) for cohort in (0, 1)] == [1794991448, 2645255862]
