"""Logging and OpenTelemetry of finished turns: emitted after the commit, silent while replaying (spec 001).

Metrics are exactly the `duroxide.kv.*` names of the specification; without an OpenTelemetry SDK they cost nothing.
"""

from __future__ import annotations

import logging
from functools import cache
from typing import Any

from opentelemetry import metrics

from workbench.runtime.turn_result import TurnResult

log = logging.getLogger("workbench.runtime")
orchestration_log = logging.getLogger("workbench.orchestration")
activity_log = logging.getLogger("workbench.activity")
logging.getLogger("workbench").addHandler(logging.NullHandler())

_LOGS = {"runtime": log, "orchestration": orchestration_log}
_LEVELS = {"DEBUG": logging.DEBUG, "INFO": logging.INFO, "WARNING": logging.WARNING, "ERROR": logging.ERROR}


@cache
def _counter(name: str) -> Any:
    return metrics.get_meter("workbench").create_counter(name)


@cache
def _gauge(name: str) -> Any:
    return metrics.get_meter("workbench").create_gauge(name)


def emit(result: TurnResult, instance_id: str) -> None:
    """Log lines, counters and gauges of a turn that has been committed."""
    where = {"instance_id": instance_id, "execution_id": result.execution_id}
    for source, level, text, fields in result.logs:
        shown = "".join(f" {name}={value}" for name, value in {**fields, **where}.items())
        _LOGS[source].log(_LEVELS[level], "%s%s", text, shown, extra={"fields": {**fields, **where}})
    for name, attributes in result.measures:
        _counter(name).add(1, _of_counter(name, attributes, instance_id))
    if not result.replayed:
        _gauge("duroxide.kv.key_count").set(result.key_count, {"instance_id": instance_id})
        _gauge("duroxide.kv.largest_value_bytes").set(result.largest_value_bytes, {"instance_id": instance_id})


def _of_counter(name: str, attributes: dict[str, Any], instance_id: str) -> dict[str, Any]:
    if not name.startswith("duroxide.kv.limit_exceeded."):
        return {}
    return {"instance_id": instance_id, **attributes}
