"""What one account holds: everywhere, in its teams, and of single DAGs. Pure.

Made from one row by ``sessions`` and ``api_tokens``, asked by the web server before each handler.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, LiteralString

from treadle_metadata.rights.permissions import GIVEN, OF_DAGS, OF_TEAMS, READING, ROLES, Permission

NOTHING: Final[frozenset[Permission]] = frozenset()
EVERYBODYS: Final = ""
"""The team of pools, variables and connections that belong to no team."""


@dataclass(frozen=True, slots=True)
class Rights:
    """What an account holds. ``limit`` is what its token may be used for at most; None: everything."""

    everywhere: frozenset[Permission]
    of_teams: Mapping[str, frozenset[Permission]] = field(default_factory=dict)
    of_dags: Mapping[str, frozenset[Permission]] = field(default_factory=dict)
    limit: frozenset[Permission] | None = None

    def everywhere_may(self, needed: Permission) -> bool:
        """Tell whether ``needed`` is held for everything there is."""
        return self._in_limit(needed) and (needed is Permission.LOGGED_IN or needed in self.everywhere)

    def somewhere_may(self, needed: Permission) -> bool:
        """Tell whether ``needed`` is held for anything at all."""
        return self.everywhere_may(needed) or bool(self.teams(needed) or self.dags(needed))

    def teams(self, needed: Permission) -> frozenset[str]:
        """Return the teams in which ``needed`` is held, where it can be held in one."""
        if needed not in OF_DAGS | OF_TEAMS or not self._in_limit(needed):
            return frozenset()
        return frozenset(team for team, held in self.of_teams.items() if needed in held)

    def dags(self, needed: Permission) -> frozenset[str]:
        """Return the DAGs for which ``needed`` was granted."""
        if needed not in OF_DAGS or not self._in_limit(needed):
            return frozenset()
        return frozenset(dag_id for dag_id, held in self.of_dags.items() if needed in held)

    def on_dag(self, needed: Permission, dag_id: str, team: str | None) -> bool:
        """Tell whether ``needed`` is held for one DAG, which belongs to ``team``."""
        by_team = needed in OF_DAGS and team in self.teams(needed)
        return self.everywhere_may(needed) or by_team or dag_id in self.dags(needed)

    def for_team(self, needed: Permission) -> frozenset[str]:
        """Return whose pools, variables or connections ``needed`` reaches, when it is not held everywhere.

        What is everybody's can be read wherever a team's can: its tasks read it, too. Nobody but who may change
        everything changes it.
        """
        own = self.teams(needed)
        return own | {EVERYBODYS} if own and needed in READING else own

    def _in_limit(self, needed: Permission) -> bool:
        return self.limit is None or needed is Permission.LOGGED_IN or needed in self.limit


COLUMNS: Final[LiteralString] = """
    account.username, account.role, account.is_active,
    (SELECT permissions FROM role WHERE role.name = account.role) AS role_permissions,
    (SELECT jsonb_agg(jsonb_build_array(member.team, member.role, role.permissions))
     FROM team_member AS member LEFT JOIN role ON role.name = member.role
     WHERE member.username = account.username) AS teams,
    (SELECT jsonb_agg(jsonb_build_array(granted.dag_id, granted.permissions)) FROM dag_grant AS granted
     WHERE granted.username = account.username
        OR granted.team IN (SELECT team FROM team_member WHERE username = account.username)) AS grants
"""
"""What ``of_row`` needs of a row of ``account``, in one statement."""


def of_row(row: Mapping[str, Any], limit: Iterable[str] | None = None) -> Rights:
    """Return the rights that a row with ``COLUMNS`` tells of."""
    of_dags: dict[str, frozenset[Permission]] = {}
    for dag_id, names in row["grants"] or ():
        of_dags[dag_id] = of_dags.get(dag_id, NOTHING) | (known(names) & OF_DAGS)
    return Rights(
        everywhere=of_role(row["role"], row["role_permissions"]),
        of_teams={team: of_role(name, own) & (OF_DAGS | OF_TEAMS) for team, name, own in row["teams"] or ()},
        of_dags=of_dags,
        limit=None if limit is None else known(limit),
    )


def of_role(name: str, own: Sequence[str] | None) -> frozenset[Permission]:
    """Return what a role allows; ``own``: the permissions stored under its name, if it is not built in."""
    return ROLES[name] if name in ROLES else known(own or ())


def known(names: Iterable[str]) -> frozenset[Permission]:
    """Return the permissions that these names stand for; what no release knows (any more) allows nothing."""
    values = {one.value: one for one in GIVEN}
    return frozenset(values[name] for name in names if name in values)
