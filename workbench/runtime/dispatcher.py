"""The dispatcher: claim, advance, hold to the limits, commit. One instance by hand, or many in one transaction."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from workbench.runtime import telemetry
from workbench.runtime.clock import Clock
from workbench.runtime.errors import DamagedHistory, DidNotComeBack, LockLost, StoreError, UnknownOrchestration
from workbench.runtime.execution import Execution
from workbench.runtime.interrupts import check, is_main_thread, only_in_code
from workbench.runtime.limits import Limits
from workbench.runtime.poison import Poisoned, poisoned, retry_delay_ms, unreadable
from workbench.runtime.provider import Claim, Loaded, Provider, TurnCommit
from workbench.runtime.registry import Registry
from workbench.runtime.turn_making import MadeTurn, TurnMaker, emptied, is_over
from workbench.runtime.warm import WarmExecutions
from workbench.runtime.watchdog import DEADLINE_MS

LOCK_MS = DEADLINE_MS + 20_000
"""How long a claim holds, ms: longer than any turn may take."""
MAX_ATTEMPTS = 10
BAD_HISTORY_DELAY_MS = 1_000


class Dispatcher:
    """Makes turns on a store with registered code.

    `warm` keeps executions between turns; without it every turn is replayed from the top. `max_attempts` is how
    often a batch of messages is tried before its instance fails as poisoned.
    """

    def __init__(
        self,
        provider: Provider,
        registry: Registry,
        clock: Clock,
        limits: Limits,
        execution_class: type[Execution] = Execution,
        deadline_ms: int | None = DEADLINE_MS,
        warm: WarmExecutions | None = None,
        max_attempts: int = MAX_ATTEMPTS,
    ) -> None:
        self._provider = provider
        self._registry = registry
        self._clock = clock
        self._limits = limits
        self._maker = TurnMaker(registry, limits, execution_class, deadline_ms)
        self._warm = warm
        self._max_attempts = max_attempts
        self._owed: list[tuple[Claim, int, bool]] = []
        """Claims that are to be given back, with delay (ms) and whether the try counts; the store failed just then."""

    # One instance, by hand.

    def make_turn(self, instance_id: str) -> MadeTurn | None:
        """Make exactly one turn of an instance from what is visible in its queue, and commit it.

        Returns None when nothing was visible, or nothing that is an event (then the messages are gone: they were
        for another execution, or came twice). Raises `UnknownOrchestration`, `DamagedHistory` and `DidNotComeBack`
        with the messages left where they are, and `LockLost` when the turn could not be committed; it is made again
        then. An interrupt strikes the code only, whose turn is discarded then; at other moments it waits for the
        commit.
        """
        now_ms = self._clock.now_ms()
        with only_in_code():
            self.give_back_owed()
            claims = self._provider.claim(1, now_ms, LOCK_MS, instance_id)
            if not claims:
                return None
            claim = claims[0]
            try:
                return self._make_one(claim, now_ms)
            except BaseException:
                self._give_back(claim, 0, keep_attempt=False)
                raise

    def _make_one(self, claim: Claim, now_ms: int) -> MadeTurn | None:
        if is_over(claim):
            self._provider.commit([emptied(claim, now_ms)])
            return None
        made = self._make(claim, None, now_ms)
        if self._warm is None:
            self._maker.close(made.execution)  # before the commit: cleanup that never ends discards the turn
        self._commit_one(made)
        if not made.result.events:
            return None
        telemetry.emit(made.result, claim.instance_id)
        return made

    def _commit_one(self, made: MadeTurn) -> None:
        is_kept = False
        try:
            check()
            if self._provider.commit([made.commit()]):
                raise LockLost(made.claim.instance_id)
            is_kept = self._warm is not None and self._warm.keep(made)
        finally:
            if not is_kept:
                self._maker.close(made.execution)

    # Many instances, for a worker.

    def make_turns(self, limit: int) -> int:
        """Make the next turn of up to `limit` instances and commit them in one transaction; how many were claimed.

        What cannot be made is given back and tried later, more and more rarely, until its instance fails as poisoned.
        """
        with only_in_code():
            return self._make_turns(limit)

    def _make_turns(self, limit: int) -> int:
        self.give_back_owed()
        now_ms = self._clock.now_ms()
        claims = self._provider.claim(limit, now_ms, LOCK_MS)
        if not claims:
            return 0
        commits: list[TurnCommit] = []
        made: list[MadeTurn] = []
        open_claims = list(claims)
        try:
            for claim, loaded in self._loaded(claims, now_ms):
                turn = self._attempt(claim, loaded, now_ms)
                if isinstance(turn, MadeTurn):
                    made.append(turn)
                    commits.append(turn.commit())
                elif turn is not None:
                    commits.append(turn)
                else:
                    open_claims.remove(claim)
            check()
            self._commit(commits, made)
        except BaseException:
            for claim in open_claims:
                with contextlib.suppress(StoreError):  # what failed is told already; it is given back later
                    self._give_back(claim, 0, keep_attempt=False)
            for turn in made:
                self._maker.close(turn.execution)
            raise
        return len(claims)

    def _loaded(self, claims: Sequence[Claim], now_ms: int) -> list[tuple[Claim, Loaded | Poisoned | None]]:
        """Each claim with what is to be loaded for it: nothing for a warm one, an error for an unreadable one."""
        cold = [each for each in claims if not is_over(each) and not self._is_warm(each)]
        found: dict[str, Loaded | Poisoned] = {}
        try:
            loaded = self._provider.load(cold) if cold else []
            found = {claim.instance_id: each for claim, each in zip(cold, loaded, strict=True)}
        except DamagedHistory:
            for claim in cold:
                try:
                    found[claim.instance_id] = self._provider.load([claim])[0]
                except DamagedHistory as error:
                    found[claim.instance_id] = unreadable(claim, error, self._max_attempts, now_ms)
        return [(claim, found.get(claim.instance_id)) for claim in claims]

    def _attempt(self, claim: Claim, loaded: Loaded | Poisoned | None, now_ms: int) -> MadeTurn | TurnCommit | None:
        """A turn to commit, or None when the claim was given back."""
        if is_over(claim):
            return emptied(claim, now_ms)
        if isinstance(loaded, Poisoned):
            if loaded.commit is None:
                self._give_back(claim, BAD_HISTORY_DELAY_MS, keep_attempt=True)
            return loaded.commit
        if claim.attempt_count > self._max_attempts:
            return poisoned(claim, loaded or self._provider.load([claim])[0], self._max_attempts, now_ms)
        try:
            return self._make(claim, loaded, now_ms)
        except DamagedHistory as error:
            bad = unreadable(claim, error, self._max_attempts, now_ms)
            if bad.commit is not None:
                return bad.commit
            telemetry.log.warning("%s; tried again later", error)
        except UnknownOrchestration as error:
            telemetry.log.warning("%s; tried again later, instance_id=%s", error, claim.instance_id)
        except BaseException as error:
            if is_main_thread() and not isinstance(error, Exception | SystemExit):
                raise
            # Logged; the instance is tried again, and fails as poisoned in the end.
            telemetry.log.exception("a turn failed, instance_id=%s", claim.instance_id)
        self._give_back(claim, retry_delay_ms(claim.attempt_count), keep_attempt=True)
        return None

    def _make(self, claim: Claim, loaded: Loaded | None, now_ms: int) -> MadeTurn:
        held = None if self._warm is None else self._warm.take(claim, self._registry)
        if held is not None:
            return self._maker.warm(claim, held.execution, held.code, now_ms)
        return self._maker.cold(claim, loaded or self._provider.load([claim])[0], now_ms)

    def _is_warm(self, claim: Claim) -> bool:
        return self._warm is not None and self._warm.holds(claim, self._registry)

    def _commit(self, commits: Sequence[TurnCommit], made: Sequence[MadeTurn]) -> None:
        refused = {each.claim.instance_id for each in self._provider.commit(commits)}
        for turn in made:
            confirmed = turn.claim.instance_id not in refused
            if confirmed and turn.result.events:
                telemetry.emit(turn.result, turn.claim.instance_id)
            if self._warm is None or not confirmed or not self._warm.keep(turn):
                with contextlib.suppress(DidNotComeBack):  # what is committed stays, and the others have their turn
                    self._maker.close(turn.execution)

    def _give_back(self, claim: Claim, delay_ms: int, keep_attempt: bool) -> None:
        try:
            self._provider.abandon(claim, delay_ms, keep_attempt=keep_attempt)
        except LockLost:
            return
        except StoreError:
            self._owed.append((claim, delay_ms, keep_attempt))
            raise

    def give_back_owed(self) -> None:
        """Give back what could not be: by a manual clock its locks would never expire. Raises what the store raises."""
        while self._owed:
            self._give_back(*self._owed.pop())
