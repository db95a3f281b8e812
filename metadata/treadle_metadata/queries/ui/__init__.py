"""Questions of the pages of the UI: one statement or two each, over indexes, of the DAGs that the asker may see.

Called by ``treadle_webserver.routes.ui``. Read-only; what they answer is the UI's own affair and may change with it.
"""
