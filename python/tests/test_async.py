"""The client for tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest
from conftest import HUNG, wait_gone

from minisandbox import (
    AsyncSandbox,
    AsyncServer,
    Keep,
    NotFoundError,
    Server,
    ServerGoneError,
    TimedOutError,
)


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 2 * HUNG))


def test_many_commands_run_at_once() -> None:
    async def work() -> None:
        async with AsyncServer() as server, await server.create() as sandbox:
            runs = [sandbox.run(["echo", str(number)]) for number in range(100)]
            results = await asyncio.gather(*runs)
            assert [it.stdout.text for it in results] == [f"{number}\n" for number in range(100)]
            pid = (await server.info()).pid
        assert await server.close() == 0
        wait_gone(pid)

    run(work())


def test_many_sandboxes_live_at_once_and_do_not_see_each_other() -> None:
    async def own(server: AsyncServer, number: int) -> str:
        async with await server.create() as sandbox:
            await sandbox.run(f"echo {number} >> /tmp/it")
            return (await sandbox.run("cat /tmp/it")).stdout.text

    async def work() -> None:
        async with AsyncServer() as server:
            texts = await asyncio.gather(*(own(server, number) for number in range(32)))
            assert texts == [f"{number}\n" for number in range(32)]
            assert await server.sandboxes() == []

    run(work())


async def is_over(sandbox: AsyncSandbox) -> None:
    """Waits until no program of it runs."""
    while (await sandbox.run("pgrep -x sleep")).exit_code == 0:
        await asyncio.sleep(0)


def test_a_task_that_is_cancelled_ends_its_program() -> None:
    async def work() -> None:
        async with AsyncServer() as server, await server.create() as sandbox:
            task = asyncio.create_task(sandbox.run("echo > /tmp/ready; sleep 1000"))
            while (await sandbox.run("test -e /tmp/ready")).exit_code != 0:
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await is_over(sandbox)
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(sandbox.run("sleep 1000"), 0.3)
            await is_over(sandbox)
            assert (await sandbox.run("echo lives")).stdout.text == "lives\n"

    run(work())


def test_a_sandbox_for_a_cancelled_task_is_closed() -> None:
    async def work() -> None:
        async with AsyncServer() as server:
            for turns in range(12):
                task = asyncio.create_task(server.create())
                for _ in range(turns):
                    await server.sandboxes()
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                if not task.cancelled():
                    await task.result().close()
            while await server.sandboxes():
                await asyncio.sleep(0)

    run(work())


def test_a_program_of_a_cancelled_task_is_ended() -> None:
    async def work() -> None:
        async with AsyncServer() as server, await server.create() as sandbox:
            for turns in range(6):
                task = asyncio.create_task(sandbox.start("sleep 1000", stream=True))
                for _ in range(turns):
                    await server.sandboxes()
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                if not task.cancelled():
                    await task.result().kill()
            await is_over(sandbox)

    run(work())


def test_output_is_read_and_input_written() -> None:
    async def work() -> None:
        async with AsyncServer() as server, await server.create() as sandbox:
            async with await sandbox.start(
                "while read x; do echo got $x; done", stream=True, stdin_open=True
            ) as process:
                texts = []
                await process.write("1\n")
                async for chunk in process.output():
                    texts.append(chunk.text)
                    if len(texts) < 5:
                        await process.write(f"{len(texts) + 1}\n", last=len(texts) == 4)
                assert texts == [f"got {number}\n" for number in range(1, 6)]
                assert (await process.wait()).exit_code == 0

    run(work())


def test_slow_readers_do_not_hold_up_others() -> None:
    async def work() -> None:
        async with AsyncServer() as server, await server.create() as sandbox:
            keep = Keep(head_bytes=0, tail_bytes=0)
            slow = await sandbox.start("yes", stream=True, keep=keep, max_output_bytes=10_000_000)
            output = slow.output()
            await output.__anext__()
            for number in range(20):
                assert (await sandbox.run(["echo", str(number)])).stdout.text == f"{number}\n"
            total = 0
            async for chunk in output:
                total += len(chunk.bytes)
            result = await slow.wait()
            assert result.outcome.kind == "outputLimit"
            assert result.stdout.total_bytes == 10_000_000 > total

    run(work())


def test_whoever_stops_reading_and_waits_does_not_wait_for_ever() -> None:
    async def work() -> None:
        async with AsyncServer() as server, await server.create() as sandbox:
            script = "head -c 5000000 /dev/zero | tr '\\0' x"
            process = await sandbox.start(script, stream=True)
            async for _ in process.output():
                break
            assert (await process.wait()).stdout.total_bytes == 5_000_000

    run(work())


def test_a_server_that_dies_is_noticed_by_all_who_wait() -> None:
    async def work() -> None:
        server = AsyncServer()
        sandbox = await server.create()
        process = await sandbox.start("echo x; sleep 1000", stream=True)
        output = process.output()
        await output.__anext__()
        tasks = [asyncio.create_task(sandbox.run("sleep 1000")) for _ in range(5)]
        tasks.append(asyncio.create_task(process.wait()))
        await sandbox.run("true")
        server._connection._link.kill()
        with pytest.raises(ServerGoneError):
            await output.__anext__()
        for error in await asyncio.gather(*tasks, return_exceptions=True):
            assert isinstance(error, ServerGoneError)
            assert error.exit_status == -9
            assert "serving" in error.stderr
        await server.close()

    run(work())


def test_an_answer_that_is_late_is_given_up() -> None:
    async def work() -> None:
        async with AsyncServer(reply_timeout=30) as server, await server.create() as sandbox:
            process = await sandbox.start("sleep 1000")
            server.reply_timeout = 0.2
            with pytest.raises(TimedOutError, match="no answer"):
                await process._call("process.wait", {})
            server.reply_timeout = None

    run(work())


def test_a_client_of_another_loop_works_in_each(server: Server) -> None:
    shared = AsyncServer()

    async def once() -> None:
        async with await shared.create() as sandbox:
            assert (await sandbox.run("echo hi")).stdout.text == "hi\n"

    run(once())
    run(once())

    async def end() -> None:
        await shared.close()

    run(end())
    assert server.is_open


def test_errors_are_those_of_the_other_client() -> None:
    async def work() -> None:
        with pytest.raises(NotFoundError):
            AsyncServer("/none")
        server = AsyncServer(options=["--bad"])
        with pytest.raises(ServerGoneError, match="bad"):
            await server.create()
        with pytest.raises(NotFoundError):
            AsyncServer.connect("/none")

    run(work())
