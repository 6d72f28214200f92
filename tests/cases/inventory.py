"""Every test that the two specifications and the reference name, and which of our tests it is.

`facts` is the fact sheet on the reference engine; its §10 lists the reference's tests, the SDK's, and the ids of its
test plan. A test is either ours (its node id, without parameters) or it is contradicted, and then the reason says by
what. Where the two KV models differ, one test checks each model against the specification that it follows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple


class NamedTest(NamedTuple):
    """A test by its name: where it is listed, what it is called there, our node id, or why there is none."""

    listed: str
    name: str
    ours: str | None
    reason: str = ""


END_TO_END = "tests/specification/end_to_end"
VALIDATION = "workbench/store/validation"
ENGINE = "tests/specification/replay_engine/test_kv.py"
SERDE = "tests/specification/serde/test_events.py"
SAMPLES = "tests/specification/samples/test_samples.py"
STRESS = "tests/specification/stress/test_stress.py"


def same_names(listed: str, folder: str, files: Mapping[str, str], prefix: str = "test_") -> Iterator[NamedTest]:
    """Tests that have kept their names: by file, the names, separated by blanks."""
    for file, names in files.items():
        for name in names.split():
            yield NamedTest(listed, name, f"{folder}{file}::{prefix}{name}")


def other_names(listed: str, table: str, folders: Mapping[str, str]) -> Iterator[NamedTest]:
    """Tests that are listed by an id: a line each, the id, the file's letter, our name for it."""
    for line in table.strip().splitlines():
        name, file, ours = line.split()
        yield NamedTest(listed, name, f"{folders[file]}::{ours}")


SPEC_000 = [
    *same_names(
        "spec 000, Test plan: new tests",
        "tests/specification/",
        {
            "end_to_end/test_turns.py": "kv_read_modify_write_every_turn",
            "replay_engine/test_kv.py": "kv_read_modify_write_every_turn_snapshot_poisons_replay",
        },
    ),
    *same_names(
        "spec 000, Test plan: additional tests",
        f"{END_TO_END}/",
        {
            "test_delta.py": """
                kv_delta_clear_all_then_set kv_delta_clear_single_with_prior_execution_value
                kv_delta_merged_on_completion kv_delta_merged_on_can kv_delta_client_reads_live_state
            """
        },
    ),
]
"""The "existing tests that should continue passing" are the reference's, below; the "provider validation tests for the
new contract" are the `kv_delta_…` of its provider validation."""

SPEC_001 = [
    *same_names(
        "spec 001, Provider Validation Tests",
        f"{VALIDATION}/",
        {
            "values.py": "kv_set_and_get kv_overwrite kv_clear kv_get_nonexistent",
            "snapshots.py": "kv_snapshot_complete",
            "executions.py": "kv_prune_with_execution kv_execution_id_tracking",
            "deleting.py": "kv_delete_with_instance",
        },
        prefix="",
    )
]

REPLAY_ENGINE = list(
    same_names(
        "facts §10.1, tests/replay_engine/kv.rs",
        "",
        {
            ENGINE: """
                action_to_event_kv_variants replay_set_value_reconstructs_state replay_multiple_sets_last_wins
                replay_clear_then_set replay_clear_single_key replay_set_value_matches_action
                replay_set_value_mismatch_nondeterminism replay_clear_all_values_matches_action
                replay_clear_value_matches_action replay_clear_value_mismatch_nondeterminism
                replay_kv_interleaved_with_activities replay_kv_no_token_binding new_kv_events_after_replay
                kv_state_seeded_from_snapshot kv_state_snapshot_overridden_by_code kv_get_value_same_turn
                kv_get_value_previous_turn kv_get_value_previous_execution kv_set_key_mismatch_nondeterminism
                kv_set_value_mismatch_nondeterminism kv_clear_key_mismatch_nondeterminism kv_set_timestamp_mismatch_ok
                kv_read_modify_write_across_turns_replay kv_read_modify_write_every_turn_snapshot_poisons_replay
                kv_read_modify_write_with_can_snapshot kv_clear_all_then_set_replay
                kv_clear_single_snapshot_key_then_rmw
            """
        },
    )
)

REFERENCE_END_TO_END = [
    *same_names(
        "facts §10.2, tests/kv_store_tests.rs",
        f"{END_TO_END}/",
        {
            "test_values.py": """
                kv_set_value_visible_via_client kv_get_missing_key_returns_none kv_set_multiple_values_same_turn
                kv_overwrite_same_key kv_clear_single_value kv_clear_all_values kv_typed_round_trip
                kv_get_value_reads_local_state kv_accessible_after_completion kv_accessible_after_failure
                kv_json_value kv_empty_key kv_clear_value_then_set_same_key kv_get_value_typed_wrong_type
            """,
            "test_turns.py": """
                kv_persists_across_turns kv_update_across_turns kv_clear_value_then_reset
                kv_interleaved_with_activities_and_timers kv_read_modify_write_across_turns
                kv_read_modify_write_every_turn kv_clear_all_then_set_across_turns
                kv_clear_single_with_prior_execution_value
            """,
            "test_continue_as_new.py": """
                kv_survives_continue_as_new kv_overwrite_after_can kv_clear_after_can kv_can_chain_accumulation
                kv_rmw_across_can_boundary
            """,
            "test_limits.py": """
                kv_exceeding_key_limit_fails_orchestration kv_exceeding_value_size_limit_fails_orchestration
                kv_at_key_limit_succeeds kv_clear_all_resets_key_count
            """,
            "test_deleting_and_pruning.py": """
                kv_deleted_with_instance kv_not_accessible_after_deletion kv_prune_execution_removes_orphan_keys
                kv_delete_instance_removes_all_kv kv_bulk_prune kv_delete_parent_cascades_child_kv
            """,
            "test_other_instances.py": """
                kv_get_value_from_instance kv_get_value_from_instance_key_missing
                kv_get_value_from_instance_unknown_instance kv_get_value_from_instance_typed_e2e
                kv_get_value_from_instance_replay_safe kv_get_value_from_instance_after_source_update
                kv_get_value_from_instance_self kv_parent_child_isolation
            """,
            "test_composites.py": "kv_works_in_select_branch kv_in_fan_out_fan_in",
            "test_client.py": """
                client_get_value_running kv_client_get_all_values kv_client_get_all_values_empty
                kv_client_get_all_values_after_overwrite kv_client_get_all_values_after_clear
                kv_client_get_all_values_across_can
            """,
            "test_single_thread.py": "kv_single_thread_basic kv_single_thread_can_with_kv",
            "test_pruning_values.py": """
                kv_prune_old_values_by_timestamp kv_prune_with_zero_threshold_does_nothing kv_prune_empty_returns_zero
                kv_prune_current_turn_keys_with_max_threshold kv_prune_unpersisted_current_turn_key_with_wall_clock
                kv_prune_selective_by_age
            """,
        },
    ),
    *same_names(
        "facts §10.2, tests/kv_store_tests.rs",
        "",
        {
            STRESS: """
                kv_stress_concurrent_writes kv_stress_high_key_count kv_stress_cross_instance_reads
                kv_stress_can_throughput
            """
        },
    ),
]

PROVIDER_VALIDATION = list(
    same_names(
        "facts §10.3, src/provider_validation/kv_store.rs (there with the prefix test_)",
        f"{VALIDATION}/",
        {
            "values.py": """
                kv_set_and_get kv_overwrite kv_clear_single kv_clear_all kv_get_nonexistent kv_get_unknown_instance
                kv_instance_isolation kv_clear_isolation kv_clear_nonexistent_key kv_set_after_clear kv_empty_value
                kv_large_value kv_special_chars_in_key
            """,
            "snapshots.py": """
                kv_snapshot_in_fetch kv_snapshot_after_clear_single kv_snapshot_after_clear_all kv_snapshot_empty
                kv_snapshot_cross_execution kv_delta_snapshot_excludes_current_execution
                kv_delta_snapshot_includes_completed_execution
            """,
            "executions.py": """
                kv_execution_id_tracking kv_cross_execution_overwrite kv_cross_execution_remove_readd
                kv_prune_preserves_overwritten kv_prune_preserves_all_keys kv_prune_current_execution_protected
                kv_delta_prune_untouched_key_survives
            """,
            "deleting.py": """
                kv_delete_instance_cascades kv_delete_instance_with_children kv_delta_delete_instance_cascades
            """,
            "delta.py": """
                kv_delta_client_reads_merged kv_delta_tombstone_overrides_store kv_delta_clear_all_tombstones_store
                kv_delta_merged_on_completion kv_delta_merged_on_can
            """,
        },
        prefix="",
    )
)

ELSEWHERE = [
    *same_names(
        "facts §10.4, tests/e2e_samples.rs",
        "",
        {
            SAMPLES: """
                sample_kv_request_response sample_kv_cross_orchestration_read sample_kv_read_modify_write_counter
            """
        },
    ),
    *same_names(
        "facts §10.4, tests/tag_serde_tests.rs", "", {SERDE: "kv_event_kinds_roundtrip kv_event_kinds_backward_compat"}
    ),
    *same_names(
        "facts §10.4, Python tests/test_kv_store.py (there with the prefix test_)",
        "",
        {
            SAMPLES: """
                kv_request_response kv_bulk_helpers kv_cross_orchestration_read kv_read_modify_write_counter
            """
        },
    ),
    *same_names(
        "facts §10.4, Python tests/test_admin_api.py (there with the prefix test_)",
        f"{END_TO_END}/",
        {"test_client.py": "get_orchestration_stats"},
    ),
]

_PLAN_FILES = {
    "V": f"{VALIDATION}/values.py",
    "S": f"{VALIDATION}/snapshots.py",
    "X": f"{VALIDATION}/executions.py",
    "D": f"{VALIDATION}/deleting.py",
    "engine": ENGINE,
    "values": f"{END_TO_END}/test_values.py",
    "turns": f"{END_TO_END}/test_turns.py",
    "continue": f"{END_TO_END}/test_continue_as_new.py",
    "prune": f"{END_TO_END}/test_deleting_and_pruning.py",
    "client": f"{END_TO_END}/test_client.py",
    "others": f"{END_TO_END}/test_other_instances.py",
    "composites": f"{END_TO_END}/test_composites.py",
    "thread": f"{END_TO_END}/test_single_thread.py",
    "samples": SAMPLES,
    "serde": SERDE,
    "stress": STRESS,
}

TEST_PLAN = [
    *other_names(
        "facts §10.5, test plan: provider",
        """
        PV-KV-01  V kv_set_and_get
        PV-KV-02  V kv_get_nonexistent
        PV-KV-03  V kv_get_unknown_instance
        PV-KV-04  V kv_overwrite
        PV-KV-05  V kv_clear_all
        PV-KV-05a V kv_clear_single
        PV-KV-05b V kv_clear_nonexistent_key
        PV-KV-06  V kv_set_after_clear
        PV-KV-07  V kv_empty_value
        PV-KV-08  V kv_large_value
        PV-KV-09  V kv_special_chars_in_key
        PV-KV-10  X kv_execution_id_tracking
        PV-KV-11  S kv_snapshot_empty
        PV-KV-12  S kv_snapshot_complete
        PV-KV-13  S kv_snapshot_after_clear_all
        PV-KV-13a S kv_snapshot_after_clear_single
        PV-KV-14  S kv_snapshot_cross_execution
        PV-KV-15  X kv_prune_with_execution
        PV-KV-16  X kv_prune_preserves_overwritten
        PV-KV-17  X kv_prune_current_execution_protected
        PV-KV-18  D kv_delete_instance_cascades
        PV-KV-19  D kv_delete_instance_with_children
        PV-KV-20  V kv_instance_isolation
        PV-KV-21  V kv_clear_isolation
        """,
        _PLAN_FILES,
    ),
    *other_names(
        "facts §10.5, test plan: replay engine",
        """
        RE-KV-01  engine test_action_to_event_kv_variants
        RE-KV-02  engine test_replay_set_value_reconstructs_state
        RE-KV-03  engine test_replay_multiple_sets_last_wins
        RE-KV-04  engine test_replay_clear_then_set
        RE-KV-04a engine test_replay_clear_single_key
        RE-KV-05  engine test_replay_set_value_matches_action
        RE-KV-06  engine test_kv_set_value_mismatch_nondeterminism
        RE-KV-07  engine test_replay_clear_all_values_matches_action
        RE-KV-07a engine test_replay_clear_value_matches_action
        RE-KV-07b engine test_kv_clear_key_mismatch_nondeterminism
        RE-KV-08  engine test_replay_kv_interleaved_with_activities
        RE-KV-09  engine test_replay_kv_no_token_binding
        RE-KV-10  engine test_new_kv_events_after_replay
        RE-KV-11  engine test_kv_state_seeded_from_snapshot
        RE-KV-12  engine test_kv_state_snapshot_overridden_by_code
        """,
        _PLAN_FILES,
    ),
    *other_names(
        "facts §10.5, test plan: end to end",
        """
        E2E-KV-01   values     test_kv_set_value_visible_via_client
        E2E-KV-02   turns      test_kv_persists_across_turns
        E2E-KV-03   turns      test_kv_update_across_turns
        E2E-KV-04   values     test_kv_clear_all_values
        E2E-KV-04a  values     test_kv_clear_single_value
        E2E-KV-04b  turns      test_kv_clear_value_then_reset
        E2E-KV-05   continue   test_kv_survives_continue_as_new
        E2E-KV-06   continue   test_kv_overwrite_after_can
        E2E-KV-07   continue   test_kv_clear_after_can
        E2E-KV-08   continue   test_kv_can_chain_accumulation
        E2E-KV-09   prune      test_kv_prune_execution_removes_orphan_keys
        E2E-KV-10   prune      test_kv_delete_instance_removes_all_kv
        E2E-KV-11   prune      test_kv_bulk_prune
        E2E-KV-12   client     test_client_get_value_running
        E2E-KV-13   values     test_kv_accessible_after_completion
        E2E-KV-14   values     test_kv_typed_client_read_decodes_json
        E2E-KV-CI-01 others    test_kv_get_value_from_instance
        E2E-KV-CI-02 others    test_kv_get_value_from_instance_key_missing
        E2E-KV-CI-03 others    test_kv_get_value_from_instance_unknown_instance
        E2E-KV-CI-04 others    test_kv_get_value_from_instance_typed_e2e
        E2E-KV-CI-05 others    test_kv_get_value_from_instance_replay_safe
        E2E-KV-CI-06 others    test_kv_get_value_from_instance_after_source_update
        E2E-KV-15   others     test_kv_parent_child_isolation
        E2E-KV-16   prune      test_kv_delete_parent_cascades_child_kv
        E2E-KV-17   turns      test_kv_same_state_after_the_process_is_gone
        E2E-KV-18   turns      test_kv_read_value_as_activity_input_is_stable
        E2E-KV-19   turns      test_kv_stored_tables_are_not_changed_by_replay
        E2E-KV-20   values     test_kv_three_sets_of_a_key_are_three_events
        E2E-KV-21   turns      test_kv_interleaved_with_activities_and_timers
        E2E-KV-22   composites test_kv_works_in_select_branch
        E2E-KV-23   composites test_kv_in_fan_out_fan_in
        E2E-KV-24   values     test_kv_json_value
        E2E-KV-25   values     test_kv_empty_key
        E2E-KV-25a  values     test_kv_clear_value_then_set_same_key
        E2E-KV-25b  others     test_kv_get_value_from_instance_self
        E2E-KV-25c  values     test_kv_get_value_typed_wrong_type
        E2E-KV-26   thread     test_kv_single_thread_basic
        E2E-KV-27   thread     test_kv_single_thread_can_with_kv
        E2E-KV-RR-01 samples   test_sample_kv_request_response
        E2E-KV-RR-02 samples   test_kv_several_requests_and_one_that_takes_longer
        E2E-KV-RR-03 samples   test_kv_orchestration_to_orchestration_request_typed
        """,
        _PLAN_FILES,
    ),
    NamedTest(
        "facts §10.5, test plan: serde",
        "SER-KV-01",
        None,
        "expects externally tagged JSON; the reference's own events, and so ours (DESIGN §4: events in duroxide's own "
        f"JSON form), have a field `type`: {SERDE}::test_kv_event_kinds_backward_compat holds that form",
    ),
    *other_names(
        "facts §10.5, test plan: serde",
        "SER-KV-02 serde test_kv_events_of_another_version_are_skipped",
        _PLAN_FILES,
    ),
    *other_names(
        "facts §10.5, test plan: stress",
        """
        STRESS-KV-01 stress test_kv_stress_high_key_count
        STRESS-KV-02 stress test_kv_stress_concurrent_writes
        STRESS-KV-03 stress test_kv_stress_can_chain_with_pruning
        STRESS-KV-04 stress test_kv_stress_one_key_written_many_times
        """,
        _PLAN_FILES,
    ),
]

LISTS = {
    "spec 000": (SPEC_000, 7),
    "spec 001": (SPEC_001, 8),
    "facts §10.1": (REPLAY_ENGINE, 27),
    "facts §10.2": (REFERENCE_END_TO_END, 65),
    "facts §10.3": (PROVIDER_VALIDATION, 35),
    "facts §10.4": (ELSEWHERE, 10),
    "facts §10.5": (TEST_PLAN, 86),
}
"""Each list, and how many names it must have: as many as stand in its source."""

INVENTORY = [named for tests, _ in LISTS.values() for named in tests]
