"""What Linux offers to keep processes apart and to find the ones that stay behind.

Called by the host and, before each fork, inherited by templates and task children. On a system without ``prctl`` the
calls do nothing: the host then only loses the extra safety nets, never a task.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
from typing import Final

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_DUMPABLE: Final = 4
_PR_SET_CHILD_SUBREAPER: Final = 36
_PR_CAPBSET_DROP: Final = 24
_TRACING: Final = (16, 17, 19, 21, 38, 39)
"""CAP_SYS_MODULE, SYS_RAWIO, SYS_PTRACE, SYS_ADMIN, PERFMON, BPF: each of them opens other processes' memory."""

_CAPABILITY_VERSION_3: Final = 0x20080522

_prctl = getattr(ctypes.CDLL(None), "prctl", None)


def hide_memory() -> None:
    """Make this process unreadable for other processes of the same user (design section 10)."""
    if _prctl is not None:
        _prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def drop_power_to_trace() -> None:
    """Give up root's right to look into other processes.

    The kernel then refuses this process, and its children, the memory and environment of every process that has more
    rights, such as a scheduler or a container's first process, hidden or not. Who is not root has nothing to give up.
    A zygote calls this before it runs user code (case F17).
    """
    libc = ctypes.CDLL(None)
    if _prctl is None or not hasattr(libc, "capset"):
        return
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    # effective, permitted and inheritable, for capabilities 0-31 and 32-63
    sets = (ctypes.c_uint32 * 6)()
    if libc.capget(header, sets) != 0:
        return
    for number in _TRACING:
        _prctl(_PR_CAPBSET_DROP, number, 0, 0, 0)
        word, bit = divmod(number, 32)
        for index in range(3 * word, 3 * word + 3):
            sets[index] &= ~(1 << bit)
    libc.capset(header, sets)


def end_with_parent() -> None:
    """Have the kernel kill this process when the thread that started it is gone, whatever that thread died of."""
    if _prctl is not None:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent ends, instead of the init process."""
    if _prctl is not None:
        _prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def kill_group(pid: int, number: signal.Signals) -> None:
    """Send a signal to the process group that ``pid`` leads, or to ``pid`` alone while it leads none yet."""
    try:
        os.killpg(pid, number)
    except ProcessLookupError:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def children_of(parent: int) -> list[int]:
    """Return the pids of the direct children of ``parent`` (one pass over /proc; a few milliseconds)."""
    found: list[int] = []
    for name in os.listdir("/proc"):
        if name.isdigit() and _parent_of(name) == parent:
            found.append(int(name))
    return found


def descendants_of(root: int) -> list[int]:
    """Return the pids of all processes below ``root``, parents first (one pass over /proc)."""
    children: dict[int, list[int]] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        parent = _parent_of(name)
        if parent is not None:
            children.setdefault(parent, []).append(int(name))
    found, waiting = [], [root]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def stat_of(pid: str) -> list[bytes]:
    """Return the fields of a process's ``stat`` from its state on: the state, the parent, and so on (proc(5)).

    Raises:
        OSError: it is not there, or hidden.
    """
    with open(f"/proc/{pid}/stat", "rb") as file:
        content = file.read()
    # The second field, the command, may hold spaces and parentheses; the state follows its last one.
    return content[content.rfind(b")") + 2 :].split()


def _parent_of(pid: str) -> int | None:
    try:
        fields = stat_of(pid)
    except OSError:
        return None
    return int(fields[1]) if len(fields) > 1 else None


def threads_of_this_process() -> int:
    """Return how many threads the kernel sees in this process, Python's and others."""
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return 1
