"""The one masker: keeps secret values out of logs, rendered fields and errors.

Whoever fetches a secret registers it here (connections, variables); whoever writes text passes it through
:func:`mask` first, so that nothing secret is ever stored (case F16). A secret is known in all the forms in which text
may carry it: as it is, escaped as by ``repr`` or JSON, URL-encoded, in base64 at any offset, and line by line.
The registry lives in the process; a task child dies with it.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote, quote_plus

MASK: Final = "***"

MIN_LENGTH: Final = 4
"""Characters; shorter secrets are not masked, since they would blot out ordinary words and numbers."""

_MIN_BASE64: Final = 8
_ORDINARY: Final = frozenset({"true", "false", "none", "null", "default"})
_SECRET_NAME: Final = re.compile(
    r"pass(word|wd|phrase|code)|(^|[^a-z])pass$|secret|token|(api|access|private)[_-]?key|auth(orization|[_-]key)"
    r"|credential|key[_-]?file|service[_-]?account|webhook[_-]?url",
    re.IGNORECASE,
)


class Masker:
    """Knows secrets and replaces them in text."""

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._forms: set[str] = set()
        self._ordered: tuple[str, ...] = ()
        self._substitute: tuple[tuple[str, ...], Callable[[str, str], str]] | None = None
        """Of which forms it is, and the function."""

    def add(self, secret: object) -> None:
        """Register a secret: a text, bytes, or any nesting of dicts and lists, all of whose texts are secret."""
        for text in _texts(secret):
            if len(text) >= MIN_LENGTH and text not in self._known and text.lower() not in _ORDINARY:
                self._forms.update(_forms(text))
                self._known.add(text)

    def mask(self, text: str) -> str:
        """Return ``text`` with every known secret replaced by ``***``."""
        forms = self._ordered
        # They only become more; another thread may have added some.
        if len(forms) != len(self._forms):
            # The longest first, so that a secret which contains another is replaced whole.
            forms = self._ordered = tuple(sorted(self._forms, key=lambda form: (-len(form), form)))
        # Few texts hold a secret: the expression, which takes a millisecond to make, is made for the first that does.
        if not any(form in text for form in forms):
            return text
        made = self._substitute
        if made is None or made[0] is not forms:
            made = self._substitute = forms, re.compile("|".join(map(re.escape, forms))).sub
        return made[1](MASK, text)

    def mask_value(self, value: Any) -> Any:
        """Return plain data with every text in it masked, and values under secret-looking keys replaced whole."""
        if isinstance(value, str):
            return self.mask(value)
        if isinstance(value, Mapping):
            return {
                self.mask(key) if isinstance(key, str) else key: (
                    MASK if looks_secret(key) and isinstance(item, str) and item else self.mask_value(item)
                )
                for key, item in value.items()
            }
        if isinstance(value, (list, tuple)):
            return [self.mask_value(item) for item in value]
        return value

    def clear(self) -> None:
        """Forget all secrets (tests, and a child that runs several attempts in turn)."""
        self._known.clear()
        self._forms.clear()
        self._ordered, self._substitute = (), None


MASKER: Final = Masker()
"""The masker of this process."""

add_secret = MASKER.add
mask = MASKER.mask
mask_value = MASKER.mask_value


def looks_secret(name: object) -> bool:
    """Return whether a field or variable of this name is taken for a secret."""
    return isinstance(name, str) and _SECRET_NAME.search(name) is not None


def add_variable(key: str, text: str) -> None:
    """Register a variable's value: all of it if the key looks secret, else the fields of its JSON that do."""
    if looks_secret(key):
        add_secret(text)
        add_secret(_json_or_none(text))
    else:
        _add_secret_fields(_json_or_none(text))


def add_connection(fields: Mapping[str, Any]) -> None:
    """Register a connection's password, basic-auth pair and extra: its secret-looking fields and its whole text."""
    password = fields.get("password")
    if password:
        add_secret(password)
        if fields.get("login"):
            add_secret(f"{fields['login']}:{password}")
    extra = fields.get("extra")
    text = extra if isinstance(extra, str) else json.dumps(extra) if extra else ""
    parsed = _json_or_none(text)
    if isinstance(parsed, dict):
        _add_secret_fields(parsed)
    if text not in ("", "{}"):
        add_secret(text)


def _add_secret_fields(value: Any) -> None:
    if isinstance(value, dict):
        for key, item in value.items():
            if looks_secret(key):
                add_secret(item)
            _add_secret_fields(item)
    elif isinstance(value, list):
        for item in value:
            _add_secret_fields(item)
    elif isinstance(value, str) and value[:1] in "{[":
        _add_secret_fields(_json_or_none(value))


def _json_or_none(text: str) -> Any:
    if text[:1] not in ("{", "["):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _texts(secret: object) -> Iterator[str]:
    if isinstance(secret, str):
        yield secret
    elif isinstance(secret, (bytes, bytearray)):
        yield bytes(secret).decode(errors="replace")
    elif isinstance(secret, Mapping):
        for item in secret.values():
            yield from _texts(item)
    elif isinstance(secret, (list, tuple, set, frozenset)):
        for item in secret:
            yield from _texts(item)


def _forms(text: str) -> Iterator[str]:
    parts = [text]
    if "\n" in text:
        # A log is masked line by line; the punctuation of JSON makes no secret of an ordinary word.
        lines = (line.strip() for line in text.splitlines())
        parts += [line for line in lines if line.strip(",;: ").lower() not in _ORDINARY]
        parts.append(text.strip())
    for part in parts:
        if len(part) < MIN_LENGTH:
            continue
        yield part
        yield repr(part)[1:-1]
        yield json.dumps(part)[1:-1]
        yield json.dumps(part, ensure_ascii=False)[1:-1]
        data = part.encode(errors="surrogatepass")
        yield quote(data, safe="")
        yield quote(data)
        yield quote_plus(data)
        yield from _base64_forms(data)


def _base64_forms(data: bytes) -> Iterator[str]:
    """Yield the characters of base64 text that the secret alone decides, for each offset it may stand at."""
    for offset in range(3):
        encoded = base64.b64encode(b"\0" * offset + data).decode()
        start = (0, 2, 3)[offset]
        certain = (offset + len(data)) * 8 // 6
        core = encoded[start:certain]
        if len(core) >= _MIN_BASE64:
            yield core
            yield core.replace("+", "-").replace("/", "_")
