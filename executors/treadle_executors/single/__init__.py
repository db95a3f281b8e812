"""One attempt in a process of its own, as ``treadle task run`` runs it in a pod."""
