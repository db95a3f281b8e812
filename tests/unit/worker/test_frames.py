"""Frames survive any cutting of the stream, and a broken peer is noticed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle_worker.frames import BrokenPeer, FrameBuffer, encode
from treadle_worker.protocol import MAX_FRAME

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=2), max_leaves=3
)


@given(st.lists(st.fixed_dictionaries({"kind": st.text(), "value": plain}), max_size=5), st.data())
def test_messages_arrive_whole_and_in_order_however_the_stream_is_cut(
    messages: list[dict[str, Any]], data: Any
) -> None:
    stream = b"".join(encode(message) for message in messages)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    buffer, received = FrameBuffer(), []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        received += buffer.feed(stream[start:end])
    assert received == messages


def test_a_length_beyond_the_limit_is_a_broken_peer() -> None:
    with pytest.raises(BrokenPeer, match="are allowed"):
        FrameBuffer().feed((MAX_FRAME + 1).to_bytes(4, "big"))


@pytest.mark.parametrize("body", [b"no json", b"[1]", b"{}", b"\xff", b"[" * 100_000])
def test_what_is_no_message_is_a_broken_peer(body: bytes) -> None:
    with pytest.raises(BrokenPeer):
        FrameBuffer().feed(len(body).to_bytes(4, "big") + body)


def test_a_lone_surrogate_does_not_stop_a_message() -> None:
    (message,) = FrameBuffer().feed(encode({"kind": "x", "text": "a\udc80b"}))
    assert message["text"] == "a?b"


def test_a_value_that_json_cannot_carry_is_refused_before_anything_is_sent() -> None:
    with pytest.raises(TypeError):
        encode({"kind": "x", "value": object()})


def test_a_frame_is_its_length_and_utf8_json() -> None:
    frame = encode({"kind": "x", "text": "\N{SNOWMAN}"})
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    assert json.loads(frame[4:].decode()) == {"kind": "x", "text": "\N{SNOWMAN}"}
