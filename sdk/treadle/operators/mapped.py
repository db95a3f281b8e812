"""A task that becomes as many instances as the lists it is mapped over have items.

The DAG file makes one with ``partial().expand()``; the scheduler counts its instances from the document; the task
runtime turns it into the operator of one instance::

    values = mapped.expand_input.values_at(workload["expand_index"], resolver)
    operator = mapped.unmap(values)

after which ``operator`` is rendered and run like any other.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, ClassVar

from treadle.authoring import detached
from treadle.errors import InvalidArgumentError
from treadle.expansion import ExpandInput, refuse_inside_mapped_group
from treadle.operators.arguments import NAMES
from treadle.operators.base import BaseOperator
from treadle.templates import literal
from treadle.xcom_arg import XComArg, references_in


class MappedOperator(BaseOperator):
    """The unexpanded task: it has the settings of all its instances, but does no work itself.

    ``operator_class`` and ``partial_kwargs`` make an instance; ``expand_input`` says over what it is mapped.
    ``nest_under`` names the one argument that takes the mapped values as a dict (``op_kwargs`` of an ``@task``).
    """

    is_mapped: ClassVar[bool] = True

    def __init__(
        self,
        *,
        task_id: str,
        operator_class: type[BaseOperator],
        partial_kwargs: Mapping[str, Any],
        expand_input: ExpandInput,
        nest_under: str | None = None,
    ) -> None:
        refuse_inside_mapped_group(f"task {task_id!r} ({operator_class.__name__})")
        self.operator_class = operator_class
        self.partial_kwargs = dict(partial_kwargs)
        self.expand_input = expand_input
        self.nest_under = nest_under
        self.template_fields: Collection[str] = operator_class.template_fields
        links: object = operator_class.operator_extra_links
        # What a property gives is known only of an instance, which has its arguments.
        self.operator_extra_links = () if isinstance(links, property) else links  # type: ignore[assignment]
        super().__init__(task_id=task_id, **{key: value for key, value in partial_kwargs.items() if key in NAMES})

    def unmap(self, values: Mapping[str, Any]) -> BaseOperator:
        """Return the operator of one instance, with the arguments ``values`` (see ``ExpandInput.values_at``).

        It has this task's id, DAG, group and neighbours, and is not added to the DAG.

        Raises:
            DagError: ``expand_kwargs`` brought an argument that the operator does not have.
        """
        kwargs = {**self.partial_kwargs, **self._placed(values)}
        placing = {"dag": self.dag, "task_group": self.task_group}
        for name in placing:
            kwargs.pop(name, None)
        with detached():
            operator = self.operator_class(task_id=self.task_id, **placing, **kwargs)
        operator.label = self.label
        operator.fileloc, operator.line = self.site
        operator.upstream_task_ids = set(self.upstream_task_ids)
        operator.downstream_task_ids = set(self.downstream_task_ids)
        operator.is_setup, operator.is_teardown = self.is_setup, self.is_teardown
        return operator

    def _placed(self, values: Mapping[str, Any]) -> dict[str, Any]:
        if self.nest_under is not None:
            return {self.nest_under: {**self.partial_kwargs.get(self.nest_under, {}), **values}}
        rendered = frozenset(self.template_fields)
        # Only rendering takes a literal's wrapping off; an argument that is not rendered must not see it.
        return {
            name: value.value if isinstance(value, literal) and name not in rendered else value
            for name, value in values.items()
        }

    def references(self) -> Iterator[XComArg]:
        """Yield the results of other tasks that stand in the fixed and the mapped arguments."""
        yield from references_in(self.partial_kwargs)
        yield from references_in(self.expand_input.arguments)

    def execute(self, context: Any) -> Any:  # noqa: ARG002 - the contract of operators
        """Refuse: a mapped task does no work, its instances do."""
        raise InvalidArgumentError(repr(self), "map_index", -1, "an instance made by unmap()", site=self.site)

    @property
    def task_type(self) -> str:
        """The name of the class of its instances."""
        return self.operator_class.__name__

    @property
    def operator_name(self) -> str:
        """The kind of task that is shown to people."""
        return self.operator_class.custom_operator_name or self.task_type
