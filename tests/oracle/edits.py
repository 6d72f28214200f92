"""Edits of programs that are in flight: what was there, what stands there now, what we say and what duroxide says.

Three lists are here whole: those that were measured one by one when the field was surveyed, what is and is not
nondeterminism for the reference, and the changed code of P-14.
"""

from __future__ import annotations

from typing import NamedTuple

from tests.oracle.cases import Case
from workbench.runtime.divergence import Kind

GOES_ON = "goes on"


class Edit(NamedTuple):
    """One edit. `duroxide` is how its message begins, or `goes on`, or the status that it comes to.

    `kind`, `event` (None: at the end) and `line` are those of our divergence; a `kind` of None is one that we let
    pass too, then `line` is the strict difference, if there is one.
    """

    before: str
    after: str
    kind: Kind | None
    event: int | None
    line: str
    duroxide: str


def _program(*lines: str) -> str:
    return "\n".join(["def program(ctx, given):", *(f"    {line}" for line in lines)]) + "\n"


SET_A, WORK, SET_B = (
    'ctx.set_kv_value("a", "1")',
    'yield ctx.schedule_activity("Echo", "go")',
    'ctx.set_kv_value("b", "2")',
)
WAIT = 'yield ctx.wait_for_event("proceed")'
FIRST, SECOND = 'yield ctx.schedule_activity("Echo", 1)', 'yield ctx.schedule_activity("Echo", 2)'
TIMER, STATUS = "yield ctx.schedule_timer(50)", 'ctx.set_custom_status("one")'
BOTH = 'yield ctx.all([ctx.schedule_activity("Echo", 1), ctx.schedule_activity("Echo", 2)])'
ONE_OF_BOTH = 'yield ctx.all([ctx.schedule_activity("Echo", 1)])'
RACE = 'yield ctx.race(ctx.schedule_activity("Echo", 1), ctx.wait_for_event("other"))'
TOGETHER = 'yield ctx.all([ctx.schedule_activity("Echo", 1), ctx.wait_for_event("other")])'
SESSION = 'yield ctx.schedule_activity_on_session("Echo", 1, "s")'
TAGGED = 'yield ctx.schedule_activity("Echo", 1).with_tag("t")'
CHILD = 'yield ctx.schedule_sub_orchestration("Child", 1)'
DETACHED = 'yield ctx.start_orchestration("Child", "apart", 1)'
CLEAR_A, CLEAR_B = 'ctx.clear_kv_value("a")', 'ctx.clear_kv_value("b")'
CLEAR_ALL = "ctx.clear_all_kv_values()"
SCHEDULE, EMITTED = "schedule mismatch: action=", "history schedule but no emitted action"

PROGRAMS: dict[str, str] = {
    "set work set wait": _program(SET_A, WORK, SET_B, WAIT, 'return "done"'),
    "two and a wait": _program(FIRST, SECOND, WAIT, 'return "done"'),
    "both and a wait": _program(BOTH, WAIT, 'return "done"'),
    "timer": _program(TIMER, WAIT),
    "status": _program(STATUS, WAIT),
    "status and work": _program(STATUS, FIRST, WAIT),
    "race": _program(RACE, WAIT),
    "session": _program(SESSION, WAIT),
    "tag": _program(TAGGED, WAIT),
    "child": _program(CHILD, WAIT),
    "detached": _program(DETACHED, WAIT),
    "two sets": _program(SET_A, SET_B, WAIT),
    "set and clear": _program(SET_A, CLEAR_A, WAIT),
    "clear all": _program(SET_A, CLEAR_ALL, WAIT),
    "set behind work": _program(FIRST, SET_A, WAIT),
}

MEASURED: list[tuple[str, Edit]] = [
    ("set work set wait", each)
    for each in (
        Edit(WORK, TIMER, "changed", 3, TIMER, f"{SCHEDULE}CreateTimer"),
        Edit('"Echo"', '"Mix"', "changed", 3, WORK.replace("Echo", "Mix"), f"{SCHEDULE}CallActivity"),
        Edit('"go"', '"go2"', "changed", 3, WORK.replace("go", "go2"), f"{SCHEDULE}CallActivity"),
        Edit(WAIT, f"{SECOND}\n{WAIT}", "added", 6, SECOND, f"{SCHEDULE}CallActivity"),
        Edit(WORK, "pass", "removed", 3, SET_B, f"{SCHEDULE}SetKeyValue"),
        Edit('"1"', '"9"', "changed", 2, SET_A.replace("1", "9"), "kv set mismatch: action=SetKeyValue"),
        Edit(SET_A, "pass", "removed", 2, WORK, "kv set mismatch: action=CallActivity"),
        Edit(WORK, f'ctx.set_kv_value("z", "0")\n{WORK}', "added", 3, 'ctx.set_kv_value("z", "0")', f"{SCHEDULE}Set"),
        Edit("proceed", "go_ahead", "changed", 6, WAIT.replace("proceed", "go_ahead"), f"{SCHEDULE}WaitExternal"),
        Edit(WAIT, 'return "early"', "ended early", 6, 'return "early"', "Completed"),
        Edit(WAIT, 'raise KeyError("no")', "ended early", 6, 'raise KeyError("no")', "Failed"),
    )
] + [
    ("both and a wait", Edit(BOTH, 'return "at once"', "ended early", 2, 'return "at once"', "Completed")),
    ("timer", Edit("(50)", "(86_400_000)", None, 2, "timer delay", GOES_ON)),
    ("status", Edit('"one"', '"two"', None, 2, "custom status", GOES_ON)),
]

RULES: list[tuple[str, Edit]] = [
    ("two and a wait", Edit(f"{FIRST}\n    {SECOND}", f"{SECOND}\n{FIRST}", "moved", 2, SECOND, SCHEDULE)),
    ("session", Edit('"s"', '"t"', "changed", 2, SESSION.replace('"s"', '"t"'), f"{SCHEDULE}CallActivity")),
    ("tag", Edit('"t"', '"u"', "changed", 2, TAGGED.replace('"t"', '"u"'), f"{SCHEDULE}CallActivity")),
    ("two and a wait", Edit(WAIT, f"{SET_A}\n{WAIT}", "added", 6, SET_A, f"{SCHEDULE}SetKeyValue")),
    ("two sets", Edit(SET_B, f"{FIRST}\n{SET_B}", "added", 3, FIRST, "kv set mismatch: action=CallActivity")),
    ("set work set wait", Edit('return "done"', f"{SECOND}\nreturn 'more'", None, None, "", GOES_ON)),
    ("set work set wait", Edit('return "done"', f"{SET_A}\nreturn 'more'", None, None, "", GOES_ON)),
    ("two and a wait", Edit(SECOND, "pass", "removed", 4, WAIT, f"{SCHEDULE}WaitExternal")),
    ("both and a wait", Edit(BOTH, ONE_OF_BOTH, "removed", 3, ONE_OF_BOTH, EMITTED)),
    ("two and a wait", Edit(SECOND, "return 1", "ended early", 4, "return 1", "Completed")),
    ("two and a wait", Edit(SECOND, "raise ValueError(1)", "ended early", 4, "raise ValueError(1)", "Failed")),
    (
        "two and a wait",
        Edit(SECOND, "yield ctx.continue_as_new(1)", "ended early", 4, "yield ctx.continue_as_new(1)", SCHEDULE),
    ),
    ("status and work", Edit(STATUS, "pass", "removed", 2, FIRST, "custom status mismatch: action=CallActivity")),
    ("two sets", Edit('"a"', '"c"', "changed", 2, SET_A.replace('"a"', '"c"'), "kv set mismatch")),
    ("two sets", Edit(f"{SET_A}\n    {SET_B}", f"{SET_B}\n{SET_A}", "moved", 2, SET_B, "kv set mismatch")),
    ("two sets", Edit(SET_A, CLEAR_A, "changed", 2, CLEAR_A, "kv set mismatch: action=ClearKeyValue")),
    ("set and clear", Edit(CLEAR_A, CLEAR_B, "changed", 3, CLEAR_B, "kv clear mismatch")),
    ("set and clear", Edit(CLEAR_A, CLEAR_ALL, "changed", 3, CLEAR_ALL, "kv clear mismatch")),
    ("clear all", Edit(CLEAR_ALL, CLEAR_A, "changed", 3, CLEAR_A, "kv clear_all mismatch")),
    ("two sets", Edit(SET_A, "pass", "removed", 2, SET_B, "kv set mismatch")),
    ("two sets", Edit(SET_A, f"{SET_A}\n{SET_A}", "added", 3, SET_A, "kv set mismatch")),
    ("set behind work", Edit(f"{FIRST}\n    {SET_A}", f"{SET_A}\n{FIRST}", "moved", 2, SET_A, SCHEDULE)),
    ("two and a wait", Edit(FIRST, f"{SET_A}\n{FIRST}", "added", 2, SET_A, f"{SCHEDULE}SetKeyValue")),
    ("two sets", Edit(WAIT, "return 1", "ended early", 4, "return 1", "Completed")),
    ("set behind work", Edit(WAIT, f"{SET_A}\nreturn 1", "changed", 5, SET_A, "Completed")),
    ("race", Edit(RACE, TOGETHER, "removed", 5, TOGETHER, EMITTED)),
    ("child", Edit('"Child", 1', '"Child", 2', "changed", 2, CHILD.replace("1", "2"), SCHEDULE)),
    ("detached", Edit('"apart"', '"elsewhere"', "changed", 2, DETACHED.replace("apart", "elsewhere"), SCHEDULE)),
]

ORIGINAL = "before the change"
ECHO_1, ECHO_2, ECHO_3 = (f'yield ctx.schedule_activity("Echo", "{number}")' for number in (1, 2, 3))
GO = 'yield ctx.wait_for_event("go")'
PROGRAMS[ORIGINAL] = _program(ECHO_1, ECHO_2, GO, 'return "done"')
P_14: list[tuple[str, Edit]] = [
    (ORIGINAL, each)
    for each in (
        Edit(ECHO_2, "pass", "removed", 4, GO, f"{SCHEDULE}WaitExternal"),
        Edit(ECHO_2, 'return "early"', "ended early", 4, 'return "early"', "Completed"),
        Edit(f"{ECHO_1}\n    {ECHO_2}", f"{ECHO_2}\n{ECHO_1}", "moved", 2, ECHO_2, f"{SCHEDULE}CallActivity"),
        Edit('"Echo", "1"', '"Slow", "1"', "changed", 2, ECHO_1.replace("Echo", "Slow"), f"{SCHEDULE}CallActivity"),
        Edit(GO, f"{ECHO_3}\n{GO}", "added", 6, ECHO_3, f"{SCHEDULE}CallActivity"),
        Edit('"go"', '"GO"', "changed", 6, GO.replace("go", "GO"), f"{SCHEDULE}WaitExternal"),
        Edit(ECHO_2, f"{SET_A}\n{ECHO_2}", "added", 4, SET_A, f"{SCHEDULE}SetKeyValue"),
        Edit('return "done"', f"{ECHO_3}\nreturn 'tail'", None, None, "", GOES_ON),
    )
]
EDITS = {"measured": MEASURED, "rules": RULES, "P-14": P_14}
CASES = [Case(f"in flight {name}", source) for name, source in PROGRAMS.items()]
