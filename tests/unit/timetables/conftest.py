"""A longer search for the property tests: ``pytest tests/unit/timetables --hypothesis-profile=long``."""

from hypothesis import settings

settings.register_profile("long", max_examples=5_000, deadline=None)
