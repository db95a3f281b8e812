"""Assets: the data that tasks read and update, and the conditions over them that schedule DAGs.

DAG files give them as ``inlets=`` and ``outlets=`` of tasks and as ``schedule=`` of DAGs. ``a & b`` waits for both,
``a | b`` for either. Servers see the documents of ``treadle.document``; what a condition means is decided in
``treadle.asset_conditions``. Names and defaults follow ``airflow.sdk`` (surface 1.6); the specification's word for an
asset is dataset (section 15).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit, urlunsplit

from treadle.document import AssetCondition, AssetDocument, AssetKey
from treadle.errors import DagError, InvalidArgumentError, ParamError
from treadle.params import json_value
from treadle.wording import shown

if TYPE_CHECKING:
    from treadle.asset_watchers import AssetWatcher

LONGEST_NAME: Final = 1500
"""Characters of the name of an asset or alias, and of an address."""

LONGEST_PARTITION_KEY: Final = 250
"""Characters."""

_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]").search
RESERVED_SCHEMES: Final = frozenset({"airflow", "treadle"})


class AssetExpression:
    """Anything that can be a part of a DAG's asset schedule."""

    def __and__(self, other: AssetExpression) -> AssetAll:
        return AssetAll(self, other) if isinstance(other, AssetExpression) else NotImplemented

    def __or__(self, other: AssetExpression) -> AssetAny:
        return AssetAny(self, other) if isinstance(other, AssetExpression) else NotImplemented

    def condition(self) -> AssetCondition:
        """Return the plain form."""
        raise NotImplementedError

    def named(self) -> Iterator[NamedAsset]:
        """Yield the assets, references and aliases in it, in order."""
        raise NotImplementedError


class NamedAsset(AssetExpression):
    """One asset, reference or alias: equal to another of the same key."""

    key: AssetKey

    def condition(self) -> AssetCondition:
        """Return the plain form: the key."""
        return AssetCondition(*self.key)

    def named(self) -> Iterator[NamedAsset]:
        """Yield itself."""
        yield self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NamedAsset) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


class Asset(NamedAsset):
    """A piece of data with a name and an address (``uri``); of one that is not given, the other is taken.

    ``extra`` is JSON about the asset itself; an event has an extra of its own. Events of the triggers of ``watchers``
    become events of the asset.

    Raises:
        DagError: the name or address, or a watcher, cannot be used.
    """

    def __init__(
        self,
        name: str | None = None,
        uri: str | None = None,
        *,
        group: str = "asset",
        extra: Mapping[str, Any] | None = None,
        watchers: Sequence[AssetWatcher] = (),
    ) -> None:
        if name is None and uri is None:
            raise DagError("an Asset needs a name or a uri")
        self.name = _text("Asset", "name", name if name is not None else uri)
        self.uri = _uri(uri if uri is not None else self.name)
        if name is None:
            self.name = self.uri
        self.group = _text("Asset", "group", group)
        self.extra: dict[str, Any] = plain_extra(extra)
        self.key = ("asset", self.name)
        self.watchers = tuple(watchers)
        for one in self.watchers:
            if not hasattr(one, "document"):
                raise InvalidArgumentError(repr(self), "watchers", one, "AssetWatcher(name=..., trigger=...)")

    @staticmethod
    def ref(*, name: str | None = None, uri: str | None = None) -> AssetRef:
        """Return a reference to an asset that another file defines, by its name or its uri.

        Raises:
            DagError: neither or both are given.
        """
        if (name is None) == (uri is None):
            raise DagError("Asset.ref() takes either name= or uri=")
        return AssetRef("asset", _text("Asset.ref", "name", name)) if name is not None else AssetRef("uri", _uri(uri))

    def document(self) -> AssetDocument:
        """Return the plain form."""
        watchers = tuple(one.document() for one in self.watchers)
        return AssetDocument(self.name, self.uri, self.group, self.extra, watchers)

    def __fspath__(self) -> str:
        return self.uri

    def __repr__(self) -> str:
        uri = "" if self.uri == self.name else f", uri={shown(self.uri)}"
        return f"Asset({shown(self.name)}{uri})"


Dataset = Asset
"""The name that assets had before Airflow 3, and have in the specification."""


class AssetRef(NamedAsset):
    """An asset by its name or address, defined elsewhere. Made by :meth:`Asset.ref`."""

    def __init__(self, kind: str, value: str) -> None:
        self.key = (kind, value)

    def __repr__(self) -> str:
        return f"Asset.ref({'name' if self.key[0] == 'asset' else 'uri'}={shown(self.key[1])})"


class AssetAlias(NamedAsset):
    """A name under which a task tells at run time which assets it updated: ``outlet_events[alias].add(asset)``.

    A DAG scheduled by an alias runs for every event that was emitted through it.
    """

    def __init__(self, name: str, *, group: str = "asset") -> None:
        self.name = _text("AssetAlias", "name", name)
        self.group = _text("AssetAlias", "group", group)
        self.key = ("alias", self.name)

    def document(self) -> AssetDocument:
        """Return the plain form."""
        return AssetDocument(self.name, group=self.group)

    def __repr__(self) -> str:
        return f"AssetAlias({shown(self.name)})"


class _Combined(AssetExpression):
    """Several expressions under one rule."""

    kind: str

    def __init__(self, *parts: AssetExpression) -> None:
        for part in parts:
            if not isinstance(part, AssetExpression):
                raise InvalidArgumentError(type(self).__name__, "part", part, "assets, aliases and their combinations")
        if not parts:
            raise DagError(f"{type(self).__name__} needs at least one asset")
        self.parts: tuple[AssetExpression, ...] = tuple(self._flat(parts))

    def _flat(self, parts: Iterable[AssetExpression]) -> Iterator[AssetExpression]:
        for part in parts:
            if type(part) is type(self):
                yield from part.parts
            else:
                yield part

    def condition(self) -> AssetCondition:
        """Return the plain form; a part that stands there twice counts once."""
        inner = tuple(dict.fromkeys(part.condition() for part in self.parts))
        return inner[0] if len(inner) == 1 else AssetCondition(self.kind, inner=inner)

    def named(self) -> Iterator[NamedAsset]:
        """Yield the assets, references and aliases in it, in order."""
        for part in self.parts:
            yield from part.named()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.parts))})"


class AssetAll(_Combined):
    """Met when each part has a new event since the DAG's last run: ``a & b``."""

    kind = "all"


class AssetAny(_Combined):
    """Met when one part has a new event: ``a | b``."""

    kind = "any"


class Metadata:
    """Yielded or returned by a task: an event's ``extra``, and the ``alias`` through which it is emitted, if any."""

    def __init__(
        self, asset: NamedAsset, extra: Mapping[str, Any] | None = None, alias: AssetAlias | None = None
    ) -> None:
        self.asset = asset
        self.extra = plain_extra(extra)
        self.alias = alias


def schedule_expression(schedule: Any) -> AssetExpression | None:
    """Return what a DAG's ``schedule`` says of assets: an expression, or a list, all of which are waited for.

    None if it is no such thing.

    Raises:
        ValueError: a list holds something else.
    """
    if isinstance(schedule, AssetExpression):
        return schedule
    if not isinstance(schedule, (list, tuple, set, frozenset)) or not schedule:
        return None
    ordered = sorted(schedule, key=repr) if isinstance(schedule, (set, frozenset)) else schedule
    if not all(isinstance(one, AssetExpression) for one in ordered):
        raise ValueError("a list of assets: Asset(...), AssetAlias(...), or combinations of them")
    return AssetAll(*ordered)


def plain_extra(extra: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return an extra as JSON has it.

    Raises:
        DagError: it is no dict, or something in it has no JSON form.
    """
    if extra is not None and not isinstance(extra, Mapping):
        raise InvalidArgumentError("asset", "extra", extra, "a dict of JSON values")
    try:
        plain: dict[str, Any] = json_value("extra", dict(extra or {}))
    except ParamError as error:
        raise DagError(f"the extra of an asset cannot be stored: {error.reason}") from None
    if not is_storable(plain):
        raise DagError(
            "the extra of an asset cannot be stored: a text in it has a NUL character or half a surrogate pair"
        )
    return plain


def is_storable(value: Any) -> bool:
    """Return whether the database can store a JSON value: no text in it has a NUL character or a lone surrogate."""
    if isinstance(value, str):
        return "\0" not in value and (value.isascii() or not _LONE_SURROGATE(value))
    if isinstance(value, Mapping):
        return all(is_storable(key) and is_storable(item) for key, item in value.items())
    return not isinstance(value, list) or all(map(is_storable, value))


def is_partition_key(value: object) -> bool:
    """Return whether ``value`` can be a partition's key: a text of 1 to 250 characters that can be stored."""
    return isinstance(value, str) and 0 < len(value) <= LONGEST_PARTITION_KEY and is_storable(value)


def _text(owner: str, name: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or not is_storable(value) or len(value) > LONGEST_NAME:
        raise InvalidArgumentError(owner, name, value, f"a text of 1 to {LONGEST_NAME} characters without NUL")
    return value


def _uri(value: Any) -> str:
    """Return an address with its scheme in lower case, without user name, password and fragment."""
    text = _text("Asset", "uri", value)
    try:
        parts = urlsplit(text)
    except ValueError as error:
        raise InvalidArgumentError("Asset", "uri", text, f"a URI ({error})") from None
    if not parts.scheme or "://" not in text:
        return text
    if parts.scheme in RESERVED_SCHEMES:
        raise InvalidArgumentError("Asset", "uri", text, f"another scheme; {parts.scheme}:// is kept for the system")
    # What is stored and shown must hold no secret; two addresses that differ in their user mean the same data.
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, parts.query, ""))
