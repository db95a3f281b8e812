"""Assets in the database: who names them (``references``), their events (``emitting``), what consumers have gathered
(``gathering``), and what running tasks are told (``answers``).

One policy for all (case A42): a consumer gathers events; a run that is made of them lists all that had gathered, and
takes them away. So every event ends in exactly one run of each consumer, unless a person forgets it.
"""
