"""What a tree of processes has used: CPU seconds and proportional memory, read from /proc."""

from __future__ import annotations

import os
from pathlib import Path

_TICK = os.sysconf("SC_CLK_TCK")


def tree(root: int) -> list[int]:
    """Return the pids of ``root`` and all its living descendants."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            stat = _stat(int(entry.name))
            if stat is not None:
                parents.setdefault(int(stat[1]), []).append(int(entry.name))
    found, waiting = [], [root]
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        waiting += parents.get(pid, [])
    return found


def split(pids: list[int]) -> tuple[list[int], list[int]]:
    """Return (ours, PostgreSQL's) of ``pids``."""
    postgres = [pid for pid in pids if name(pid).startswith("postgres")]
    return [pid for pid in pids if pid not in postgres], postgres


def name(pid: int) -> str:
    """Return the command name of a process, or nothing when it is gone."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def cpu_seconds(pids: list[int]) -> float:
    """Return the CPU seconds of these processes and of the children they have reaped."""
    stats = [stat for pid in pids if (stat := _stat(pid)) is not None]
    return sum(sum(int(value) for value in stat[11:15]) for stat in stats) / _TICK


def pss_mb(pids: list[int]) -> float:
    """Return the proportional set size of these processes together, in MB."""
    total = 0
    for pid in pids:
        try:
            text = Path(f"/proc/{pid}/smaps_rollup").read_text()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:"))
    return total / 1000


def _stat(pid: int) -> list[str] | None:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
