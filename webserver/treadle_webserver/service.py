"""What every handler works with, made once by ``create_app`` and found through FastAPI's dependencies."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from fastapi import Depends, Request

from treadle_metadata.attempt_tokens import AttemptTokens
from treadle_metadata.clock import Clock
from treadle_metadata.connection import Database
from treadle_metadata.crypto import Crypto
from treadle_metadata.settings import Settings
from treadle_webserver.throttle import Throttle
from treadle_webserver.tokens import Tokens


@dataclass(frozen=True, slots=True)
class Service:
    """The database, the settings, and what is built from them."""

    database: Database
    settings: Settings
    crypto: Crypto
    clock: Clock
    tokens: Tokens
    attempt_tokens: AttemptTokens
    throttle: Throttle

    def now(self) -> datetime:
        """Return the current instant."""
        return self.clock.now()


# Asynchronous, though it waits for nothing: FastAPI sends synchronous dependencies to a thread.
async def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


ServiceOf = Annotated[Service, Depends(_service)]
"""Parameter type of a handler that needs the service."""
