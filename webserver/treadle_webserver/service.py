"""What every handler works with, made once by ``create_app`` and found through FastAPI's dependencies."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Annotated

from fastapi import Depends, Request

from treadle_executors.log_sending import NoSending
from treadle_metadata.attempt_tokens import AttemptTokens
from treadle_metadata.clock import Clock
from treadle_metadata.connection import Database
from treadle_metadata.crypto import Crypto
from treadle_metadata.login_settings import LoginSettings
from treadle_metadata.queries.log_windows import LineIndexes
from treadle_metadata.queries.ui.structures import StructureCache
from treadle_metadata.settings import Settings
from treadle_webserver.graph_texts import GraphTexts
from treadle_webserver.identity_provider import IdentityProvider
from treadle_webserver.scoped import ScopedDatabase
from treadle_webserver.throttle import Throttle
from treadle_webserver.trigger_calls import TriggerCalls


@dataclass(frozen=True, slots=True)
class Service:
    """The database, the settings, and what is built from them."""

    database: Database
    settings: Settings
    crypto: Crypto
    clock: Clock
    attempt_tokens: AttemptTokens
    trigger_calls: TriggerCalls
    throttle: Throttle
    login: LoginSettings = field(default_factory=LoginSettings)
    provider: IdentityProvider | None = None
    """Where people log in, if not here."""
    sending: NoSending = field(default_factory=NoSending)
    """Sends the logs of worker machines on to the remote store, if there is one."""
    structures: StructureCache = field(default_factory=StructureCache)
    """The structures of versions that pages asked for last."""
    graphs: GraphTexts = field(default_factory=GraphTexts)
    """Their graphs, written out."""
    line_indexes: LineIndexes = field(default_factory=LineIndexes)
    """Where the lines of the logs begin that were read last."""

    unscoped: Database | None = None
    """The whole database, where ``database`` is what an account may see of it."""

    @property
    def whole_database(self) -> Database:
        """The whole database, whoever asks: for what an act does to others by design, never for what is answered."""
        return self.unscoped or self.database

    def now(self) -> datetime:
        """Return the current instant."""
        return self.clock.now()


# Asynchronous, though they wait for nothing: FastAPI sends synchronous dependencies to a thread.
async def _bare_service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


BareServiceOf = Annotated[Service, Depends(_bare_service)]
"""Parameter type of ``authorize``, which decides what the handler's service reaches."""


async def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    scope = getattr(request.state, "scope", None)
    if scope is None:
        return service
    return replace(service, database=ScopedDatabase(service.database, scope), unscoped=service.database)


ServiceOf = Annotated[Service, Depends(_service)]
"""Parameter type of a handler that needs the service; its database is what the account may see."""
