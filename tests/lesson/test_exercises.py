"""The lesson keeps its word: each solution of notebook 02 does what its exercise asks, each question is in a cell."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator

import nbformat.v4
import pytest

from tests.notebooks.found import FOLDER
from tests.views.making import typed
from workbench import Workbench
from workbench.panels.question import QuestionPanel
from workbench.runtime.turn import Turn

LESSON = FOLDER / "02_snapshot_poisoning.ipynb"
SOLUTION = re.compile(r"<details><summary>A solution</summary>\n\n```python\n(.*?)```", re.DOTALL)
QUESTIONS = FOLDER / "poisoning_questions.py"


def sources(kind: str) -> Iterator[str]:
    for cell in nbformat.v4.reads(LESSON.read_text(encoding="utf-8")).cells:
        if cell.cell_type == kind:
            yield cell.source


def solutions() -> list[str]:
    return [code for source in sources("markdown") for code in SOLUTION.findall(source)]


def poisoned(turns: tuple[Turn, ...]) -> bool:
    """Whether some read on the way was poisoned."""
    made = [each for turn in turns for each in (*turn.replayed, *turn.operations)]
    return any(each.read is not None and each.read.poisoned for each in made)


class Tried:
    """A function of the lesson on both designs: whether a read was poisoned, and how it ended."""

    def __init__(self, source: str) -> None:
        function = typed(source)
        with Workbench() as workbench:
            workbench.activity("Noop")(lambda _, value: value)
            with workbench.poisoning(function, 3) as panel:
                first, fixed = panel.pair.first, panel.pair.fixed
        self.poisoned = (poisoned(first), poisoned(fixed))
        self.ended = (first[-1].status, fixed[-1].status)
        self.outputs = (first[-1].output, fixed[-1].output)
        self.diverged = (first[-1].divergence is not None, fixed[-1].divergence is not None)


def test_there_is_a_solution_for_each_exercise() -> None:
    text = "\n".join(sources("markdown"))
    assert len(solutions()) == text.count("**Exercise ") == 3


def test_the_first_try_is_not_poisoned_as_the_question_says() -> None:
    [cell] = [source for source in sources("code") if "def mine(" in source]
    tried = Tried(cell[cell.index("def mine(") : cell.index("wb.poisoning(")])
    assert tried.poisoned == (False, False)
    assert tried.outputs == ('"3"', '"3"')


def test_solution_1_counts_on_both_designs_and_reads_nothing() -> None:
    tried = Tried(solutions()[0])
    assert tried.poisoned == (False, False)
    assert tried.outputs == ('"3"', '"3"')


def test_solution_2_is_poisoned_and_completes() -> None:
    tried = Tried(solutions()[1])
    assert tried.poisoned == (True, False)
    assert tried.ended == ("Completed", "Completed")


def test_solution_3_breaks_on_the_first_design_in_turn_2_only() -> None:
    tried = Tried(solutions()[2])
    assert tried.diverged == (True, False)
    assert tried.poisoned == (True, False)
    assert tried.outputs[1] == '"3"'


@pytest.fixture
def questions(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, QuestionPanel]]:
    """Every question of the lesson, asked."""
    monkeypatch.syspath_prepend(str(FOLDER))
    names = [node.name for node in ast.parse(QUESTIONS.read_text("utf-8")).body if isinstance(node, ast.FunctionDef)]
    module = __import__(QUESTIONS.stem)
    asked = {name: getattr(module, name)() for name in names}
    yield asked
    for each in asked.values():
        each.close()
    sys.modules.pop(QUESTIONS.stem)


def test_every_question_is_asked_once_and_no_cell_gives_an_answer_away(questions: dict[str, QuestionPanel]) -> None:
    code = "\n".join(sources("code"))
    assert len(questions) >= 5
    for name, each in questions.items():
        assert code.count(f"ask.{name}()") == 1
        assert each.question.because not in code
        assert "answer=" not in code


def test_the_answers_do_not_all_stand_in_one_place(questions: dict[str, QuestionPanel]) -> None:
    assert len({each.question.answer for each in questions.values()}) > 1
