"""Do the tests bite? Change the source in one place at a time and see whether a test fails.

    python tools/mutate.py --n 150 --seed 1             # spread over all modules
    python tools/mutate.py --room bootstrap --n 20      # one room only (or solvers/newton)
    python tools/mutate.py --at bootstrap/fitting/bags.py:54    # every mutant of one line

A mutant swaps an operator, a number or a function for its neighbour, turns a condition round, or
takes a statement out. It is tried on a copy of the repository with the tests of its room: those of
its own module first, then those that name what the module defines, then (not with ``--near``) the
others. A failing test kills it, and so does the limit of processor time. A mutant of a module with
compiled functions is first tried on small problems that the interpreter runs, then slowly: the
functions of all modules that import it are compiled anew. Mutants that no test could kill (the
result is the same, or only the speed differs) stand with the reason in ``mutants_allowed.toml`` and
are not drawn. With ``--results FILE`` a run that was stopped goes on where it was, and with
``--folder`` compiled functions are kept for the next run; Ctrl-C prints what is known so far.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import difflib
import functools
import importlib.util
import json
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numba
import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path("src/svmproba")
#: Where the tests of a module, a folder or a room are, other than in the folder of the room's name.
TESTS = {
    "bootstrap/fitting/constrained_members.py": ["tests/bootstrap", "tests/estimators"],
    "bootstrap/classes": [
        *("tests/bootstrap", "tests/estimators/classes", "tests/estimators/test_device.py"),
    ],
    "cli/__main__.py": ["tests/cli/test_process.py"],
    "": [
        *("tests/test_files.py", "tests/test_pace.py", "tests/test_sklearn_compat.py"),
        *("tests/test_words.py", "tests/test_optional.py"),
        *("tests/cli/output/test_files.py", "tests/cli/test_process.py", "tests/persistence"),
    ],
}
#: What most tests load, once for all mutants.
LIBRARIES = ("scipy.stats", "sklearn.svm", "pandas", "pyarrow", "matplotlib.pyplot", "torch")
#: Modules that no test can run on every machine.
LEFT_OUT = {"solvers/gpu/triton_ops.py": "needs a GPU"}
#: The module that decides what is compiled anew, and another one of the compiler.
COMPILER, PARTS = "solvers/core/compiled.py", "solvers/core/parts.py"
#: Small problems of these rooms, run without compilation.
UNCOMPILED = {"solvers": "tests/solvers/test_uncompiled.py"}
UNCOMPILED["selection"] = UNCOMPILED["solvers"]
#: Seconds by the clock for each second of the processor that tests may take: they may wait.
WAITING = 5
#: Arguments and methods that change nothing but the looks of a figure.
LOOKS = {
    *("alpha", "bar_width", "bbox_to_anchor", "borderaxespad", "capsize", "clip_on", "dpi"),
    *("elinewidth", "figsize", "fontsize", "framealpha", "frameon", "height_ratios", "lw", "ms"),
    *("pad", "rwidth", "set_bbox", "margins", "set_fontsize", "tick_params", "zorder"),
}

OPERATORS: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.And: ast.Or, ast.Or: ast.And, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div,
    ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}  # fmt: skip
FUNCTIONS = {"any": "all", "min": "max", "minimum": "maximum", "argmin": "argmax", "ceil": "floor"}
FUNCTIONS |= {other: name for name, other in FUNCTIONS.items()}


class Mutant(NamedTuple):
    """One change: the bytes from `start` to `end` of a file become `text`."""

    file: str  # below the package
    line: int
    kind: str
    start: int
    end: int
    text: str

    def name(self) -> str:
        """Name it for the file of results."""
        return f"{self.file}:{self.line}:{self.kind}:{self.start}:{self.text}"

    def apply(self, source: bytes) -> bytes:
        """Change the source."""
        return source[: self.start] + self.text.encode() + source[self.end :]


def is_magnitude(value: float) -> bool:
    """Whether a number is a tolerance or a bound, where only the order of magnitude counts."""
    return value != 0.0 and not 1e-6 < abs(value) < 1e6


def is_tolerance(node: ast.expr) -> bool:
    """Whether an expression is such a number, with any sign."""
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    return (
        isinstance(node, ast.Constant)
        and isinstance(node.value, float)
        and is_magnitude(node.value)
    )


def changes(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Give the kind and the new text of every change of one node."""
    new = copy.deepcopy(node)
    match new:
        case ast.Compare():
            for k, operator in enumerate(new.ops):
                # That a number is exactly a tolerance does not happen.
                if type(operator) in OPERATORS and not is_tolerance(new.comparators[k]):
                    new.ops[k] = OPERATORS[type(operator)]()
                    yield "comparison", f"({ast.unparse(new)})"
                    new.ops[k] = operator
        case ast.BoolOp() | ast.BinOp() if type(new.op) in OPERATORS:
            new.op = OPERATORS[type(new.op)]()
            yield "operator", f"({ast.unparse(new)})"
        case ast.AugAssign() if type(new.op) in OPERATORS:
            yield "deletion", "pass"
            new.op = OPERATORS[type(new.op)]()
            yield "operator", ast.unparse(new)
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert()):
            yield "negation", f"({ast.unparse(new.operand)})"
        case ast.Constant(value=bool()):
            yield "number", str(not new.value)
        case ast.Constant(value=int()):
            yield "number", str(new.value + 1)
            yield "number", f"({new.value - 1})"
        case ast.Constant(value=float()) if not is_magnitude(new.value):
            yield "number", repr(2 * new.value or 1.0)
        case ast.Name(id=("any" | "all" | "min" | "max") as name):  # floor is a variable, too
            yield "function", FUNCTIONS[name]
        case ast.Attribute(attr=name) if name in FUNCTIONS:
            new.attr = FUNCTIONS[name]
            yield "function", ast.unparse(new)
        case ast.If(body=[ast.Raise()], orelse=[]):
            yield "deletion", "pass"
        case ast.Expr(value=ast.Call()) | ast.Continue() | ast.Break():
            yield "deletion", "pass"
        case ast.Return(value=ast.Compare() | ast.BoolOp() | ast.UnaryOp(op=ast.Not())):
            yield "return", f"return not ({ast.unparse(new.value)})"


def visit(node: ast.AST, module_level: bool = True) -> Iterator[ast.AST]:
    """Walk through what runs: no annotations, defaults, decorators, messages, texts or looks."""
    match node:
        case ast.Raise() | ast.JoinedStr() | ast.Import() | ast.ImportFrom():
            return
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            for child in node.body:
                yield from visit(child, False)
            return
        case ast.ClassDef():
            for child in node.body:
                yield from visit(child, module_level)
            return
        case ast.AnnAssign():
            if node.value is not None:
                yield from visit(node.value, module_level)
            return
        case ast.Call(func=ast.Attribute(attr="warn")) | ast.keyword(arg="strict" | "stacklevel"):
            return
        case ast.BinOp(op=ast.BitOr()) if module_level:  # a type
            return
        case ast.keyword(arg=name) | ast.Expr(value=ast.Call(func=ast.Attribute(attr=name))):
            if name in LOOKS:
                return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from visit(child, module_level)


def mutants_of(file: str) -> list[Mutant]:
    """List all mutants of a module."""
    source = (ROOT / PACKAGE / file).read_bytes()
    offsets = [0]
    for line in source.splitlines(keepends=True):
        offsets.append(offsets[-1] + len(line))
    found = []
    for node in visit(ast.parse(source)):
        for kind, text in changes(node):
            start = offsets[node.lineno - 1] + node.col_offset
            end = offsets[node.end_lineno - 1] + node.end_col_offset
            found.append(Mutant(file, node.lineno, kind, start, end, text))
    return found


@functools.cache
def lines_of(path: Path) -> list[str]:
    """Read the lines of a module, without their indentation."""
    return [line.strip() for line in path.read_text("utf-8").splitlines()]


class Allowed(NamedTuple):
    """A line whose mutants change nothing that a test may ask for."""

    file: str
    line: str
    kind: str | None = None
    text: str | None = None

    def covers(self, mutant: Mutant) -> bool:
        """Whether the mutant is one of the line, of the kind and of the text that are given."""
        if self.file != mutant.file or self.kind not in (None, mutant.kind):
            return False
        if self.text not in (None, mutant.text):
            return False
        return self.line == lines_of(ROOT / PACKAGE / self.file)[mutant.line - 1]


def read_allowed() -> list[Allowed]:
    """Read the list; a line that is no longer in its file is an error."""
    listed = tomllib.loads(Path(__file__).with_name("mutants_allowed.toml").read_text("utf-8"))
    allowed = []
    for entry in listed["allowed"]:
        path = ROOT / PACKAGE / entry["file"]
        present = lines_of(path) if path.exists() else []
        for line in entry["lines"]:
            if line not in present or not entry["reason"]:
                raise SystemExit(f"mutants_allowed.toml: {entry['file']} has no line {line!r}")
            allowed.append(Allowed(entry["file"], line, entry.get("kind"), entry.get("text")))
    return allowed


def room_of(file: str) -> str:
    """Name the room of a module: the package next to svmproba."""
    return file.rpartition("/")[0].partition("/")[0]


def is_compiled(file: str) -> bool:
    """Whether a module has functions that Numba compiles."""
    text = (ROOT / PACKAGE / file).read_text("utf-8")
    return "core.compiled import" in text or file in (COMPILER, PARTS)


def importers_of(file: str) -> list[str]:
    """Find the modules that import a module."""
    package, _, stem = f"svmproba/{file.removesuffix('.py')}".rpartition("/")
    package = package.replace("/", r"\.")
    names = re.compile(rf"from ({package}\.{stem} import|{package} import .*\b{stem}\b)")
    modules = (p.relative_to(ROOT / PACKAGE).as_posix() for p in (ROOT / PACKAGE).rglob("*.py"))
    return [m for m in modules if names.search((ROOT / PACKAGE / m).read_text("utf-8"))]


def dependents_of(file: str) -> set[str]:
    """Find the compiled modules that import a module, directly or not, and itself."""
    found, new = {file}, [file]
    while new:
        more = [m for m in importers_of(new.pop()) if is_compiled(m) and m not in found]
        found.update(more)
        new += more
    return found


def draw(n: int, rooms: list[str], seed: int) -> list[Mutant]:
    """Draw mutants one module after the other, and within a module one kind after the other."""
    rng, allowed = random.Random(seed), read_allowed()
    paths = [p.relative_to(ROOT / PACKAGE).as_posix() for p in (ROOT / PACKAGE).rglob("*.py")]
    queues = []
    for file in sorted(paths):
        if file in LEFT_OUT or (rooms and not file.startswith(tuple(f"{r}/" for r in rooms))):
            continue
        by_kind = defaultdict(list)
        for mutant in mutants_of(file):
            by_kind[mutant.kind].append(mutant)
        queues.append(list(by_kind.values()))
    drawn: list[Mutant] = []
    while queues := [kinds for kinds in queues if kinds]:
        rng.shuffle(queues)
        for kinds in queues:
            group = rng.choice(kinds)
            mutant = group.pop(rng.randrange(len(group)))
            if not group:
                kinds.remove(group)
            # Drawn all the same, so that a longer list does not change what else is drawn.
            if not any(one.covers(mutant) for one in allowed):
                drawn.append(mutant)
            if len(drawn) == n:
                return sorted(drawn, key=lambda mutant: room_of(mutant.file))
    return drawn


def names_of(file: str) -> set[str]:
    """Name what a module defines, and the module."""
    body = ast.parse((ROOT / PACKAGE / file).read_bytes()).body
    defined = {node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    return {*defined, Path(file).stem.lstrip("_")}


def stages_of(file: str) -> list[list[str]]:
    """Test files of the room: those of the module, those that name what it defines, the others.

    The doctests of the module are among the first. Of the others, those come first that name what
    is defined in a module that imports this one. Tests that start processes are slow and come last.
    """
    stem, room = Path(file).stem.lstrip("_"), room_of(file)
    own_names, users = names_of(file), importers_of(file)
    names_of_users = set().union(*map(names_of, users)) - own_names
    named, used = (re.compile(rf"\b({'|'.join(n)})\b") for n in (own_names, names_of_users))
    keys = (file, Path(file).parent.as_posix(), room)
    places = next((TESTS[key] for key in keys if key in TESTS), [f"tests/{room}"])
    tests = {t for p in places for t in sorted((ROOT / p).rglob("test_*.py")) or [ROOT / p]}
    if not any(test.stem == f"test_{stem}" for test in tests):  # also where it is used
        tests.update((ROOT / "tests").rglob(f"test_{stem}.py"))
    texts = {test: test.read_text("utf-8") for test in tests}

    def distance(test: Path) -> tuple[bool, bool, int, int, int]:
        n_named, n_used = (len(set(names.findall(texts[test]))) for names in (named, used))
        beside = test.parent.name == Path(file).parent.name
        return "subprocess" in texts[test], not beside, -n_named, -n_used, len(texts[test])

    stages: list[list[str]] = [[], [], []]
    for test in sorted(tests, key=distance):
        own = test.stem == f"test_{stem}"
        stages[0 if own else 1 if named.search(texts[test]) else 2].append(
            str(test.relative_to(ROOT))
        )
    stages[0].append(str(PACKAGE / file))
    return stages


class Workshop:
    """A copy of the repository in which mutants are tried."""

    def __init__(self, folder: Path, limit: float | None = None, near: bool = False) -> None:
        self.root, self.warm, self.limit = folder / "repository", folder / "warm", limit
        self.near = near
        hidden = shutil.ignore_patterns(".*", "__pycache__", "out", "dist", "build", "_build")
        shutil.rmtree(self.root, ignore_errors=True)
        shutil.copytree(ROOT, self.root, ignore=hidden)
        self.warm.mkdir(exist_ok=True)
        self.log = folder / "log"
        self.seconds: dict[str, float] = {}

    def _pytest(
        self,
        tests: list[str],
        cache: Path,
        limit: float,
        mutant: Mutant | None = None,
        compiled: bool = True,
    ) -> str:
        """Run tests in a fork, where the libraries are loaded: passed, failed or timeout."""
        child = os.fork()
        if child == 0:
            code = 3
            resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 5))
            try:
                code = self._in_child(tests, cache, mutant, compiled)
            finally:
                sys.stdout.flush()
                os._exit(code)
        end = time.monotonic() + WAITING * limit
        try:
            while time.monotonic() < end:
                done, status = os.waitpid(child, os.WNOHANG)
                if done:
                    code = os.waitstatus_to_exitcode(status)
                    if code == -signal.SIGXCPU:
                        return "timeout"
                    return "passed" if code in (0, 5) else "failed"
                time.sleep(0.05)
            return "timeout"
        finally:
            with contextlib.suppress(ProcessLookupError):  # also what the tests have started
                os.killpg(child, signal.SIGKILL)

    def _in_child(
        self, tests: list[str], cache: Path, mutant: Mutant | None, compiled: bool
    ) -> int:
        os.setsid()
        # A shell that starts a command in the background has it ignore Ctrl-C, which tests press.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.chdir(self.root)
        with self.log.open("wb") as log:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
        os.environ |= {"PYTHONPATH": str(self.root / "src"), "NUMBA_CACHE_DIR": str(cache)}
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        numba.config.CACHE_DIR, sys.dont_write_bytecode = str(cache), True
        options = ["-x", "-q", "-rfE", "-p", "no:cacheprovider"]
        if not compiled:
            os.environ["NUMBA_DISABLE_JIT"], numba.config.DISABLE_JIT = "1", 1
            options += ["-W", "ignore::RuntimeWarning"]
        sys.path.insert(0, str(self.root / "src"))
        if mutant:
            self._keep_compiled(mutant.file)
            path = self.root / PACKAGE / mutant.file
            path.write_bytes(mutant.apply(path.read_bytes()))
        return int(pytest.main([*options, *tests]))

    def _keep_compiled(self, file: str) -> None:
        """Take the digests of the source as it is where no compiled function changes."""
        path = self.root / PACKAGE / COMPILER
        if path.exists() and file not in (COMPILER, PARTS):
            name = "svmproba." + COMPILER.removesuffix(".py").replace("/", ".")
            spec = importlib.util.spec_from_file_location(name, path)
            sys.modules[name] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(sys.modules[name])
            changed = dependents_of(file) if is_compiled(file) else set()
            changed_folders = {self.root / PACKAGE / Path(other).parent for other in changed}
            folders = {source.parent for source in (self.root / PACKAGE).rglob("*.py")}
            for folder in folders - changed_folders:
                sys.modules[name]._digest(folder)
            for other in [m for m in sys.modules if m.partition(".")[0] == "svmproba"]:
                if not other.startswith("svmproba.solvers.core."):
                    del sys.modules[other]  # the mutant may be in them

    def rehearse(self, room: str) -> float:
        """Run the tests of a room on the source as it is, once: they must pass; gives the time."""
        if room in self.seconds:
            return self.seconds[room]
        start = time.monotonic()
        tests = [
            test for stage in stages_of((Path(room) / "__init__.py").as_posix()) for test in stage
        ]
        if self._pytest(tests, self.warm, 3600.0) != "passed":
            raise SystemExit(f"{self.log.read_text()[-3000:]}\nThese tests fail without a mutant.")
        self.seconds[room] = time.monotonic() - start
        return self.seconds[room]

    def try_out(self, mutant: Mutant) -> str:
        """Run the tests on one mutant; gives "failed" or "timeout" (killed), or "passed"."""
        room, path = room_of(mutant.file), self.root / PACKAGE / mutant.file
        limit = self.limit or 90 + 4 * self.rehearse(room)
        cache, source = self.warm, path.read_bytes()
        if room in ("solvers", "bootstrap", "selection"):  # do not spoil the cache for the others
            cache = self.root.with_name("cache")
            shutil.rmtree(cache, ignore_errors=True)
            shutil.copytree(self.warm, cache)
        stages = stages_of(mutant.file)
        if self.near and (len(stages[0]) > 1 or stages[1]):
            stages.pop()
        # Tests that were written since the copy was made are not tried.
        stages = [[test for test in stage if (self.root / test).exists()] for stage in stages]
        runs = [(True, stage) for stage in stages if stage]
        if room in UNCOMPILED and is_compiled(mutant.file):
            runs.insert(0, (False, [UNCOMPILED[room]]))
        outcome = "passed"
        for compiled, tests in runs:
            try:
                if outcome == "passed":
                    outcome = self._pytest(tests, cache, limit, mutant, compiled)
            finally:
                path.write_bytes(source)
        return outcome

    def killer(self) -> str:
        """Name the test that failed, for a look at kills by chance, such as of a busy machine."""
        lines = self.log.read_text("utf-8", "replace").splitlines() if self.log.exists() else []
        named = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
        return " ".join(named[-1].split()[1:2]) if named else ""


def difference(mutant: Mutant) -> str:
    """Show what a mutant changes."""
    source = (ROOT / PACKAGE / mutant.file).read_bytes()
    before, after = (s.decode().splitlines() for s in (source, mutant.apply(source)))
    lines = list(difflib.unified_diff(before, after, n=0, lineterm=""))[3:]
    return "\n".join(f"    {line}" for line in lines)


def summarise(outcomes: dict[Mutant, str]) -> None:
    """Print the survivors and the share of killed mutants, by room and in all."""
    for mutant, outcome in outcomes.items():
        if outcome == "passed":
            print(f"survived {mutant.file}:{mutant.line} ({mutant.kind})\n{difference(mutant)}")
    total, dead = Counter[str](), Counter[str]()
    for mutant, outcome in outcomes.items():
        for room in (room_of(mutant.file) or "svmproba", "all"):
            total[room] += 1
            dead[room] += outcome != "passed"
    for room in sorted(total, key=lambda room: (room == "all", room)):
        share = f"{dead[room] / total[room]:.0%}"
        print(f"{room:12} {dead[room]:4} of {total[room]:4} killed {share:>5}")


def main() -> None:
    """Draw mutants, try them and print what survived."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=150, help="how many mutants are drawn")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--room", action="append", default=[], help="such as bootstrap; repeatable")
    parser.add_argument("--at", action="append", default=[], help="FILE:LINE, all of its mutants")
    parser.add_argument("--results", type=Path, help="file of finished mutants, to go on from")
    parser.add_argument("--folder", type=Path, help="of the copy and the compiled functions")
    parser.add_argument("--limit", type=float, help="CPU seconds a stage; no run without one first")
    parser.add_argument("--near", action="store_true", help="without tests that do not name it")
    parser.add_argument("--list", action="store_true", help="show the mutants, run nothing")
    args = parser.parse_args()
    chosen = draw(args.n, args.room, args.seed)
    if args.at:
        wanted = {at.rpartition(":")[::2] for at in args.at}
        of_files = [m for file in sorted({file for file, _ in wanted}) for m in mutants_of(file)]
        chosen = [m for m in of_files if (m.file, str(m.line)) in wanted]
    if args.list:
        for mutant in chosen:
            print(f"{mutant.file}:{mutant.line} ({mutant.kind})\n{difference(mutant)}")
        return
    known: dict[str, str] = {}
    if args.results and args.results.exists():
        known = dict(json.loads(line) for line in args.results.read_text("utf-8").splitlines())
    outcomes: dict[Mutant, str] = {}
    os.environ.setdefault("MPLBACKEND", "Agg")
    for library in LIBRARIES:
        with contextlib.suppress(ImportError):
            importlib.import_module(library)
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        workshop = Workshop(args.folder or Path(folder), args.limit, args.near)
        try:
            for k, mutant in enumerate(chosen, 1):
                outcome = known.get(mutant.name()) or workshop.try_out(mutant)
                outcomes[mutant] = outcome
                by = workshop.killer() if outcome == "failed" else ""
                print(f"{k}/{len(chosen)} {outcome:8}", mutant.file, mutant.line, by, flush=True)
                if args.results and mutant.name() not in known:
                    with args.results.open("a", encoding="utf-8") as file:
                        file.write(json.dumps([mutant.name(), outcome]) + "\n")
        except KeyboardInterrupt:
            print("stopped")
    summarise(outcomes)


if __name__ == "__main__":
    main()
