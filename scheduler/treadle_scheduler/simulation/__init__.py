"""Virtual time: what would run when, by the scheduler's own loop, without running anything.

``run`` is what ``treadle dags simulate`` calls; ``driver.Simulation`` is the engine beneath,
which tests drive with documents of their own. A simulation reads the installation once and works in a scratch database.
"""
