"""The only writer of a state column: every move is guarded by the states it may come from, and fenced by its attempt.

An illegal or stale move changes no row and is answered as not moved, never applied (design section 4). ``runs`` moves
runs, ``instances`` moves task instances as the scheduler or a person decides, ``attempts`` moves them as workers
report; ``recording`` keeps the history that audits and tests read.
"""
