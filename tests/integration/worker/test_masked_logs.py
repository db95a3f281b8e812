"""What reaches an attempt's log and report holds no secret, however it is written (case F16)."""

from __future__ import annotations

import json

from tests.integration.worker.conftest import Rig

SECRET = 'p@ss"w\nsesame-0rd'
CODE = """
@task
def leak():
    from treadle import Connection
    import base64, json, logging, urllib.parse
    secret = Connection.get("warehouse").password
    print("whole", secret)
    for part in (secret[:3], secret[3:12], secret[12:]):
        os.write(1, part.encode())
    os.write(1, b"\\n")
    print(json.dumps({"in": secret}), urllib.parse.quote(secret), base64.b64encode(secret.encode()).decode())
    logging.getLogger("mine").warning("logged %r", secret)
    subprocess.run(["printf", "%s\\n", secret], check=True)
    raise ValueError(f"refused {secret}")
leak()
"""


def test_no_way_of_writing_a_secret_reaches_the_log_or_the_report(rig: Rig) -> None:
    rig.execution.results["get_connection"] = {"conn_id": "warehouse", "conn_type": "postgres", "password": SECRET}
    rig.dag(CODE)
    workload = rig.queue("leak")
    finish = rig.end_of(workload)
    written = json.dumps(rig.log(workload)) + json.dumps(finish)
    assert finish["error"] is not None
    assert finish["error"]["message"] == "refused ***"
    assert "logged" in written
    assert written.count("***") >= 9
    for part in ("p@ss", "sesame", "0rd", "p%40ss", "cEBzcyJ3"):
        assert part not in written, part
