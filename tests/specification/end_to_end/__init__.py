"""Whole orchestrations on a real store; names as in the reference's `tests/kv_store_tests.rs` and in spec 000."""
