"""What stands behind ``treadle.steps``: the journal of an attempt, and the version of the code that fills it."""
