"""How a question is written down: a decorated orchestration becomes a case.

What the code itself sees is written to KV keys or returned, so that it stands in the history.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from tests.oracle.cases import Case, Outside, case_of

EXPERIMENTS: list[Case] = []

Add = Callable[[Callable[..., Any]], Callable[..., Any]]


def experiment(given: Any = None, outside: Sequence[Outside] = ()) -> Add:
    """Add the decorated orchestration to the experiments."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        EXPERIMENTS.append(case_of(function, function.__name__, given, outside))
        return function

    return add


def experiment_each(**inputs: Any) -> Add:
    """Add the decorated orchestration once for each input; the keyword is part of its name."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        for label, given in inputs.items():
            EXPERIMENTS.append(case_of(function, f"{function.__name__}-{label}", given, ()))
        return function

    return add


MEMBER: Any = None
"""Stands in an orchestration for the expression that `experiment_with` puts there."""


def experiment_with(**expressions: str) -> Add:
    """Add the decorated orchestration once for each expression, which is put in the place of `MEMBER`."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        template = case_of(function, function.__name__, None, ())
        for label, expression in expressions.items():
            source = template.source.replace("MEMBER", expression)
            EXPERIMENTS.append(msgspec.structs.replace(template, name=f"{template.name}-{label}", source=source))
        return function

    return add
