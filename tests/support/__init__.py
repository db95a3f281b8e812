"""What tests of several areas use: databases (through the fixtures of ``tests/conftest.py``) and ``wait_until``."""

from tests.support.waiting import wait_until

__all__ = ["wait_until"]
