"""The line on which code ended: where it raised, or the `return` that it left by."""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Sequence
from typing import Any

from workbench.runtime.code import Finished, resume, start_code
from workbench.runtime.execution import Execution
from workbench.runtime.lines import Chain, RawChain, raised_frames, translate
from workbench.runtime.turns import RecordedTurn

_CALLERS = (start_code.__code__, resume.__code__)
"""The only two places where the engine calls the orchestration itself."""
_CALLED_BESIDES = tuple(
    function.__code__ for function in (Finished.__new__, inspect.isgenerator, inspect.iscoroutine, inspect.isasyncgen)
)


def last_line(execution: Execution, turns: Sequence[RecordedTurn]) -> Chain:
    """Run the turns and tell where the code ended; empty when it did not, or when a profiler is watching.

    A finished generator does not know where it stopped, so Python is asked to report every return while the code
    runs. `execution` is a fresh one and is closed afterwards.
    """
    if sys.getprofile() is not None:
        return ()
    left: list[RawChain] = [()]

    def watch(frame: types.FrameType, what: str, _: Any) -> None:
        called_by = None if frame.f_back is None else frame.f_back.f_code
        code = frame.f_code
        if what == "return" and called_by in _CALLERS and code not in _CALLED_BESIDES:
            left[0] = ((code, frame.f_lasti),)

    try:
        for turn in turns:
            sys.setprofile(watch)
            try:
                execution.advance(turn)
            finally:
                sys.setprofile(None)
            if execution.finished is not None:
                break
        finished = execution.finished
    finally:
        execution.close()
    if finished is None:
        return ()
    if finished.error is None:
        return translate(left[0])
    return translate(tuple((frame.f_code, place) for frame, place in raised_frames(finished.error)))
