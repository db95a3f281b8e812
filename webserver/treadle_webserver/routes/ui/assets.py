"""The graph of assets across DAGs: who updates and who consumes what, and what consumers wait for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import APIRouter

from treadle_metadata.queries.ui import asset_graph as queries
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.service import ServiceOf
from treadle_webserver.shapes.times import utc
from treadle_webserver.shapes.ui.across import AssetGraphShape, AssetNodeShape

router = APIRouter(prefix="/ui/assets", tags=["UI"], route_class=RetriedRoute)


@router.get("/graph")
def get_ui_asset_graph(service: ServiceOf) -> AssetGraphShape:
    """Return all assets that DAGs name, who names them, their last events, and what has gathered for consumers."""
    with service.database.begin() as connection:
        references = queries.references(connection)
        ids = sorted({row["asset_id"] for row in references if row["asset_id"] is not None})
        events = queries.last_events(connection, ids)
        waiting = queries.waiting(connection)
    ids_of_keys = _id_by_key(references)
    return {
        "assets": _assets(references, events),
        "dags": [
            {"dag_id": dag_id, "name": row["display_name"] or dag_id, "is_paused": row["is_paused"]}
            for dag_id, row in {row["dag_id"]: row for row in references}.items()
        ],
        "edges": [
            {"asset": node_id(row), "dag_id": row["dag_id"], "task_id": row["task_id"] or None, "role": row["role"]}
            for row in references
        ],
        "waiting": [
            {
                "dag_id": row["dag_id"],
                "asset": ids_of_keys.get((row["kind"], row["name"]), f"{row['kind']}:{row['name']}"),
                "gathered": row["gathered"],
                "newest_at": utc(row["newest_at"]),
            }
            for row in waiting
        ],
        "is_truncated": len(references) == queries.MOST_REFERENCES,
    }


def node_id(row: Mapping[str, Any]) -> str:
    """Return the id of a reference's node: one for an asset, whether it is named by its name or its address."""
    return f"alias:{row['name']}" if row["kind"] == "alias" else f"asset:{row['asset_name']}"


def _id_by_key(references: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], str]:
    return {(row["kind"], row["name"]): node_id(row) for row in references}


def _assets(references: Sequence[Mapping[str, Any]], events: Mapping[int, Mapping[str, Any]]) -> list[AssetNodeShape]:
    found: dict[str, AssetNodeShape] = {}
    for row in references:
        last = events.get(row["asset_id"], {})
        is_alias = row["kind"] == "alias"
        found[node_id(row)] = {
            "id": node_id(row),
            "kind": "alias" if is_alias else "asset",
            "name": row["name"] if is_alias else row["asset_name"],
            "uri": row["uri"],
            "group": row["group_name"],
            "asset_id": row["asset_id"],
            "last_event_at": utc(last.get("happened_at")),
            "last_event_dag_id": last.get("source_dag_id"),
            "last_event_run_id": last.get("source_run_id"),
        }
    return list(found.values())
