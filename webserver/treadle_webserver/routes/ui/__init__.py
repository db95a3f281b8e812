"""The endpoints of the pages (``/ui``), one router for each page; internal, and free to change with the pages."""

from typing import Final

from fastapi import APIRouter

from treadle_webserver.routes.ui import (
    assets,
    audit,
    dags,
    events,
    graph,
    grid,
    history,
    home,
    human_steps,
    instances,
    logs,
    me,
    runs,
    timeline,
)

UI: Final[tuple[APIRouter, ...]] = (
    me.router,
    home.router,
    dags.router,
    grid.router,
    graph.router,
    history.router,
    runs.router,
    instances.router,
    logs.router,
    assets.router,
    timeline.router,
    human_steps.router,
    audit.router,
    events.router,
)
