"""The executors: the contract in ``executor``, one module for each implementation beside it."""
