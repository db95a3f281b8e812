"""The page of rights, from the permissions, the built-in roles and the web server's table of routes."""

from __future__ import annotations

from typing import Final

from docs.pages.markdown import code, table

from treadle_metadata.rights.permissions import GIVEN, OF_DAGS, OF_TEAMS, ROLES, Permission
from treadle_webserver.permissions import TABLE

P = Permission
MEANINGS: Final = {
    P.READ_DAGS: "DAGs, their versions, runs, task instances, backfills, assets, warnings, and why something waits",
    P.READ_CODE: "the source of DAG files, differences between versions, what was wrong with a file",
    P.READ_LOGS: "what tasks and callbacks wrote",
    P.READ_XCOMS: "what tasks handed to one another, results of runs, values of durable steps",
    P.EDIT_XCOMS: "write and delete XComs",
    P.READ_AUDIT: "who changed what of a DAG",
    P.TRIGGER_RUNS: "make runs: single ones, backfills, by asset events",
    P.CLEAR_RUNS: "let runs and task instances run again",
    P.EDIT_RUNS: "set states and notes, answer what people are asked, delete runs",
    P.EDIT_DAGS: "pause, unpause and delete DAGs",
    P.READ_POOLS: "pools and how full they are",
    P.EDIT_POOLS: "make, change and delete pools",
    P.READ_VARIABLES: "variables with their values, but those whose key sounds secret",
    P.EDIT_VARIABLES: "make, change and delete variables",
    P.READ_CONNECTIONS: "connections without passwords and extras, which nobody reads",
    P.EDIT_CONNECTIONS: "make, change, test and delete connections",
    P.READ_CONFIG: "settings (secrets masked), plugins, providers",
    P.READ_WHOLE_AUDIT: "also changes that concern no DAG: accounts, rights, pools, variables, connections",
    P.MANAGE_ACCOUNTS: "accounts, roles, teams, grants, everybody's sessions and tokens",
}
PREFACE: Final = """\
# Rights

What each permission allows, which role has it, and which route needs it. [Rights](../explanation/rights.md) explains
the model, [Accounts and teams](../howto/accounts-and-teams.md) shows the commands.

In commands and requests a permission is written as here, or as an option: `read-dags`, `trigger-runs`. `read` stands
for all that begin with it. *of* says where it can be held besides everywhere: for single **DAG**s and the DAGs of a
team, or for a **team**'s pools, variables and connections.
"""


def page() -> str:
    """Return the page."""
    order = list(MEANINGS)
    held = [
        (code(one), "DAG" if one in OF_DAGS else "team" if one in OF_TEAMS else "", MEANINGS[one], *_marks(one))
        for one in order
    ]
    routes = [
        (code(f"{method} {path}"), _needs(needed))
        for (method, path), needed in sorted(TABLE.items(), key=lambda one: (one[0][1], one[0][0]))
    ]
    return "\n".join(
        (
            PREFACE,
            "## Permissions and the built-in roles\n",
            table(("permission", "of", "what it is about", *list(ROLES)[1:]), held),
            "\nThe role *Member* has none: its accounts may do what their teams and grants allow.\n",
            "## Routes\n",
            "A route that is not in this table does not start. *public*: no login.\n",
            table(("route", "needs"), routes),
        )
    )


def _marks(one: Permission) -> list[str]:
    return ["x" if one in allowed else "" for allowed in list(ROLES.values())[1:]]


def _needs(needed: Permission) -> str:
    return code(needed) if needed in GIVEN else f"*{needed.value}*"
