"""Secrets are masked in every form in which text may carry them (case F16)."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.runtime import masking
from treadle.runtime.masking import MASK, MASKER, Masker

SECRET = 'p@ss"w\n0rd & more'


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    MASKER.clear()
    yield
    MASKER.clear()


@pytest.mark.parametrize(
    "text",
    [
        SECRET,
        repr(SECRET),
        json.dumps({"x": SECRET}),
        f"https://user:{quote(SECRET, safe='')}@host",
        f"q={quote_plus(SECRET)}",
        quote(SECRET),
        base64.b64encode(SECRET.encode()).decode(),
        base64.urlsafe_b64encode(SECRET.encode()).decode(),
        base64.b64encode(b"user:" + SECRET.encode()).decode(),
        base64.b64encode(b"a" + SECRET.encode() + b"zz").decode(),
    ],
)
def test_each_form_of_a_secret_is_masked(text: str) -> None:
    masker = Masker()
    masker.add(SECRET)
    masked = masker.mask(f"before {text} after")
    assert MASK in masked
    assert masked.startswith("before ")
    assert masked.endswith(" after")
    for part in ("0rd", "w%0A0rd", base64.b64encode(SECRET.encode()).decode()[4:-4]):
        assert part not in masked


@given(st.text(min_size=masking.MIN_LENGTH), st.text(), st.text())
def test_a_registered_text_is_never_seen_again(secret: str, before: str, after: str) -> None:
    masker = Masker()
    masker.add(secret)
    if secret.lower() in ("true", "false", "none", "null", "default"):
        return
    assert secret not in masker.mask(before + secret + after).replace(MASK, "\x00")


def test_each_long_line_of_a_key_is_masked_alone() -> None:
    masker = Masker()
    masker.add("-----BEGIN KEY-----\nMIIEvQIBADANBg\nkqhkiG9w0BAQEF\n-----END KEY-----\n")
    assert masker.mask("got kqhkiG9w0BAQEF here") == f"got {MASK} here"


def test_a_secret_of_short_lines_is_masked_when_it_is_printed_line_by_line() -> None:
    masker = Masker()
    masker.add('p@ss"w\n0rd-9\ntrue,\n}')
    assert masker.mask('p@ss"w') == MASK
    assert masker.mask("got 0rd-9 }") == f"got {MASK} }}"
    assert masker.mask("true, false") == "true, false"


def test_a_secret_that_contains_another_is_replaced_whole() -> None:
    masker = Masker()
    masker.add(["abcd", "abcdefgh"])
    assert masker.mask("abcdefgh abcd") == f"{MASK} {MASK}"


@pytest.mark.parametrize("secret", ["", "abc", "true", "None", b"ab"])
def test_short_and_ordinary_words_are_not_masked(secret: str | bytes) -> None:
    masker = Masker()
    masker.add(secret)
    assert masker.mask("abc true None") == "abc true None"


def test_a_connection_is_masked_by_password_pair_and_secret_extra_but_not_by_its_host() -> None:
    extra = json.dumps({"region": "eu-west", "api_key": "key-123456", "nested": {"client_secret": "deep-secret"}})
    masking.add_connection({"host": "db.internal", "login": "user", "password": "sesame-1", "extra": extra})
    text = f"db.internal eu-west sesame-1 key-123456 deep-secret {base64.b64encode(b'user:sesame-1').decode()}"
    assert masking.mask(text).split() == ["db.internal", "eu-west", *[MASK] * 3, masking.mask(text).split()[-1]]
    assert "c2VzYW1lLTE" not in masking.mask(text)


def test_a_variable_is_masked_if_its_name_or_a_name_in_its_json_says_so() -> None:
    masking.add_variable("db_password", "sesame-2")
    masking.add_variable("settings", '{"token": "tok-98765", "url": "http://plain"}')
    masking.add_variable("city", "Vienna-1")
    assert masking.mask("sesame-2 tok-98765 http://plain Vienna-1") == f"{MASK} {MASK} http://plain Vienna-1"


@pytest.mark.parametrize(
    "name",
    [
        "password",
        "DB_PASSWD",
        "x_secret_y",
        "apiKey",
        "api-token",
        "private_key",
        "Authorization",
        "Api-Key",
        "access-key",
    ],
)
def test_names_of_secrets(name: str) -> None:
    assert masking.looks_secret(name)


@pytest.mark.parametrize("name", ["host", "author", "keyboard", "compass", "monkey", 5, None])
def test_names_of_ordinary_things(name: object) -> None:
    assert not masking.looks_secret(name)


def test_plain_data_is_masked_at_every_depth() -> None:
    masking.add_secret("sesame-3")
    value = {"a": ["sesame-3", 1, None], "password": "short", "sesame-3": {"token": 5}}
    assert masking.mask_value(value) == {"a": [MASK, 1, None], "password": MASK, MASK: {"token": 5}}
