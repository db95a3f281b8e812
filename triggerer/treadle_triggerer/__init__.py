"""The triggerer: claimed triggers in one event loop, leased, resumable (design section 1)."""
