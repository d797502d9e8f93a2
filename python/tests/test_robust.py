"""What goes wrong around a client: threads, forks, interrupts, ends, and servers that are none."""

from __future__ import annotations

import gc
import os
import pickle
import signal
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import HUNG, finish, python, wait_gone

from minisandbox import (
    ArchiveError,
    GoneError,
    Keep,
    MinisandboxError,
    Sandbox,
    Server,
    ServerGoneError,
    UsageError,
)
from minisandbox.errors import error_of

BEGIN = """
import os, signal, sys, threading
import minisandbox
server = minisandbox.Server()
sandbox = server.create()
print(server.info().pid, flush=True)
"""


def test_threads_share_a_server(server: Server) -> None:
    def work(number: int) -> str:
        with server.create() as sandbox:
            with sandbox.start("cat", stdin_open=True, stream=True) as process:
                process.write(f"{number}", last=True)
                return "".join(chunk.text for chunk in process.output())

    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(work, range(64))) == [str(number) for number in range(64)]


def test_one_thread_reads_while_another_waits(sandbox: Sandbox) -> None:
    process = sandbox.start("seq 1 300000", stream=True)
    texts: list[str] = []
    output = process.output()
    texts.append(next(output).text)
    reader = threading.Thread(target=lambda: texts.extend(it.text for it in output))
    reader.start()
    assert process.wait().exit_code == 0
    reader.join(HUNG)
    assert "".join(texts) == "".join(f"{number}\n" for number in range(1, 300_001))


ENDS = ("", "sys.exit(3)", "raise RuntimeError", "os._exit(4)", "os.kill(os.getpid(), 9)")


def test_an_exit_without_close_leaves_no_server() -> None:
    children = [python(BEGIN + end) for end in ENDS]
    ended = [finish(child) for child in children]
    assert [code for code, _, _ in ended] == [0, 3, 1, 4, -9]
    for _, out, _ in ended:
        wait_gone(int(out))


def test_an_exit_while_threads_wait_leaves_no_server() -> None:
    script = BEGIN + (
        "threading.Thread(target=lambda: sandbox.run('sleep 1000'), daemon=True).start()\n"
        "sandbox.run('while ! pgrep -x sleep; do :; done')\n"
    )
    code, out, _ = finish(python(script))
    assert code == 0
    wait_gone(int(out.split()[0]))


def test_ctrl_c_cancels_a_call_and_the_client_works_on() -> None:
    script = BEGIN + (
        "def interrupt():\n"
        "    sandbox.run('while ! pgrep -x sleep; do :; done')\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "thread = threading.Thread(target=interrupt)\n"
        "thread.start()\n"
        "try:\n"
        "    sandbox.run('sleep 1000')\n"
        "except KeyboardInterrupt:\n"
        "    thread.join()\n"
        "    sandbox.run('while pgrep -x sleep; do :; done')\n"
        "    print('interrupted', sandbox.run('echo lives').stdout.text)\n"
    )
    code, out, err = finish(python(script))
    assert (code, err) == (0, "")
    assert out.split()[1:] == ["interrupted", "lives"]
    wait_gone(int(out.split()[0]))


def test_ctrl_c_of_a_terminal_does_not_reach_the_server() -> None:
    script = BEGIN + (
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "os.killpg(0, signal.SIGINT)\n"
        "print(sandbox.run('echo lives').stdout.text)\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    code, out, err = finish(child)
    assert (code, err) == (0, "")
    assert out.split()[1] == "lives"


def test_an_interrupt_at_any_moment_keeps_the_connection_whole() -> None:
    script = BEGIN + (
        "import random\n"
        "def on_alarm(*_): raise KeyboardInterrupt\n"
        "signal.signal(signal.SIGALRM, on_alarm)\n"
        "count = 0\n"
        "for _ in range(300):\n"
        "    try:\n"
        "        signal.setitimer(signal.ITIMER_REAL, random.random() / 200)\n"
        "        while True: sandbox.run('cat', stdin='x' * 100_000)\n"
        "    except KeyboardInterrupt:\n"
        "        count += 1\n"
        "assert sandbox.run('cat', stdin='ä' * 100_000).stdout.text == 'ä' * 100_000\n"
        "print(count)\n"
    )
    code, out, err = finish(python(script))
    assert (code, err) == (0, "")
    assert out.split()[1] == "300"


def test_a_fork_cannot_use_the_server_and_does_not_end_it() -> None:
    script = BEGIN + (
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    for work in (server.metrics, lambda: sandbox.run('true'), server.create):\n"
        "        try:\n"
        "            work()\n"
        "        except minisandbox.UsageError as error:\n"
        "            print(error)\n"
        "    assert server.close() is None\n"
        "    with minisandbox.Server() as own, own.create() as another:\n"
        "        print(another.run('echo own').stdout.text)\n"
        "    sys.exit(0)\n"
        "assert os.waitpid(pid, 0)[1] == 0\n"
        "print(sandbox.run('echo lives').stdout.text)\n"
    )
    code, out, err = finish(python(script))
    assert (code, err) == (0, "")
    lines = [line for line in out.splitlines() if line]
    assert len([line for line in lines if "Make a Server in this process" in line]) == 3
    assert lines[-2:] == ["own", "lives"]
    wait_gone(int(lines[0]))


def test_a_fork_that_lives_on_does_not_keep_the_server() -> None:
    script = BEGIN + (
        "if os.fork() == 0:\n    sys.stdin.read()\n    os._exit(0)\nos.kill(os.getpid(), 9)\n"
    )
    child = python(script)
    assert child.stdout
    pid = int(child.stdout.readline())
    assert child.wait(HUNG) == -9
    wait_gone(pid)
    finish(child)


def test_forks_in_threads_while_servers_start_and_end() -> None:
    script = (
        "import os, threading, minisandbox\n"
        "def forks():\n"
        "    for _ in range(100):\n"
        "        pid = os.fork()\n"
        "        if pid == 0: os._exit(0)\n"
        "        os.waitpid(pid, 0)\n"
        "threads = [threading.Thread(target=forks) for _ in range(4)]\n"
        "for it in threads: it.start()\n"
        "for _ in range(3):\n"
        "    with minisandbox.Server() as server:\n"
        "        server.metrics()\n"
        "for it in threads: it.join()\n"
        "print('done')\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert finish(child) == (0, "done\n", "")


def test_multiprocessing_workers_have_their_own() -> None:
    script = (
        "import multiprocessing, minisandbox\n"
        "def work(number):\n"
        "    with minisandbox.Server() as server, server.create() as sandbox:\n"
        "        return sandbox.run(['echo', str(number)]).stdout.text\n"
        "if __name__ == '__main__':\n"
        "    with minisandbox.Server() as server:\n"
        "        with multiprocessing.get_context('fork').Pool(2) as pool:\n"
        "            print(pool.map(work, range(4)))\n"
        "        server.metrics()\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert finish(child) == (0, "['0\\n', '1\\n', '2\\n', '3\\n']\n", "")


def test_other_children_inherit_no_descriptor(server: Server) -> None:
    assert server.is_open
    listed = subprocess.run(
        ["ls", "/proc/self/fd"], close_fds=False, stdout=subprocess.PIPE, text=True, check=True
    )
    link = server._connection._link
    for descriptor in (link.reads, link.writes, link.errors, server._connection._alarm.reads):
        assert os.path.lexists(f"/proc/self/fd/{descriptor}")
        assert str(descriptor) not in listed.stdout.split()


def test_a_server_leaves_no_descriptor_and_no_thread() -> None:
    def count() -> tuple[int, int]:
        return len(os.listdir("/proc/self/fd")), threading.active_count()

    with Server() as server:
        server.metrics()
    del server
    gc.collect()
    before = count()
    for _ in range(3):
        with Server() as server, server.create() as sandbox:
            sandbox.run("true")
            with sandbox.start("seq 1 3", stream=True) as process:
                assert "".join(it.text for it in process.output()) == "1\n2\n3\n"
        own = [it for it in threading.enumerate() if it is server._connection._thread]
        for thread in own:
            thread.join(HUNG)
        del server, sandbox, process
    assert count() == before


def test_a_server_that_is_killed_is_noticed_by_every_thread() -> None:
    with Server() as server:
        sandbox = server.create()
        errors: list[BaseException] = []

        def work() -> None:
            try:
                sandbox.run("sleep 1000")
            except GoneError as error:
                errors.append(error)

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        sandbox.run("while [ $(pgrep -xc sleep) -lt 8 ]; do :; done")
        os.kill(server.info().pid, signal.SIGKILL)
        for thread in threads:
            thread.join(HUNG)
        assert len({id(error) for error in errors}) == 8
        for error in errors:
            assert isinstance(error, ServerGoneError)
            assert error.exit_status == -9
            assert "with signal 9" in str(error)
            assert "serving" in error.stderr
        with pytest.raises(ServerGoneError, match="with signal 9"):
            server.create()
        assert server.close() == -9


def write_program(path: Path, script: str) -> Path:
    path.write_text(f"#!{sys.executable}\nimport json, os, sys, time\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("print('hello, I am no server', flush=True); time.sleep(1000)", "which is no JSON"),
        ("os.write(1, b'\\xff\\0\\n'); time.sleep(1000)", "which is no JSON"),
        ("print('[' * 100000, flush=True); time.sleep(1000)", "which is no JSON"),
        ("print('[1]', flush=True); time.sleep(1000)", "which is no message"),
        ("print(sys.stdin.readline(), end='', flush=True); time.sleep(1000)", "as a client does"),
        ("while True: os.write(1, b'x' * 65536)", "a line of more than"),
        (
            'print(\'{"jsonrpc":"2.0","id":7,"result":{}}\', flush=True); time.sleep(1000)',
            "an answer to no call, 7",
        ),
        (
            "print(json.dumps({'jsonrpc': '2.0', 'id': None, 'error': {'message': 'bad line'}}), "
            "flush=True); time.sleep(1000)",
            "an answer to no call, None: bad line",
        ),
        ("print('last words', file=sys.stderr); sys.exit(9)", "exit status 9\n  last words"),
        ("os.kill(os.getpid(), 11)", "signal 11"),
        ("os.close(0); os.close(1); os.close(2); time.sleep(1000)", "signal 9"),
        ('print(\'{"jsonrpc":"2.0","id":1,"result":{}}\', flush=True)', "the answer to initialize"),
    ],
)
def test_a_program_that_is_no_server_is_told_from_one(
    tmp_path: Path, script: str, said: str
) -> None:
    with pytest.raises(MinisandboxError) as caught:
        Server(write_program(tmp_path / "program", script))
    assert said in str(caught.value)


def test_a_server_that_begins_well_and_then_talks_nonsense_fails_all_calls(tmp_path: Path) -> None:
    greeting = {
        "protocol": 1,
        "server": {"name": "x", "version": "1", "pid": 1},
        "identity": "none",
        "limits": {"maxSandboxes": 1, "ttlMs": None, "idleMs": None},
    }
    script = (
        f"print(json.dumps({{'jsonrpc': '2.0', 'id': 1, 'result': {greeting!r}}}), flush=True)\n"
        "sys.stdin.readline(); sys.stdin.readline()\n"
        "print('nonsense', flush=True); time.sleep(1000)"
    )
    with Server(write_program(tmp_path / "program", script)) as server:
        with pytest.raises(ServerGoneError, match="'nonsense', which is no JSON"):
            server.metrics()
        with pytest.raises(ServerGoneError, match="nonsense"):
            server.create()


def test_large_messages_go_both_ways(server: Server, sandbox: Sandbox) -> None:
    assert server.is_open
    data = os.urandom(16 << 20)
    assert sandbox.run("cat", stdin=data, keep=Keep(16 << 20, 0)).stdout.bytes == data
    with pytest.raises(UsageError, match="the server takes"):
        sandbox.run("cat", stdin=b"\xff" * (60 << 20))
    assert sandbox.run("echo lives").stdout.text == "lives\n"


def test_errors_can_be_pickled() -> None:
    body = {
        "code": -32004,
        "message": "Cannot",
        "data": {"kind": "archive", "entry": "a", "remedy": "x"},
    }
    error = error_of(body)
    again = pickle.loads(pickle.dumps(error))
    assert isinstance(again, ArchiveError)
    assert (again.entry, again.remedy, again.code, str(again)) == ("a", "x", -32004, "Cannot")
    mine = pickle.loads(pickle.dumps(UsageError("Cannot", remedy="Do.")))
    assert (str(mine), mine.remedy) == ("Cannot. Do.", "Do.")


def test_an_error_of_a_later_server_is_an_error_of_ours() -> None:
    error = error_of({"code": -1, "message": "Cannot", "data": {"kind": "later"}})
    assert (type(error).__name__, error.kind) == ("MinisandboxError", "later")
    assert error_of({"message": "Cannot"}).kind == "internal"
