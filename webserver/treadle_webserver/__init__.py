"""The web server: the REST API under ``/api/v2`` (design section 9)."""
