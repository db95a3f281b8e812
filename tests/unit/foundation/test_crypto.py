"""Encryption at rest."""

from __future__ import annotations

import pytest

from treadle_metadata.crypto import Crypto, CryptoError, new_key


def test_a_value_comes_back_and_is_not_readable_in_between() -> None:
    crypto = Crypto([new_key()])
    token = crypto.encrypt("geheim \0 ✓")
    assert "geheim" not in token
    assert crypto.decrypt(token, "variable 'x'") == "geheim \0 ✓"


def test_what_an_old_key_wrote_is_written_anew_with_the_newest() -> None:
    old, new = new_key(), new_key()
    token = Crypto([old]).encrypt("value")
    both = Crypto.of_setting(f"{new}, {old}")
    anew = both.encrypt(both.decrypt(token, "variable 'x'"))
    assert Crypto([new]).decrypt(anew, "variable 'x'") == "value"
    with pytest.raises(CryptoError):
        Crypto([new]).decrypt(token, "variable 'x'")


def test_a_wrong_key_names_the_thing_and_the_way_out() -> None:
    token = Crypto([new_key()]).encrypt("value")
    with pytest.raises(CryptoError, match=r"variable 'x' cannot be decrypted.*add the old key"):
        Crypto([new_key()]).decrypt(token, "variable 'x'")


def test_a_malformed_key_is_named_by_its_place_and_not_shown() -> None:
    with pytest.raises(CryptoError, match="key 2 of fernet_key") as caught:
        Crypto.of_setting(f"{new_key()},tooshort")
    assert "tooshort" not in str(caught.value)


@pytest.mark.parametrize("setting", ["", " , "])
def test_no_key_says_how_to_make_one(setting: str) -> None:
    with pytest.raises(CryptoError, match="fernet_key is not set"):
        Crypto.of_setting(setting)
