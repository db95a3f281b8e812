"""What accounts hold, without a server: against the plainest rule that could be meant."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.runtime.masking import looks_secret
from treadle_metadata.audit import changed, masked
from treadle_metadata.errors import InvalidRequestError, NotFoundError
from treadle_metadata.rights.held import Rights, known, of_row
from treadle_metadata.rights.permissions import (
    GIVEN,
    OF_DAGS,
    OF_INSTALLATION,
    OF_TEAMS,
    READING,
    ROLES,
    Permission,
    checked_permissions,
)

P = Permission
TEAMS = ("red", "blue")
DAGS = {"a": "red", "b": "blue", "c": None}

held = st.frozensets(st.sampled_from(sorted(GIVEN)))
rights = st.builds(
    Rights,
    everywhere=held,
    of_teams=st.dictionaries(st.sampled_from(TEAMS), held),
    of_dags=st.dictionaries(st.sampled_from(sorted(DAGS)), held),
    limit=st.none() | held,
)


@given(rights, st.sampled_from(sorted(GIVEN)))
def test_a_permission_counts_where_it_is_held_and_no_further(one: Rights, needed: Permission) -> None:
    allowed = one.limit is None or needed in one.limit
    for dag_id, team in DAGS.items():
        by_team = needed in OF_DAGS and team is not None and needed in one.of_teams.get(team, ())
        by_grant = needed in OF_DAGS and needed in one.of_dags.get(dag_id, ())
        assert one.on_dag(needed, dag_id, team) == (allowed and (needed in one.everywhere or by_team or by_grant))
    for team in TEAMS:
        reached = team in one.for_team(needed)
        assert reached == (allowed and needed in OF_DAGS | OF_TEAMS and needed in one.of_teams.get(team, ()))
    assert ("" in one.for_team(needed)) == (bool(one.for_team(needed)) and needed in READING)
    if one.on_dag(needed, "a", "red"):
        assert one.somewhere_may(needed)


def test_every_permission_can_be_held_in_exactly_one_way() -> None:
    assert OF_DAGS | OF_TEAMS | OF_INSTALLATION == GIVEN
    assert not OF_DAGS & OF_TEAMS
    assert not (OF_DAGS | OF_TEAMS) & OF_INSTALLATION
    assert all(allowed <= GIVEN for allowed in ROLES.values())


def test_a_row_of_an_account_is_read_with_its_teams_and_grants() -> None:
    row = {
        "role": "Watcher",
        "role_permissions": ["read DAGs", "a permission of a later release"],
        "teams": [["red", "Op", None], ["blue", "Watcher", ["read DAGs", "manage accounts"]]],
        "grants": [["x", ["read DAGs"]], ["x", ["read logs", "edit pools"]]],
    }
    found = of_row(row, ["read DAGs", "read logs"])
    assert found.everywhere == {P.READ_DAGS}
    assert (found.of_teams["blue"], P.EDIT_POOLS in found.of_teams["red"]) == ({P.READ_DAGS}, True)
    assert found.of_dags == {"x": {P.READ_DAGS, P.READ_LOGS}}
    assert found.limit == {P.READ_DAGS, P.READ_LOGS}
    assert P.READ_CONFIG not in found.of_teams["red"]


def test_a_role_that_is_no_more_allows_nothing() -> None:
    row = {"role": "Gone", "role_permissions": None, "teams": None, "grants": None}
    assert of_row(row) == Rights(frozenset())


@pytest.mark.parametrize("name", ["read DAGs", "read-dags", "READ_DAGS", " Read dags "])
def test_a_permission_is_known_by_its_name_however_it_is_written(name: str) -> None:
    assert checked_permissions([name, name]) == (P.READ_DAGS,)


def test_read_stands_for_all_that_only_reads() -> None:
    assert set(checked_permissions(["read"])) == READING
    assert set(checked_permissions(["read"], OF_DAGS)) == READING & OF_DAGS


def test_a_permission_that_is_not_there_or_not_to_be_given_is_refused() -> None:
    with pytest.raises(NotFoundError, match="did you mean 'read-logs'"):
        checked_permissions(["read-log"])
    with pytest.raises(InvalidRequestError, match="'manage accounts' cannot be given here"):
        checked_permissions(["manage accounts"], OF_DAGS)
    with pytest.raises(NotFoundError):
        checked_permissions(["public"])
    assert known(["public", "logged in", "no such"]) == frozenset()


def test_what_did_not_change_is_not_told() -> None:
    assert changed({"a": 1, "b": 2}, {"a": 1, "b": 3}) == {"before": {"b": 2}, "after": {"b": 3}}
    assert changed(None, {"a": 1}) == {"after": {"a": 1}}
    assert changed({"a": 1}, None) == {"before": {"a": 1}}
    assert changed(None, None) == {}
    assert masked(changed({"password": "old"}, {"password": "new"})) == {
        "before": {"password": "***"},
        "after": {"password": "***"},
    }


SECRET_NAMES = """
    password passphrase passcode db_pass api-key ACCESS_KEY private-key auth_key key_file service_account webhook_url
    client_secret token Authorization credentials extra
"""


@pytest.mark.parametrize("name", SECRET_NAMES.split())
def test_the_audit_log_hides_whatever_the_masker_of_logs_takes_for_a_secret(name: str) -> None:
    """Case F16: two lists of names drift apart."""
    assert masked({name: "canary"}) == {name: "***"}
    assert looks_secret(name) or name == "extra"
