"""The results of a mapped task, fetched page by page: a join over 10,000 of them holds 500 at a time.

The task runtime hands one to a task for each mapped result among its arguments. If the mapped task is run again
meanwhile, a page tells the state of things when it was asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from treadle import xcom
from treadle.lazy import LazySequence
from treadle.runtime.supervisor import Supervisor, XComFound, XComQuestion

PAGE: Final = 500
"""Results that one question fetches."""


def first_page(task_id: str, key: str) -> XComQuestion:
    """Return the question for the first page, which may be asked together with others."""
    return XComQuestion(task_id, key, limit=PAGE)


class LazyResults(LazySequence):
    """What the instances of a mapped task pushed, in index order; instances that pushed nothing are left out."""

    def __init__(self, supervisor: Supervisor, question: XComQuestion, first: Sequence[XComFound]) -> None:
        """``first`` is the answer to ``question``, the :func:`first_page`."""
        self._supervisor = supervisor
        self._question = question
        self._offset = 0
        self._page = first
        self._length = len(first) if len(first) < PAGE else None

    def __len__(self) -> int:
        if self._length is None:
            ((found,),) = self._supervisor.get_xcoms([replace(self._question, limit=None, ask="count")])
            self._length = int(found.value)
        return self._length

    @property
    def known_length(self) -> int | None:
        """The number of results, if it is known without asking."""
        return self._length

    def at_hand(self) -> list[Any]:
        """Return the first results, as many as were fetched already; for showing."""
        return [xcom.loads(one.value) for one in self._page] if self._offset == 0 else []

    def at(self, place: int) -> Any:
        """Return one result; fetches its page unless that is the last one fetched."""
        page = self._load(place - place % PAGE)
        if place % PAGE >= len(page):
            raise IndexError(f"result {place} of task {self._question.task_id!r} is gone: it was run again meanwhile")
        return xcom.loads(page[place % PAGE].value)

    def __iter__(self) -> Iterator[Any]:
        offset, page = 0, self._load(0)
        while page:
            for one in page:
                yield xcom.loads(one.value)
            offset += PAGE
            page = self._load(offset) if len(page) == PAGE else ()

    def _load(self, offset: int) -> Sequence[XComFound]:
        if offset != self._offset:
            (self._page,) = self._supervisor.get_xcoms([replace(self._question, offset=offset)])
            self._offset = offset
        return self._page

    def __repr__(self) -> str:
        if self._length is not None and self._length <= PAGE and self._offset == 0:
            return repr(self.at_hand())
        return f"<results of task {self._question.task_id!r}>"


class BulkItems:
    """Elements of results by their index, for reading many: whole values, and pages of a mapped task's instances.

    Answers like the ``Resolver`` that it asks (``treadle.resolvable.Items``), which fetches each element alone.
    """

    def __init__(
        self,
        supervisor: Supervisor,
        value: Callable[[Any], Any],
        length: Callable[[Any], int],
        has_many: Callable[[Any], bool],
    ) -> None:
        self._supervisor = supervisor
        self._value = value
        self._measure = length
        self._has_many = has_many
        self._values: dict[Any, Sequence[Any]] = {}
        self._lengths: dict[Any, int] = {}
        self._pages: dict[Any, tuple[int, dict[int, str]]] = {}

    def length(self, reference: Any) -> int:
        """Return how many elements the result has."""
        if reference not in self._lengths:
            self._lengths[reference] = self._measure(reference)
        return self._lengths[reference]

    def item(self, reference: Any, index: int) -> Any:
        """Return one element; None for an instance of a mapped task that pushed nothing."""
        if not self._has_many(reference):
            if reference not in self._values:
                self._values[reference] = elements_of(self._value(reference)) or ()
            return self._values[reference][index]
        start = index - index % PAGE
        held = self._pages.get(reference)
        if held is None or held[0] != start:
            held = self._pages[reference] = (start, self._page(reference, start))
        text = held[1].get(index)
        return None if text is None else xcom.loads(text)

    def _page(self, reference: Any, start: int) -> dict[int, str]:
        wanted = tuple(range(start, start + PAGE))
        (found,) = self._supervisor.get_xcoms([XComQuestion(reference.operator.task_id, reference.key, wanted)])
        return {one.map_index: one.value for one in found}


def elements_of(value: Any) -> Sequence[Any] | None:
    """Return what a task can be mapped over in ``value``: of a dict its (key, value) pairs; None if nothing."""
    if isinstance(value, dict):
        return list(value.items())
    return value if isinstance(value, (list, tuple)) else None
