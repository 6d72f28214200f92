"""The defects D1–D33 of the reference (facts §11.3): for each a test of the right behaviour, or why it is not ours."""

from __future__ import annotations

import pytest

from tests.cases.known_tests import known_tests

LIMITS = "tests/specification/defects/test_limits.py"
REPLAY = "tests/specification/defects/test_replay.py"
STORE = "tests/specification/defects/test_store.py"
CLIENTS = "tests/specification/defects/test_clients.py"

TESTED = {
    1: f"{STORE}::test_d1_a_message_for_nobody_blocks_nobody",
    2: f"{LIMITS}::test_d2_the_key_limit_holds_over_turns",
    3: f"{LIMITS}::test_d3_an_instance_at_the_limit_goes_on_after_continue_as_new",
    4: f"{LIMITS}::test_d4_keys_that_were_cleared_do_not_count",
    5: f"{LIMITS}::test_d5_nothing_of_a_refused_turn_is_stored",
    6: f"{LIMITS}::test_d6_a_parent_is_told_when_its_child_breaks_a_limit",
    7: f"{LIMITS}::test_d7_a_refused_turn_has_one_ending",
    8: f"{REPLAY}::test_d8_pruning_by_age_is_the_same_on_every_replay",
    9: f"{REPLAY}::test_d9_pruned_keys_are_cleared_in_key_order",
    10: f"{REPLAY}::test_d10_a_loop_over_all_values_schedules_in_the_same_order_every_time",
    11: f"{REPLAY}::test_d11_code_that_ends_where_the_history_goes_on_is_a_divergence",
    12: f"{REPLAY}::test_d12_a_recorded_set_that_is_no_longer_made_is_a_divergence",
    13: f"{REPLAY}::test_d13_a_second_outcome_of_a_failed_activity_is_passed_over",
    14: f"{REPLAY}::test_d14_a_detached_start_beside_continue_as_new_is_started",
    15: f"{REPLAY}::test_d15_any_number_of_buffered_messages_can_be_read_in_one_turn",
    16: "tests/specification/test_telemetry.py::test_metrics_have_exactly_the_names_of_the_specification",
    17: "workbench/store/validation/values.py::kv_get_all_values",
    18: f"{STORE}::test_d18_sizes_are_bytes",
    19: f"{STORE}::test_d19_times_are_those_of_the_turns",
    20: f"{STORE}::test_d20_a_bulk_read_is_one_moment",
    21: f"{STORE}::test_d21_clears_and_sets_have_the_same_clock",
    22: f"{STORE}::test_d22_a_tombstone_of_a_key_that_never_was_shows_nowhere",
    23: f"{STORE}::test_d23_an_instance_with_a_damaged_history_can_be_asked_for_its_status",
    24: f"{STORE}::test_d24_a_message_that_cannot_be_read_is_kept_and_named",
    25: f"{STORE}::test_d25_what_is_given_back_is_free_at_once",
    26: "tests/specification/test_telemetry.py::test_operations_are_counted_once_however_often_they_are_replayed",
    27: f"{REPLAY}::test_d27_the_input_of_a_cross_instance_read_is_compared_as_json",
    28: f"{CLIENTS}::test_d28_waiting_for_a_key_sees_its_change",
    30: f"{CLIENTS}::test_d30_the_context_has_typed_keys_and_the_client_all_of_them",
    32: f"{REPLAY}::test_d32_what_the_last_turn_schedules_is_recorded_and_cancelled_and_never_run",
    33: "tests/store/test_processes.py::test_a_second_process_is_told_which_file_who_has_it_and_what_to_do",
}

NOT_OURS = {
    29: "a guide and a README of the reference that describe an older design; nothing of them is here",
    31: "neither specification limits the length of a key; the total of values is bounded by the two limits there "
    "are, 10 keys of 16 KiB, since they hold over turns (D2) and a turn that breaks one stores nothing (D5)",
}


def test_every_defect_is_dealt_with_once() -> None:
    assert sorted([*TESTED, *NOT_OURS]) == list(range(1, 34))
    assert all(reason.strip() for reason in NOT_OURS.values())


@pytest.mark.parametrize("defect", TESTED)
def test_the_test_of_each_defect_exists(defect: int) -> None:
    assert TESTED[defect] in known_tests()
