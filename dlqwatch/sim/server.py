"""The base of the scripted services: HTTP on loopback, a request log, faults, waiting, control.

`wire.py` speaks HTTP; this keeps what is scripted and what was seen.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from threading import Condition, RLock
from types import TracebackType
from typing import Any, Self

from dlqwatch.model import Clock
from dlqwatch.sim.clocks import SystemClock
from dlqwatch.sim.faults import MAKERS, Fault
from dlqwatch.sim.wire import CONTROL, Answer, Listener, Request


@dataclass(slots=True)
class _Script:
    fault: Fault
    times: int | None
    when: Callable[[Request], bool]


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


class SimServer:
    """A scripted service on 127.0.0.1. A context manager; `start()` and `close()` by hand.

    A subclass answers in `answer` (called under the lock), says its own words for a bare status
    in `words`, and adds control actions in `act`.
    """

    def __init__(self, clock: Clock | None = None, *, port: int = 0) -> None:
        self.clock: Clock = clock if clock is not None else SystemClock()
        self.requests: list[Request] = []
        self.crashes: list[Exception] = []  # faults of the sim itself; `close` raises the first
        self._lock = RLock()
        self._changed = Condition(self._lock)
        self._scripts: list[_Script] = []
        self._listener: Listener | None = None
        self._port = port

    # -- life

    def start(self) -> Self:
        """Listen; the same port each time. Does nothing when it listens already."""
        if self._listener is None:
            self._listener = Listener(self, self._port)
            self._port = self._listener.server_port
            self._listener.run()
        return self

    def refuse(self) -> None:
        """Stop listening and drop every connection: what comes now is refused, until `start`.

        What is stored stays. `heal` listens again too.
        """
        listener, self._listener = self._listener, None
        if listener is not None:
            listener.end()

    def close(self) -> None:
        """End every connection and thread, those that hang or drip included."""
        self.refuse()
        if self.crashes:
            raise RuntimeError("the simulation itself failed") from self.crashes[0]

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self.close()
        else:  # the test's own error is the better one to show
            self.refuse()

    @property
    def url(self) -> str:
        """`http://127.0.0.1:PORT`; it must have been started once."""
        if self._port == 0:
            raise RuntimeError("the simulation has no address yet: call start() first")
        return f"http://127.0.0.1:{self._port}"

    # -- scripting

    def fail(
        self,
        fault: Fault,
        times: int | None = None,
        when: Callable[[Request], bool] = lambda _request: True,
    ) -> None:
        """Misbehave for the next `times` requests that `when` accepts; None: until `heal`.

        Faults are used up in the order they were given.
        """
        with self._changed:
            self._scripts.append(_Script(fault, times, when))

    def heal(self) -> None:
        """Forget every fault and listen. What hangs already goes on hanging."""
        with self._changed:
            self._scripts.clear()
        self.start()

    def wait_for(self, condition: Callable[[], bool], timeout_s: float = 10.0) -> bool:
        """Wait until `condition` holds; False when it never did.

        It is looked at again after each request and change of *this* server, with this server's
        lock held; nothing polls.
        """
        with self._changed:
            return self._changed.wait_for(condition, timeout_s)

    # -- for a subclass

    def answer(self, request: Request) -> Answer:
        """The true answer, and its effect."""
        raise NotImplementedError

    def words(self, code: int, request: Request) -> Answer:
        """What this service itself says with a bare status."""
        raise NotImplementedError

    def act(self, method: str, action: str, args: dict[str, Any]) -> Any:
        """One control action. Raises LookupError, TypeError or ValueError for a bad one."""
        if (method, action) == ("POST", "fail"):
            times = args.pop("times", None)
            path = args.pop("path", "")
            maker = MAKERS[args.pop("fault")]
            self.fail(maker(**args), times, lambda request: path in request.path)
            return {}
        if (method, action) == ("POST", "heal"):
            self.heal()
            return {}
        if (method, action) == ("GET", "requests"):
            return [
                {
                    "method": r.method,
                    "path": r.path,
                    "at": r.at,
                    "body": r.body.decode("utf-8", "replace"),
                }
                for r in self.requests
            ]
        raise LookupError(f"no control action {method} {CONTROL}{action}")

    # -- for the wire

    def arrived(self, request: Request) -> Fault | None:
        """Note a request; the fault it meets, if any."""
        with self._changed:
            self.requests.append(request)
            self._changed.notify_all()
            for script in self._scripts:
                if script.when(request):
                    if script.times is not None:
                        script.times -= 1
                        if script.times <= 0:
                            self._scripts.remove(script)
                    return script.fault
        return None

    def carried_out(self, request: Request) -> Answer:
        """The true answer, with its effect. A fault of the sim itself is kept and answers 500."""
        with self._changed:
            try:
                return self.answer(request)
            except Exception as error:
                self.crashes.append(error)
                return Answer.text(f"the simulation itself failed: {error!r}", 500)
            finally:
                self._changed.notify_all()

    def controlled(self, request: Request) -> Answer:
        """The answer to a control request; `curl -d n=3` and `curl -d '{"n": 3}'` both do."""
        sent = request.json
        args = sent if isinstance(sent, dict) else {k: _value(v) for k, v in request.args.items()}
        with self._changed:
            try:
                done = self.act(request.method, request.path.removeprefix(CONTROL), args)
            except (LookupError, TypeError, ValueError) as error:
                return Answer.of({"error": str(error)}, 400)
            finally:
                self._changed.notify_all()
        return Answer.of(done)
