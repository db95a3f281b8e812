"""A Kubernetes API server for tests: the real protocol over real HTTP, pods that are real local processes."""
