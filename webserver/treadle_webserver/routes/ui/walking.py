"""Which page of a list of the UI: by cursor, as the pages scroll on."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from treadle_metadata.queries.paging import PageRequest


class WalkQuery(BaseModel):
    """Which page: the first without ``cursor``. A parameter that is not known is an error."""

    model_config = ConfigDict(extra="forbid")

    limit: int = Field(50, ge=1, le=500)
    cursor: str = Field("", max_length=2000)

    def page(self, *order_by: str) -> PageRequest:
        """Return the page, in this order."""
        return PageRequest(limit=self.limit, cursor=self.cursor, order_by=order_by)
