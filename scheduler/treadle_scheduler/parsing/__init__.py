"""The DAG processor: watches the dags folder, parses what changed in child processes, stores the documents.

``main`` is the daemon. ``listing`` and ``ignoring`` find the files, ``watching`` hears of changes, ``agenda`` decides
what to parse next, ``pool`` has it parsed by children of ``zygote``, and ``failures`` says why a child gave no result.
``child``, ``collecting``, ``inputs``, ``watchdog`` and ``isolation`` run in the child, where user code is; they import
nothing of the database.
"""
