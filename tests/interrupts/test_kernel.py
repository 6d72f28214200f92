"""The kernel's stop button while a cell runs `run.finish()`: the kernel lives, and so does the instance (P-19)."""

from __future__ import annotations

import json
import queue
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

ROOT = Path(__file__).parents[2]
SECONDS = 120

OPEN = """
import json, os, sys
sys.path.insert(0, {root!r})
from tests.interrupts.program import facts, register, uninterrupted
from workbench import Workbench
wb = Workbench({file!r})
register(wb)
wanted = uninterrupted(wb)
"""
START = "began_ms = wb.clock.now_ms(); run = wb.start('Flow', 2)"
FINISH = "run.finish()"
AFTERWARDS = "after = [1 + 1, len(wb.provider.verify()), len(wb.sql('select * from history')) > 0]"
END = "run.finish() if run.status != 'Completed' else None; same = facts(wb, run, began_ms) == wanted"


class Reply(NamedTuple):
    status: str
    error: str
    value: Any


class Kernel:
    """A real ipykernel; `run` waits for a cell's end, `interrupt` is the stop button."""

    def __init__(self, file: Path) -> None:
        self.manager = KernelManager()
        self.manager.start_kernel(cwd=str(ROOT))
        self.client: BlockingKernelClient = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=SECONDS)
        assert self.run(OPEN.format(root=str(ROOT), file=str(file))).status == "ok"

    def begin(self, code: str, value: str = "None") -> str:
        expressions = {"value": f"json.dumps({value})"}
        sent: str = self.client.execute(code, user_expressions=expressions, stop_on_error=False)
        return sent

    def end(self, sent: str) -> Reply | None:
        """The reply to a cell; None when it was lost.

        An interrupt that strikes ipykernel itself, between the end of a cell and its reply, costs that reply. Another
        cell, which is answered after it in any case, tells.
        """
        asked = [sent]
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            try:
                reply = self.client.get_shell_msg(timeout=5)
            except queue.Empty:
                asked.append(self.begin("1"))
                continue
            found = reply["parent_header"].get("msg_id")
            if found == sent:
                return _read(reply["content"])
            if found in asked:
                return None
        raise AssertionError("the kernel does not answer")

    def run(self, code: str, value: str = "None") -> Reply:
        reply = self.end(self.begin(code, value))
        return Reply("lost", "", None) if reply is None else reply


def _read(content: dict[str, Any]) -> Reply:
    found = content.get("user_expressions", {}).get("value", {}).get("data", {}).get("text/plain")
    value = None if found is None else json.loads(found[1:-1])
    return Reply(content["status"], content.get("ename", ""), value)


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[Kernel]:
    started = Kernel(tmp_path / "flows.duckdb")
    yield started
    assert started.run("wb.close()").status == "ok"
    started.client.stop_channels()
    started.manager.shutdown_kernel(now=True)


def press_stop(kernel: Kernel, presses: int, seed: int) -> int:
    """Press stop that often while cells run instances to their ends; how many cells it ended."""
    chance = random.Random(seed)
    began = time.monotonic()
    for code in (START, FINISH):
        assert kernel.run(code).status == "ok"
    length_s = time.monotonic() - began
    assert kernel.run(END, "same").value is True
    ended = 0
    unfinished = False
    for press in range(presses):
        if not unfinished:
            assert settled(kernel, START, "2") == 2
        sent = kernel.begin(FINISH)
        time.sleep(chance.uniform(0.05, 0.6) * length_s)
        for _ in range(1 + press % 2):
            kernel.manager.interrupt_kernel()
        reply = kernel.end(sent)
        assert reply is None or (reply.status, reply.error) in (("ok", ""), ("error", "KeyboardInterrupt"))
        ended += reply is not None and reply.status == "error"
        assert settled(kernel, AFTERWARDS, "after") == [2, 0, True]
        unfinished = reply is not None and reply.status == "error" and chance.random() < 0.5
        if not unfinished:
            assert settled(kernel, END, "same") is True
    return ended


def settled(kernel: Kernel, code: str, value: str) -> Any:
    """The value after a cell; a second press that came late ends the cell after the one it was meant for."""
    for _ in range(4):
        reply = kernel.run(code, value)
        if reply.status == "ok":
            return reply.value
        assert reply.status == "lost" or reply.error == "KeyboardInterrupt"
    raise AssertionError("the cell does not end well")


def test_the_kernel_lives_and_the_instance_ends_the_same(kernel: Kernel) -> None:
    ended = press_stop(kernel, 5, seed=1)
    print(f"stop was pressed in 5 cells, ended {ended} of them")
    assert ended > 0


@pytest.mark.long
def test_stop_is_pressed_many_times(kernel: Kernel) -> None:
    ended = press_stop(kernel, 60, seed=2)
    print(f"stop was pressed in 60 cells, ended {ended} of them")
    assert ended > 20
