"""Hostile texts: every id, key and value comes back exactly as it went in, and in order of code points."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.store.turns import claim_one, nudge, run_turn, sets, start
from workbench.runtime.kv import KVModel
from workbench.runtime.messages import QueueMessage
from workbench.store import DuckDBProvider

TEXTS = (
    "",
    " ",
    "a\0b",
    "a\0c",
    "\0",
    "é",
    "e\u0301",
    "😀",
    "\uffff",
    "K",
    "k",
    "it's",
    '"; DROP TABLE history; --',
    "100%_",
    "\\",
    "\n\r\t\x07\x7f",
    "x" * 5_000,
    "null",
)


@pytest.mark.parametrize("kv_model", ["delta", "per-turn"])
def test_keys_and_values_survive_exactly(tmp_path: Path, kv_model: KVModel) -> None:
    provider = DuckDBProvider(tmp_path / "keys.duckdb", kv_model)
    run_turn(provider, "a", *(sets(key, key) for key in TEXTS), status="ContinuedAsNew")
    run_turn(provider, "a", *(sets(key, key) for key in TEXTS[::2]))
    provider.close()
    provider = DuckDBProvider(tmp_path / "keys.duckdb")
    expected = {key: key for key in sorted(TEXTS)}
    assert list(provider.get_all_kv_values("a").items()) == list(expected.items())
    assert list(provider.get_kv_snapshot("a")) == list(expected)
    assert {key: provider.get_kv_value("a", key) for key in TEXTS} == dict(zip(TEXTS, TEXTS, strict=True))
    provider.close()


@pytest.mark.parametrize("text", TEXTS, ids=ascii)
def test_instance_ids_queue_names_and_data_survive_exactly(provider: DuckDBProvider, text: str) -> None:
    run_turn(provider, text, sets("k", text))
    run_turn(provider, text + "x", sets("k", "other"))
    provider.enqueue([QueueMessage(text, text, text), nudge(text + "x")], 0)
    claim = claim_one(provider, text)
    assert (claim.instance_id, claim.messages) == (text, (QueueMessage(text, text, text),))
    [loaded] = provider.load([claim])
    assert [event.instance_id for event in loaded.history.events] == [text, text]
    assert provider.get_all_kv_values(text) == {"k": text}
    provider.delete_instance(text, force=True)
    assert [info.instance_id for info in provider.instances()] == [text + "x"]


def test_instances_that_differ_only_after_a_nul_are_two(provider: DuckDBProvider) -> None:
    provider.enqueue([start("a\0b"), start("a\0c")], 0)
    assert [claim.instance_id for claim in provider.claim(9, 0, 1_000)] == ["a\0b", "a\0c"]
