"""Builds the daemon from its parts, runs it, and ends it within bounds."""

from __future__ import annotations

import logging
import os
import secrets
import signal
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler

from dlqwatch import __version__
from dlqwatch.config.settings import Settings
from dlqwatch.daemon import logs, opening, watchdog
from dlqwatch.daemon.auditing import Auditor
from dlqwatch.daemon.courier import Courier
from dlqwatch.daemon.heart import Heart
from dlqwatch.daemon.polling import Poller
from dlqwatch.daemon.publishing import FIRST_MS, TICK_MS, Counter
from dlqwatch.daemon.rhythm import Steadily
from dlqwatch.decide.inputs import Started
from dlqwatch.decide.starting import started_facts
from dlqwatch.decide.world import Plan, World
from dlqwatch.edges.clock import SystemClock
from dlqwatch.edges.cloudflare import Cloudflare
from dlqwatch.edges.heartbeat import Receiver
from dlqwatch.edges.http import Http
from dlqwatch.edges.lockfile import Lock, Pulse
from dlqwatch.edges.speakers import speaker
from dlqwatch.edges.store import Remembered
from dlqwatch.edges.store_keeper import Keeper
from dlqwatch.edges.telemetry import Telemetry
from dlqwatch.engine import Engine
from dlqwatch.errors import DlqwatchError, LockHeld, NewerSchema
from dlqwatch.model import Clock
from dlqwatch.words.en_itself import start_line

log = logging.getLogger("dlqwatch")

EXIT_STALLED = 70  # EX_SOFTWARE: the restart policy brings it back
END_S = 4.0  # of the 5 s that a stop may take
LOCK_TRIES, LOCK_WAIT_S = 5, 0.1
SOON_S = 0.2
AUDIT = "the audit of"
AUDIT_AFTER_MS = 2_000  # the first poll finds the queue and goes first
PUBLISHING = "counting failures to publish"  # no queue can have this name


def run(settings: Settings, *, log_style: str, log_level: str) -> int:
    """The daemon, until SIGTERM or SIGINT (exit 0) or until it stalls (exit 70)."""
    logs.set_up(log_style, log_level, settings.secrets)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    clock = SystemClock()
    path = Path(settings.database.path)
    lock = take_lock(path, clock)
    try:
        keeper = Keeper(path, clock, lock.pulse.last_ids)
        remembered = opening.remembered(keeper, clock, stop)
        if remembered is None:
            lock.give_back()
            return 0
        daemon = Daemon(settings, clock, lock, keeper, remembered)
    except NewerSchema as error:
        opening.tell_newer(error, lock, opening.posts(settings, clock), clock)
        lock.give_back()
        raise
    except DlqwatchError:  # it never ran: how the last one ended is still to be told
        lock.give_back()
        raise
    why: str | None = "it failed"
    try:
        why = daemon.run(stop)
    finally:
        finished = daemon.end(clean=why is None)
    code = 0 if why is None else EXIT_STALLED
    log.info("dlqwatch ended")
    if not finished:  # a thread that hangs in a call must not hold up the end
        logging.shutdown()
        os._exit(code)
    return code


def take_lock(database: Path, clock: Clock) -> Lock:
    """The lock, if need be after a moment: `health` and `status` touch it when they look.

    Raises LockHeld while another daemon has it.
    """
    for _ in range(LOCK_TRIES):
        try:
            return Lock(database, now=clock.now(), monotonic=clock.monotonic())
        except LockHeld:
            time.sleep(LOCK_WAIT_S)
    return Lock(database, now=clock.now(), monotonic=clock.monotonic())


class Daemon:
    """The running parts: one poller a queue, one courier a destination, one engine."""

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        lock: Lock,
        keeper: Keeper,
        remembered: Remembered,
    ) -> None:
        self._clock = clock
        self._lock = lock
        self._stop = threading.Event()
        plan = plan_of(settings)
        world = World(plan, remembered.last_ids)
        world.load(remembered.rows)
        self._http = Http()
        self._engine = Engine(world, keeper, clock, wake=self._wake)
        self._couriers: list[Courier] = []
        host = socket.gethostname()
        begun = started_after(lock.before, secrets.token_hex(4), host)
        unsure = begun.journal_behind or keeper.forgot
        self._engine.submit(replace(begun, journal_behind=unsure))
        log.info("%s", start_line(started_facts(plan, host)))
        self._couriers = [
            Courier(
                self._engine,
                destination,
                speaker(settings, destination.name, self._http.ssl_context, clock),
                clock,
                dashboard_url=dashboard_url(settings.cloudflare.account_id),
            )
            for destination in plan.destinations
        ]
        self._threads = [
            threading.Thread(target=c.run, args=(self._stop,), name="courier", daemon=True)
            for c in self._couriers
        ]
        self._heart = Heart(self._engine, settings.heartbeat, Receiver(self._http), clock)
        # not waited for at the end: a receiver that hangs has nothing to lose
        self._beating = threading.Thread(
            target=self._heart.run, args=(self._stop,), name="heart", daemon=True
        )
        rules = tuple(plan.queues.values())
        timeout_s = settings.cloudflare.timeout / 1000
        cloudflare = Cloudflare(
            base_url=settings.cloudflare.api_base_url,
            account_id=settings.cloudflare.account_id,
            token=settings.cloudflare.read_api_token,
            timeout_s=timeout_s,
            clock=clock,
            http=self._http,
        )
        self._ticks = watchdog.Ticks({r.name: r.poll_ms / 1000 for r in rules}, clock.monotonic())
        self._busy: set[str] = set()
        self._again: set[str] = set()  # to be polled anew, once the tick that still runs has ended
        # timezone given: the default asks the machine, which may have no zone database
        # no job waits for another
        threads = max(1, 2 * len(rules)) + (plan.publish is not None)
        self._scheduler = BackgroundScheduler(
            timezone=UTC, executors={"default": ThreadPoolExecutor(threads)}
        )
        for rule in rules:
            poller = Poller(self._engine, cloudflare, rule, clock, timeout_s)
            self._add_job(rule.name, self._tick(rule.name, poller.tick), rule.poll_ms)
            auditor = Auditor(self._engine, cloudflare, rule, timeout_s, of_us=rule is rules[0])
            name = f"{AUDIT} {rule.name}"
            self._add_job(name, self._aside(name, auditor.tick), rule.audit_ms, AUDIT_AFTER_MS)
        if plan.publish is not None:
            counter = Counter(
                self._engine, Telemetry(cloudflare, clock), plan.publish, clock, timeout_s
            )
            self._add_job(PUBLISHING, self._aside(PUBLISHING, counter.tick), TICK_MS, FIRST_MS)

    def _add_job(
        self, name: str, function: Callable[[], None], every_ms: int, after_ms: int = 0
    ) -> None:
        self._scheduler.add_job(
            function,
            Steadily(seconds=every_ms / 1000, timezone=UTC),
            id=name,
            coalesce=True,
            max_instances=1,
            misfire_grace_time=None,
            next_run_time=datetime.now(UTC) + timedelta(milliseconds=after_ms),
        )

    def run(self, stop: threading.Event) -> str | None:
        """Until `stop` is set: None; or why it must be started again."""
        for thread in self._threads:
            thread.start()
        self._scheduler.start()
        if self._heart.wanted:
            self._beating.start()
        return watchdog.watch(stop, self._clock, self._ticks, self._scheduler_alive, self._reanchor)

    def end(self, *, clean: bool = True) -> bool:
        """Stop in order, within END_S. False: something still hangs in a call.

        `clean`: because it was told to; else the next start says that it wasn't.
        """
        deadline = self._clock.monotonic() + END_S
        if self._scheduler.running:
            self._scheduler.shutdown(wait=False)
        self._stop.set()
        self._wake()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(max(0.0, deadline - self._clock.monotonic()))
        while self._busy and self._clock.monotonic() < deadline:
            time.sleep(0.02)
        finished = not self._busy and not any(t.is_alive() for t in self._threads)
        self._engine.close()
        behind, last_ids = self._engine.behind, self._engine.last_ids
        self._lock.close(behind=behind, clean=clean, last_ids=last_ids)
        if finished:
            self._http.close()
        return finished

    def _wake(self) -> None:
        for courier in self._couriers:
            courier.wake()

    def _tick(self, queue: str, tick: Callable[[], None]) -> Callable[[], None]:
        def run() -> None:
            self._busy.add(queue)
            try:
                tick()
                self._ticks.finished(queue, self._clock.monotonic())
                self._heart.ticked(queue)
            except Exception:
                log.exception("a tick of %s failed", queue)
            finally:
                self._busy.discard(queue)
            if queue in self._again:
                self._poll_soon(queue)
            stamp, limit_s = self._ticks.slowest()
            now = self._clock.now()
            behind, last_ids = self._engine.behind, self._engine.last_ids
            self._lock.beat(stamp, limit_s, behind=behind, now=now, last_ids=last_ids)

        return run

    def _aside(self, name: str, tick: Callable[[], None]) -> Callable[[], None]:
        """A job that health and watchdog don't ask after: the queues are watched without it."""

        def run() -> None:
            self._busy.add(name)
            try:
                tick()
            except Exception:
                log.exception("%s failed", name)
            finally:
                self._busy.discard(name)

        return run

    def _scheduler_alive(self) -> bool:
        thread = self._scheduler._thread  # `running` stays True when its thread has died
        return thread is not None and thread.is_alive()

    def _reanchor(self) -> None:
        for queue in self._ticks.queues():
            self._again.add(queue)
            if queue not in self._busy:  # else when its tick ends: no two run at a time
                self._poll_soon(queue)
        if self._scheduler.get_job(PUBLISHING) is not None:
            self._poll_soon(PUBLISHING)

    def _poll_soon(self, queue: str) -> None:
        self._again.discard(queue)
        # a moment later: until then the scheduler may still count the last tick as running
        soon = datetime.now(UTC) + timedelta(seconds=SOON_S)
        self._scheduler.modify_job(queue, next_run_time=soon)


def started_after(before: Pulse | None, database_id: str, host: str) -> Started:
    """A start, with what the last process's pulse shows of its end."""
    if before is None:
        return Started(database_id, host)
    seen_at = None if before.ended else before.seen_at or before.started_at
    return Started(database_id, host, before.behind, seen_at)


def plan_of(settings: Settings) -> Plan:
    """The settings in the words of decisions."""
    return Plan(
        queues={rules.name: rules for rules in settings.rules()},
        destinations=settings.destinations(),
        version=__version__,
        not_acted_on=settings.not_acted_on(),
        keep_samples_ms=settings.database.keep_samples,
        alerts=settings.daemon_rules(),
        publish=settings.publish_watch(),
    )


def dashboard_url(account_id: str) -> str:
    """The account's queues in Cloudflare's dashboard."""
    return f"https://dash.cloudflare.com/{account_id}/workers/queues"
