"""Running one attempt of one task in this process: shared by worker children, ``dag.test()`` and ``tasks test``."""
