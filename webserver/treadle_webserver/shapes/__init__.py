"""The JSON shapes of answers, named as in Airflow's ``/api/v2``, and how a row of ``queries`` becomes one.

Fields for which Treadle has no meaning (``bundle_version``, ``unixname``) are null; none holds an invented value.
"""
