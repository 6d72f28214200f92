"""The orchestrations whose histories are in recordings/, and a changed version of one of them."""


def order_flow(ctx, order):
    ctx.set_kv_value("state", "reserving")
    reserved = yield ctx.schedule_activity("Reserve", order["item"])
    ctx.set_kv_value("reservation", reserved)
    if order["total"] > 100:
        ctx.set_kv_value("state", "waiting for approval")
        answer = yield ctx.race(ctx.wait_for_event("approval"), ctx.schedule_timer(3_600_000))
        if answer["index"] == 1:
            return "timed out"
    ctx.set_kv_value("state", "charging")
    try:
        receipt = yield ctx.schedule_activity("Charge", order["total"])
    except Exception as error:
        ctx.set_kv_value("state", "releasing")
        yield ctx.schedule_activity("Release", reserved)
        ctx.set_kv_value("state", "not paid")
        return str(error)
    ctx.set_kv_value("state", "done")
    return receipt


def order_flow_next(ctx, order):
    ctx.set_kv_value("state", "reserving")
    reserved = yield ctx.schedule_activity("Reserve", order["item"])
    ctx.set_kv_value("reservation", reserved)
    yield ctx.schedule_activity("CheckFraud", order["total"])
    if order["total"] > 100:
        ctx.set_kv_value("state", "waiting for approval")
        answer = yield ctx.race(ctx.wait_for_event("approval"), ctx.schedule_timer(3_600_000))
        if answer["index"] == 1:
            return "timed out"
    ctx.set_kv_value("state", "charging")
    try:
        receipt = yield ctx.schedule_activity("Charge", order["total"])
    except Exception as error:
        ctx.set_kv_value("state", "releasing")
        yield ctx.schedule_activity("Release", reserved)
        ctx.set_kv_value("state", "not paid")
        return str(error)
    ctx.set_kv_value("state", "done")
    return receipt


def stock_watch(ctx, shelf):
    left = int(ctx.get_kv_value("left") or "20")
    ctx.set_kv_value("state", "watching")
    taken = yield ctx.wait_for_event("taken")
    ctx.set_kv_value("left", str(left - taken))
    yield ctx.continue_as_new(shelf)
