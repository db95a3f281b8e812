"""Starting a child process as an unprivileged user when we run as root, since PostgreSQL refuses to run as root.

Used by ``embedded_postgres`` only. The child runs as ``treadle`` if that user exists, else as ``nobody``. Its files
often lie below a folder that only root may enter (``/root/.treadle``), so the child then keeps one capability of
root's: to pass through folders. The child gets a signal when its parent dies, so that it never outlives it.
"""

from __future__ import annotations

import ctypes
import os
import pwd
import signal
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

CANDIDATES: Final = ("treadle", "nobody")

_PR_SET_PDEATHSIG, _PR_SET_KEEPCAPS, _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE = 1, 8, 47, 2
_CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH = 1, 2
_CAPABILITY_VERSION_3: Final = 0x20080522
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class Account:
    """A system user that a child runs as."""

    name: str
    uid: int
    gid: int


def account() -> Account | None:
    """Return whom a child must run as: None (ourselves) unless we are root.

    Raises:
        LookupError: we are root and the system has neither of the known users.
    """
    if os.geteuid() != 0:
        return None
    for name in CANDIDATES:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(name, entry.pw_uid, entry.pw_gid)
    raise LookupError(f"PostgreSQL cannot run as root, and this system has no user named {' or '.join(CANDIDATES)}")


def own(path: Path, owner: Account | None) -> None:
    """Give ``path`` to ``owner``."""
    if owner is not None:
        os.chown(path, owner.uid, owner.gid)


def before_exec(owner: Account | None, reached: Iterable[Path], death: signal.Signals) -> Callable[[], None]:
    """Return what a child must do before exec to become ``owner`` and to get ``death`` when its parent ends.

    ``reached`` are the paths that it must be able to reach.
    """
    parent = os.getpid()
    capability = None if owner is None or all(_is_public(path) for path in reached) else _passing_capability()

    def prepare() -> None:
        if owner is not None:
            _become(owner, capability)
        # After the change of user, which resets it.
        _libc.prctl(_PR_SET_PDEATHSIG, int(death), 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)

    return prepare


def _become(owner: Account, capability: int | None) -> None:
    if capability is not None:
        _libc.prctl(_PR_SET_KEEPCAPS, 1, 0, 0, 0)
    os.setgroups([])
    os.setresgid(owner.gid, owner.gid, owner.gid)
    os.setresuid(owner.uid, owner.uid, owner.uid)
    if capability is not None:
        bit = 1 << capability
        header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
        # effective, permitted and inheritable, for capabilities 0-31 and 32-63
        sets = (ctypes.c_uint32 * 6)(bit, bit, bit, 0, 0, 0)
        _libc.capset(header, sets)
        _libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE, capability, 0, 0)


def _is_public(path: Path) -> bool:
    """Tell whether everyone may enter all folders above ``path``."""
    return all(folder.stat().st_mode & 0o001 for folder in path.resolve().parents)


def _passing_capability() -> int | None:
    """Return the weakest capability of ours that lets its holder pass through any folder."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("CapPrm:"):
            held = int(line.split()[1], 16)
            return next((one for one in (_CAP_DAC_READ_SEARCH, _CAP_DAC_OVERRIDE) if held >> one & 1), None)
    return None
