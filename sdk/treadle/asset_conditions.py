"""What the conditions of asset schedules mean: which parts they have, whether they are met, what is still awaited.

Pure. The scheduler decides by it, and "why is it not running?" explains by it, from the documents alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from treadle.document import AssetCondition, AssetKey


def parts_of(condition: AssetCondition) -> Iterator[AssetKey]:
    """Yield the keys of the assets and aliases that a condition names, in order; one may come twice."""
    if condition.inner:
        for one in condition.inner:
            yield from parts_of(one)
    else:
        yield condition.kind, condition.name


def is_met(condition: AssetCondition, updated: Collection[AssetKey]) -> bool:
    """Return whether a condition holds when just the parts ``updated`` have a new event."""
    if condition.kind == "all":
        return all(is_met(one, updated) for one in condition.inner)
    if condition.kind == "any":
        return any(is_met(one, updated) for one in condition.inner)
    return (condition.kind, condition.name) in updated


def awaited(condition: AssetCondition, updated: Collection[AssetKey]) -> AssetCondition | None:
    """Return what a condition still waits for, simplified; None if it is met."""
    if is_met(condition, updated):
        return None
    if not condition.inner:
        return condition
    left = [awaited(one, updated) for one in condition.inner]
    missing = tuple(one for one in left if one is not None)
    return missing[0] if len(missing) == 1 else AssetCondition(condition.kind, inner=missing)


def words(condition: AssetCondition) -> str:
    """Return a condition as people write it: ``(a & b) | c``; an alias is ``alias x``."""
    return _words(condition, outermost=True)


def _words(condition: AssetCondition, *, outermost: bool = False) -> str:
    if not condition.inner:
        return f"alias {condition.name}" if condition.kind == "alias" else condition.name
    joined = (" & " if condition.kind == "all" else " | ").join(map(_words, condition.inner))
    return joined if outermost else f"({joined})"


def expression(condition: AssetCondition) -> dict[str, Any]:
    """Return the JSON form that Airflow's API shows as ``asset_expression``."""
    if condition.inner:
        return {condition.kind: [expression(one) for one in condition.inner]}
    if condition.kind == "alias":
        return {"alias": {"name": condition.name}}
    if condition.kind == "uri":
        return {"asset_ref": {"uri": condition.name}}
    return {"asset": {"name": condition.name}}
