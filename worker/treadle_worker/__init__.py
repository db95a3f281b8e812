"""The runner host: runs attempts in forked children and speaks to the Execution API for them. It has no database."""
