"""What is installed beside Treadle, as Airflow's API lists it: distributions, and what each of them adds."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from typing_extensions import TypedDict

from treadle_webserver.extensions import Extension, installed
from treadle_webserver.parameters import PageQuery, Totals
from treadle_webserver.retrying import RetriedRoute

router = APIRouter(prefix="/api/v2", tags=["Installation"], route_class=RetriedRoute)


class ProviderShape(TypedDict):
    """An installed distribution that extends Treadle."""

    package_name: str
    description: str
    version: str
    documentation_url: str | None


class ProviderListShape(Totals):
    """A page of distributions."""

    providers: list[ProviderShape]


class NothingShape(TypedDict):
    """What Airflow's plugins may add to its web server and Treadle's cannot: code of others never runs there."""

    macros: list[str]
    flask_blueprints: list[str]
    fastapi_apps: list[str]
    fastapi_root_middlewares: list[str]
    external_views: list[str]
    react_apps: list[str]
    appbuilder_views: list[str]
    appbuilder_menu_items: list[str]
    global_operator_extra_links: list[str]
    operator_extra_links: list[str]
    listeners: list[str]


class PluginShape(NothingShape):
    """What an installed distribution adds. ``executors`` and ``priority_strategies`` are Treadle's own: the names by
    which settings and DAG files ask for them."""

    name: str
    source: str
    timetables: list[str]
    executors: list[str]
    priority_strategies: list[str]


class PluginListShape(Totals):
    """A page of plug-ins."""

    plugins: list[PluginShape]


@router.get("/providers")
def get_providers(query: Annotated[PageQuery, Query()]) -> ProviderListShape:
    """List the installed distributions that extend Treadle: those with entry points such as ``treadle.executors``."""
    found = installed()
    return {"providers": [_provider(one) for one in _of_page(found, query)], "total_entries": len(found)}


@router.get("/plugins")
def get_plugins(query: Annotated[PageQuery, Query()]) -> PluginListShape:
    """List what each installed distribution adds: executors, timetables and strategies of priority."""
    found = installed()
    return {"plugins": [_plugin(one) for one in _of_page(found, query)], "total_entries": len(found)}


def _of_page(found: tuple[Extension, ...], query: PageQuery) -> tuple[Extension, ...]:
    return found[query.page.offset : query.page.offset + query.page.limit]


def _provider(one: Extension) -> ProviderShape:
    return {
        "package_name": one.name,
        "description": one.summary,
        "version": one.version,
        "documentation_url": one.address,
    }


def _plugin(one: Extension) -> PluginShape:
    return {
        "name": one.name,
        "source": f"{one.name}=={one.version}",
        "timetables": [offer.path for offer in one.of("timetables")],
        "executors": [offer.name for offer in one.of("executors")],
        "priority_strategies": [offer.name for offer in one.of("priority_strategies")],
        "macros": [],
        "flask_blueprints": [],
        "fastapi_apps": [],
        "fastapi_root_middlewares": [],
        "external_views": [],
        "react_apps": [],
        "appbuilder_views": [],
        "appbuilder_menu_items": [],
        "global_operator_extra_links": [],
        "operator_extra_links": [],
        "listeners": [],
    }
