"""From an algorithm of the papers to its module, the test that holds it to what it promises, and its figure."""

from typing import NamedTuple


class Algorithm(NamedTuple):
    """An algorithm of a paper.

    written: how a collection file or a command asks for it.
    module: below stream_ldp/.
    test: FILE::NAME, below tests/.
    figure: of the page; the page that measures it, where the papers have none.
    """

    name: str
    paper: str
    written: str
    module: str
    test: str
    figure: str


_JOINTS, _ITEMS, _SURVEY = "Chu, Long and Liu", "Zhu, Yang and Bai", "Ye, Meng, Zhu and Huo"
_CONTRACT = "mechanisms/test_contract.py"
_OF_RECORDS = f"{_CONTRACT}::test_a_record_loses_exactly_the_stated_epsilon"
_OF_VALUES = f"{_CONTRACT}::test_an_input_or_a_set_loses_exactly_the_stated_epsilon"

ALGORITHMS = (
    Algorithm("RR-LDP (Algorithm 1)", _JOINTS, "kind: rr-ldp", "mechanisms/rr_ldp.py", _OF_RECORDS, "joints-3"),
    Algorithm(
        "its loss (eqs. 10, 11)",
        _JOINTS,
        "stream-ldp plan",
        "mechanisms/rr_loss.py",
        "mechanisms/test_rr_loss.py::test_epsilon_is_what_the_derivation_gives",
        "joints-slips",
    ),
    Algorithm(
        "EM (section 4.4)",
        _JOINTS,
        "method: em, stop: paper",
        "records/estimators/em.py",
        "records/estimators/test_em.py::test_the_papers_em_is_em_by_its_definition",
        "joints-1",
    ),
    Algorithm(
        "LASSO (section 4.5)",
        _JOINTS,
        "method: lasso, stop: paper",
        "records/estimators/lasso.py",
        "records/estimators/test_lasso.py::test_the_papers_lasso_finds_the_marginals_and_not_the_dependence",
        "joints-3",
    ),
    Algorithm(
        "LREMH (Algorithm 2)",
        _JOINTS,
        "method: lremh, stop: paper",
        "records/estimators/lremh.py",
        "records/estimators/test_lremh.py"
        "::test_cells_that_the_lasso_prunes_stay_dead_in_the_papers_lremh_and_live_in_ours",
        "joints-4",
    ),
    Algorithm(
        "AVD (eq. 12)",
        _JOINTS,
        "stream-ldp evaluate",
        "evaluation/distance.py",
        "evaluation/test_distance.py::test_the_distance_is_half_the_sum_of_absolute_cell_differences",
        "joints-3",
    ),
    Algorithm(
        "GFIM (Algorithm 1)",
        _ITEMS,
        "kind: gfim, combine: paper",
        "sets/methods/gfim.py",
        "sets/methods/test_gfim.py::test_phases_ask_the_published_shares_of_users_at_the_published_epsilons",
        "items-1",
    ),
    Algorithm(
        "sampling SH (Algorithms 2, 3)",
        _ITEMS,
        "hash_bits: 1",
        "mechanisms/hadamard.py",
        "mechanisms/test_hadamard.py::test_one_hash_bit_is_a_sign_of_the_matrix",
        "items-1",
    ),
    Algorithm(
        "trimming and padding (Algorithm 4)",
        _ITEMS,
        "k_max",
        "sets/sampling.py",
        "sets/test_sampling.py::test_only_candidates_are_reported_each_by_its_position_among_them",
        "items-3",
    ),
    Algorithm(
        "RE, NDCG (eqs. 9 to 12)",
        _ITEMS,
        "stream-ldp evaluate",
        "sets/evaluation.py",
        "sets/test_evaluation.py::test_gain_falls_with_rank_distance_and_is_discounted_by_the_true_rank",
        "items-2",
    ),
    Algorithm(
        "LDPMiner",
        f"{_SURVEY}; {_ITEMS}",
        "kind: ldpminer",
        "sets/methods/ldpminer.py",
        "sets/methods/test_ldpminer.py::test_the_papers_form_is_sampling_sh_and_then_rappor",
        "items-1",
    ),
    Algorithm("W-RR", _SURVEY, "oracle: w-rr", "mechanisms/direct.py", _OF_VALUES, "survey-7"),
    Algorithm("k-RR", _SURVEY, "oracle: k-rr", "mechanisms/direct.py", _OF_VALUES, "survey-table-4"),
    Algorithm(
        "O-RR",
        _SURVEY,
        "oracle: o-rr",
        "mechanisms/local_hashing.py",
        "marginals/test_candidates.py::test_frequencies_of_candidates_are_unbiased_and_their_standard_errors_true",
        "survey-table-4",
    ),
    Algorithm(
        "RAPPOR",
        _SURVEY,
        "oracle: rappor, hashes: 2",
        "mechanisms/bloom.py",
        "marginals/test_candidates.py::test_frequencies_by_rappor_are_unbiased_and_their_standard_errors_true",
        "survey-5",
    ),
    Algorithm(
        "O-RAPPOR",
        _SURVEY,
        "oracle: o-rappor",
        "mechanisms/local_hashing.py",
        "marginals/test_candidates.py::test_frequencies_of_candidates_are_unbiased_and_their_standard_errors_true",
        "survey-table-4",
    ),
    Algorithm("S-Hist", _SURVEY, "oracle: s-hist", "mechanisms/hadamard.py", _OF_VALUES, "survey-table-4"),
    Algorithm("k-Subset", _SURVEY, "oracle: k-subset", "mechanisms/subset.py", _OF_VALUES, "survey-table-4"),
    Algorithm(
        "PCE",
        _SURVEY,
        "kind: places",
        "places/questions.py",
        "places/test_solve.py::test_on_average_the_counts_are_the_truth",
        "survey-table-4",
    ),
    Algorithm(
        "RAPPOR-unknown",
        _SURVEY,
        "kind: strings, method: rappor-unknown",
        "strings/ngrams.py",
        "strings/test_ngrams.py::test_frequent_strings_of_any_length_are_put_together",
        "mechanisms.md",
    ),
    Algorithm(
        "Harmony-Frequency", _SURVEY, "oracle: hadamard", "mechanisms/hadamard.py", _OF_VALUES, "survey-table-4"
    ),
    Algorithm(
        "LoPub",
        _SURVEY,
        "stream-ldp synthesize --method lopub",
        "synthesis/graph.py",
        "synthesis/test_graph.py::test_cliques_are_maximal_hold_every_edge_and_every_attribute",
        "mechanisms.md",
    ),
    Algorithm(
        "MeanEst",
        _SURVEY,
        "mean: mean-est",
        "mechanisms/half_space.py",
        "mechanisms/test_half_space.py::test_means_are_unbiased",
        "survey-table-6",
    ),
    Algorithm(
        "Harmony-Mean",
        _SURVEY,
        "mean: harmony-mean",
        "mechanisms/piecewise.py",
        "mechanisms/test_piecewise.py::test_a_coin_has_the_variance_of_duchi_and_harmony",
        "survey-6",
    ),
    Algorithm(
        "Compression",
        _SURVEY,
        "oracle: channel",
        "mechanisms/channel.py",
        "mechanisms/test_channel.py::test_no_channel_of_less_epsilon_has_the_distortion",
        "mechanisms.md",
    ),
    Algorithm(
        "Distortion",
        _SURVEY,
        "distortion: 0.2",
        "mechanisms/direct.py",
        "mechanisms/test_channel.py::test_by_hamming_it_is_the_k_rr_of_that_distortion",
        "mechanisms.md",
    ),
)
