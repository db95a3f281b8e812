"""Why a DAG that assets schedule gets no run now: which updates it waits for, and which it has. Pure.

The condition is asked by the function that the scheduler asks (``treadle.asset_conditions``).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from treadle.asset_conditions import awaited, is_met, parts_of, words
from treadle.document import AssetCondition, AssetKey
from treadle.partition_documents import Partitioning
from treadle_metadata.deciding.reasons import Blocker, Explanation, Kind, Reason
from treadle_metadata.deciding.why_dag import DagFacts
from treadle_metadata.deciding.wording import counted, names


@dataclass(frozen=True, slots=True)
class BegunPartitions:
    """How many partitions of a consumer have begun to gather, and the one whose first event is the oldest."""

    number: int
    key: str
    gathered: Mapping[AssetKey, frozenset[str]]


def waiting(
    dag: DagFacts, condition: AssetCondition, updated: Collection[AssetKey], made: Collection[AssetKey]
) -> Explanation:
    """Return what a DAG waits for whose parts ``updated`` have an event since its last run.

    ``made`` are the parts that some task has as an outlet: of others, only people and programs can tell.
    """
    if is_met(condition, updated):
        return _met(dag)
    missing = awaited(condition, updated)
    assert missing is not None
    parts = list(dict.fromkeys(parts_of(missing)))
    named = [name for _, name in parts]
    unmade = [name for kind, name in parts if (kind, name) not in made]
    there = [name for _, name in dict.fromkeys(parts_of(condition)) if name not in named]
    has = f"; since its last run {names(there)} had one" if there else ""
    untold = f"; no task has {names(unmade)} as an outlet" if unmade else ""
    sentence = f"DAG {dag.dag_id!r} waits for an event of {words(missing)}{has}{untold}"
    return Explanation(Reason.ASSETS, sentence, Blocker(Kind.ASSET, named[0]))


def waiting_for_partitions(
    dag: DagFacts, condition: AssetCondition, mappers: Partitioning, begun: BegunPartitions | None
) -> Explanation:
    """Return what a DAG that is scheduled by partitions waits for."""
    named = [name for _, name in dict.fromkeys(parts_of(condition))]
    if begun is None:
        sentence = f"DAG {dag.dag_id!r} waits for an event with a partition key of {words(condition)}"
        return Explanation(Reason.ASSETS, sentence, Blocker(Kind.ASSET, named[0]))
    for part in dict.fromkeys(parts_of(condition)):
        mapper, there = mappers.of(part), begun.gathered.get(part, frozenset())
        if mapper.is_complete(begun.key, there):
            continue
        missing = mapper.missing(begun.key, there)
        lacks = f"{names(missing)} of {part[1]}" if missing else f"an event of {part[1]}"
        sentence = (
            f"DAG {dag.dag_id!r} waits for {counted(begun.number, 'partition')} to be complete: "
            f"{begun.key!r} lacks {lacks}"
        )
        return Explanation(Reason.ASSETS, sentence, Blocker(Kind.ASSET, part[1]))
    return _met(dag)


def with_troubles(found: Explanation, failing: Sequence[tuple[str, str, str]]) -> Explanation:
    """Return the answer with the watchers that fail: ``failing`` are (asset, watcher, why)."""
    if not failing:
        return found
    asset, watcher, why = failing[0]
    more = f" (so do {len(failing) - 1} more)" if len(failing) > 1 else ""
    return replace(found, sentence=f"{found.sentence}; watcher {watcher!r} of asset {asset!r} fails{more}: {why}")


def _met(dag: DagFacts) -> Explanation:
    if dag.active_runs >= dag.run_limit:
        sentence = (
            f"the events that DAG {dag.dag_id!r} waits for are there, but it has {counted(dag.active_runs, 'run')} "
            f"under way of {dag.run_limit} that max_active_runs allows ({names(dag.under_way, dag.active_runs)}); "
            "further events gather until one ends"
        )
        return Explanation(Reason.RUN_LIMIT, sentence, Blocker(Kind.DAG_RUN, f"{dag.dag_id}/{dag.under_way[0]}"))
    return Explanation(
        Reason.NEXT_BEAT, f"nothing holds DAG {dag.dag_id!r}: its events are there, its run is made at the next beat"
    )
