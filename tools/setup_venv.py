"""Make or refresh `.venv`, from the locks. Called by the Makefile: python tools/setup_venv.py runtime|dev [FOLDER]

FOLDER is another folder of the checkout to install into, for another version of Python.

Standard library only, because it runs before anything is installed. Two levels: `runtime` is what `make swarm` needs,
`dev` adds the tools for `make test` and `make check`; `dev` holds `runtime`. A stamp in `.venv` names the inputs that were
installed (by content), so the second run does nothing. Whatever deviates from the usual way is said on the terminal.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT: Final = Path(__file__).resolve().parent.parent
VENV: Final = ROOT / (sys.argv[2] if len(sys.argv) > 2 else ".venv")
VENV_TOOLS: Final = ROOT / ".venv-tools"
LOCKS: Final = {"runtime": ROOT / "requirements.lock", "dev": ROOT / "requirements-dev.lock"}
# From most to least: a venv set up for an earlier level serves the later ones too.
LEVELS: Final = ("dev", "runtime")
PYTHON: Final = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def say(text: str) -> None:
    print(f"set-up: {text}", file=sys.stderr, flush=True)


def give_up(text: str) -> NoReturn:
    say(text)
    raise SystemExit(1)


def fingerprint(level: str) -> str:
    """Return what decides whether an installation is still the right one."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    # What else stands in pyproject.toml (lint, types, tests) is read where it is used.
    installed = [project["build-system"], project["project"], project["dependency-groups"], project["tool"]["hatch"]]
    digest = hashlib.sha256(json.dumps(installed).encode())
    for path in (LOCKS[level], Path(__file__)):
        digest.update(path.read_bytes())
    # The folder too: the installation is an editable one, which a moved checkout would not find.
    digest.update(f"{ROOT}\n{sys.version_info[:2]}".encode())
    return digest.hexdigest()


def stamp(level: str) -> Path:
    return VENV / f".greenroom-{level}"


def is_ready(level: str) -> bool:
    """Say whether this level, or one that holds it, is installed as the locks say now."""
    enough = LEVELS[: LEVELS.index(level) + 1]
    return PYTHON.exists() and any(
        stamp(each).exists() and stamp(each).read_text(encoding="utf-8") == fingerprint(each) for each in enough
    )


def run(command: Sequence[str | Path], *, env: dict[str, str] | None = None) -> bool:
    return subprocess.run([str(part) for part in command], check=False, cwd=ROOT, env=env).returncode == 0


def must(command: Sequence[str | Path], why: str) -> None:
    if not run(command):
        give_up(f"{why} failed; the lines above say why. Nothing outside of {ROOT} was changed.")


def base_python() -> str:
    """Return the Python that environments are made from, also when `.venv` itself is the active one."""
    return str(getattr(sys, "_base_executable", None) or sys.executable)


def is_usable(uv: str | None) -> bool:
    """Say whether `.venv` is whole and of the Python version that runs this."""
    needs = "import sys" if uv is not None else "import sys, pip"
    asked = [str(PYTHON), "-c", f"{needs}; print('%d.%d' % sys.version_info[:2])"]
    if not PYTHON.exists():
        return False
    answer = subprocess.run(asked, check=False, capture_output=True, text=True)
    return answer.stdout.strip() == "{}.{}".format(*sys.version_info[:2])


def make_venv(uv: str | None) -> None:
    if VENV.exists():
        shutil.rmtree(VENV)
    if uv is not None:
        must([uv, "venv", "--quiet", "--no-project", "--python", base_python(), VENV], "making .venv with uv")
        return
    made = subprocess.run(
        [base_python(), "-m", "venv", str(VENV)], check=False, capture_output=True, text=True, cwd=ROOT
    )
    if made.returncode == 0:
        return
    reason = (made.stderr.strip() or made.stdout.strip() or "no reason given").splitlines()[0]
    say(f"`{Path(base_python()).name} -m venv` does not work here ({reason}); fetching virtualenv into .venv-tools")
    if VENV.exists():
        shutil.rmtree(VENV)
    pip: list[str | Path] = [base_python(), "-m", "pip", "install", "--quiet"]
    must([*pip, "--upgrade", "--target", VENV_TOOLS, "virtualenv>=20.26"], "fetching virtualenv")
    env = {**os.environ, "PYTHONPATH": str(VENV_TOOLS)}
    if not run([base_python(), "-m", "virtualenv", "--quiet", VENV], env=env):
        give_up("making .venv with virtualenv failed; the lines above say why.")


def install(level: str, uv: str | None) -> None:
    lock = LOCKS[level]
    pip: list[str | Path]
    if uv is not None:
        # Compiled at once, as pip does: else the first start of everything is slow.
        pip = [uv, "pip", "install", "--quiet", "--compile-bytecode", "--python", PYTHON]
    else:
        pip = [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
    must([*pip, "--require-hashes", "-r", lock], f"installing {lock.name}")
    if uv is None:
        # On all cores, where pip uses one. What cannot be compiled, such as templates and tests of others, is passed over.
        run([PYTHON, "-m", "compileall", "-qq", "-j", "0", VENV / "lib"])
    # hatchling comes from the lock as well, so the build needs no isolated, unlocked environment.
    must([*pip, "--no-deps", "--no-build-isolation", "-e", ROOT], "installing greenroom itself")


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Wait until no other set-up of this checkout runs (`make -j`, or two terminals)."""
    try:
        import fcntl
    except ImportError:  # Windows: no such lock, and make is rare there
        yield
        return
    with (ROOT / ".venv.lock").open("w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def set_up(level: str) -> None:
    if is_ready(level):  # somebody else did it while we waited
        return
    uv = shutil.which("uv")
    say(f"installing {LOCKS[level].name} into {VENV.name} with {'uv' if uv else 'pip'}; this happens once")
    if not is_usable(uv):
        make_venv(uv)
    for each in LEVELS:
        stamp(each).unlink(missing_ok=True)
    install(level, uv)
    stamp(level).write_text(fingerprint(level), encoding="utf-8")


def main(arguments: Sequence[str]) -> int:
    level = arguments[0] if len(arguments) in {1, 2} else ""
    if level not in LOCKS:
        give_up(f"say which level is wanted, one of {', '.join(LOCKS)}; got {list(arguments)!r}")
    if not is_ready(level):
        with alone():
            set_up(level)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
