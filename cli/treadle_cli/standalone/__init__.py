"""``treadle standalone``: the whole service on one machine, its database included, from one command.

``run`` is all that the command needs; the modules below it: ``home`` (the folder, its lock and its secrets),
``daemons`` (the children), ``supervisor`` (keeps them alive until a signal), ``daemon_logs`` (where their lines go).
"""
