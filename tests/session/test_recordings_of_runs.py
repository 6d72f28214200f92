"""A run's recording is the same wherever it comes from: the run, its file, another process, JSON."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from tests.session.conftest import with_activities
from tests.session.flows import SCRIPTS, child, drive
from workbench import Limits, Recording, Workbench, open_source
from workbench.runtime.errors import NoTurnYet
from workbench.runtime.kv import KVModel

ROOT = Path(__file__).parents[2]
NAMES = ("continue as new", "failures", "children")
READ = """
import sys
from workbench import open_source
with open_source(sys.argv[1]) as source:
    sys.stdout.write(chr(0).join(source.recording(name).to_json() for name in source.instance_ids))
"""


def test_a_file_gives_the_recordings_of_its_runs_to_this_process_and_to_another(
    tmp_path: Path, kv_model: KVModel
) -> None:
    path = tmp_path / "store.duckdb"
    with Workbench(path, kv_model=kv_model) as wb:
        with_activities(wb).orchestration("Child")(child)
        for name in NAMES:
            drive(wb, SCRIPTS[name])
        expected = {name: wb.run(name).recording() for name in wb.instances["instance_id"]}
        with open_source(path) as source:
            assert {each.instance_id: each for each in source.recordings()} == expected
    with open_source(path) as source:
        assert {each.instance_id: each for each in source.recordings()} == expected
        assert all(each.kv_model == kv_model for each in source.recordings())
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    told = subprocess.run(
        [sys.executable, "-c", READ, str(path)], env=environment, check=True, capture_output=True, text=True
    )
    assert told.stderr == ""
    without_code = [msgspec.structs.replace(each, code=None) for each in expected.values()]  # a store has none
    assert told.stdout.split("\0") == [each.to_json() for each in without_code]


def test_a_recording_as_a_json_file_is_a_source_like_any_other(tmp_path: Path, wb: Workbench) -> None:
    run, _ = drive(wb, SCRIPTS["failures"])
    path = tmp_path / "run.json"
    run.recording().to_json(path)
    with open_source(path) as source:
        assert source.instance_ids == (run.instance_id,)
        assert source.recording(run.instance_id) == run.recording() == Recording.from_json(path)


def test_a_recording_carries_the_limits_its_turns_were_held_to(kv_model: KVModel) -> None:
    with Workbench(kv_model=kv_model, limits=Limits(kv_keys=3)) as wb:
        run, _ = drive(with_activities(wb), SCRIPTS["plain function"])
        recording = Recording.from_json(run.recording().to_json())
        assert recording.limits == Limits(kv_keys=3)
        assert recording.writer.startswith("workbench-")
        assert not recording.executions[0].turns_inferred


def test_a_run_that_has_not_begun_has_no_recording(wb: Workbench) -> None:
    wb.orchestration("Child")(child)
    run = wb.start("Child", 1)
    with pytest.raises(NoTurnYet, match="instance 'child-1' has made no turn yet"):
        run.recording()
    assert (run.turns, run.status) == ((), "Pending")
    assert repr(run) == "child-1 · not started: no turn has been made"
