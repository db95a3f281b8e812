"""Treadle's metadata database: what is stored and which changes are lawful."""
