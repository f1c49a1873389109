"""Formulas and sentences of the papers that must not be followed, each with the test that shows it."""

from tests.benchmarks.papers.paper import Slip

_HERE = "benchmarks/test_slips.py"

OF_JOINTS = (
    Slip(
        place="eq. 7",
        printed="the second stage looks at the bit of the record, s",
        right="it looks at the bit of the permanent response; else reports that come again cost without a bound",
        test=f"{_HERE}::test_a_second_stage_on_the_record_itself_as_printed_has_no_bound",
    ),
    Slip(
        place="section 4.2, before eqs. 8 and 9",
        printed="q* and p* are the chances that s = 1, or 0, where T = 1",
        right="they are the chances of T = 1 where s = 1, or 0, as the equations themselves say",
        test=f"{_HERE}::test_eq_8_is_the_chance_of_a_report_and_not_of_the_bit_behind_it",
    ),
    Slip(
        place="eq. 11",
        printed="one report costs ln(q*(1 - p*) / (p*(1 - q*))), whatever the number of attributes",
        right="it costs that for each attribute in which two records differ, as eq. 10 has it",
        test=f"{_HERE}::test_one_report_costs_eq_11_for_each_attribute",
    ),
    Slip(
        place="sections 4.7 and 5.2",
        printed="the loss is epsilon_1 + epsilon_2",
        right="the second stage only hides the first: t reports cost less than eq. 10, whatever t is, and never the "
        "sum",
        test=f"{_HERE}::test_no_number_of_reports_costs_the_sum_of_both_stages",
    ),
    Slip(
        place="section 4.4, step 3, and Algorithm 2, line 37",
        printed="iterate until max P_t - max P_(t-1) >= delta",
        right="until no cell moves by delta; as printed, it ends at the first step that raises the largest cell",
        test=f"{_HERE}::test_the_printed_rule_stops_while_cells_move_and_never_where_they_stand",
    ),
    Slip(
        place="the same",
        printed="the difference of the maxima",
        right="the maximum of the differences: the largest cell may stand still while others move",
        test=f"{_HERE}::test_cells_may_move_while_the_largest_does_not",
    ),
    Slip(
        place="section 5.1, delta = 0.001",
        printed="one delta for every number of attributes",
        right="of more than 1 / delta cells, none moves by delta at the first step, after which EM ends",
        test=f"{_HERE}::test_the_papers_rule_ends_after_one_step_on_more_than_1_over_delta_cells",
    ),
    Slip(
        place="sections 4.4 and 5.4",
        printed="EM is sensitive to its start and ends in local optima",
        right="the likelihood is concave in the joint: the start changes the path, and where a path is cut off",
        test="records/estimators/test_contract.py::test_the_start_does_not_change_the_maximum",
    ),
    Slip(
        place="Algorithm 2, lines 11 and 22",
        printed="cells that LASSO puts at 0 are removed",
        right="a cell that is removed never comes back, however many report it",
        test="records/estimators/test_lremh.py"
        "::test_cells_that_the_lasso_prunes_stay_dead_in_the_papers_lremh_and_live_in_ours",
    ),
    Slip(
        place="section 4.5",
        printed="the regression on counts of single bits gives the joint distribution",
        right="single counts leave the dependence open: LASSO finds one of the joints with these marginals",
        test="records/estimators/test_lasso.py::test_the_papers_lasso_finds_the_marginals_and_not_the_dependence",
    ),
    Slip(
        place="section 4.5, step 2",
        printed="y = (count - f N / 2) / (1 - f), of the permanent response alone",
        right="y = (count - p* N) / ((1 - f)(q - p)), as Algorithm 2, line 4, has it, where there are both stages",
        test="mechanisms/test_rr_ldp.py::test_reports_combine_the_permanent_and_the_instantaneous_response",
    ),
    Slip(
        place="Algorithm 2, lines 16 and 18",
        printed="products whose exponents are garbled, with p* where q* is meant",
        right="q* or 1 - q* for the bit of the value, p* or 1 - p* for the others",
        test="records/estimators/test_accuracy.py::test_the_likelihood_is_that_of_every_report",
    ),
    Slip(
        place="section 5.2",
        printed="d is the number of records, which is fixed, so that privacy depends on f alone",
        right="d is the number of attributes, and every one of them costs",
        test="mechanisms/test_rr_loss.py::test_epsilon_covers_all_attributes_unless_told_otherwise",
    ),
)

OF_ITEMS = (
    Slip(
        place="eq. 1",
        printed="the chance is smaller than e^epsilon times the other",
        right="at most as large: the bound is attained",
        test=f"{_HERE}::test_the_bound_of_eq_1_is_attained",
    ),
    Slip(
        place="Algorithms 3 and 4",
        printed="c = (e_epsilon + 1) / (e_epsilon - 1)",
        right="with e^epsilon, which makes estimates unbiased",
        test="sets/methods/test_methods.py::test_estimates_are_unbiased_and_their_standard_errors_hold",
    ),
    Slip(
        place="Algorithm 1, line 2",
        printed="the true top k are computed",
        right="nobody knows them: the candidates come from reports",
        test="sets/methods/test_gfim.py::test_gfim_narrows_the_domain_to_candidates_and_then_to_finalists",
    ),
    Slip(
        place="eq. 2",
        printed="f_2 is put together with f_1 as it is",
        right="f_2 is the frequency among the k_max slots of a user, one of which is sent: times k_max",
        test="sets/methods/test_combination.py::test_a_phases_estimate_undoes_sampling_and_applies_the_correction",
    ),
    Slip(
        place="eq. 2",
        printed="phase 1 has the weight 1 / l",
        right="each estimate has the inverse of its variance as its weight; eq. 2 is `combine: paper`",
        test="sets/methods/test_combination.py::test_combination_by_variance_gives_the_surer_estimate_more_weight",
    ),
    Slip(
        place="section 3.1",
        printed="the method is called GHHE once, and one of the groups answers with the items of the other",
        right="GFIM; the second group is asked about the items that the first one has left",
        test="sets/methods/test_gfim.py::test_phases_ask_the_published_shares_of_users_at_the_published_epsilons",
    ),
    Slip(
        place="Algorithm 2",
        printed="the rows of the matrix are a set, whose order is left open",
        right="a report names a row by its number, so that the order is part of the wire format",
        test="mechanisms/test_hadamard.py::test_one_hash_bit_is_a_sign_of_the_matrix",
    ),
    Slip(
        place="Algorithm 4",
        printed="the entries of the matrix are -1 / √m and 1 / m",
        right="-1 / √m and 1 / √m",
        test="mechanisms/test_walsh.py::test_a_transform_is_the_product_with_the_matrix",
    ),
    Slip(
        place="proof, eq. 5",
        printed="the chance of the sampled item is cancelled, as if both sets had the same items",
        right="chances are means over the items of a set, and no mean of chances exceeds the bound of each",
        test="sets/audit/test_enumeration.py::test_a_report_costs_what_is_claimed",
    ),
    Slip(
        place="eq. 10",
        printed="the gain is log2|d - |actual rank - estimated rank||",
        right="an item that is not published has no rank, and no gain",
        test="sets/test_evaluation.py::test_a_heavy_hitter_that_is_not_published_gains_nothing",
    ),
)

OF_SURVEY = (
    Slip(
        place="section 4.1.1, RAPPOR",
        printed="p is the chance of a permanent 1, q that of a permanent 0",
        right="q for a permanent 1, p for a permanent 0, as Erlingsson, Pihur and Korolova have it",
        test="mechanisms/test_rr_ldp.py::test_code_that_does_not_do_what_it_states_is_caught",
    ),
    Slip(
        place="section 4.2, MeanEst",
        printed="vectors with t* . v = 0 are never sent",
        right="they are part of the far side; as printed, epsilon is infinite for every even number of attributes",
        test="mechanisms/test_half_space.py::test_the_published_rules_cost_more_than_they_say_for_even_dimensions",
    ),
    Slip(
        place="section 4.2, B",
        printed="B stands for C_d in the second formula",
        right="B = (2^d + C_d (e^epsilon - 1)) / (C(d - 1, (d - 1) / 2)(e^epsilon - 1)) for odd d; another for even "
        "d",
        test="mechanisms/test_half_space.py::test_means_are_unbiased",
    ),
    Slip(
        place="section 4.2, Harmony",
        printed="what users send is multiplied by d, and divided by all users",
        right="divided by the reports of the attribute: also unbiased, with less variance",
        test="benchmarks/test_mechanisms.py::test_a_table_of_the_page_is_what_its_command_prints",
    ),
    Slip(
        place="section 4.1.1, S-Hist",
        printed="a random matrix of signs has orthogonal columns",
        right="their products are near 0, and each biases an estimate; Sylvester's are 0",
        test=f"{_HERE}::test_random_signs_bias_every_estimate_and_orthogonal_ones_none",
    ),
    Slip(
        place="section 4.1.1",
        printed="RAPPOR is for large budgets and k-RR for small ones, from ln k on",
        right="the other way round",
        test=f"{_HERE}::test_k_rr_is_for_large_budgets_and_rappor_for_small_ones",
    ),
    Slip(
        place="section 4.1.1, O-RAPPOR and O-RR",
        printed="nobody needs the list of candidates",
        right="clients need none, and the server that decodes needs it",
        test=""
        "marginals/test_candidates.py::test_frequencies_of_candidates_are_unbiased_and_their_standard_errors_true",
    ),
    Slip(
        place="section 4.1.1, O-RR",
        printed="texts collide with probability 1 / C",
        right="two texts share the hashes of all C cohorts with probability k^-C",
        test=f"{_HERE}::test_two_texts_share_the_hashes_of_all_cohorts_with_k_to_the_minus_c",
    ),
    Slip(
        place="section 4.1.2, RAPPOR-unknown",
        printed="the n-grams are sent as they are",
        right="each is sent through a RAPPOR of its own, at its part of epsilon",
        test="strings/test_ngrams.py::test_users_send_a_hash_and_two_n_grams_at_a_third_of_epsilon_each",
    ),
    Slip(
        place="table 4, k-Subset",
        printed="a report is O(1)",
        right="it has a bit for each value, or the logarithm of the number of subsets",
        test=f"{_HERE}::test_a_report_of_k_subset_grows_with_the_number_of_values",
    ),
    Slip(
        place="section 4.3, Compression",
        printed="the least distortion is that of a known population",
        right="the distortion has to hold for every value, or an answer may say nothing of the population",
        test="mechanisms/test_channel.py::test_the_distortion_holds_for_every_value",
    ),
    Slip(
        place="section 4.3",
        printed="Distortion and k-RR are two mechanisms",
        right="they are one, written with another parameter",
        test="mechanisms/test_channel.py::test_by_hamming_it_is_the_k_rr_of_that_distortion",
    ),
)
