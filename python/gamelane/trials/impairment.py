"""The impairment of a trial, set through `gamelane-impair`."""

from __future__ import annotations

import json
import subprocess
import time
from types import TracebackType

from gamelane import programs
from gamelane.errors import ExitCode, LabError
from gamelane.trials.blind import Condition

PATIENCE_S = 10
"""Time in which `gamelane-impair` must have started or ended."""


class Impairment:
    """Delay and loss on one interface. Starts `gamelane-impair` if none runs there, and then ends it with the block."""

    def __init__(self, interface: str) -> None:
        self.interface = interface
        self._program = str(programs.IMPAIR.find())
        self._started: subprocess.Popen[str] | None = None
        self._in_force: str | None = None

    def __enter__(self) -> Impairment:
        if not self._runs():
            self._start()
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        if self._started is not None:
            self._stop()
        elif self._runs():
            self.set(Condition(0, 0))

    def set(self, condition: Condition) -> None:
        """Set a condition. The answer of the program is hidden, because it would reveal the condition."""
        done = self._ask("set", *condition.settings())
        if done.returncode != 0:
            raise LabError(_message(done.stderr))
        self._in_force = self._config()

    def check(self) -> None:
        """Raise LabError if the last condition is no longer in force."""
        if self._config() != self._in_force:
            raise LabError(
                f"{self.interface}: the condition of the trial is no longer set, so its rating is not kept\n"
                "  hint:    the same command continues the trial"
            )

    def _config(self) -> str:
        done = self._ask("show", "--json")
        return str(json.loads(done.stdout)["config"]) if done.returncode == 0 else ""

    def _runs(self) -> bool:
        done = self._ask("show", "--json")
        if done.returncode not in (ExitCode.OK, ExitCode.PEER):
            raise LabError(_message(done.stderr))
        return done.returncode == ExitCode.OK

    def _ask(self, call: str, *words: str) -> subprocess.CompletedProcess[str]:
        command = [self._program, call, self.interface, *words]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def _start(self) -> None:
        # Its own session, so that Ctrl-C in the trial's terminal does not end it before the trial does. The pipe ends
        # with the trial, however that ends, and with the pipe the impairment.
        self._started = subprocess.Popen(
            [self._program, "run", self.interface, "--until-input-ends"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        until = time.monotonic() + PATIENCE_S
        while not self._runs():
            if self._started.poll() is not None or time.monotonic() > until:
                raise LabError(
                    f"{self.interface}: cannot be impaired: {self._stop() or 'gamelane-impair did not start'}"
                )
            time.sleep(0.05)

    def _stop(self) -> str:
        """End the program that was started; return what it said."""
        if self._started is None:
            return ""
        try:
            _, said = self._started.communicate(timeout=PATIENCE_S)  # closes the pipe
        except subprocess.TimeoutExpired:
            self._started.kill()
            _, said = self._started.communicate()
        self._started = None
        return _message(said)


def _message(said: str) -> str:
    return said.strip().removeprefix("error: ")
