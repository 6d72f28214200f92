"""P-05: strings hash otherwise in every process, so a fan-out over a set is another one after a restart."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
NAMES = ["zeta", "beta", "eps", "theta", "delta", "alpha", "gamma", "eta"]

PROCESS = """
import json, sys
from tests.cases.bug_reports.test_p05_fan_out_over_a_set import NAMES, over_a_set
from workbench import Workbench
from workbench.runtime.errors import InstanceWaiting
ran = []
wb = Workbench(sys.argv[1])
wb.orchestration(over_a_set)
wb.activity("Echo")(lambda _, given: ran.append(given) or given)
if sys.argv[2] == "start":
    run = wb.start(over_a_set, NAMES, "i")
else:
    run = wb.run("i")
    run.raise_event("go", 1)
try:
    run.finish()
except InstanceWaiting:
    pass
events = wb.provider.read_history("i", 1).events
waiting = len(wb.provider.pending_activities("i")) + len(wb.provider.pending_messages("i"))
told = [run.status, run.error, run.divergence_text, ran, [event.type for event in events],
        [event.input for event in events if event.type == "ActivityScheduled"], waiting]
wb.close()
print(json.dumps(told))
"""


def over_a_set(ctx: Any, names: list[str]) -> Any:
    done = yield ctx.all_typed([ctx.schedule_activity("Echo", name) for name in set(names)])
    yield ctx.wait_for_event("go")
    return done


def process(path: Path, what: str, seed: int) -> Any:
    """What a process with this hash seed says after it has done its part."""
    command = [sys.executable, "-c", PROCESS, str(path), what]
    environment = os.environ | {"PYTHONHASHSEED": str(seed)}
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A store in which one process has run the fan-out and waits, and the order in which it did."""
    path = tmp_path_factory.mktemp("p05") / "store.duckdb"
    status, _, _, ran, _, scheduled, _ = process(path, "start", 1)
    assert status == "Running"
    assert [json.loads(each) for each in scheduled] == ran
    assert sorted(ran) == sorted(NAMES)
    return path, ran


def test_with_another_hash_seed_the_instance_fails_and_is_told_the_first_name_that_differs(
    started: tuple[Path, list[str]], tmp_path: Path
) -> None:
    path, recorded = started
    copy = Path(shutil.copy(path, tmp_path / "copy.duckdb"))
    status, error, text, ran, kinds, scheduled, waiting = process(copy, "go", 2)
    assert status == "Failed"
    assert error.startswith("nondeterministic: ")
    assert json.dumps(recorded[0]) in error.replace("\\", "")
    assert "event 2 · operation 1 · over_a_set, line 2" in text
    assert f'recorded  activity Echo("{recorded[0]}")' in text
    now = re.search(r'now       activity Echo\("(\w+)"\)', text)
    assert now is not None
    assert now[1] in set(recorded[1:])
    assert "keep the order, over a set with sorted(…)" in text
    assert (ran, waiting) == ([], 0)
    assert [json.loads(each) for each in scheduled] == recorded
    assert kinds[-2:] == ["ExternalEvent", "OrchestrationFailed"]


def test_with_the_same_hash_seed_it_completes(started: tuple[Path, list[str]], tmp_path: Path) -> None:
    path, _ = started
    copy = Path(shutil.copy(path, tmp_path / "copy.duckdb"))
    status, error, text, ran, _, _, _ = process(copy, "go", 1)
    assert (status, error, text, ran) == ("Completed", None, None, [])
