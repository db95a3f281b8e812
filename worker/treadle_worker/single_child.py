"""The one task child of a process that runs one attempt and nothing else (``treadle task run``, as in a pod).

``python -m treadle_worker.single_child CHANNEL OUT ERR FOLDER SECONDS`` is exec'ed with a scrubbed environment, so it
never shared memory with the attempt's token. It is the zygote's child without a zygote: it imports the SDK while the
start is being reported, and the DAG file, within SECONDS, once it may.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Mapping
from typing import Any

from treadle_worker.child import serve_attempts
from treadle_worker.loading import DagFileError, load_dag_file
from treadle_worker.protocol import Workload
from treadle_worker.system import adopt_orphans, drop_power_to_trace, end_with_parent


def main(arguments: list[str]) -> None:
    """Run the attempt that comes over the first of the three descriptors."""
    *descriptors, dags_folder, seconds = arguments
    end_with_parent()
    adopt_orphans()
    drop_power_to_trace()
    sys.path.insert(0, dags_folder)

    def find_dags(workload: Workload) -> Mapping[str, Any]:
        signal.signal(signal.SIGALRM, _import_took_too_long)
        signal.setitimer(signal.ITIMER_REAL, float(seconds))
        try:
            return load_dag_file(workload["file"], dags_folder, workload.get("source")).dags
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

    serve_attempts([int(one) for one in descriptors], find_dags)


def _import_took_too_long(*_: object) -> None:
    raise DagFileError("the import of the DAG file exceeded its time limit (setting parse_timeout_seconds)")


if __name__ == "__main__":
    main(sys.argv[1:])
