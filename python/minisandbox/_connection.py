"""One connection to a server: calls, their answers, notifications, and its end.

One thread does all reading and writing. Callers of any thread add to its queues, hold no lock, and
wait for futures: whoever is interrupted leaves nothing half done.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import itertools
import os
import select
import threading
import time
from typing import Any, Callable, NamedTuple

from . import _fork
from ._alarm import Alarm
from ._answer import Answer
from ._feed import Feed
from ._link import Link
from ._outbox import Outbox
from ._wire import GarbageError, Json, Lines, encode
from ._wire import decode as decode_line
from .errors import ServerGoneError, UsageError, error_of

#: The longest message that a server takes, unless it says otherwise.
MAX_REQUEST_BYTES = 64 << 20

#: The longest that a server sends: two streams of twice 64 MiB, as text and in base64.
_MAX_ANSWER_BYTES = 2 << 30

#: The longest until it has proved to be a server.
_MAX_GREETING_BYTES = 1 << 20

_READ_BYTES = 1 << 18

#: So much of stderr is kept.
_STDERR_BYTES = 1 << 14

#: So long a server may take to end its sandboxes before it is killed.
_CLOSE_SECONDS = 30.0

#: So long a server may live on after it has said that it ends, or is of no use.
_LOST_SECONDS = 5.0

#: Gets the result of a call.
Hear = Callable[[Any], None]


class _Call(NamedTuple):
    """A call without an answer yet."""

    answer: Answer[Any]
    prepare: Hear | None


class Connection:
    """A connection to a server, for any number of threads."""

    def __init__(self, make_link: Callable[[], Link]) -> None:
        self.max_request_bytes = MAX_REQUEST_BYTES
        self._owner = os.getpid()
        self._ids = itertools.count(1)
        self._calls: dict[int, _Call] = {}
        self._outbox = Outbox()
        self._feeds: dict[tuple[str, Any], Feed[Json]] = {}
        #: What came for streams whose start is not answered yet.
        self._early: dict[tuple[str, Any], list[Json]] = {}
        self._starting: set[int] = set()
        self._lines = Lines(_MAX_GREETING_BYTES)
        self._stderr = bytearray()
        self._gone: Callable[[], ServerGoneError] | None = None
        self._must_close = False
        self._must_kill = False
        self._has_exited = False
        self._ended: Answer[int | None] = Answer()
        self._poll = select.poll()
        with _fork.making:
            self._alarm = Alarm()
            self._link = make_link()
            _fork.remember(self)
        self._thread = threading.Thread(target=self._run, name="minisandbox", daemon=True)
        try:
            self._link.watch(self._on_exit)
            self._thread.start()
        except BaseException:
            if self._thread.ident is not None:
                self.kill()
            else:
                self._link.kill()
                self.abandon()
                _fork.forget(self)
            raise

    @property
    def name(self) -> str:
        """How messages call the server."""
        return self._link.name

    @property
    def stderr(self) -> str:
        """The last that the server said on stderr."""
        return bytes(self._stderr).decode(errors="replace")

    @property
    def is_open(self) -> bool:
        """Whether calls can be made."""
        return self._gone is None and not self._must_close and self._owner == os.getpid()

    def full(self) -> Answer[None] | None:
        """Gives what to wait for before the next call, or None if there is room."""
        if not self._outbox.is_full or self._gone is not None:
            return None
        answer = self._outbox.room()
        self._wake()
        return answer

    def call(
        self,
        method: str,
        params: Json,
        *,
        stranded: Hear | None = None,
        prepare: Hear | None = None,
    ) -> Answer[Any]:
        """Makes a call. Whoever gives up its answer cancels it.

        Args:
            method: Its method.
            params: Its params.
            stranded: Gets the result if nobody waits for it any more.
            prepare: Gets the result first, before anything else that the server says is heard.

        Raises:
            UsageError: If it cannot be sent, or this is a child of the connection's process.
            ServerGoneError: If the server has gone.
        """
        self.check()
        number = next(self._ids)
        data = encode({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        if len(data) > self.max_request_bytes:
            raise UsageError(
                f"Cannot call {method}: the call has {len(data)} bytes, "
                f"and the server takes {self.max_request_bytes}",
                remedy="Write much data in parts, or by a file.",
            )
        answer: Answer[Any] = Answer(lambda: self._cancel(number), stranded)
        self._calls[number] = _Call(answer, prepare)
        if prepare is not None:
            self._starting.add(number)
        try:
            self._outbox.add(data)
            self._wake()
            self.check()  # or nobody would answer
        except BaseException:
            answer.give_up()
            raise
        return answer

    def notify(self, method: str, params: Json) -> None:
        """Says something that has no answer, unless the server has gone."""
        if self.is_open:
            self._outbox.add(encode({"jsonrpc": "2.0", "method": method, "params": params}))
            self._wake()

    def subscribe(self, method: str, key: Any, feed: Feed[Json]) -> None:
        """Puts the notifications of one stream into a feed, those too that have come already."""
        self._feeds[method, key] = feed
        for params in self._early.pop((method, key), []):
            feed.put(params)
        if self._gone is not None:
            feed.close()

    def unsubscribe(self, method: str, key: Any) -> None:
        """Drops what comes from now on."""
        self._feeds.pop((method, key), None)

    def close(self) -> Answer[int | None]:
        """Ends the connection, and the server if it is a child; gives its exit status.

        Each call of it has an answer of its own. In a child of a fork it does nothing.
        """
        done: Answer[int | None] = Answer()
        if self._owner != os.getpid():
            done.settle(None)
            return done
        self.close_soon()
        self._ended.when_done(lambda: done.settle(self._ended.result()))
        return done

    def close_soon(self) -> None:
        """Begins to end it, from wherever it is called, a garbage collection too."""
        self._must_close = True
        self._wake()

    def kill(self) -> None:
        """Ends the server at once, and all that runs in its sandboxes."""
        self._must_kill = True
        self.close_soon()

    def abandon(self) -> None:
        """Lets go of it in a child of a fork."""
        self._link.close()
        self._link.close_errors()
        self._alarm.close()

    def check(self) -> None:
        """Checks that calls can be made.

        Raises:
            UsageError: If this is a fork of the process that has it.
            ServerGoneError: If the server has gone, or the connection was closed.
        """
        if self._owner != os.getpid():
            raise UsageError(
                f"Cannot use the server {self.name}: process {self._owner} has it, "
                f"and this is a fork of that, {os.getpid()}",
                remedy="Make a Server in this process.",
            )
        if self._gone is not None:
            raise self._gone()
        if self._must_close:
            raise ServerGoneError(f"Cannot use the server {self.name}: it was closed")

    def _wake(self) -> None:
        if self._owner == os.getpid():
            self._alarm.ring()

    def _cancel(self, number: int) -> None:
        if number in self._calls:
            self.notify("$/cancelRequest", {"id": number})

    def _on_exit(self) -> None:
        self._has_exited = True
        self._wake()

    # What follows is done by the thread of this connection alone.

    def _run(self) -> None:
        link = self._link
        try:
            why = self._serve()
        except GarbageError as garbage:
            why = f"Cannot understand the server {link.name}: {garbage}"
            link.kill()
        except Exception as error:  # noqa: BLE001 - whoever waits must hear of it
            why = f"Cannot go on with the server {link.name}: {error!r}"
            link.kill()
        if self._must_close:
            why = f"Cannot use the server {link.name}: it was closed"
            self._lose(functools.partial(ServerGoneError, why))
        status = self._see_off(_CLOSE_SECONDS if self._must_close else _LOST_SECONDS)
        self._lose(functools.partial(_gone_error, why, status, self.stderr.strip()))
        _fork.forget(self)
        self._ended.settle(status)

    def _serve(self) -> str:
        """Reads and writes until that is over, and tells why it is."""
        link = self._link
        gone = f"Cannot use the server {link.name}: it has ended"
        assert link.reads is not None  # noqa: S101 - it is closed by this thread, later
        self._poll.register(self._alarm.reads, select.POLLIN)
        if link.errors is not None:
            self._poll.register(link.errors, select.POLLIN)
        while not self._must_close:
            self._await_writing(link.reads)
            ready = dict(self._poll.poll(_LOST_SECONDS * 1000 if self._outbox.is_deaf else None))
            if not ready:
                return gone
            self._hear(ready)
            # What an ended server has said is heard to the end: then its pipe has no more.
            if (ready.get(link.reads, 0) & ~select.POLLOUT) and not self._read(link.reads):
                return gone
            if self._has_exited and not _has_more(link.reads):
                return gone
        return gone

    def _await_writing(self, reads: int) -> None:
        """Writes what can be written, and has the rest waited for, beside what is read."""
        writes = self._link.writes
        if writes is None:
            return
        self._outbox.write(writes)
        events = select.POLLOUT if self._outbox.has_more else 0
        if writes == reads:
            self._poll.register(reads, select.POLLIN | events)
            return
        self._poll.register(reads, select.POLLIN)
        if events:
            self._poll.register(writes, events)
        else:
            with contextlib.suppress(KeyError):
                self._poll.unregister(writes)

    def _hear(self, ready: dict[int, int]) -> None:
        """Takes what is no message: that there is something to do, and what stderr says."""
        if self._alarm.reads in ready:
            self._alarm.hush()
        errors = self._link.errors
        if errors is None or errors not in ready:
            return
        data = os.read(errors, _READ_BYTES)
        self._stderr += data
        del self._stderr[:-_STDERR_BYTES]
        if not data:
            self._poll.unregister(errors)
            self._link.close_errors()

    def _read(self, descriptor: int) -> bool:
        try:
            data = os.read(descriptor, _READ_BYTES)
        except BlockingIOError:
            return True
        except OSError:
            return False
        for line in self._lines.push(data):
            self._take(decode_line(line))
        return bool(data)

    def _take(self, message: Json) -> None:
        if "id" in message and "method" not in message:
            self._answer(message)
        elif isinstance(message.get("params"), dict) and "id" not in message:
            self._notified(str(message.get("method")), message["params"])
        else:
            raise GarbageError("it sent a request, as a client does")

    def _answer(self, message: Json) -> None:
        number = message["id"]
        call = self._calls.pop(number, None) if isinstance(number, int) else None
        if call is None:
            error = message.get("error")
            said = error.get("message") if isinstance(error, dict) else "no error"
            raise GarbageError(f"it sent an answer to no call, {number!r}: {said}")
        self._lines.max_bytes = _MAX_ANSWER_BYTES
        if isinstance(message.get("error"), dict):
            call.answer.fail(error_of(message["error"]))
        elif "result" in message:
            if call.prepare is not None:
                call.prepare(message["result"])
            call.answer.settle(message["result"])
        else:
            raise GarbageError("it sent an answer without a result")
        self._starting.discard(number)
        if not self._starting:
            self._early.clear()

    def _notified(self, method: str, params: Json) -> None:
        key = params.get("process", params.get("token"))
        feed = self._feeds.get((method, key))
        if feed is not None:
            feed.put(params)
        elif self._starting:
            self._early.setdefault((method, key), []).append(params)

    def _lose(self, error: Callable[[], ServerGoneError]) -> None:
        """Tells everybody that there is no server; the first reason stands."""
        if self._gone is None:
            self._gone = error
        while self._calls:
            with contextlib.suppress(KeyError):
                self._calls.popitem()[1].answer.fail(self._gone())
        for feed in list(self._feeds.values()):
            feed.close()
        self._outbox.wake()

    def _see_off(self, seconds: float) -> int | None:
        """Closes it, and waits until a child has ended, and has been heard; then its status."""
        link = self._link
        for descriptor in {link.reads, link.writes}:
            with contextlib.suppress(KeyError, TypeError):
                self._poll.unregister(descriptor)  # type: ignore[arg-type]
        link.close()
        if link.process is None:
            return None
        deadline = time.monotonic() + seconds
        while not self._has_exited:
            left = deadline - time.monotonic()
            if left <= 0 or self._must_kill:
                link.kill()
                left = _LOST_SECONDS
            self._hear(dict(self._poll.poll(left * 1000)))
        # What it started may hold its stderr open: it is read as far as it goes now.
        while link.errors is not None and _has_more(link.errors):
            self._hear({link.errors: select.POLLIN})
        link.close_errors()
        return link.process.wait()


def _gone_error(why: str, status: int | None, said: str) -> ServerGoneError:
    how = "" if status is None else f", with {_described(status)}"
    lines = "".join(f"\n  {line}" for line in said.splitlines()[-5:])
    error = ServerGoneError(f"{why}{how}{lines}")
    error.exit_status = status
    error.stderr = said
    return error


def _has_more(descriptor: int) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return any(events & select.POLLIN for _, events in poll.poll(0))


def _described(status: int) -> str:
    return f"signal {-status}" if status < 0 else f"exit status {status}"


def _close_all() -> None:
    """Ends every server when the interpreter does: all at once, then they are waited for."""
    closing = [it.close() for it in _fork.known() if isinstance(it, Connection)]
    for answer in closing:
        answer.wait()


atexit.register(_close_all)
