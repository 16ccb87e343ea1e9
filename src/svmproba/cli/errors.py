"""How commands speak and how they end: one messages, one set of exit codes."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

#: Exit codes: all went well; it failed while running; wrong use or bad input; Ctrl-C; the reader
#: of a pipe went away.
OK, FAILED, BAD_INPUT, INTERRUPTED, BROKEN_PIPE = 0, 1, 2, 130, 141

EXIT_CODES = (
    "Exit codes: 0 all went well, 1 it failed while running, 2 wrong use or bad input, "
    "130 stopped by Ctrl-C, 141 the reader of a pipe went away."
)


#: Parameters of the library as the command line has them; where it has no option, the value alone.
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
#: What a terminal obeys instead of showing it, and marks that turn the direction of writing.
_CONTROLS = "[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]"


class InputError(ValueError):
    """What the user gave cannot be used; the message says what and why."""


class Outcome(NamedTuple):
    """What a command found, for ``--json``, and its exit code."""

    result: dict[str, Any]
    code: int = OK


def visible(text: str, keep: str = "\n\t") -> str:
    r"""Show control characters as escapes: names in a file could move the cursor or hide lines.

    Examples
    --------
    >>> from svmproba.cli.errors import visible
    >>> print(visible("age\x1b[2J"))
    age\x1b[2J
    """
    return re.sub(_CONTROLS, lambda at: at[0] if at[0] in keep else ascii(at[0]).strip("'"), text)


class Messages:
    """What a command says: results on standard output, all else on standard error.

    Parameters
    ----------
    as_json : bool
        Whether standard output is kept for one JSON object.

    Attributes
    ----------
    warnings : list of str
        Warnings so far, in order.
    check : callable
        It raises a Ctrl-C again which a finaliser or a callback swallowed.
    """

    check: Callable[[], None] = staticmethod(lambda: None)

    def __init__(self, as_json: bool = False) -> None:
        self.as_json = as_json
        self.warnings: list[str] = []

    def tell(self, text: str = "") -> None:
        """Print a result for people."""
        print(visible(text), file=sys.stderr if self.as_json else sys.stdout)

    def note(self, text: str) -> None:
        """Print what is no result."""
        print(visible(text), file=sys.stderr, flush=True)

    def warn(self, text: str) -> None:
        """Print a warning, once."""
        if text not in self.warnings:
            self.warnings.append(text)
            self.note(f"warning: {text}")


def conduct(
    work: Callable[[Messages], Outcome], *, as_json: bool = False, debug: bool = False
) -> int:
    """Do the work of a command, whatever happens.

    Parameters
    ----------
    work : callable
        ``work(messages) -> Outcome``.
    as_json : bool, default=False
        Print the outcome, or the error, as one JSON object on standard output.
    debug : bool, default=False
        Let errors through with their traceback.

    Returns
    -------
    int
        Exit code.
    """
    messages = Messages(as_json)
    try:
        try:
            with handled_signals() as messages.check, library_warnings_to(messages):
                outcome = work(messages)
        except KeyboardInterrupt:
            messages.note("stopped")
            outcome = Outcome({"error": "stopped"}, INTERRUPTED)
        except (BrokenPipeError, Terminated):
            raise
        except Exception as error:
            if debug:
                raise
            message, code = explain(error)
            messages.note(f"error: {message}")
            outcome = Outcome({"error": message}, code)
        if as_json:
            print(to_json({**outcome.result, "warnings": messages.warnings}))
        sys.stdout.flush()
    except BrokenPipeError:
        silence_standard_output()
        return BROKEN_PIPE
    return outcome.code


def explain(error: Exception) -> tuple[str, int]:
    """Say in one line what went wrong, and find the exit code.

    Parameters
    ----------
    error : Exception

    Returns
    -------
    message : str
    code : int
    """
    if isinstance(error, InputError):
        return str(error), BAD_INPUT
    if isinstance(error, ModuleNotFoundError) and error.name:
        return f"this needs {error.name}, which is missing: pip install 'svmproba[cli]'", FAILED
    if isinstance(error, MemoryError):
        return "there is not enough memory", FAILED
    if isinstance(error, FileExistsError) and error.filename is not None:
        made = f"{error.filename} was made by another program while this command ran"
        return f"--out: {made}; nothing was written, --force replaces it", BAD_INPUT
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}", FAILED
    return in_options(str(error)) or type(error).__name__, FAILED


def in_options(text: str) -> str:
    """Say in options what the library says in parameters.

    Parameters
    ----------
    text : str

    Returns
    -------
    str

    Examples
    --------
    >>> from svmproba.cli.errors import in_options
    >>> in_options("n_bootstraps=20 is small. Fit with calibration='auto'.")
    '--bootstraps 20 is small. Fit with --calibration auto.'
    """
    return _PARAMETER.sub(lambda found: _OPTIONS[found[1]] + found[3], text)


def to_json(found: Any) -> str:
    """Write JSON that every reader takes: numbers that are none become null.

    Parameters
    ----------
    found : dict, list, str, number, bool or None
        May hold NumPy scalars.

    Returns
    -------
    str

    Examples
    --------
    >>> from svmproba.cli.errors import to_json
    >>> to_json({"auc": float("nan"), "folds": 10})
    '{"auc": null, "folds": 10}'
    """
    return json.dumps(plain(found), ensure_ascii=False, allow_nan=False)


def plain(found: Any) -> Any:
    """Turn NumPy scalars into Python's, tuples into lists, and numbers that are none into None."""
    if isinstance(found, dict):
        return {str(key): plain(value) for key, value in found.items()}
    if isinstance(found, (list, tuple)):
        return [plain(value) for value in found]
    if hasattr(found, "item"):
        found = found.item()
    return None if isinstance(found, float) and not math.isfinite(found) else found


def silence_standard_output() -> None:
    """Send what is still to be flushed nowhere, so that the interpreter ends without a word."""
    with contextlib.suppress(Exception):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Terminated(SystemExit):
    """The process was asked to end; files that were begun are removed on the way out."""


@contextlib.contextmanager
def handled_signals() -> Iterator[Callable[[], None]]:
    """Hear Ctrl-C and SIGTERM while the context lasts.

    Yields
    ------
    callable
        It raises a Ctrl-C again which a finaliser or a callback swallowed.
    """
    heard: list[BaseException] = []

    def note(signum: int, frame: object) -> None:
        ctrl_c = signum == signal.SIGINT
        heard.append(KeyboardInterrupt() if ctrl_c else Terminated(128 + signum))
        raise heard[-1]

    def check() -> None:
        if heard:
            raise heard[-1]

    def quiet(lost: Any) -> None:
        if lost.exc_value not in heard:
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
    """Let warnings of the libraries be spoken without a file name and a line of code.

    One that differs in its numbers alone is not said again.
    """
    kinds: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
        # These are for those who write programs.
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
