"""Task logs in a remote store: the layout (``pieces``), the store (``store``), reading (``reading``), and from where a
log is read, the folder or the store (``places``).

A log is a folder of immutable objects, ``<offset>-<length>``, so nothing is ever appended to: what is sent twice
changes nothing, and pieces may overlap. ``treadle_executors.log_sending`` writes them.
"""
