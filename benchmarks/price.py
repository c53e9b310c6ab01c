"""The price of a survey: `python -m benchmarks.price [--now] [--earlier-code FOLDER]`.

This repository as it was at a fixed commit is surveyed twice, by the code of that commit and by the code of this checkout. The model is
a server on loopback that counts tokens and its cache as the provider does: four marks, 20 blocks of look-back. Its teammates follow a
script: they look at the files of their item, read on where they are in doubt, and hand in findings of 0.8 KB. Then the embedded rules
make the same survey, whose conversations are counted as if a model had read them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from decimal import Decimal
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import attrs
import trio

from benchmarks.price_script import LEAD, MATE, Script
from greenroom.models import Usage
from greenroom.models.budgets import Pricing
from greenroom.testing import PromptCache, open_messages_server

COMMIT: Final = "38c4b38"
SMALL, LARGE = "claude-haiku-4-5", "claude-sonnet-5"
MIXED: Final = {LEAD: LARGE, MATE: SMALL}
ALL_LARGE: Final = {LEAD: LARGE, MATE: LARGE}
HERE: Final = Path(__file__).parents[1]


@attrs.frozen(kw_only=True)
class Survey:
    """Requests, tokens and roles of one survey."""

    name: str
    requests: int
    usage: Usage
    mixed_usd: Decimal | None = None
    """Teammates on the small model, the lead on the large one; None for the rules."""
    large_usd: Decimal | None = None
    uncached_usd: Decimal | None = None
    """As `mixed_usd`, if nothing were read from a cache."""

    @property
    def input_tokens(self) -> int:
        return self.usage.prompt_tokens

    @property
    def row(self) -> str:
        usds = "".join(f"{'' if usd is None else f'${usd:.2f}':>13}" for usd in self._dollars)
        cached = self.usage.cache_read_input_tokens / (self.input_tokens or 1)
        share = f"{cached:.0%}" if self.mixed_usd is not None else ""
        return f"  {self.name:<34}{self.requests:>9,}{self.input_tokens:>15,}{share:>8}{usds}"

    @property
    def _dollars(self) -> tuple[Decimal | None, ...]:
        return self.mixed_usd, self.large_usd, self.uncached_usd


HEAD: Final = f"  {'survey':<34}{'requests':>9}{'input tokens':>15}{'cached':>8}{'small+large':>13}{'all large':>13}{'no cache':>13}"


def unpack(folder: Path) -> None:
    """Write the surveyed state of the repository into a folder; exit with a line where it is not to be had."""
    found = subprocess.run(["git", "-C", str(HERE), "archive", COMMIT], capture_output=True, check=False)
    if found.returncode:
        why = found.stderr.decode(errors="replace").strip().partition("\n")[0]
        sys.exit(f"the commit {COMMIT} is not in this clone ({why}); fetch the whole history: git fetch --unshallow")
    with tarfile.open(fileobj=BytesIO(found.stdout)) as archive:
        archive.extractall(folder, filter="data")


def command(folder: Path, runs: Path, model: str) -> list[str]:
    """Return the command that surveys a folder."""
    arguments = ["--runs", str(runs), "--json"] + (["--model", model] if model else [])
    return [sys.executable, "-m", "greenroom", "swarm", str(folder), *arguments]


async def survey_on_claude(name: str, code: Path, folder: Path, runs: Path, *, more: Sequence[str] = ()) -> Survey:
    """Survey a folder with some code, on the scripted server."""
    script = Script()
    async with open_messages_server(script, cache=PromptCache()) as server:
        environ = {
            **os.environ,
            "PYTHONPATH": str(code),
            "HOME": str(runs.parent),
            "ANTHROPIC_API_KEY": "none",
            "ANTHROPIC_BASE_URL": server.url,
        }
        done = await trio.run_process(
            [*command(folder, runs, ""), *more], cwd=code, env=environ, capture_stdout=True, check=False
        )
        last: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        assert last.get("state") == "done", last
        usages = [
            attrs.evolve(billed, output_tokens=said.output_tokens)
            for billed, said in zip(server.billed, script.said, strict=True)
        ]
    roles = [said.role for said in script.said]
    uncached = [Usage(usage.prompt_tokens, usage.output_tokens) for usage in usages]
    return Survey(
        name=name,
        requests=len(usages),
        usage=sum(usages, Usage()),
        mixed_usd=dollars(roles, usages, MIXED),
        large_usd=dollars(roles, usages, ALL_LARGE),
        uncached_usd=dollars(roles, uncached, MIXED),
    )


def dollars(roles: Sequence[str], usages: Sequence[Usage], models: Mapping[str, str]) -> Decimal:
    """Return the price of requests, with a model for each role."""
    costs = [Pricing().cost(models[role], usage) for role, usage in zip(roles, usages, strict=True)]
    return sum((cost for cost in costs if cost is not None), Decimal(0))


def survey_by_rules(name: str, code: Path, folder: Path, runs: Path) -> Survey:
    """Survey a folder with some code, by the embedded rules."""
    environ = {**os.environ, "PYTHONPATH": str(code), "HOME": str(runs.parent)}
    subprocess.run(command(folder, runs, "playbook"), cwd=code, env=environ, stdout=subprocess.DEVNULL, check=True)
    (journal,) = runs.glob("2*/journal.jsonl")
    requests, usage = 0, Usage()
    with journal.open("rb") as lines:
        for line in lines:
            if b'"model.end"' in line:
                event = json.loads(line)
                requests += 1
                usage += Usage(event.get("input_tokens", 0), event.get("output_tokens", 0))
    return Survey(name=name, requests=requests, usage=usage)


async def measure(*, before: bool) -> list[Survey]:
    """Return what the surveys came to, the earlier code first."""
    surveys = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "surveyed"
        unpack(folder)
        for label, code in (("before", folder), ("now", HERE)) if before else (("now", HERE),):
            runs = Path(place) / label
            surveys.append(await survey_on_claude(f"{label}: scripted teammates", code, folder, runs / "claude"))
            print(surveys[-1].row, flush=True)
            surveys.append(
                await trio.to_thread.run_sync(survey_by_rules, f"{label}: embedded rules", code, folder, runs / "rules")
            )
            print(surveys[-1].row, flush=True)
    return surveys


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.price", description=__doc__)
    parser.add_argument("--now", action="store_true", help="survey with this checkout's code only")
    options = parser.parse_args()
    print(f"a survey of this repository at {COMMIT}; small: {SMALL}, large: {LARGE}; built-in prices\n{HEAD}")
    trio.run(lambda: measure(before=not options.now))


if __name__ == "__main__":
    main()
