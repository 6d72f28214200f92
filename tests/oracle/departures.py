"""The experiments in which our engine departs from duroxide, and why; all others must be equal.

`IN_REPLAY` is about duroxide's own recordings; `AS_A_RUNTIME` about making the same turns ourselves.
"""

from __future__ import annotations

from tests.oracle.experiments.all_of_them import TOGETHER


def _but(beginning: str, *equal: str) -> frozenset[str]:
    """All experiments of a family but those that are equal."""
    names = {case.name for case in TOGETHER if case.name.startswith(f"{beginning}-")}
    return frozenset(names - {f"{beginning}-{each}" for each in equal})


NOT_RUN = frozenset({"base_exception", "base_exception_on_error", "early_base_exception"})
"""KeyboardInterrupt and SystemExit leave our engine for whoever runs the turn; they would end the tests."""

_OUR_OWN_ERRORS = frozenset(
    {
        "bad_yield-object",
        "bad_yield-set",
        "input_not_json",
        "wrong_argument-can_input",
        "wrong_argument-surrogate_key",
        "wrong_argument-surrogate_status",
        "wrong_argument-tag_on_race",
        "wrong_argument-tag_on_timer",
    }
)
"""Refused by both; the code sees another text, which says what and where."""
_TAKEN = frozenset({"wrong_argument-all_of_generator"}) | _but("prune_cutoff")
"""The SDK refuses it, we take it."""
_TASKS_BY_HAND = frozenset({"wrong_argument-extra_key"})
"""A dictionary that looks like a task is no task here."""
_TOO_DEEP = _but("deep_value_in_all")
"""Members' values nested 126 deep and deeper reach the code as text there."""
_ENDLESS = frozenset({"timer_delay-huge"})
"""A delay that ends after the last time that can be stored: there it is over at once, here it is refused."""
_TREES = frozenset({"group_of_exceptions"})
"""A group of exceptions is recorded there as a tree, here by its first line."""
IN_REPLAY = _OUR_OWN_ERRORS | _TAKEN | _TASKS_BY_HAND | _TOO_DEEP | _ENDLESS | _TREES

_REFUSED_IN_COMPOSITES = (
    _but("member_of_all", "child", "retry")
    | _but("first_of_race")
    | _but("second_of_race", "child", "retry")
    | _but("members_of_race", "two")
)
"""Refused at the yield, before anything is scheduled, with a clear error (DESIGN §3)."""
_EXACT_IN_COMPOSITES = frozenset({"children_and_retries_in_composites", "numbers_and_texts_in_composites"})
"""Members' results arrive as they were made; there they are read and written once more."""
_STATUS_REMEMBERED = frozenset({"custom_status"})
"""A status set before the first wait of a later execution is forgotten there."""
_ENDINGS_OF_THE_CORE = (
    _but("bad_yield")
    | _but("timer_delay", "zero", "huge")
    | _but("plain_timer_delay")
    | _but(
        "retry_that_fails",
        *("default", "one", "two", "camel", "four", "exponential", "fixed", "linear", "none", "blank", "constant"),
        *("capital", "unknown", "both_timeouts", "both_timeouts_reversed", "total_timeout", "total_timeout_short"),
    )
    | _but("wrong_argument", "all_of_tuple", "detached_empty", "surrogate")
    | {"retry_of_no_attempts", "output_set"}
)
"""There the core cannot read what was yielded, or panics, and fails the instance; here the call or yield raises."""

AS_A_RUNTIME = IN_REPLAY | _REFUSED_IN_COMPOSITES | _EXACT_IN_COMPOSITES | _STATUS_REMEMBERED | _ENDINGS_OF_THE_CORE
