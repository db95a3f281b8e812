"""Drawings of a DAG: as text for a terminal, as SVG without any program, as DOT for Graphviz.

``layers`` puts the tasks in layers (pure); ``text``, ``svg`` and ``dot`` draw. All take a ``DagDocument``.
"""
