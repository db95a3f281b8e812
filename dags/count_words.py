"""# Count words

Teaches mapping: how many files there are is known only when the DAG runs, so one task becomes as many instances.

Each instance runs, fails, is retried and shows its log by itself. An empty list skips the mapped task.
"""

import json
import os
import re
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

from treadle import Param, dag, task

TEXTS = Path(__file__).parent / "data" / "texts"
HOME = Path(os.environ.get("TREADLE_HOME") or Path.home() / ".treadle")


@dag(
    schedule=None,  # runs when someone triggers it
    start_date=datetime(2025, 1, 1, tzinfo=UTC),
    params={
        "texts": Param(str(TEXTS), type="string", description="Folder of the text files"),
        "folder": Param(str(HOME / "examples"), type="string", description="Where results are written"),
    },
    tags=["example"],
    doc_md=__doc__,
)
def count_words():
    @task
    def find_texts(params):
        return sorted(str(path) for path in Path(params["texts"]).glob("*.txt"))

    # At most two instances of one run at a time, however many files there are. The template names each instance.
    @task(max_active_tis_per_dagrun=2, map_index_template="{{ task.op_kwargs['path'].split('/')[-1] }}")
    def count(path, shortest):
        words = re.findall(r"[a-z]+", Path(path).read_text().lower())
        return dict(Counter(word for word in words if len(word) >= shortest))

    @task
    def merge(counts, params):
        """Add up what all instances returned: ``counts`` is the sequence of their results, in order."""
        total = Counter()
        for one in counts:
            total.update(one)
        target = Path(params["folder"]) / "word_counts.json"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(dict(total.most_common()), indent=2))
        return total.most_common(3)

    # partial() fixes an argument for all instances, expand() gives each instance its own.
    merge(count.partial(shortest=4).expand(path=find_texts()))


count_words()
