"""The notebook that the browser opens: each cell shows a panel named `panel`, and the last one keeps busy."""

from __future__ import annotations

from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_notebook

COUNTER = """
from workbench import Workbench, open_source

wb = Workbench(kv_model="{kv_model}")


@wb.orchestration("Counter")
def counter(ctx, rounds):
    for _ in range(rounds):
        n = int(ctx.get_kv_value("counter") or "0")
        ctx.set_kv_value("counter", str(n + 1))
        yield ctx.schedule_activity("Noop", "")
    return ctx.get_kv_value("counter")


@wb.activity("Noop")
def noop(ctx, nothing):
    return nothing

"""

LIVE = (
    COUNTER.format(kv_model="delta")
    + """
run = wb.start(counter, 5)
for _ in range(3):
    run.turn()
panel = run.stepper()
panel
"""
)
DIVERGED = (
    COUNTER.format(kv_model="per-turn")
    + """
run = wb.start(counter, 5)
run.finish()
panel = run.stepper()
panel
"""
)
POISONING = COUNTER.format(kv_model="per-turn") + "panel = wb.poisoning(counter, 5)\npanel\n"

RECORDED = """
import sys
from workbench import open_source
from order_flow import order_flow

source = open_source("recordings/orders.db")
panel = source.recording("order-41").replay(order_flow).stepper()
panel
"""
VIEW_ONLY = RECORDED.replace(".replay(order_flow)", "")

FAMILY = """
from workbench import Workbench
from workbench.runtime.errors import InstanceWaiting

wb = Workbench()


@wb.orchestration("Order")
def order(ctx, attempt):
    state = ctx.get_kv_value("state") or "new"
    ctx.set_kv_value("state", f"{state}, paying")
    paid = yield ctx.schedule_sub_orchestration("Payment", attempt)
    yield ctx.schedule_activity("Note", paid)
    yield ctx.wait_for_event("approval")
    ctx.set_kv_value("state", f"approved {attempt}")
    if attempt < 3:
        yield ctx.continue_as_new(attempt + 1)
    return paid


@wb.orchestration("Payment")
def payment(ctx, attempt):
    ctx.set_kv_value("attempt", str(attempt))
    yield ctx.schedule_timer(2 * 3_600_000 + 5 * 60_000)
    return f"paid {attempt}"


@wb.activity("Note")
def note(ctx, text):
    return text


run = wb.start(order, 1, instance_id="order-42")
run.turn()
run.raise_event("approval", "too early")
while run.status not in ("Completed", "Failed"):
    try:
        run.turn()
    except InstanceWaiting:
        run.raise_event("approval", "yes")
panel = run.stepper()
panel
"""

GROWING = """
from workbench import Limits, Workbench

wb = Workbench(limits=Limits(kv_keys=10))


@wb.orchestration("Orders")
def orders(ctx, count):
    for n in range(count):
        ctx.set_kv_value(f"order-{n % 8}", "paid " * (n + 1))
        ctx.set_kv_value("last", str(n))
        yield ctx.schedule_activity("Ship", n)
    ctx.clear_kv_value("last")
    return count


@wb.activity("Ship")
def ship(ctx, n):
    return n


run = wb.start(orders, 12)
run.finish()
"""
LIMITS = GROWING + "panel = run.limits_panel()\npanel\n"
TABLE = GROWING + "panel = run.key_table()\npanel\n"
BELOW = GROWING + "panel = run.stepper()\npanel\n"

HOSTILE = r"""
from workbench import Workbench

wb = Workbench()
ATTACK = "<script>window.hit=1</script><img src=x onerror='window.hit=2'></style><b>bold</b>"
KEY = ATTACK + '" onmouseover="window.hit=3" \u202eleft\x00'


@wb.orchestration("<img src=x onerror=window.hit=4>")
def attacked(ctx, given):
    local_value = given
    ctx.set_kv_value(KEY, given)
    ctx.set_kv_value("big", "<i>" * 5000)
    ctx.get_kv_value(KEY)
    yield ctx.schedule_activity("<svg onload=window.hit=5>", given)
    raise ValueError(given)


@wb.activity("<svg onload=window.hit=5>")
def echo(ctx, given):
    return given


run = wb.start(attacked, ATTACK, instance_id="</style><script>window.hit=6</script>")
run.finish()
panel = run.stepper()
panel
"""

QUESTION = """
from workbench.lesson import question

panel = question(
    "Turn 2. Line 3 runs again. In turn 1 it read nothing. What does it read now?",
    choices=["nothing again", '`"1"`, which line 4 wrote in turn 1', '`"2"`, which line 4 is about to write'],
    answer='`"1"`, which line 4 wrote in turn 1',
    because="The engine loads `kv_store` before it runs the function again.",
)
panel
"""
FLOW = """
def flow(ctx, given):
    ctx.set_kv_value("step", "1")
    result = yield ctx.schedule_activity("Echo", "old")
    yield ctx.wait_for_event("go")
    return result
"""
BEGUN = f"""
%reload_ext workbench
from workbench import Workbench

wb = Workbench()


@wb.orchestration("Flow"){FLOW}

wb.start("Flow").turn()
wb.start("Flow").turn()
%kv
"""
CHANGED = "%%orchestration Flow" + FLOW.replace("old", "NEW")

BUSY = "import time\ntime.sleep(6)"
CELLS = {
    "live": LIVE,
    "diverged": DIVERGED,
    "poisoning": POISONING,
    "recorded": RECORDED,
    "view only": VIEW_ONLY,
    "family": FAMILY,
    "limits": LIMITS,
    "table": TABLE,
    "below": BELOW,
    "hostile": HOSTILE,
    "question": QUESTION,
    "begun": BEGUN,
    "changed": CHANGED,
    "busy": BUSY,
}
KERNEL = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}


def write_notebook(path: Path) -> None:
    """Write the notebook with these cells, in this order."""
    cells = [new_code_cell(source.strip()) for source in CELLS.values()]
    nbformat.write(new_notebook(cells=cells, metadata=KERNEL), path)


def position(name: str) -> int:
    """Where the cell with this name stands."""
    return list(CELLS).index(name)
