"""Attempts as pods: the executor that makes and watches them (extra ``kubernetes``)."""
