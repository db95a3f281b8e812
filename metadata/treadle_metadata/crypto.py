"""Encryption at rest of variables and connections (Fernet keys, several at once for rotation).

``treadle_metadata.resources`` encrypts what it writes and decrypts what it reads. Values are tokens of the newest key;
older keys still read what they wrote, until it is written anew. Only processes that hold database credentials have
the keys: never a process that runs user code.
"""

from __future__ import annotations

from collections.abc import Iterable

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from treadle_metadata.errors import MetadataError


class CryptoError(MetadataError):
    """A key is missing or malformed, or a value was written with a key that we do not have."""


class Crypto:
    """Encrypts with the first of ``keys`` and decrypts with any of them.

    Raises:
        CryptoError: there is no key, or one is not 32 bytes in URL-safe base64.
    """

    def __init__(self, keys: Iterable[str]) -> None:
        given = [key.strip() for key in keys if key.strip()]
        if not given:
            raise CryptoError("fernet_key is not set, so secrets cannot be stored; make one: treadle config new-key")
        self._fernet = MultiFernet([_fernet(key, place) for place, key in enumerate(given, start=1)])

    @classmethod
    def of_setting(cls, fernet_key: str) -> Crypto:
        """Return the encryption of setting ``fernet_key``: keys, newest first, separated by commas."""
        return cls(fernet_key.split(","))

    def encrypt(self, text: str) -> str:
        """Return ``text`` encrypted."""
        return self._fernet.encrypt(text.encode()).decode()

    def decrypt(self, token: str, what: str) -> str:
        """Return the text of ``token``; ``what`` (say, "variable 'x'") is named in the error.

        Raises:
            CryptoError: no key of ours fits, or the value was damaged.
        """
        try:
            return self._fernet.decrypt(token).decode()
        except InvalidToken as error:
            raise CryptoError(_unreadable(what)) from error


def new_key() -> str:
    """Return a fresh key for setting ``fernet_key``."""
    return Fernet.generate_key().decode()


def _fernet(key: str, place: int) -> Fernet:
    try:
        return Fernet(key)
    except ValueError as error:
        # The key itself must not get into a log.
        raise CryptoError(
            f"key {place} of fernet_key is not a Fernet key ({len(key)} characters; expected 44 of URL-safe base64)"
        ) from error


def _unreadable(what: str) -> str:
    return f"{what} cannot be decrypted: none of the keys in fernet_key wrote it; add the old key after the new one"
