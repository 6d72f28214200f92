"""A prediction question that is answered by a click or Enter; without a kernel it is text with a folded answer."""

from __future__ import annotations

import ipywidgets as widgets

from workbench.panels.html_view import HtmlView
from workbench.panels.panel import Panel
from workbench.runtime.errors import UnknownChoice
from workbench.views import question as view
from workbench.views.question import LETTERS, Question


class QuestionPanel(Panel):
    """Asks a question, says whether a choice is right, and lets one try again; `chosen` is the text of the choice."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self._chosen: int | None = None
        super().__init__()

    def _build(self) -> list[widgets.Widget]:
        self._body = HtmlView(on_focus=self._guarded(lambda address: self._choose(int(address.partition(":")[2]))))
        self._result = HtmlView()
        self._answer = HtmlView()
        return [self._body, self._result, self._alert, self._answer]

    def _refresh(self) -> None:
        self._body.html = view.body(self.question, self._chosen)
        self._result.html = "" if self._chosen is None else view.result(self.question, self._chosen)
        self._answer.html = view.folded(self.question)

    def _choose(self, position: int) -> None:
        if not 0 <= position < len(self.question.choices):
            raise UnknownChoice(str(position), self.question.choices)
        self._chosen = position
        self._refresh()

    def choose(self, choice: str) -> None:
        """Answer from a cell: the letter of a choice or its text. Raises `UnknownChoice`."""
        with self._lock:
            choices = self.question.choices
            letters = dict(zip(LETTERS, range(len(choices)), strict=False))
            position = choices.index(choice) if choice in choices else letters.get(choice.strip().upper())
            if position is None:
                raise UnknownChoice(choice, choices)
            self._choose(position)

    @property
    def chosen(self) -> str | None:
        """The choice that was taken last, None before the first."""
        return None if self._chosen is None else self.question.choices[self._chosen]

    @property
    def is_right(self) -> bool:
        """Whether the choice that was taken last is the answer."""
        return self._chosen == self.question.answer

    @property
    def answer(self) -> str:
        """The right choice and why."""
        return view.answer_in_words(self.question)

    def text(self) -> str:
        """The question with its choices as plain text, without the answer."""
        return view.text(self.question, self._chosen)

    def static_html(self) -> str:
        """The question as it stands, the answer folded away."""
        return view.html(self.question, self._chosen)

    def __repr__(self) -> str:
        return view.line(self.question, self._chosen)
