"""What the web server takes: pages over a long past, requests a second, a thousand streams; and what a browser sees.

``python -m bench web --part api`` or ``ui``: 10,000 DAGs, 1,000,000 runs, 16,000,000 task instances at ``--scale 1``;
one web server process. With ``--home`` the database is kept in that folder, and loaded only the first time.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import quote

from bench import web_client, web_data, web_ui
from bench.report import progress, quantile, report
from bench.web_served import Served, kept_folder, rss_mb, serving
from treadle_metadata.connection import Database
from treadle_metadata.statements import execute


def main(options: list[str]) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(prog="python -m bench web", description=__doc__)
    parser.add_argument("--part", choices=("api", "ui"), default="api")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--home", type=Path, help="keep the database here")
    parser.add_argument("--requests", type=int, default=200, help="requests of each kind")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=10.0, help="time of the throughput")
    parser.add_argument("--streams", type=int, default=1000)
    parser.add_argument("--changes", type=int, default=40, help="changes that the streams are told of")
    parser.add_argument("--rounds", type=int, default=7, help="of the pages: how often each is opened")
    parser.add_argument("--events", type=int, default=3000, help="of the pages: changes that a page lives through")
    parser.add_argument("--only", choices=tuple(web_ui.PARTS), action="append", help="of the pages: just this")
    chosen = parser.parse_args(options)
    with kept_folder(chosen.home) as folder, serving(folder, web_data.Size(chosen.scale)) as over:
        figures = web_ui.measure(over, folder, chosen) if chosen.part == "ui" else asyncio.run(_measure(over, chosen))
    report("web", {name: str(value) for name, value in vars(chosen).items() if name != "home"}, figures)


async def _measure(served: Served, chosen: argparse.Namespace) -> dict[str, float]:
    figures: dict[str, float] = {"idle_rss_mb": rss_mb(served.pid)}
    for name, path in _questions(datetime.now(UTC)).items():
        found = await web_client.latencies(served.port, served.token, path, chosen.requests)
        figures[f"{name}_p50_ms"], figures[f"{name}_p95_ms"] = (quantile(found, at) * 1000 for at in (0.5, 0.95))
        progress(f"{name:24} p50 {figures[f'{name}_p50_ms']:7.1f} ms   p95 {figures[f'{name}_p95_ms']:7.1f} ms")
    rate = await web_client.throughput(
        served.port, served.token, "/api/v2/dags?limit=50", chosen.clients, chosen.seconds
    )
    progress(f"GET dags from {chosen.clients} clients: {rate:.0f} requests/s")
    figures["dags_per_s"] = rate
    return figures | await _streams(served, chosen)


def _questions(now: datetime) -> dict[str, str]:
    lately = quote((now - timedelta(hours=6)).isoformat())
    of_wide = f"/api/v2/dags/{web_data.WIDE}/dagRuns/run_1/taskInstances"
    return {
        "dags": "/api/v2/dags?limit=50",
        "runs": f"/api/v2/dags/{web_data.GRID}/dagRuns?limit=50",
        "instances": f"{of_wide}?limit=100",
        "running": "/api/v2/dags/~/dagRuns?state=running&limit=50",
        "failed_lately": f"/api/v2/dags/~/dagRuns?state=failed&end_date_gte={lately}&limit=50",
        "ui_grid": f"/ui/dags/{web_data.GRID}/grid?limit=25",
        "ui_dags": "/ui/dags?limit=50",
        "ui_home": "/ui/home",
        "ui_runs": "/ui/runs?limit=50",
        "ui_failed_lately": f"/ui/runs?state=failed&ended_since={lately}&limit=50",
        "ui_states": f"/ui/dags/{web_data.WIDE}/runs/run_1/states",
        "ui_gantt": f"/ui/dags/{web_data.WIDE}/runs/run_1/gantt",
        "ui_graph": f"/ui/dags/{web_data.WIDE}/graph",
        "ui_durations": f"/ui/dags/{web_data.GRID}/durations?runs=50",
    }


async def _streams(served: Served, chosen: argparse.Namespace) -> dict[str, float]:
    """Open the streams, change something again and again, and see when each stream tells of it."""
    connections = [web_client.Connection(served.port, served.token) for _ in range(chosen.streams)]
    heard: list[list[tuple[float, bytes]]] = [[] for _ in connections]
    following = []
    for one, into in zip(connections, heard, strict=True):
        await one.open()
        ready = asyncio.Event()
        following.append(asyncio.create_task(one.follow("/ui/events", ready, into)))
        await ready.wait()
    await asyncio.sleep(2)
    figures = {"streams_rss_mb": rss_mb(served.pid)}
    changed = [await _change(served, number) for number in range(chosen.changes)]
    await asyncio.sleep(2)
    for one, task in zip(connections, following, strict=True):
        task.cancel()
        one.close()
    delays, missed = _delays(changed, heard)
    p95 = quantile(delays, 0.95) * 1000
    progress(f"{chosen.streams} streams: {figures['streams_rss_mb']:.0f} MB, p95 {p95:.0f} ms")
    return figures | {
        "event_p50_ms": quantile(delays, 0.5) * 1000,
        "event_p95_ms": p95,
        "events_missed": missed,
    }


async def _change(served: Served, number: int) -> tuple[float, bytes]:
    """Change the state of a run, and return when that was committed, and what its event holds."""
    run_id = f"run_{number + 1}"
    await asyncio.to_thread(_set_state, served.database, run_id)
    at = time.perf_counter()
    await asyncio.sleep(0.5)
    return at, f'"run_id":"{run_id}"'.encode()


def _set_state(database: Database, run_id: str) -> None:
    with database.begin() as connection:
        execute(
            connection,
            """
            UPDATE dag_run SET state = CASE WHEN state = 'queued' THEN 'running' ELSE 'queued' END, ended_at = NULL
            WHERE dag_id = %(dag)s AND run_id = %(run_id)s
            """,
            {"dag": web_data.GRID, "run_id": run_id},
        )


def _delays(changed: list[tuple[float, bytes]], heard: list[list[tuple[float, bytes]]]) -> tuple[list[float], int]:
    found, missed = [], 0
    for at, words in changed:
        for of_stream in heard:
            came = next((when for when, event in of_stream if words in event), None)
            if came is None:
                missed += 1
            else:
                found.append(came - at)
    return found, missed
