"""The forms of output, one module each, with ``write_listing`` and ``write_record``."""
