"""# Archive data

Teaches what to do about steps that fail now and then: retries with growing delays, timeouts, pools, and how to say
that another try is useless.

The copy step stands in for an upload to an unreliable place. Trigger with `{"failures": 2}` to see it fail twice.
"""

import hashlib
import os
import shutil
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from treadle import FailTask, Param, dag, task

DATA = Path(__file__).parent / "data"
HOME = Path(os.environ.get("TREADLE_HOME") or Path.home() / ".treadle")


@dag(
    schedule="@daily",
    start_date=datetime(2025, 1, 1, tzinfo=UTC),
    catchup=False,
    max_active_runs=1,  # two archives at once would only compete for the disk
    dagrun_timeout=timedelta(minutes=30),  # the whole run, waiting included
    params={
        "folder": Param(str(HOME / "examples"), type="string", description="Where results are written"),
        "failures": Param(0, type="integer", minimum=0, maximum=3, description="How often the copy shall fail"),
    },
    tags=["example"],
    doc_md=__doc__,
)
def archive_data():
    # Packing is heavy on the disk, so it takes two of the pool's slots. Make a pool of your own for such work,
    # `treadle pools set disk 4 "heavy disk work"`, and name it here.
    @task(pool="default_pool", pool_slots=2, execution_timeout=timedelta(minutes=5))
    def pack(params, ds_nodash):
        target = Path(params["folder"]) / f"data-{ds_nodash}.zip"
        target.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(path for path in DATA.rglob("*") if path.is_file()):
                archive.write(path, path.relative_to(DATA))
        return {"path": str(target), "sha256": hashlib.sha256(target.read_bytes()).hexdigest()}

    # Waits 1 s, 2 s, 4 s between the tries, with some jitter and never more than 10 s.
    @task(
        retries=3,
        retry_delay=timedelta(seconds=1),
        retry_exponential_backoff=2,
        max_retry_delay=timedelta(seconds=10),
        execution_timeout=timedelta(minutes=1),
    )
    def copy(packed, params, try_number):
        if try_number <= params["failures"]:
            raise ConnectionError(f"try {try_number}: the archive does not answer")
        source = Path(packed["path"])
        target = source.parent / "archive" / source.name
        target.parent.mkdir(exist_ok=True)
        # Copied under another name and then renamed: nobody ever sees half a file.
        shutil.copyfile(source, target.with_suffix(".part"))
        target.with_suffix(".part").replace(target)
        return str(target)

    @task(retries=3)
    def verify(packed, copied):
        found = hashlib.sha256(Path(copied).read_bytes()).hexdigest()
        if found != packed["sha256"]:
            # The copy is wrong and stays wrong: end as failed although there are retries left.
            raise FailTask(f"{copied} has the digest {found}, expected {packed['sha256']}")
        print(f"{copied} is complete")

    packed = pack()
    verify(packed, copy(packed))


archive_data()
