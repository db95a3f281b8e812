"""Read-only questions to the database, one module per page or command; the web server and the CLI ask the same ones.

Every function takes a connection, writes nothing, and returns plain dicts whose keys are column names, so that each
caller chooses its own shape. Every list is read through an index and comes in pages (``paging``).
"""
