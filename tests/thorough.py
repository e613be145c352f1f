"""What the default run leaves to CI: tests marked ``thorough``.

A test asks one question of many spaces, mechanisms and sizes: ``pytest`` asks it of a few of them,
``pytest -m 'not slow'`` of all. Entries of the lists that tests share say so themselves
(`is_thorough`); `KEPT` says it of the other tests that take long. `conftest.py` marks them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

#: By file and test the ids of parameters of all tests that were collected, marked or not.
COLLECTED: dict[tuple[str, str], list[str]] = {}

#: Spaces whose twins are quick: of each kind the default run asks more elsewhere.
PLAIN = "^(euclidean|sphere|hyperboloid|torus|kendall|spd:2)"

#: By file and test a pattern of the parameters that the default run keeps; None keeps none.
KEPT: dict[str, dict[str, str | None]] = {
    "batch/test_batch_coverage.py": {
        "test_a_count_has_the_same_bits_however_a_job_runs": "^in no order-units",
        "test_counts_of_each_group_are_the_same_however_a_job_runs": "^in no order",
    },
    "batch/test_batch_division.py": {
        "test_groups_are_whole_wherever_row_groups_end": "-[15]$",
    },
    "batch/test_batch_files.py": {
        "test_every_number_of_threads_gives_the_same_file_and_decodes_each_record_once": "^[16]$",
        "test_groups_do_not_depend_on_which_keys_are_looked_at_together": "^[03]-",
        "test_records_are_dealt_out_in_any_pieces": "^37-",
        "test_results_are_the_same_bytes_for_all_chunks": "^(True-out|False-out.parquet)$",
    },
    "batch/test_batch_folders.py": {
        "test_a_batch_stopped_anywhere_is_resumed_and_paid_once": "^kill-shuffled-",
        "test_damage_to_a_job_is_an_error_that_says_so": "^(flip first|lost)",
        "test_damaged_partitions_are_noticed_and_made_anew": "^(flip|lost)-.rows",
    },
    "batch/test_batch_inputs.py": {
        "test_a_selection_is_honoured_or_refused": (
            "^(table|path|data set|pandas frame|lazy frame|reader of batches)-"
        ),
    },
    "batch/test_batch_large.py": {
        "test_the_mean_is_that_in_memory_for_every_chunk_size": "^(sphere|spd):2-",
    },
    "batch/test_batch_outlook.py": {
        "test_every_statistic_has_an_outlook": "^(mean|variance|kng)$",
    },
    "batch/test_batch_polars.py": {
        "test_every_statistic_of_a_folder_is_that_of_its_table": (
            "^(mean|variance|region|quantile|logistic)$"
        ),
    },
    "batch/test_batch_sources.py": {
        "test_any_place_gives_the_releases_of_the_table": "^(folder|text|memory)$",
        "test_many_files_need_few_open_ones": None,
    },
    "batch/test_batch_statistics.py": {
        "test_a_table_in_pieces_is_released_as_a_whole_one": "^(mean|variance)$",
        "test_an_interrupted_batch_goes_on_and_pays_once": "^(mean|adaptive)",
        "test_every_group_gets_the_release_of_its_records": "^(mean|variance|kng)$",
        "test_the_result_is_that_in_memory_for_every_chunk_size": "^mean-in",
    },
    "batch/test_batch_tables.py": {
        "test_lists_of_other_lengths_count_as_the_centre": "^(None|bad[04])$",
    },
    "batch/test_batch_units.py": {
        "test_persons_in_too_many_groups_are_refused_before_the_ledger": "^1048576",
        "test_tables_files_and_chunks_agree": "^<lambda>-mean",
    },
    "batch/test_batch_upload.py": {
        "test_a_copy_that_fails_anywhere_is_taken_up_again": "parquet",
    },
    "batch/test_distributed.py": {
        "test_a_cluster_releases_what_this_process_would": "shuffled-mean",
        "test_a_restarted_cluster_goes_on_with_what_is_left": None,
        "test_a_worker_killed_while_it_releases_a_chunk_changes_nothing": None,
        "test_a_worker_without_the_folder_says_so": None,
        "test_the_mean_of_all_records_is_the_local_one": None,
    },
    "cli/test_cli.py": {
        "test_demo_writes_where_it_is_told": None,
    },
    "cli/test_cli_batch.py": {
        "test_a_cluster_of_processes_gives_the_same_releases": None,
        "test_an_interrupted_batch_is_resumed": None,
        "test_every_statistic_is_planned_and_released_as_by_the_library": "^(mean|variance)$",
    },
    "cli/test_cli_paid.py": {
        "test_a_batch_says_where_it_is_kept_and_with_which_command_it_goes_on": (
            "^(full disk|memory)-|-drawing$"
        ),
    },
    "conformal/test_conformal_audit.py": {
        "test_a_sixth_of_conformal_noise_is_flagged": None,
        "test_conformal_noise_keeps_its_claim": None,
        "test_ten_times_the_claim_is_flagged_by_whole_releases": None,
        "test_whole_releases_keep_their_claim": None,
    },
    "conformal/test_conformal_density.py": {
        "test_many_records_give_their_density": "^(?!kde)",
    },
    "conformal/test_conformal_factor.py": {
        "test_sigma_is_certified_to_1e_8_of_the_discrete_solution": "multigrid",
    },
    "conformal/test_conformal_law.py": {
        "test_draws_have_the_law": "sphere",
        "test_errors_are_those_of_the_place": "^(?!spd:3)",
        "test_neither_covers_nor_curved_directions_move_the_constant_by_more": "^axes of 3",
        "test_the_coin_has_its_probability": "0.7",
    },
    "conformal/test_conformal_mean.py": {
        "test_bad_records_stand_for_the_centre": "^(sphere:2|hyperboloid:2|torus:2|kendall:4)$",
        "test_errors_are_as_printed_fall_like_the_number_of_records_and_end_in_the_ball": None,
    },
    "datasets/test_image_collections.py": {
        "test_real_photographs_survive_the_official_format": None,
    },
    "datasets/test_synthetic_data.py": {
        "test_riemannian_normal_records_follow_their_law": "^(?!hpd)",
        "test_uniform_records_fill_the_ball_by_its_volume": "^(?!spd:3|sphere:60)",
    },
    "descriptors/test_elastic_curves.py": {
        "test_a_record_decides_its_own_point_alone": "2-True-True-elastic",
        "test_blocks_do_not_show": None,
    },
    "docs/test_benchmarks.py": {
        "test_every_benchmark_runs": "^(?!kernels)",
    },
    "docs/test_docstrings.py": {
        "test_examples_print_what_they_say": (
            "^(?!.*(two_samples|trend|k_sample|plotting|release_func|curves|exact_mu|kmeans))"
        ),
    },
    "docs/test_measured_pages.py": {
        "test_the_performance_page_shows_every_row_and_no_other": None,
    },
    "docs/test_readme.py": {
        "test_python_blocks_run_in_order": "^(?!docs/(audit|chains|confidence|learning))",
    },
    "geometry/test_bad_records.py": {
        "test_any_array_of_the_right_shape_gives_a_valid_release": (
            "^(sphere:2|hyperboloid:2|spd:2)$"
        ),
        "test_projection_lands_in_the_ball_whatever_comes": PLAIN,
    },
    "geometry/test_certified_logarithms.py": {
        "test_connectomes_are_released_in_a_ball_that_holds_them": None,
        "test_logarithms_of_matrices_are_within_their_error": "^[1245]-",
        "test_steps_end_where_they_should": "^[1-4]-",
    },
    "geometry/test_grassmann.py": {
        "test_means_agree_with_geomstats": r"^\(4",
    },
    "geometry/test_hermitian_matrices.py": {
        "test_hessians_lie_no_further_apart_than_their_diameter": "-2$",
    },
    "geometry/test_log_moments.py": {
        "test_the_hessian_agrees_with_differences_of_the_distance": "^(?!correlation)",
    },
    "geometry/test_low_bits.py": {
        "test_correct_releases_are_flagged_no_more_often_than_stated": None,
    },
    "geometry/test_manifold_arrays.py": {
        "test_results_do_not_depend_on_the_place_in_the_batch": "-(1|33|100)$",
    },
    "geometry/test_manifold_twins.py": {
        "test_exp_agrees_with_sixty_digits_from_1e_minus_300_to_20": "^(?!correlation|so:|unitary)",
        "test_log_and_dist_agree_with_sixty_digits": "^(?!correlation|so:|unitary)",
        "test_transport_agrees_with_sixty_digits": "^(?!correlation|so:|unitary)",
    },
    "geometry/test_message_bounds.py": {
        "test_no_message_of_a_hostile_record_is_too_long": (
            "^(sphere:2|hyperboloid:2|spd:2|torus:2|so:4)-10000$"
        ),
    },
    "geometry/test_messages.py": {
        "test_a_record_decides_its_own_message_alone": "^(?!correlation)",
        "test_a_record_sends_what_its_twin_sends": PLAIN,
        "test_sums_depend_on_neither_threads_nor_order_nor_pieces": PLAIN,
    },
    "geometry/test_record_forms.py": {
        "test_any_row_is_a_point_or_none": "^(sphere:2|kendall:3|projective:2)$",
    },
    "geometry/test_reference.py": {
        "test_twin_agrees_with_sixty_digits": "^(?!correlation|so:|unitary)",
    },
    "geometry/test_rounding_bound.py": {
        "test_rows_of_less_precision_would_exceed_it": "^(?!so)",
        "test_the_rounding_error_of_the_gradient_stays_below_its_bound": (
            "^(euclidean|sphere|hyperboloid|kendall:4|spd:2|hpd:2|grassmann:3|so:3|unitary:1)"
        ),
    },
    "geometry/test_special_orthogonal.py": {
        "test_geomstats_agrees": "^4$",
        "test_private_means_are_close_to_the_mean": "^[24]$",
    },
    "geometry/test_unitary.py": {
        "test_private_means_are_close_to_the_mean": "^[123]$",
    },
    "learning/test_estimator_checks.py": {
        "test_scikit_learn_finds_nothing_wrong": "PCA",
    },
    "learning/test_gestures.py": {
        "test_three_components_explain_almost_as_much": None,
    },
    "learning/test_kmeans.py": {
        "test_a_fit_with_a_sixth_of_the_noise_is_found_out": None,
        "test_a_round_keeps_its_guarantee": "claimed0",
        "test_half_the_noise_is_found_out": None,
        "test_no_record_moves_a_table_further": "^(?!correlation)",
        "test_no_unit_moves_a_table_further": "^(?!correlation)",
        "test_the_fit_keeps_its_guarantee": None,
    },
    "learning/test_logistic.py": {
        "test_a_fit_with_a_sixth_of_the_noise_is_found_out": None,
        "test_a_step_keeps_its_guarantee": "claimed0",
        "test_half_the_noise_is_found_out": None,
        "test_the_fit_keeps_its_guarantee": None,
    },
    "mail/test_mail_anchors.py": {
        "test_queries_among_ten_thousand_anchors_find_their_class": None,
    },
    "mail/test_mail_audit.py": {
        "test_a_query_that_names_several_cells_keeps_its_guarantee": None,
        "test_a_variance_in_the_place_of_a_deviation_is_found_out": None,
        "test_half_the_noise_is_found_out": None,
        "test_odds_that_forget_how_many_cells_are_named_are_found_out": None,
        "test_the_embedding_keeps_its_guarantee": None,
        "test_the_query_keeps_its_guarantee": "cell",
    },
    "mail/test_mail_estimator.py": {
        "test_the_defaults_separate_digits_where_there_is_no_noise": "True",
    },
    "mail/test_mail_http.py": {
        "test_fifty_thousand_anchors_are_sent_once_and_queries_as_numbers_of_cells": None,
    },
    "mail/test_mail_kernels.py": {
        "test_single_precision_agrees_to_single_precision": None,
    },
    "mail/test_mail_query.py": {
        "test_randomised_response_has_its_probabilities": "^(2|4)-",
    },
    "mail/test_mail_real_data.py": {
        "test_cells_retrieve_the_class_at_everyday_budgets": None,
    },
    "mail/test_mail_sensitivity.py": {
        "test_gradient_search_stays_within_the_bound": "0.6-1.0-0.5-published",
    },
    "mail/test_mail_subset.py": {
        "test_draws_have_the_law": "^4-",
        "test_expected_recall_is_that_of_queries": None,
    },
    "mechanisms/test_calibration.py": {
        "test_regressions_cover_sensitivity_and_rounding": None,
        "test_released_scales_cover_sensitivity_and_tolerance": (
            "^(GDP|PureDP)-(mean|region|variance|covariance)$"
        ),
    },
    "mechanisms/test_gaussian_calibration.py": {
        "test_noise_ten_per_cent_too_small_is_flagged": "^sphere-2-0.2$",
        "test_the_riemannian_gaussian_keeps_to_the_gaussian_profile": "^sphere-2-0.3-0.3",
    },
    "mechanisms/test_grassmann_noise.py": {
        "test_moments_are_those_of_rejection_from_flat_space": None,
        "test_planes_have_angles_and_directions_of_the_density": None,
        "test_releases_have_the_law_of_weighted_uniform_subspaces": "^2-1-.*Laplace",
        "test_the_gaussian_on_planes_keeps_to_the_gaussian_profile": "0.3-0.3",
    },
    "mechanisms/test_mechanism_audit.py": {
        "test_a_third_of_the_noise_is_flagged": (
            "^(?!RiemannianLaplace-(spd|hyper)|RiemannianGaussian-kendall)"
        ),
        "test_data_dependent_radius_is_flagged": "sphere",
        "test_mechanism_keeps_its_claim": "^(?!RiemannianLaplace-spd|RiemannianGaussian-kendall)",
        "test_short_markov_chain_is_flagged_and_a_long_one_is_not": None,
    },
    "mechanisms/test_noise_chains.py": {
        "test_chains_on_matrices_do_not_tell_a_matrix_from_its_inverse": "^spd:2",
        "test_ends_of_chains_follow_the_exact_law_and_no_other": "^sphere:2-laplace",
        "test_matrices_too_large_for_the_exact_sampler_have_chains": None,
    },
    "mechanisms/test_released_laws.py": {
        "test_closed_forms_agree_with_the_volume_of_spheres": "2$",
        "test_error_has_the_law_of_the_length_up_to_the_nearest_clipped_point": "^hyperboloid:2",
        "test_no_release_lies_beyond_the_clipping_radius": "^hyperboloid:2",
        "test_spectra_have_the_shape_of_the_noise": None,
    },
    "mechanisms/test_rim.py": {
        "test_distances_have_the_law_of_the_noise": "^(sphere|spd):2-.*0.999",
        "test_errors_are_no_larger_than_printed": "^(sphere|spd):2-.*0.999",
        "test_no_value_is_drawn_twice": "^(sphere|spd):2-.*0.999",
    },
    "mechanisms/test_samplers.py": {
        "test_every_draw_lies_on_the_manifold": (
            "^(?!RiemannianLaplace-spd:2$|RiemannianGaussian-kendall)"
        ),
        "test_hermitian_eigenvalue_gap_follows_its_exact_law_and_no_other": None,
        "test_hermitian_eigenvectors_are_haar": None,
        "test_radius_follows_its_exact_law_and_no_other": "^(?!RiemannianLaplace-spd:2$)",
        "test_spd_eigenvectors_are_haar": "spd:2",
        "test_spd_trace_is_symmetric_about_the_true_value": "spd:2",
    },
    "mechanisms/test_special_orthogonal_noise.py": {
        "test_moments_are_those_of_rejection_from_flat_space": None,
        "test_releases_have_the_law_of_weighted_uniform_rotations": "4-0.9-RiemannianLaplace",
        "test_the_law_does_not_depend_on_where_the_true_value_lies": None,
    },
    "mechanisms/test_undecided.py": {
        "test_tails_of_distances_on_circles_are_decided": None,
    },
    "mechanisms/test_unitary_noise.py": {
        "test_distances_have_the_law_of_weyl": "^1-0.7-.*Laplace",
        "test_moments_are_those_of_weighted_flat_proposals": "Gaussian",
    },
    "mechanisms/test_ways_to_meet.py": {
        "test_an_approximate_guarantee_never_costs_more_than_the_pure_one": "-(sphere|spd):2$",
    },
    "mesh/test_graph_laplacian.py": {
        "test_eigenvalues_on_the_sphere_approach_l_times_l_plus_1": "^fibonacci-unnormalised",
    },
    "package/test_fork_threads_interrupt.py": {
        "test_ctrl_c_ends_long_calls_early": "pairwise",
        "test_results_do_not_depend_on_the_number_of_threads": "^(sphere:2|spd:3)$",
    },
    "package/test_golden_bits.py": {
        "test_files_and_clusters_release_what_tables_release": None,
    },
    "package/test_import.py": {
        "test_every_module_can_be_the_first": None,
    },
    "package/test_memory.py": {
        "test_a_lack_of_memory_is_an_error_before_the_ledger_and_with_room_it_is_done": "^mean",
    },
    "plotting/test_ball_display.py": {
        "test_a_ball_is_drawn_on_every_space": "^(sphere:2|spd:2|torus:2|euclidean:3)$",
    },
    "plotting/test_plotting.py": {
        "test_drawing_leaves_pyplot_alone": None,
    },
    "plotting/test_release_display.py": {
        "test_a_mean_is_drawn_on_every_space": "^(euclidean:3|sphere:2|spd:2|torus:2|kendall:4)$",
        "test_any_expected_error_is_drawn": "sphere:2$|^inf-(spd|hyperboloid):2$",
        "test_every_kind_of_release_is_drawn": "^(variance|density|line|test|median)$",
        "test_extreme_points_are_drawn": "^(small|far|tiny|opposite)",
        "test_pyplot_shows_its_own_figures_once": None,
    },
    "plotting/test_releases_display.py": {
        "test_points_are_drawn_by_their_distances_in_units_of_the_noise": "^(sphere|spd)",
    },
    "privacy/test_accounting.py": {
        "test_gdp_event_in_a_pld_accountant_is_the_same_guarantee": "^(0.1|1.0)$",
        "test_mixed_composition_never_understates": None,
        "test_the_event_for_an_unknown_accountant_understates_in_none": "Rdp",
    },
    "privacy/test_ball_units.py": {
        "test_every_place_has_a_grid": "^30-",
    },
    "privacy/test_bugs_of_peers.py": {
        "test_a_ledgers_total_is_that_of_an_independent_accountant": "^4$",
        "test_no_neighbours_lie_farther_apart_than_is_documented_under_any_options": (
            "^(?!mail_iteration)"
        ),
        "test_noise_serves_a_record_that_is_replaced_by_its_opposite": "^0.3-",
    },
    "privacy/test_guarantee_table.py": {
        "test_a_cell_says_what_the_release_promises": "-(sphere|spd):2$",
    },
    "privacy/test_ledger_place.py": {
        "test_another_user_cannot_undo_a_spend": (
            "^(f r o m   t h e   b e g i n n i n g|o p e n e d.*-c h e c k)"
        ),
    },
    "privacy/test_printed_numbers.py": {
        "test_none_of_many_random_guarantees_prints_below_itself": "^10000$",
    },
    "privacy/test_relation.py": {
        "test_gdp_is_exact_by_distributions_and_safe_by_divergences": "1.0",
    },
    "privacy/test_release.py": {
        "test_a_stored_release_of_any_kind_is_read_by_a_new_process": None,
    },
    "privacy/test_statement.py": {
        "test_entries_of_all_statistics_have_the_registrys_form": (
            "^(mean|variance|region|quantile|components|k-means|trend)$"
        ),
        "test_entries_of_batches_have_the_registrys_form": (
            "^(mean|region|quantile|k-means|regression)$"
        ),
        "test_every_statistic_and_its_groups_have_a_statement": (
            "^(mean|variance|median|region|regression|k-means|density)$"
        ),
    },
    "privacy/test_stored_texts.py": {
        "test_every_edit_is_a_value_error_or_a_whole_object": "^300-(?!k|axis)",
    },
    "privacy/test_unit_twin.py": {
        "test_nothing_tells_of_one_persons_records": "-(array|frame)$",
    },
    "published/test_published_conformal.py": {
        "test_the_exact_density_of_the_factor_is_a_density": None,
    },
    "published/test_published_mail.py": {
        "test_labels_that_come_back_after_the_noise_are_no_post_processing": None,
    },
    "published/test_published_regression.py": {
        "test_free_shooting_vector_is_found_out_and_the_proved_mechanism_is_not": None,
    },
    "regression/test_adaptive_privacy.py": {
        "test_longer_contributions_and_sharper_quantiles_are_found": None,
        "test_no_stage_spends_more_than_its_share": "^(sphere|euclidean):2$",
        "test_one_unit_moves_second_moments_by_at_most_their_sensitivity": None,
        "test_one_unit_moves_the_moments_by_at_most_their_sensitivity": "^[123]$",
        "test_too_little_noise_is_found_by_an_audit": None,
    },
    "regression/test_adaptive_regression.py": {
        "test_a_range_four_times_too_wide_costs_nothing": None,
        "test_a_release_is_as_far_from_the_fit_as_it_says": "GDP.*skewed-one in twenty",
        "test_bands_cover_the_geodesic_of_least_squares": None,
        "test_narrow_and_rare_covariates_arrive": "^one",
        "test_slopes_have_errors_and_p_values": None,
    },
    "regression/test_r_squared.py": {
        "test_its_noise_is_what_it_says": None,
        "test_the_release_is_audited": None,
    },
    "regression/test_regression_fit.py": {
        "test_predictions_agree_with_geomstats": "sphere",
    },
    "regression/test_regression_gradient.py": {
        "test_sum_of_norms_bound_holds_and_is_nearly_attained": "-(0.1|1.0)$",
    },
    "regression/test_regression_release.py": {
        "test_error_falls_with_the_number_of_records": None,
    },
    "regression/test_regression_units.py": {
        "test_a_draw_of_records_is_no_draw_of_persons": None,
    },
    "regression/test_trend.py": {
        "test_a_ball_that_is_wide_beside_the_records_costs_little": "^0.785-2-100",
        "test_exact_probabilities_keep_the_guarantee_and_a_tenth_of_the_noise_does_not": None,
        "test_no_neighbour_moves_the_lead_further_than_its_sensitivity": "1-1-linear",
        "test_power_is_that_of_the_test": None,
        "test_several_covariates_are_sought_together": None,
        "test_the_level_holds_about_private_middles": "^GDP",
        "test_the_level_holds_at_every_size_and_dimension": "2-12-3-.*linear",
        "test_the_released_gap_is_audited": None,
    },
    "regression/test_wald.py": {
        "test_the_level_holds_for_correlated_covariates": None,
        "test_without_noise_it_is_the_classical_test": "True",
    },
    "sites/test_masks.py": {
        "test_the_twin_is_that_of_the_standards": None,
    },
    "sites/test_site_accuracy.py": {
        "test_diffusion_tensors": None,
        "test_directions": None,
    },
    "sites/test_site_bytes.py": {
        "test_damaged_plans_are_refused_with_one_error_or_are_other_plans": None,
    },
    "sites/test_site_refusals.py": {
        "test_a_site_that_is_killed_in_a_round_never_answers_it_twice": "^own.(pay|Answer)",
    },
    "sites/test_site_sums.py": {
        "test_who_sees_all_messages_of_all_other_sites_learns_what_is_said": "round",
    },
    "sites/test_site_clusters.py": {
        "test_clusters_of_records_that_have_none_are_centres_about_the_mean": "^torus",
    },
    "sites/test_site_restarts.py": {
        "test_a_server_ended_at_any_step_asks_and_pays_no_round_twice": "-(0|2)$",
        "test_a_site_killed_in_a_masked_round_goes_on_with_its_key_and_masks_no_round_again": (
            "^before it is sent"
        ),
    },
    "statistics/test_adaptive_mean.py": {
        "test_a_radius_without_noise_is_flagged": None,
        "test_no_record_raises_or_warns": PLAIN,
        "test_whole_release_keeps_its_claim": "PureDP",
    },
    "statistics/test_adaptive_truth.py": {
        "test_every_part_is_the_mean_of_all_records_projected_on_the_public_ball_and_on_its_own": (
            PLAIN
        ),
    },
    "statistics/test_combine.py": {
        "test_the_expected_error_is_that_of_the_noise": "euclidean",
    },
    "statistics/test_compare_means.py": {
        "test_regions_overlap_as_their_points_say": "2",
        "test_the_region_of_the_difference_holds_it_about_as_often_as_its_level": None,
        "test_the_test_finds_means_that_differ_and_disjoint_regions_are_rarer": None,
        "test_the_test_rejects_equal_means_about_as_often_as_its_level": None,
    },
    "statistics/test_confidence_region.py": {
        "test_seeded_regions_are_reproducible_and_promise_nothing": "^(?!kendall)",
        "test_the_law_of_the_region_moves_with_an_isometry": None,
        "test_the_p_value_of_the_true_mean_is_below_a_level_about_so_often": None,
    },
    "statistics/test_count_resize_law.py": {
        "test_control_noise_for_half_of_a_replacement_is_too_little": "GDP",
        "test_counts_have_the_law_that_is_enumerated": "^1-",
        "test_records_used_are_a_uniformly_random_sequence": "^[1-4]$",
        "test_replacing_a_record_costs_what_the_rest_promises": "-[15]$",
        "test_the_release_passes_an_audit_that_finds_what_is_not_paid": None,
    },
    "statistics/test_coverage.py": {
        "test_mean_and_count_together_keep_the_guarantee_and_a_quarter_of_its_noise_does_not": None,
    },
    "statistics/test_coverage_each.py": {
        "test_a_groups_mean_and_count_keep_the_guarantee_and_a_quarter_of_its_noise_does_not": None,
    },
    "statistics/test_covering_ball.py": {
        "test_a_covering_ball_holds_its_points_and_hardly_more": "^(sphere:2|spd:2|torus:2)$",
    },
    "statistics/test_directions.py": {
        "test_a_comparison_keeps_its_level_where_one_mean_vector_is_short": None,
        "test_the_set_covers_however_short_the_mean_vector_is": "^1.5-torus",
        "test_the_set_covers_the_mean_direction": "^40-.*-axes$",
        "test_the_test_of_uniformity_keeps_its_level_and_has_power": "torus",
        "test_two_directions_are_compared_whatever_their_spreads": None,
    },
    "statistics/test_group_counts_law.py": {
        "test_a_record_in_one_of_two_groups_costs_what_one_group_costs": "^GDP",
        "test_groups_of_which_both_data_sets_have_records_keep_epsilon_and_delta": None,
    },
    "statistics/test_mean_axis.py": {
        "test_the_set_covers_however_near_two_eigenvalues_are": "^0.5$",
        "test_the_set_covers_the_mean_axis": "^600-.*-skew$",
    },
    "statistics/test_entry.py": {
        "test_no_record_enters_outside_the_ball": PLAIN,
    },
    "statistics/test_every_record_counts.py": {
        "test_groups_on_balls_of_different_width_are_what_each_is_alone": "-hyperboloid:2-.'narrow",
        "test_records_count_alike_in_every_order_and_a_part_of_them_would_be_found": (
            "^(mean|variance|quantile)$"
        ),
    },
    "statistics/test_frechet_mean.py": {
        "test_error_is_as_expected": "^(?!.*log-cholesky)",
    },
    "statistics/test_frechet_mean_nonprivate.py": {
        "test_certificate_bounds_the_distance_to_the_exact_minimiser": "sphere:2-0.1",
        "test_certificate_counts_the_rounding_of_the_mean_itself": "^(sphere:2|hyperboloid:2)-",
        "test_mean_agrees_with_the_twin": PLAIN,
    },
    "statistics/test_frechet_mean_real_data.py": {
        "test_gradient_vanishes_on_real_data": (
            "^(airports|cities|comets|digit 3|diffusion tensors, 25|hands|rat skulls|venus)"
        ),
    },
    "statistics/test_geometric_median.py": {
        "test_it_is_near_the_exact_median_where_noise_is_small": "^GDP-(sphere:2|spd:2|torus)",
    },
    "statistics/test_groups.py": {
        "test_no_record_raises_or_leaves_the_manifold": PLAIN,
    },
    "statistics/test_inference_coverage.py": {
        "test_regions_cover_and_would_not_without_the_noise_of_the_mean": None,
    },
    "statistics/test_k_samples.py": {
        "test_no_neighbour_moves_the_values_further_than_their_sensitivity": "^1-",
        "test_power_exceeds_that_of_released_means": None,
        "test_power_is_that_of_the_test": None,
        "test_the_level_holds_at_unequal_sizes_and_spreads": None,
        "test_the_level_is_met_where_the_spread_is_less_than_its_noise": "^sizes0",
        "test_the_released_values_are_audited": None,
    },
    "statistics/test_last_stages.py": {
        "test_moments_at_a_base_point": "^(sphere|spd):2-",
        "test_the_last_mean_on_a_ball_that_has_shrunk": "^(sphere|hyperboloid):2-",
    },
    "statistics/test_low_bits_of_means.py": {
        "test_low_bits_keep_the_claim_where_rounding_redundant_coordinates_does_not": None,
        "test_low_bits_of_means_keep_the_claim": "^(sphere:2|hyperboloid:2|spd:2)-1e12",
    },
    "statistics/test_moment_sensitivity_adversarial.py": {
        "test_no_neighbouring_data_set_moves_a_moment_further_than_its_bound": (
            "-(Flat.3|Sphere.2|Hyperbolic.2|ComplexProjective.2).*light"
        ),
        "test_no_neighbouring_data_set_moves_the_hessian_further_than_its_bound": (
            "^(?!.*SPD.6).*n=2"
        ),
    },
    "statistics/test_plain_twins.py": {
        "test_groups_are_released_as_the_twin_releases_each": PLAIN,
        "test_means_are_released_as_the_twin_releases_each": PLAIN,
    },
    "statistics/test_planning.py": {
        "test_the_error_of_a_regression_is_the_planned_one": "GDP",
    },
    "statistics/test_public_time.py": {
        "test_public_records_are_projected": (
            "^(euclidean:3|sphere:2|hyperboloid:2|kendall:4|rotations:3|correlation:4|projective:2|torus:2|grassmann:4:2|so:4|unitary:2|spd:2|hpd:2)$"
        ),
        "test_values_are_those_of_a_prompt_answer": "-sphere$",
    },
    "statistics/test_quantile.py": {
        "test_audit_of_whole_releases": None,
        "test_draws_follow_the_exact_law_and_no_other": "^(0.0|0.9)-",
    },
    "statistics/test_region_quantile.py": {
        "test_regions_cover_and_stay_small_where_noise_outweighs_the_covariance": None,
    },
    "statistics/test_sensitivity_adversarial.py": {
        "test_no_neighbouring_data_set_moves_the_mean_further_than_the_bound": (
            r"^light record-(Sphere\(2\)-r1.3|ComplexProjective\(4\)-r0.7)"
        ),
    },
    "statistics/test_shrinkage.py": {
        "test_it_errs_less_where_noise_is_large_and_says_so": "^0.2-sphere",
        "test_it_is_no_worse_wherever_the_mean_lies": "^[1-5]-",
    },
    "statistics/test_solver_claims.py": {
        "test_the_certificate_bounds_the_distance_to_the_mean_and_the_energy_gap": "Sphere",
    },
    "statistics/test_solver_rounding.py": {
        "test_one_logarithm_stays_four_times_under_its_bound": (
            "^(sphere:2|kendall:4|spd:2|grassmann:4|so:4|hyperboloid:2)"
        ),
    },
    "statistics/test_statistic_audit.py": {
        "test_a_statistic_keeps_its_guarantee_and_a_twelfth_of_its_noise_would_be_flagged": (
            "^frechet_mean$"
        ),
        "test_pure_guarantees_are_kept": "frechet_variance",
    },
    "statistics/test_tied_quantiles.py": {
        "test_a_value_that_leaves_a_part_costs_half_and_without_the_factor_more": None,
        "test_draws_and_densities_have_the_law_of_the_formula": "-(0.0|0.9)-",
    },
    "statistics/test_two_samples.py": {
        "test_a_shift_is_found_in_dimension_406": None,
        "test_exact_probabilities_keep_the_guarantee_and_half_the_noise_does_not": None,
        "test_no_neighbour_moves_the_lead_further_than_its_sensitivity": "^1",
        "test_power_is_that_of_the_test": None,
        "test_the_level_holds_at_every_size_and_dimension": "^6-sizes0-GDP.mu=1.",
        "test_the_released_gap_is_audited": None,
    },
    "statistics/test_unknown_n.py": {
        "test_a_release_has_the_whole_guarantee_and_the_number_that_the_count_says": (
            "^(0-GDP|300-(GDP|PureDP))"
        ),
        "test_no_count_leads_to_an_error": "^(-1|0|3)-",
        "test_nothing_that_comes_back_tells_the_number": (
            "^(mean|median|k-means|density|kng|variance)$"
        ),
    },
    "statistics/test_unknown_n_columns.py": {
        "test_a_test_of_two_samples_passes_an_audit_that_finds_public_sizes": None,
        "test_control_copies_of_the_centre_are_found_by_tests": None,
        "test_tests_reject_what_is_true_at_their_level": None,
    },
    "statistics/test_unknown_n_groups.py": {
        "test_every_public_key_has_a_release_with_its_own_count": "^(GDP|PureDP)",
    },
    "statistics/test_variance.py": {
        "test_it_is_the_least_mean_squared_distance_within_s": "^(0.3|1.5)-",
        "test_no_neighbour_moves_it_further_than_its_sensitivity": "^2-(sphere|spd)",
        "test_s_holds_the_mean_with_its_probability": None,
        "test_the_printed_error_is_the_measured_one": "1.0-100-sphere",
    },
    "sums/test_located_mean.py": {
        "test_what_is_left_of_the_way_is_told_where_all_records_are_one": "^sphere:2-add",
    },
    "sums/test_located_mean_attacks.py": {
        "test_no_search_takes_many_more_sums_than_its_rehearsals": "^(?!unitary|correlation)",
    },
    "sums/test_many_dimensions.py": {
        "test_the_printed_error_is_near_the_true_one": ":10$",
    },
    "sums/test_noise_in_shares_theory.py": {
        "test_shares_of_those_that_answer_are_as_private_as_one_noise": "^5-",
    },
    "sums/test_pure_noise.py": {
        "test_counts_have_the_deviation_that_is_told": None,
        "test_no_pair_of_neighbours_loses_more_than_the_budget": (
            "^(euclidean|sphere|hyperboloid:2|spd|torus|unitary)"
        ),
        "test_the_attack_finds_broken_searches": "^half",
    },
    "sums/test_search_given_past.py": {
        "test_each_sum_keeps_its_share_after_every_past": "^(euclidean:2|sphere:2|spd:2)-",
        "test_noise_is_new_and_normal_after_every_past": "^sphere:2-replace",
    },
    "sums/test_search_neighbours.py": {
        "test_neighbours_are_told_apart_no_better_than_the_budget_allows": (
            "^(sphere:2|euclidean|hyperboloid|torus|kendall|spd:2-)"
        ),
        "test_the_attack_finds_broken_searches": "^half",
    },
    "sums/test_search_replay.py": {
        "test_a_release_is_a_function_of_its_sums": "^(sphere:2|spd:3|torus:2)-",
        "test_one_bit_of_one_number_is_found": "^(value|spent)$",
        "test_so_it_is_where_no_mean_stands_out": "^(sphere:2|spd:3|torus:2)-",
    },
    "sums/test_tail_counts.py": {
        "test_counts_that_noise_alone_makes_tell_nothing": None,
    },
    "sums/test_whole_path_theory.py": {
        "test_losses_of_whole_sequences": None,
    },
}


def is_left_to_ci(file: str, name: str, ident: str, values: Iterable[Any]) -> bool:
    """Whether the default run leaves out a test with these parameters.

    Parameters
    ----------
    file, name, ident : str
        Its file below the folder of tests, its function, and the id of its parameters.
    values : iterable
        The parameters.
    """
    pattern = KEPT.get(file, {}).get(name, "")
    if pattern is None or not re.search(pattern, ident):
        return True
    return any(getattr(own, "is_thorough", False) is True for own in values)
