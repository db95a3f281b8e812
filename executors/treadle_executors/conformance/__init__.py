"""The tests that every executor passes. A third party's executor inherits :class:`ExecutorConformance`.

A subclass makes its executor on an Execution API in memory and says how to kill its workers; pytest then runs the
tests against it, with real processes. They wait for reports, never for durations. Where executors whose workers live
on without them must differ, ``workers_outlive`` says so, and each such test says how. The tests lie by theme in the
modules of this package.
"""

from __future__ import annotations

from treadle_executors.conformance.ending import Ending
from treadle_executors.conformance.faults import Faults
from treadle_executors.conformance.restarts import Restarts
from treadle_executors.conformance.running import Running
from treadle_executors.conformance.workloads import DAG_FILE, make_workload

__all__ = ["DAG_FILE", "ExecutorConformance", "make_workload"]


class ExecutorConformance(Running, Ending, Restarts, Faults):
    """What an executor must do."""
