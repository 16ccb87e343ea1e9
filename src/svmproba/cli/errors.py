"""Messages, exit codes, signals and errors of all commands."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from svmproba._json import plain

#: Exit codes, explained in `EXIT_CODES`.
OK, FAILED, BAD_INPUT, INTERRUPTED, BROKEN_PIPE = 0, 1, 2, 130, 141

EXIT_CODES = (
    "Exit codes: 0 success, 1 failure while running, 2 wrong arguments or bad input, "
    "130 stopped by Ctrl-C, 141 the reader of a pipe closed it."
)

#: Options of the command line for parameters of the library; without an option, the value alone.
_OPTIONS = {
    "n_bootstraps": "--bootstraps ",
    "n_jobs": "--jobs ",
    "calibration": "--calibration ",
    "class_weight": "--class-weight ",
    "guarantee": "--guarantee ",
    "confidence": "--confidence ",
    "kind": "--interval ",
    "reliability": "",
    "tol": "",
}
_PARAMETER = re.compile(rf"\b({'|'.join(_OPTIONS)})=('?)(\w+(?:\.\d+)?\+?)\2")
#: Control characters of a terminal, and marks that change the direction of writing.
_CONTROLS = "[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]"


class InputError(ValueError):
    """Arguments or data that cannot be used; the message says which and why."""


class Outcome(NamedTuple):
    """Result of a command, for ``--json``, and its exit code."""

    result: dict[str, Any]
    code: int = OK


def visible(text: str, keep: str = "\n\t") -> str:
    """Show control characters as escapes: names in a file could move the cursor or hide lines."""
    return re.sub(_CONTROLS, lambda at: at[0] if at[0] in keep else ascii(at[0]).strip("'"), text)


class Messages:
    """Prints results on standard output, and notes and warnings on standard error.

    With `as_json` standard output is kept for one JSON object.
    """

    check: Callable[[], None] = staticmethod(lambda: None)

    def __init__(self, as_json: bool = False) -> None:
        self.as_json = as_json
        self.warnings: list[str] = []

    def tell(self, text: str = "") -> None:
        """Print a result."""
        print(visible(text), file=sys.stderr if self.as_json else sys.stdout)

    def note(self, text: str) -> None:
        """Print a note on standard error."""
        print(visible(text), file=sys.stderr, flush=True)

    def warn(self, text: str) -> None:
        """Print a warning, once."""
        if text not in self.warnings:
            self.warnings.append(text)
            self.note(f"warning: {text}")


def conduct(
    work: Callable[[Messages], Outcome], *, as_json: bool = False, debug: bool = False
) -> int:
    """Run ``work(messages)`` and return the exit code; errors become one line, unless `debug`."""
    for name in ("stdout", "stderr"):  # None where the shell has closed them
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    messages = Messages(as_json)
    with contextlib.suppress(AttributeError):  # not a stream of the interpreter
        # Windows gives pipes and files an old encoding; as standard error does already.
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        try:
            with handled_signals() as messages.check, library_warnings_to(messages):
                outcome = work(messages)
        except KeyboardInterrupt:
            messages.note("stopped")
            outcome = Outcome({"error": "stopped"}, INTERRUPTED)
        except Terminated:
            raise
        except Exception as error:
            if debug or is_broken_pipe(error):
                raise
            message, code = explain(error)
            messages.note(f"error: {message}")
            outcome = Outcome({"error": message}, code)
        if as_json:
            print(to_json({**outcome.result, "warnings": messages.warnings}))
        sys.stdout.flush()
    except OSError as error:
        if debug and not is_broken_pipe(error):
            raise
        silence_standard_output()
        if is_broken_pipe(error):
            return BROKEN_PIPE
        messages.note(f"error: standard output: {error.strerror or error}")
        return FAILED
    return outcome.code


def is_broken_pipe(error: Exception) -> bool:
    """Whether the reader of a pipe has closed it; Windows calls that an invalid argument."""
    if isinstance(error, BrokenPipeError):
        return True
    nameless = isinstance(error, OSError) and error.filename is None
    return nameless and sys.platform == "win32" and error.errno == errno.EINVAL


def explain(error: Exception) -> tuple[str, int]:
    """Describe an error in one line, and choose the exit code."""
    if isinstance(error, InputError):
        return str(error), BAD_INPUT
    if isinstance(error, ModuleNotFoundError) and error.name:
        return f"this needs {error.name}, which is missing: pip install 'svmproba[cli]'", FAILED
    if isinstance(error, MemoryError):
        return "not enough memory", FAILED
    if isinstance(error, FileExistsError) and error.filename is not None:
        made = f"{error.filename} was created by another program while this command ran"
        return f"--out: {made}; nothing was written, --force replaces it", BAD_INPUT
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}", FAILED
    return in_options(str(error)) or type(error).__name__, FAILED


def in_options(text: str) -> str:
    """Replace parameters of the library by options: n_bootstraps=20 becomes --bootstraps 20."""
    text = re.sub(r" and reliability='\w+'", "", text)  # for which there is no option
    return _PARAMETER.sub(lambda found: _OPTIONS[found[1]] + found[3], text)


def to_json(found: Any) -> str:
    """Write JSON, with NumPy scalars as numbers and NaN and infinity as null."""
    # Bytes of another encoding than UTF-8 would not be JSON.
    is_utf8 = (sys.stdout.encoding or "utf-8").lower().replace("-", "") == "utf8"
    return json.dumps(plain(found), ensure_ascii=not is_utf8, allow_nan=False)


def silence_standard_output() -> None:
    """Discard what is not flushed yet, so that the interpreter ends without an error."""
    with contextlib.suppress(Exception):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Terminated(SystemExit):
    """The process was asked to end; temporary files are removed on the way out."""


@contextlib.contextmanager
def handled_signals() -> Iterator[Callable[[], None]]:
    """Raise KeyboardInterrupt or `Terminated` on signals; yields a check that raises it again."""
    raised: list[BaseException] = []

    def note(signum: int, frame: object) -> None:
        ctrl_c = signum == signal.SIGINT
        raised.append(KeyboardInterrupt() if ctrl_c else Terminated(128 + signum))
        raise raised[-1]

    def check() -> None:
        if raised:
            raise raised[-1]

    def quiet(lost: Any) -> None:
        if lost.exc_value not in raised:
            unraisable(lost)

    if threading.current_thread() is not threading.main_thread():
        yield check
        return
    before = [signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)]
    unraisable = sys.unraisablehook
    sys.unraisablehook = quiet
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, before[0])
        signal.signal(signal.SIGTERM, before[1])
        sys.unraisablehook = unraisable


@contextlib.contextmanager
def library_warnings_to(messages: Messages) -> Iterator[None]:
    """Print warnings of libraries, without source lines; once if they differ in numbers alone."""
    kinds: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
        # These categories are meant for programmers.
        if not issubclass(category, (DeprecationWarning, FutureWarning, ResourceWarning)):
            text = in_options(" ".join(str(message).split()))
            kind = re.sub(r"\d+", "#", text)
            if kind not in kinds:
                kinds.add(kind)
                messages.warn(text)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show
        yield
