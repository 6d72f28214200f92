"""All experiments, in the order of their topics."""

from __future__ import annotations

from tests.oracle.experiments import (
    children,
    composites,
    endings,
    failures,
    outstanding,
    queues,
    retries,
    status_and_kv,
    values,
)
from tests.oracle.experiments.asking import EXPERIMENTS

TOPICS = (children, composites, endings, failures, outstanding, queues, retries, status_and_kv, values)
"""The modules whose import filled EXPERIMENTS."""
TOGETHER = [case for case in EXPERIMENTS if case.name not in endings.ALONE]
APART = [case for case in EXPERIMENTS if case.name in endings.ALONE]
