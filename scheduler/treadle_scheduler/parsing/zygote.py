"""The parse zygote: has the SDK imported and forks a child for each file, on the pool's order.

``python -m treadle_scheduler.parsing.zygote FD CONFIG`` is exec'ed with a scrubbed environment, so that neither it nor
its children ever shared memory with a credential. It runs no user code itself. When the pool lets go of the socket, or
dies, it kills what it forked and ends.
"""

from __future__ import annotations

import gc
import socket
import sys

from treadle_scheduler.parsing.child import serve
from treadle_scheduler.parsing.config import ParseConfig
from treadle_scheduler.parsing.warming import warm_up
from treadle_worker.forker import Forker
from treadle_worker.system import drop_power_to_trace


def main(arguments: list[str]) -> None:
    """Serve as the zygote on descriptor ``arguments[0]``."""
    control = socket.socket(fileno=int(arguments[0]))
    control.set_inheritable(False)
    config = ParseConfig.from_text(arguments[1])
    drop_power_to_trace()
    sys.path.insert(0, config.dags_folder)
    # A cached module is recognised by whole seconds: an edit within the same second would go unseen.
    sys.dont_write_bytecode = True
    warm_up(config.dags_folder)
    gc.collect()
    gc.freeze()
    Forker(control, {"child": lambda _, descriptors: serve(descriptors, config)}).serve()


if __name__ == "__main__":
    main(sys.argv[1:])
