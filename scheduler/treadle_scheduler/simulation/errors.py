"""The errors of simulations. Each is told in one line by the command."""

from __future__ import annotations

from treadle_metadata.errors import MetadataError


class SimulationError(MetadataError):
    """A simulation cannot be made, or does not come to rest."""
