"""Which files are parsed, and when again."""

from __future__ import annotations

import os
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from treadle_metadata.catalog import Catalog, FileError, FileState
from treadle_scheduler.parsing.agenda import Agenda, inputs_of
from treadle_scheduler.parsing.child import Answer, parse
from treadle_scheduler.parsing.config import ParseConfig
from treadle_scheduler.parsing.listing import list_files

PARSER = "1"
TEXT = "from treadle import DAG\n"
EMPTY = Catalog({}, frozenset(), {})


class Folder:
    """A dags folder with its agenda, and files parsed as soon as they come up."""

    def __init__(self, path: Path, catalog: Catalog = EMPTY) -> None:
        self.path = path
        self.agenda = Agenda(str(path), catalog, parser=PARSER, retry_seconds=60)
        self.now = 1000.0
        self.read: dict[str, list[str]] = {}
        self.failing: set[str] = set()
        self.seconds = 0.0
        self.news: object = None

    def write(self, name: str, text: str = TEXT, *, mtime: int | None = None) -> None:
        target = self.path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        if mtime is not None:
            os.utime(target, ns=(mtime, mtime))

    def state(self, name: str) -> FileState:
        found = (self.path / name).stat()
        read = {}
        for one in self.read.get(name, ()):
            stat = (self.path / one).stat() if (self.path / one).exists() else None
            read[one] = None if stat is None else [stat.st_mtime_ns, stat.st_size]
        digest = sha256((self.path / name).read_bytes()).hexdigest()
        return FileState(found.st_mtime_ns, found.st_size, digest, inputs_of(PARSER, read))

    def look(self) -> list[str]:
        """List the folder, parse all that comes up, and return the names in order."""
        self.now += 1.0
        self.news = self.agenda.listed(list_files(str(self.path)) or {}, self.now)
        parsed = []
        while (following := self.agenda.next_file()) is not None:
            name = following[0]
            parsed.append(name)
            self.agenda.parsed(name, self.state(name), self.now, failed=name in self.failing, seconds=self.seconds)
        return parsed


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_an_unchanged_file_is_parsed_once(folder: Folder) -> None:
    folder.write("a.py")
    assert folder.look() == ["a.py"]
    assert folder.look() == []


def test_the_newest_edit_comes_first(folder: Folder) -> None:
    for name, mtime in (("a.py", 10), ("b.py", 30), ("c.py", 20)):
        folder.write(name, mtime=mtime)
    assert folder.look() == ["b.py", "c.py", "a.py"]


def test_a_file_without_dags_is_not_parsed_until_it_has_some(folder: Folder) -> None:
    folder.write("a.py", "x = 1\n")
    assert folder.look() == []
    folder.write("a.py")
    assert folder.look() == ["a.py"]


def test_a_file_that_loses_its_dags_is_gone(folder: Folder) -> None:
    folder.write("a.py")
    folder.look()
    folder.write("a.py", "x = 1\n")
    assert folder.look() == []
    assert folder.news.gone == ("a.py",)  # type: ignore[attr-defined]
    assert folder.agenda.files == set()


def test_a_new_time_without_new_content_is_no_parse(folder: Folder) -> None:
    folder.write("a.py", mtime=10)
    folder.look()
    os.utime(folder.path / "a.py", ns=(20, 20))
    assert folder.look() == []
    assert folder.news.touched["a.py"].mtime_ns == 20  # type: ignore[attr-defined]
    assert folder.look() == []
    assert folder.news.touched == {}  # type: ignore[attr-defined]


def test_a_change_of_what_a_file_reads_parses_it_again(folder: Folder) -> None:
    folder.write("a.py")
    folder.write("b.py")
    folder.write("lib/names.yaml", "1")
    folder.read["a.py"] = ["lib/names.yaml"]
    folder.look()
    folder.write("lib/names.yaml", "12")
    assert folder.look() == ["a.py"]
    (folder.path / "lib/names.yaml").unlink()
    assert folder.look() == ["a.py"]
    assert folder.look() == []


def test_a_failed_file_is_tried_again_after_ever_longer_waits(folder: Folder) -> None:
    folder.write("a.py")
    folder.failing.add("a.py")
    folder.look()
    for wait in (60, 120, 240):
        folder.now += wait - 2
        assert folder.look() == []
        assert folder.look() == ["a.py"]
    folder.agenda.retry_failed()
    folder.failing.clear()
    assert folder.look() == ["a.py"]
    folder.now += 10_000
    assert folder.look() == []


def test_a_failed_file_that_takes_long_waits_for_its_time(folder: Folder) -> None:
    folder.write("a.py")
    folder.failing.add("a.py")
    folder.seconds = 30.0
    folder.look()
    folder.agenda.retry_failed()
    assert folder.look() == []


def _refused(file: str) -> dict[str, list[FileError]]:
    return {file: [FileError("names the pool 'gpu'", dag_id="d", missing_pool="gpu")]}


def test_a_file_refused_for_a_pool_is_due_when_pools_change_however_long_it_takes(folder: Folder) -> None:
    folder.write("a.py")
    folder.write("b.py")
    folder.seconds = 30.0
    folder.look()
    assert not folder.agenda.stored({}, _refused("a.py"), folder.now)
    assert folder.look() == []
    folder.agenda.pools_changed(folder.now)
    assert folder.look() == ["a.py"]
    assert folder.look() == []


def test_a_file_that_somebody_asks_for_is_parsed_once_more(folder: Folder) -> None:
    folder.write("a.py")
    folder.write("b.py")
    assert sorted(folder.look()) == ["a.py", "b.py"]
    assert folder.look() == []
    folder.agenda.read_again(["a.py", "gone.py"])
    assert folder.look() == ["a.py"]
    assert folder.look() == []


def test_a_pool_made_while_a_file_is_on_its_way_to_the_database_is_not_missed(folder: Folder) -> None:
    folder.write("a.py")
    folder.look()
    folder.agenda.pools_changed(folder.now)
    assert folder.agenda.stored({}, _refused("a.py"), folder.now)
    assert folder.look() == ["a.py"]
    # What was parsed after the news was judged with it: no second time.
    assert not folder.agenda.stored({}, _refused("a.py"), folder.now)
    assert folder.look() == []


def test_a_file_that_the_database_keeps_refusing_is_tried_again_after_ever_longer_waits(folder: Folder) -> None:
    folder.write("a.py")
    folder.look()
    for wait in (60, 120, 240):
        folder.agenda.stored({}, _refused("a.py"), folder.now)
        folder.now += wait - 2
        assert folder.look() == []
        assert folder.look() == ["a.py"]
    folder.agenda.stored({"a.py": {"d": "1"}}, {}, folder.now)
    folder.now += 10_000
    assert folder.look() == []
    folder.agenda.stored({}, _refused("a.py"), folder.now)
    folder.now += 60
    assert folder.look() == ["a.py"]


def test_a_file_whose_own_parse_changes_what_it_reads_is_not_parsed_without_end(folder: Folder) -> None:
    folder.write("a.py")
    folder.write("data/one.txt", "0")
    folder.read["a.py"] = ["data/one.txt"]
    folder.look()
    folder.write("data/one.txt", "12")
    folder.now -= 0.5
    assert folder.look() == []
    assert folder.news.look_again  # type: ignore[attr-defined]
    assert folder.look() == ["a.py"]


def test_a_file_edited_while_it_is_parsed_is_parsed_again(folder: Folder) -> None:
    folder.write("a.py", mtime=10)
    folder.agenda.listed(list_files(str(folder.path)) or {}, 0)
    assert folder.agenda.next_file() == ("a.py", {})
    before = folder.state("a.py")
    folder.write("a.py", TEXT + "x = 1\n", mtime=20)
    folder.agenda.listed(list_files(str(folder.path)) or {}, 0)
    assert folder.agenda.next_file() is None
    folder.agenda.parsed("a.py", before, 0, failed=False)
    assert folder.agenda.next_file() == ("a.py", {})


@pytest.mark.parametrize("is_new", [True, False])
def test_a_listing_while_a_file_is_parsed_does_not_parse_it_twice(folder: Folder, is_new: bool) -> None:
    folder.write("a.py", mtime=10)
    if not is_new:
        folder.look()
        folder.write("a.py", TEXT + "x = 1\n", mtime=20)
    for _ in range(2):
        folder.agenda.listed(list_files(str(folder.path)) or {}, 0)
    assert folder.agenda.next_file() == ("a.py", {})
    folder.agenda.listed(list_files(str(folder.path)) or {}, 0)
    folder.agenda.parsed("a.py", folder.state("a.py"), 0, failed=False)
    assert folder.look() == []


def test_a_change_of_what_a_file_reads_while_it_is_parsed_parses_it_again(folder: Folder) -> None:
    folder.write("a.py")
    folder.write("names.yaml", "1")
    folder.read["a.py"] = ["names.yaml"]
    folder.look()
    folder.write("a.py", TEXT + "x = 1\n")
    folder.agenda.listed(list_files(str(folder.path)) or {}, 0)
    folder.agenda.next_file()
    read_before = folder.state("a.py")
    folder.write("names.yaml", "12")
    folder.agenda.listed(list_files(str(folder.path)) or {}, 0)
    folder.agenda.parsed("a.py", read_before, 0, failed=False)
    # At once: nothing says that the folder will be listed soon.
    assert folder.agenda.next_file() == ("a.py", {})


def test_a_file_deleted_while_it_is_parsed_is_not_stored(folder: Folder) -> None:
    folder.write("a.py")
    folder.agenda.listed(list_files(str(folder.path)) or {}, 0)
    folder.agenda.next_file()
    state = folder.state("a.py")
    assert folder.agenda.listed({}, 0).gone == ("a.py",)
    assert not folder.agenda.parsed("a.py", state, 0, failed=False)


def test_after_a_start_only_what_differs_from_the_database_is_parsed(folder: Folder) -> None:
    for name in ("same.py", "edited.py", "failed.py", "old_parser.py", "deleted.py"):
        folder.write(name)
    states = {name: folder.state(name) for name in ("same.py", "edited.py", "failed.py", "deleted.py")}
    old = replace(folder.state("old_parser.py"), inputs=inputs_of("0", {}))
    catalog = Catalog(states | {"old_parser.py": old}, frozenset({"failed.py"}), {"same.py": {"d": "1"}, "gone.py": {}})
    again = Folder(folder.path, catalog)
    again.write("edited.py", TEXT + "x = 1\n")
    (folder.path / "deleted.py").unlink()
    assert sorted(again.look()) == ["edited.py", "failed.py", "old_parser.py"]
    assert sorted(again.news.gone) == ["deleted.py", "gone.py"]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("path", "concerns"),
    [
        ("a.py", True),
        ("team/new.py", True),
        (".treadleignore", True),
        ("names.yaml", True),
        ("other.yaml", False),
        ("team", True),
        ("__pycache__/a.cpython-311.pyc", False),
        (".git/index", False),
        ("data/out.parquet", False),
        ("scanned/new.yaml", True),
        (".a.py.swp", False),
    ],
)
def test_only_changes_that_can_matter_have_the_folder_listed(folder: Folder, path: str, concerns: bool) -> None:
    folder.write("a.py")
    folder.write("team/b.py")
    folder.write("names.yaml", "1")
    folder.read["a.py"] = ["names.yaml", "scanned"]
    folder.look()
    assert folder.agenda.concerns(str(folder.path / path)) is concerns


def test_the_child_says_what_a_file_reads(tmp_path: Path) -> None:
    pid = os.fork()
    if pid == 0:
        # A child of its own: the audit hook and the memory limit stay with the process that sets them.
        _check_inputs(tmp_path)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def _check_inputs(folder: Path) -> None:
    code = 1
    try:
        (folder / "data").mkdir()
        (folder / "data" / "one.yaml").write_text("1")
        (folder / "a.py").write_text(
            "import os, pathlib\nfrom treadle import DAG\n"
            "here = pathlib.Path(__file__).parent\n"
            "for path in (here / 'data').glob('*.yaml'):\n    path.read_text()\n"
            "open('/etc/hostname').close()\n"
            "(here / 'written.txt').write_text('x')\n"
            "x = DAG('d')\n"
        )
        found = parse("a.py", {}, ParseConfig(dags_folder=str(folder)), Answer(None))
        stat = (folder / "data" / "one.yaml").stat()
        assert set(found["inputs"]) == {"data", "data/one.yaml"}, found
        assert found["inputs"]["data/one.yaml"] == [stat.st_mtime_ns, stat.st_size]
        code = 0
    finally:
        os._exit(code)
