"""The loop's end of the conversation with its parent, when that is gone."""

from __future__ import annotations

import asyncio
import socket

from treadle_triggerer.channel import Channel


def test_a_parent_that_was_killed_before_the_first_word_holds_up_no_end() -> None:
    """The write finds it gone, and what is sent after would be waited for for ever."""

    async def serve() -> None:
        loop = asyncio.get_running_loop()
        parents, ours = socket.socketpair()
        parents.close()
        over: asyncio.Future[None] = loop.create_future()

        def end() -> None:
            if not over.done():
                over.set_result(None)

        with ours:
            channel = Channel(ours, loop, lambda _: None, end)
            channel.send({"kind": "tick"})
            await over
            channel.send({"kind": "stopped"})
            await asyncio.wait_for(channel.flush(), 5)

    asyncio.run(serve())
