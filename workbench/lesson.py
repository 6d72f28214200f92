"""What lessons are made of: questions that are answered before the next cell is run."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.panels.question import QuestionPanel
from workbench.runtime.errors import InvalidQuestion
from workbench.views.question import LETTERS, Question


def question(text: str, *, choices: Sequence[str], answer: str, because: str) -> QuestionPanel:
    """A prediction question: a small widget in a running notebook, text with a folded answer elsewhere.

    `answer` is one of the `choices`, `because` says why it is right; texts may have code between backticks. Raises
    `InvalidQuestion` unless there are 2 to 26 different choices and the answer is one of them.

    >>> asked = question("What is 1 + 1?", choices=["1", "2"], answer="2", because="One more than 1.")
    >>> print(asked.text())
    Question: What is 1 + 1?
      A  1
      B  2
    >>> asked.choose("B")
    >>> asked.is_right
    True
    >>> asked.close()
    """
    several = tuple(choices)
    if not 2 <= len(several) <= len(LETTERS) or len(set(several)) < len(several):
        raise InvalidQuestion(f"{text!r} needs 2 to {len(LETTERS)} different choices, not {list(several)}")
    if answer not in several:
        raise InvalidQuestion(f"the answer of {text!r} must be one of its choices, not {answer!r}")
    return QuestionPanel(Question(text=text, choices=several, answer=several.index(answer), because=because))
