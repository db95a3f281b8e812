"""What DAG files import. See `treadle.__all__`."""
