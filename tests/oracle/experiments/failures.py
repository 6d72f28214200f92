"""Texts of errors: what the code sees, what is stored."""

from __future__ import annotations

from typing import Any

from tests.oracle.experiments.asking import experiment, experiment_each


@experiment_each(
    plain="boom",
    lines="first\nsecond\n  third",
    number="42",
    json_object='{"a": 1}',
    json_text='"quoted"',
    null="null",
    empty="",
    unicode="é \u2028 \U0001f600",
    colon="Type: message",
)
def error_text(ctx: Any, given: Any) -> Any:
    try:
        yield ctx.schedule_activity("Fail", given)
    except Exception as error:
        ctx.set_kv_value("activity", str(error))
        ctx.set_kv_value("type", type(error).__name__)
    raise ValueError(given)


@experiment()
def error_of_child(ctx: Any, _given: Any) -> Any:
    try:
        yield ctx.schedule_sub_orchestration("FailingChild", 1)
    except Exception as error:
        ctx.set_kv_value("child", str(error))
    yield ctx.schedule_activity("Fail", "uncaught")


@experiment()
def chained_error(ctx: Any, _given: Any) -> Any:
    yield ctx.schedule_timer(1)
    try:
        dict[str, int]()["missing"]
    except KeyError as error:
        raise RuntimeError("while looking") from error


@experiment()
def base_exception(ctx: Any, _given: Any) -> Any:
    yield ctx.schedule_timer(1)
    raise SystemExit("leaving")


@experiment()
def early_base_exception(ctx: Any, _given: Any) -> Any:
    ctx.set_kv_value("before", "1")
    raise SystemExit
    yield


@experiment()
def base_exception_on_error(ctx: Any, _given: Any) -> Any:
    try:
        yield ctx.schedule_activity("Fail", "first")
    except Exception:
        raise KeyboardInterrupt("stopped") from None


@experiment()
def group_of_exceptions(ctx: Any, _given: Any) -> Any:
    yield ctx.schedule_timer(1)
    raise ExceptionGroup("several", [ValueError("one"), TypeError("two")])


@experiment()
def exception_with_note(ctx: Any, _given: Any) -> Any:
    yield ctx.schedule_timer(1)
    error = ValueError("noted")
    error.add_note("a note")
    raise error


@experiment()
def syntax_error(ctx: Any, _given: Any) -> Any:
    yield ctx.schedule_timer(1)
    compile("1 +", "<text>", "eval")


@experiment()
def exception_from_a_module(ctx: Any, _given: Any) -> Any:
    import decimal

    yield ctx.schedule_timer(1)
    decimal.Decimal("x")


@experiment()
def stop_iteration(ctx: Any, _given: Any) -> Any:
    yield ctx.schedule_timer(1)
    raise StopIteration(5)


@experiment()
def own_exception_class(ctx: Any, _given: Any) -> Any:
    class OutOfStock(Exception):
        pass

    yield ctx.schedule_timer(1)
    raise OutOfStock("none left")
