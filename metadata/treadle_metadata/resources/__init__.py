"""What tasks draw on: pools, variables and connections. Written by the web server, the CLI and running tasks.

Values of variables, passwords and extras of connections are encrypted by ``treadle_metadata.crypto`` before they reach
the database; only ``find_*`` and ``export_*`` decrypt them, and no read endpoint calls those of connections.
"""

from treadle_metadata.resources.connections import (
    create_connection,
    delete_connection,
    export_connections,
    fields_of,
    fields_of_uri,
    find_connection,
    import_connections,
    set_connection,
    update_connection,
)
from treadle_metadata.resources.pools import create_pool, delete_pool, export_pools, import_pools, set_pool
from treadle_metadata.resources.variables import (
    create_variable,
    delete_variable,
    export_variables,
    find_variable,
    import_variables,
    require_variable,
    set_variable,
)

__all__ = [
    "create_connection",
    "create_pool",
    "create_variable",
    "delete_connection",
    "delete_pool",
    "delete_variable",
    "export_connections",
    "export_pools",
    "export_variables",
    "fields_of",
    "fields_of_uri",
    "find_connection",
    "find_variable",
    "import_connections",
    "import_pools",
    "import_variables",
    "require_variable",
    "set_connection",
    "set_pool",
    "set_variable",
    "update_connection",
]
