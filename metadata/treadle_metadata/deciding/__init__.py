"""The decisions about runs and tasks: what may run, what waits, and for what. Pure but for two reads; nothing writes.

The scheduler acts on them; the web server and the commands explain with the very same functions why something does
not run (``queries.why``). They stand beside the database's layer, since that is the lowest one that all may import.
The two reads are ``graph.GraphCache`` and ``past.held_by_past``.
"""
