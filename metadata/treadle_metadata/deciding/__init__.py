"""The decisions about runs and tasks as pure functions: what may run, what waits, and for what.

The scheduler acts on them; the web server and the commands explain with the very same functions why something does
not run. They stand beside the database's layer, the lowest one that both may import; no function here writes.
"""
