"""Which processes of this machine belong to a test: those whose command line holds a text of its own."""

from __future__ import annotations

from pathlib import Path


def processes_with(text: str) -> dict[int, str]:
    """Return the command line of each living process that holds ``text``, by pid. Zombies have none."""
    found: dict[int, str] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if text in command:
                found[int(folder.name)] = command
    return found


def pids_running(module: str, text: str) -> list[int]:
    """Return the pids of processes of ``python -m module`` whose command line also holds ``text``, oldest first."""
    return sorted(pid for pid, command in processes_with(text).items() if f"-m {module} " in command)
