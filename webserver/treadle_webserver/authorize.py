"""The check that runs before every handler: who asks, may they use this route, and what may they see through it?

Session or token, account and rights are read on each request, in one statement, so that a changed password or role, a
logout, a deactivation, a revoked token or grant count at once (case F13). Where rights reach some DAGs or teams only,
the handler gets a database that shows nothing else; a DAG that is not among them does not exist for it (case F11).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final
from uuid import UUID

from fastapi import Depends, HTTPException, Request
from sqlalchemy import Connection

from treadle_metadata.attempt_tokens import AttemptClaim, AttemptTokenError
from treadle_metadata.attempt_tokens import Scope as AttemptScope
from treadle_metadata.connection import Database
from treadle_metadata.errors import InvalidRequestError, MetadataError
from treadle_metadata.queries.dags import check_dag, no_such_dag
from treadle_metadata.rights.credentials import Proof, find_proof
from treadle_metadata.rights.held import EVERYBODYS, Rights
from treadle_metadata.rights.permissions import OF_DAGS, OF_TEAMS, Permission
from treadle_metadata.rights.scoped_views import Scope, reaches
from treadle_metadata.rights.teams import require_team
from treadle_metadata.triggerer_tokens import TriggererTokenError
from treadle_webserver.browser import COOKIE, check_write
from treadle_webserver.permissions import TABLE
from treadle_webserver.scoped import ScopedDatabase
from treadle_webserver.service import BareServiceOf, Service

_BEARER = {"WWW-Authenticate": "Bearer"}
_ALL: Final = "~"


@dataclass(frozen=True, slots=True)
class Actor:
    """The logged-in account behind a request: what it holds, and through which session or token it asks."""

    username: str
    role: str
    rights: Rights
    proof_id: UUID
    is_token: bool = False
    secret: str | None = None
    """The secret of a browser's session."""

    def team(self, connection: Connection, needed: Permission, named: str | None) -> str:
        """Return the team that a new pool, variable or connection goes to: the named one, else the account's own.

        Raises:
            NotFoundError: there is no such team, and the account may see all there are.
            InvalidRequestError: the account has several teams, so that one must be named.
            HTTPException: 403, the account may not make it there.
        """
        if self.rights.everywhere_may(needed):
            return require_team(connection, named).name if named else EVERYBODYS
        own = self.rights.teams(needed)
        if named is None and len(own) == 1:
            return next(iter(own))
        if named is None:
            raise InvalidRequestError(
                f"which team's? Give team_name: one of {', '.join(sorted(own))}", field="team_name"
            )
        if named not in own:
            raise HTTPException(403, f"Forbidden: your roles may not {needed.value} of that team")
        return named


def authorize(request: Request, service: BareServiceOf) -> None:
    """Let the request through, and keep its actor and scope, or refuse it with 401, 403 or, of a foreign DAG, 404."""
    path = getattr(request.scope.get("route"), "path", "")
    needed = TABLE.get((request.method, path))
    if needed is Permission.PUBLIC:
        return
    if needed is Permission.ATTEMPT:
        request.state.claim = _attempt(request, service)
        return
    if needed is Permission.TRIGGERER:
        _check_triggerer(request, service)
        return
    if needed is Permission.AWAKEABLE:
        # Good for nothing but its one post, which looks it up.
        request.state.awakeable = _bearer(request)
        return
    secret, from_cookie = _secret(request)
    proof = service.database.run_each(lambda connection: find_proof(connection, secret, now=service.now()))
    if proof is None or proof.in_browser is not from_cookie:
        raise HTTPException(401, "Not authenticated, or no more: log in again", _BEARER)
    if from_cookie:
        check_write(request, secret)
    actor = Actor(proof.username, proof.role, proof.rights, proof.id, proof.is_token, secret if from_cookie else None)
    if needed is None or not proof.rights.somewhere_may(needed):
        raise HTTPException(403, _forbidden(proof, needed))
    request.state.actor = actor
    request.state.scope = None
    if not _reaches_everything(proof.rights, needed):
        dag_id = request.path_params.get("dag_id")
        request.state.scope = service.database.run_each(
            lambda connection: scope_for(connection, service, proof.rights, needed, dag_id)
        )


def may_still(request: Request) -> bool:
    """Tell whether a request whose answer goes on may still have it: a stream ends with its session, as others do.

    For streams to ask from time to time, in a thread: it reads the database.
    """
    try:
        authorize(request, request.app.state.service)
    except (HTTPException, MetadataError):
        return False
    return True


def scope_for(
    connection: Connection, service: Service, rights: Rights, needed: Permission, dag_id: str | None = None
) -> Scope | None:
    """Return what a request that needs ``needed`` may reach; None: everything.

    Whatever needs a permission of DAGs reaches those for which it is held, and no others. Streams that stay open ask
    this again from time to time.

    Raises:
        NotFoundError: ``dag_id`` names a DAG that is not there, or that the account may not see.
        HTTPException: 403, the account may see the DAG, but not do this with it.
    """
    if _reaches_everything(rights, needed):
        return None
    scope = _scope(rights, needed)
    if dag_id is not None and dag_id != _ALL and not reaches(connection, scope, dag_id):
        _refuse_dag(connection, service, rights, needed, dag_id)
    return scope


def database_for(service: Service, rights: Rights, needed: Permission) -> Database | None:
    """Return the database as far as ``needed`` reaches; None: nowhere.

    For what a page shows beside that which its own route is about, and which another route of its own would refuse.
    """
    if not rights.somewhere_may(needed):
        return None
    whole = service.whole_database
    return whole if _reaches_everything(rights, needed) else ScopedDatabase(whole, _scope(rights, needed))


def may_with_dag(connection: Connection, rights: Rights, needed: Permission, dag_id: str) -> bool:
    """Tell whether ``needed`` is held for a DAG that is there."""
    return _reaches_everything(rights, needed) or reaches(connection, _scope(rights, needed), dag_id)


def _scope(rights: Rights, needed: Permission) -> Scope:
    of_dags = needed if needed in OF_DAGS else Permission.READ_DAGS
    own = rights.for_team(needed if needed in OF_TEAMS else Permission.READ_POOLS)
    return Scope(rights.teams(of_dags), rights.dags(of_dags), own if needed in OF_TEAMS else own | {EVERYBODYS})


def _reaches_everything(rights: Rights, needed: Permission) -> bool:
    return rights.everywhere_may(Permission.READ_DAGS if needed is Permission.LOGGED_IN else needed)


def _refuse_dag(connection: Connection, service: Service, rights: Rights, needed: Permission, dag_id: str) -> None:
    if rights.everywhere_may(Permission.READ_DAGS):
        check_dag(connection, dag_id)
    else:
        seen = _scope(rights, Permission.READ_DAGS)
        if not reaches(connection, seen, dag_id):
            # Told from within what the account may see: neither the words nor the work tell of another DAG.
            with ScopedDatabase(service.database, seen).begin() as scoped:
                raise no_such_dag(scoped, dag_id)
    raise HTTPException(403, f"Forbidden: your roles and grants may not {needed.value} of this DAG")


def _forbidden(proof: Proof, needed: Permission | None) -> str:
    if needed is None:
        return "Forbidden: nobody may use this"
    limit = proof.rights.limit
    if limit is not None and needed not in limit:
        return f"Forbidden: the token's scopes do not hold {needed.value!r}"
    return f"Forbidden: role {proof.role} may not {needed.value}"


def _bearer(request: Request) -> str:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token:
        raise HTTPException(401, "Not authenticated", _BEARER)
    return token.strip()


def _secret(request: Request) -> tuple[str, bool]:
    """Return the secret of a session or token, and whether it came in a browser's cookie."""
    cookie = request.cookies.get(COOKIE)
    if cookie and "authorization" not in request.headers:
        return cookie, True
    return _bearer(request), False


def _attempt(request: Request, service: Service) -> AttemptClaim:
    try:
        return service.attempt_tokens.read(_bearer(request), tuple(AttemptScope), now=service.now())
    except AttemptTokenError as error:
        raise HTTPException(401, str(error), _BEARER) from error


def _check_triggerer(request: Request, service: Service) -> None:
    try:
        service.trigger_calls.tokens.check(_bearer(request), now=service.now())
    except TriggererTokenError as error:
        raise HTTPException(401, str(error), _BEARER) from error


async def _claim(request: Request) -> AttemptClaim:
    claim: AttemptClaim = request.state.claim
    return claim


ClaimOf = Annotated[AttemptClaim, Depends(_claim)]
"""Parameter type of a handler of the Execution API: what the request's token says."""


async def _actor(request: Request) -> Actor:
    actor: Actor = request.state.actor
    return actor


ActorOf = Annotated[Actor, Depends(_actor)]
"""Parameter type of a handler that needs to know who asks."""


async def _awakeable(request: Request) -> str:
    token: str = request.state.awakeable
    return token


AwakeableOf = Annotated[str, Depends(_awakeable)]
"""Parameter type of the handler that takes posts of outside parties: the token that the request came with."""
