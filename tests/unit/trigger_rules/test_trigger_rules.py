"""Trigger rules against a slow oracle over explicit lists of states, and against the published table."""

from __future__ import annotations

import timeit
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.trigger_rules import (
    RULES,
    TriggerRule,
    UnknownTriggerRule,
    UpstreamCounts,
    evaluate,
    truth_table,
)

DONE = ("success", "failed", "skipped", "upstream_failed", "removed")
UNFINISHED = ("none", "scheduled", "queued", "running", "up_for_retry", "deferred")
PAGE = Path(__file__).parents[3] / "docs" / "reference" / "trigger-rules.md"


def counts_of(states: list[str]) -> UpstreamCounts:
    tally = Counter(states)
    done = {state: tally[state] for state in DONE}
    return UpstreamCounts(total=len(states), done=sum(done.values()), **done)


def action(rule: str, *states: str) -> str:
    return evaluate(rule, counts_of(list(states))).action


def goal_met(rule: str, ends: list[str]) -> str:  # noqa: C901
    """Decide for a list in which every state is final, word by word from the rule's definition."""
    ends = [end for end in ends if end != "removed"]
    bad = [end for end in ends if end in ("failed", "upstream_failed")]
    won = [end for end in ends if end == "success"]
    skipped = [end for end in ends if end == "skipped"]
    none_won = "upstream_fail" if bad else "skip"
    match rule:
        case "all_success":
            return "upstream_fail" if bad else "skip" if skipped else "run"
        case "all_failed":
            return "run" if len(bad) == len(ends) else "skip"
        case "all_done" | "always" | "all_done_setup_success":
            return "run"
        case "all_done_min_one_success":
            return "skip" if skipped else "run" if won else none_won
        case "one_success":
            return "run" if won else none_won
        case "one_failed":
            return "run" if bad else "skip"
        case "one_done":
            return "run" if won or "failed" in ends else "skip"
        case "none_failed":
            return "upstream_fail" if bad else "run"
        case "none_failed_min_one_success":
            return "upstream_fail" if bad else "run" if won else "skip"
        case "none_skipped":
            return "skip" if skipped else "run"
        case _:
            return "run" if len(skipped) == len(ends) else "skip"


def futures(states: list[str]) -> list[list[str]]:
    """Return every way in which the unfinished states of the list may end."""
    lists: list[list[str]] = [[]]
    for state in states:
        ends = DONE if state in UNFINISHED else (state,)
        lists = [[*known, end] for known in lists for end in ends]
    return lists


@given(rule=st.sampled_from(RULES), states=st.lists(st.sampled_from(DONE), max_size=6))
def test_a_finished_list_is_decided_as_the_definition_says(rule: str, states: list[str]) -> None:
    expected = goal_met(rule, states) if states else "run"
    assert action(rule, *states) == expected


@given(rule=st.sampled_from(RULES), states=st.lists(st.sampled_from(DONE + UNFINISHED), max_size=4))
def test_an_early_verdict_never_contradicts_any_future(rule: str, states: list[str]) -> None:
    """A task may start early, or end early, only if the rule's word on this point is already certain."""
    verdict = action(rule, *states)
    possible = {goal_met(rule, future) for future in futures(states)} if states else {"run"}
    if verdict == "run":
        assert "run" in possible
        assert possible == {"run"}
    elif verdict in ("skip", "upstream_fail"):
        assert "run" not in possible
    else:
        assert set(states) & set(UNFINISHED)


@given(rule=st.sampled_from(RULES), states=st.lists(st.sampled_from(DONE + UNFINISHED), max_size=6))
def test_removed_instances_count_as_absent_while_others_are_left(rule: str, states: list[str]) -> None:
    kept = [state for state in states if state != "removed"]
    if kept:
        assert action(rule, *states) == action(rule, *kept)


@given(rule=st.sampled_from(RULES), states=st.lists(st.sampled_from(DONE), min_size=1, max_size=5))
def test_a_task_never_waits_once_all_upstream_is_done(rule: str, states: list[str]) -> None:
    assert action(rule, *states) != "wait"


def test_one_success_tells_failed_from_skipped_when_nothing_succeeded() -> None:
    """Case A34."""
    assert action("one_success", "failed", "skipped") == "upstream_fail"
    assert action("one_success", "upstream_failed", "skipped") == "upstream_fail"
    assert action("one_success", "skipped", "skipped") == "skip"


def test_none_failed_min_one_success_is_not_met_when_all_are_skipped_or_removed() -> None:
    """Case A32."""
    assert action("none_failed_min_one_success", "skipped", "skipped") == "skip"
    assert action("none_failed_min_one_success", "skipped", "removed") == "skip"
    assert action("none_failed_min_one_success", "removed", "removed") == "skip"
    assert action("none_failed_min_one_success", "removed", "success") == "run"


@pytest.mark.parametrize("rule", ["all_skipped", "one_success", "all_done"])
def test_upstream_failed_is_treated_as_failed(rule: str) -> None:
    """Case A34."""
    for other in (*DONE, "running"):
        assert action(rule, "failed", other) == action(rule, "upstream_failed", other)


STATES = st.sampled_from(DONE + UNFINISHED)


@given(setups=st.lists(STATES, max_size=4), others=st.lists(STATES, max_size=4))
def test_a_teardown_waits_for_all_and_runs_if_there_was_something_to_tear_down(
    setups: list[str], others: list[str]
) -> None:
    found = setup_action(setups, others)
    ended = [one for one in setups if one != "removed"]
    if set(setups + others) & set(UNFINISHED):
        assert found == "wait"
    elif not ended or "success" in ended:
        assert found == "run"
    else:
        assert found == ("skip" if set(ended) == {"skipped"} else "upstream_fail")


def test_the_reason_of_a_teardown_that_does_not_run_names_its_setups() -> None:
    verdict = evaluate("all_done_setup_success", with_setups(["failed", "upstream_failed", "skipped"], ["success"]))
    assert verdict.reason == (
        "upstream_failed: of 4 upstream: 1 succeeded, 2 failed, 1 skipped; of the setups: 2 failed, 1 skipped, but "
        "all must finish, and of the setups among them at least one must succeed (all_done_setup_success)"
    )


def with_setups(setups: list[str], others: list[str]) -> UpstreamCounts:
    counts, tally = counts_of(setups + others), Counter(setups)
    counts.setups_total = len(setups)
    counts.setups_success, counts.setups_skipped = tally["success"], tally["skipped"]
    counts.setups_failed = tally["failed"] + tally["upstream_failed"]
    return counts


def setup_action(setups: list[str], others: list[str]) -> str:
    return evaluate("all_done_setup_success", with_setups(setups, others)).action


def test_fast_rules_do_not_wait_for_the_others() -> None:
    assert action("one_success", "success", "running") == "run"
    assert action("one_failed", "failed", "running") == "run"
    assert action("one_done", "failed", "running") == "run"
    assert action("always", "running", "running") == "run"
    assert action("none_failed", "failed", "running") == "upstream_fail"
    assert action("all_success", "skipped", "running") == "skip"


@pytest.mark.parametrize(
    ("rule", "states", "reason"),
    [
        (
            "all_success",
            ["success", "running", "none"],
            "waits for 2 of 3 upstream tasks: all must succeed (all_success)",
        ),
        ("all_success", ["none"], "waits for 1 of 1 upstream task: all must succeed (all_success)"),
        (
            "none_failed",
            ["failed", "running"],
            "upstream_failed: of 2 upstream: 1 failed, 1 unfinished, but all must finish, none may fail (none_failed)",
        ),
        (
            "one_success",
            ["removed"],
            "skipped: every upstream instance was removed, but one must succeed (one_success)",
        ),
        ("all_done", [], "has no upstream tasks"),
        ("always", ["running"], "starts at once, whatever the upstream tasks do"),
    ],
)
def test_the_reason_says_what_is_missing(rule: str, states: list[str], reason: str) -> None:
    assert evaluate(rule, counts_of(states)).reason == reason


def test_an_unknown_rule_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(UnknownTriggerRule, match=r"'al_success'; did you mean 'all_success'"):
        evaluate("al_success", UpstreamCounts(total=1))


def test_the_enum_and_the_table_name_the_same_rules() -> None:
    assert tuple(TriggerRule) == RULES
    assert action(TriggerRule.ONE_DONE, "success") == "run"


def test_the_published_table_is_the_one_that_is_applied() -> None:
    """Regenerate with ``python -m treadle.trigger_rules > docs/reference/trigger-rules.md``."""
    assert PAGE.read_text() == truth_table()


def test_a_verdict_costs_about_a_microsecond() -> None:
    """Bounded loosely, for a busy machine: a decision is made for each task that might start."""
    counts = counts_of(["success", "running", "failed"])
    best = min(timeit.repeat(lambda: evaluate("all_done", counts), number=5_000, repeat=5)) / 5_000
    assert best < 20e-6
