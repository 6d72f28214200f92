"""Any thread may press: JupyterLab runs handlers beside a cell that is still running."""

from __future__ import annotations

import threading
from collections.abc import Callable

from tests.panels.conftest import Live
from tests.panels.reading import click, shown
from workbench.panels.stepper import Stepper

Open = Callable[..., Live]
SECONDS = 30


def together(*works: Callable[[], None]) -> None:
    """Do all of it at once, each in a thread of its own; raises what one of them raised."""
    start = threading.Barrier(len(works))
    raised: list[BaseException] = []

    def do(work: Callable[[], None]) -> None:
        try:
            start.wait(SECONDS)
            work()
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=do, args=(work,)) for work in works]
    for each in threads:
        each.start()
    for each in threads:
        each.join(SECONDS)
    assert not [each for each in threads if each.is_alive()]
    if raised:
        raise raised[0]


def test_two_threads_press_buttons_while_a_cell_steps_the_run(live: Open) -> None:
    at = live(1, rounds=40)
    errors: list[str] = []

    def note() -> None:
        if at.stepper.error is not None:
            errors.append(at.stepper.error)

    def step() -> None:
        for _ in range(15):
            at.run.turn()

    def press_next() -> None:
        for _ in range(20):
            at.stepper._bar.next.click()
            note()

    def look_around() -> None:
        for turn in range(30):
            click(at.stepper, f"1.{1 + turn % len(at.stepper.turns)}")
            click(at.stepper, "key:counter")
            note()

    together(step, press_next, look_around)
    assert errors == []
    made = at.run.turns
    assert [turn.number for turn in made] == list(range(1, len(made) + 1))
    assert [turn.after.delta["counter"].value for turn in made[:-1]] == [str(turn.number) for turn in made[:-1]]
    assert at.stepper.static_html() == shown(at.stepper)


def test_two_steppers_on_one_run_make_each_turn_once(live: Open) -> None:
    at = live(1, rounds=12)
    with at.run.stepper() as other:

        def run_to_the_end(stepper: Stepper) -> Callable[[], None]:
            def press() -> None:
                while stepper._can_run() or stepper._position() + 1 < len(stepper.turns):
                    stepper._bar.next.click()

            return press

        together(run_to_the_end(at.stepper), run_to_the_end(other))
        assert (at.stepper.error, other.error) == (None, None)
        assert [turn.number for turn in at.run.turns] == list(range(1, 14))
        assert at.run.output == "12"


def test_a_panel_can_be_closed_while_another_thread_presses(live: Open) -> None:
    at = live(3).stepper

    def press() -> None:
        for _ in range(50):
            at._bar.previous.click()
            at._bar.next.click()

    together(press, at.close)
