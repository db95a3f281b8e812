"""The links of an attempt that ends: each ``get_link`` called once, its address masked, checked and logged.

Called by the task runtime before the callbacks of the end, for tasks that have links. A link that cannot be made costs
the attempt nothing: it is left out, and its log says why.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from treadle.errors import TaskTerminated
from treadle.operator_links import MOST_LINKS, refusal_of
from treadle.runtime import masking

if TYPE_CHECKING:
    from treadle.operators.base import BaseOperator
    from treadle.runtime.task_instance import TaskInstance

log = logging.getLogger("treadle.task")


def made_links(task: BaseOperator, ti: TaskInstance) -> dict[str, str]:
    """Return the addresses of the task's links, by their names."""
    made: dict[str, str] = {}
    try:
        for one in tuple(task.operator_extra_links)[:MOST_LINKS]:
            address = _address(one, task, ti)
            if address:
                made[one.name] = address
                log.info("Link %r: %s", one.name, address)
    except TaskTerminated:
        log.error("The links of the task were told to stop")
    except (Exception, SystemExit):
        log.exception("operator_extra_links of %s failed; the task's state is not changed by it", task.task_type)
    return made


def _address(one: Any, task: BaseOperator, ti: TaskInstance) -> str:
    try:
        address = one.get_link(task, ti_key=ti)
    except (Exception, SystemExit):
        log.exception("Link %r could not be made; the task's state is not changed by it", one.name)
        return ""
    if address is None or address == "":
        return ""
    refusal = refusal_of(address)
    if refusal:
        log.error("Link %r is left out: %.200r %s", one.name, address, refusal)
        return ""
    return masking.mask(str(address))
