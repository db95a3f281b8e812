"""What open pages are told of changes: heard from the database, kept for a while, sent to each browser by its rights.

``changes`` reads notifications, ``ring`` keeps what was told last, ``hub`` hears and publishes for the whole process,
``streams`` writes server-sent events and drops whoever does not read them.
"""
