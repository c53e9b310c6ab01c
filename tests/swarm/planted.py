"""A repository with findings of every kind, each marked in its line, and with what only looks like one.

`@@ kind` at the end of a line says that the report has to name this line under that kind. The mark itself is not
written to the file. What bears no mark must not be reported.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Final, TypeAlias

from tests.swarm.planted_wider import WIDER_FILES

Planted: TypeAlias = tuple[str, str, int]
"""Kind, path, line."""

# Put together here, so that whoever searches this repository for keys finds none.
_KEY: Final = "ghp" + "_a8Kd02mZqP5vXw7Tn3RbL1cYf6GhJ9sUeQ4o"

MISTAKES: Final = """
    import random
    import time
    import uuid

    import yaml


    def asked(x):
        assert (x, "is missing")  @@ assert-tuple
        if (x, 1):  @@ assert-tuple
            return 1
        if x == "a" or "b":  @@ always-true
            return 2
        x == 3  @@ lost-compare
        if x is "text":  @@ is-literal
            return 4
        ValueError("x is odd")  @@ exception-lost
        raise NotImplemented("later")  @@ not-implemented


    def caught(x):
        try:
            return {"a": 1, "b": 2, "a": 3}[x]  @@ same-key
        except KeyError or ValueError:  @@ except-or
            return 1
        except Exception:
            return 2
        except ValueError:  @@ except-late
            return 3


    def kept(item, seen_at=time.time(), found=[]):  @@ frozen-default @@ mutable-default
        found.append(item)
        return seen_at


    def told(names={}):  @@ mutable-kept
        return names


    def read_only(
        names=["x"],
        options={},  @@ mutable-read
    ):
        return [one for one in names if one in options]


    def configured(text):
        breakpoint()  @@ debugger
        return yaml.load(text)  @@ yaml-load


    def twice():
        return random.random()


    def twice():  @@ redefined
        return uuid.uuid4()
"""

RISKS: Final = """
    import asyncio
    import datetime
    import json
    import os
    import pickle
    import subprocess
    import tempfile
    import time
    from contextlib import suppress
    from datetime import datetime as moment

    import requests
    import yaml


    async def fetched(address):
        time.sleep(1)  @@ async-blocks
        asyncio.create_task(stored(address))  @@ task-dropped
        stored(address)  @@ unawaited
        asyncio.sleep(1)  @@ unawaited
        return requests.get(address, verify=False)  @@ async-blocks @@ no-timeout @@ tls


    async def stored(address):
        return address


    class Store:
        async def save(self):
            return self

        async def close(self):
            self.save()  @@ unawaited


    def ignored():
        try:
            os.remove("x")
        except:  @@ bare-except
            print("oh")  @@ print
        try:
            os.remove("y")
        except Exception:  @@ swallowed
            pass
        with suppress(Exception):  @@ swallowed
            os.remove("z")
        try:
            os.remove("z")
        except BaseException:  @@ base-exception
            return None
        finally:
            return 1  @@ finally-return


    def never(x):
        return x
        os.remove(x)  @@ unreachable


    def run(name, text, stream):
        subprocess.run(f"rm {name}", shell=True)  @@ shell
        os.system("rm " + name)  @@ shell
        eval(text)  @@ eval
        pickle.loads(text)  @@ unpickle
        yaml.load(text, Loader=yaml.UnsafeLoader)  @@ unpickle
        tempfile.mktemp()  @@ mktemp
        for line in open(name):  @@ open-left
            stream.write(line)
        return json.load(open(name)), open(name).read()  @@ open-left


    def share(part, whole):
        assert whole > 0, "whole has to be positive"  @@ assert-check
        if part == None:  @@ none-compare
            return f"nothing"  @@ f-string
        return moment.utcnow(), datetime.datetime.utcfromtimestamp(part)  @@ utcnow
"""

DECOYS: Final = """
    import asyncio
    import datetime
    import json
    import logging
    import os
    import pickle
    import socket
    import subprocess
    import time
    from contextlib import suppress

    import requests
    import yaml

    COMMAND = "ls | wc"
    log = logging.getLogger(__name__)


    class Model:
        cache: dict = {}

        def __del__(self):
            try:
                self.close()
            except Exception:
                pass

        def eval(self):
            return self

        def close(self):
            return self.eval()

        async def __aenter__(self):
            await self.wait()
            return self.wait()

        async def wait(self):
            def block():
                time.sleep(1)

            await asyncio.to_thread(block)
            await asyncio.to_thread(lambda: time.sleep(1))
            task = asyncio.create_task(self.pause())
            async with asyncio.TaskGroup() as group:
                group.create_task(self.pause())
            await task

        async def pause(self):
            await asyncio.sleep(1)

        @property
        def size(self):
            return 1

        @size.setter
        def size(self, value):
            self.close()


    class Sync:
        def pause(self):
            self.close()

        def close(self):
            self.pause()


    def open(name):
        return name


    def read(name):
        return open(name).read()


    def calls(name, text, _cache={}, memo=[], cell=[0], when=None):
        _cache[name] = cell
        subprocess.run(["ls", name], check=True)
        subprocess.run("ls | wc", shell=True)
        subprocess.run(COMMAND, shell=True)
        runner(name, shell=True)
        yaml.load(text, Loader=yaml.SafeLoader)
        yaml.safe_load(text)
        requests.get(name, timeout=5)
        requests.get(name, **when)
        socket.create_connection((name, 80), 5)
        datetime.datetime.now(datetime.UTC)
        exec("x = 1")
        print(text, file=log)
        return f"{name:>10}" f" and " "more", pickle.dumps(text)


    def runner(name, shell):
        return name if shell else None


    def set_break(names: dict):
        breakpoint()


    class Face:
        def stated(self, names={}): ...


    def bound_anew(names=None, options=()):
        names = names or []
        names.append(options)
        return names


    def handled():
        try:
            os.remove("x")
        except:
            log.error("failed")
            raise
        try:
            os.remove("x")
        except Exception:  # the file may be gone, and that is what is wanted
            pass
        try:
            os.remove("x")
        except Exception:
            log.exception("failed")
        try:
            os.remove("x")
        except FileNotFoundError:
            pass
        except Exception as error:
            return error
        try:
            os.remove("x")
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:
            return 1
        with suppress(FileNotFoundError):
            os.remove("x")
        try:
            os.remove("x")
        except BaseException:
            log.error("failed: %s", name_of_what_was_caught())
        try:
            os.remove("x")
        finally:
            for name in os.listdir():
                if name:
                    break


    def conditions(x, y):
        assert x, "internal: y is made of x"
        assert (x and y)
        x = x or "a"
        assert isinstance(x, str), "bound anew"
        if x == "a" or y == "b" or (x, y) == ("a", "b"):
            return x is None or y is True
        if x == 1 or y:
            raise NotImplementedError
        return {"a": 1, "b": 1, "a": 1}, {1: "a", "1": "b"}


    def generator():
        return
        yield


    def stepwise():
        def step():
            return 1

        first = step

        def step():
            return 2

        return first, step


    if os.name == "nt":

        def place():
            return "C:"

    else:

        def place():
            return "/"


    def load(text):
        return eval("1 + 1"), json.loads(text), "except: pass", "# TODO is no marker here"
"""

FILES: Final = {
    "README.md": """
        # Planted

        See [the guide](docs/guide.md), [what is gone](docs/gone.md) and [the site](https://example.org/x.md).  @@ dead-link

        ```text
        [not a link](nowhere.md)
        ```

        `[not a link either](nowhere.md)` <!-- [nor this](nowhere.md) --> [anchor](#planted) [made](api/index.html)

        [source]: shop/risks.py
        [lost]: shop/lost.py  @@ dead-link
        """,
    "docs/guide.md": "[up](../README.md#planted) [here](guide.md) [folder](../shop) [folder](v1.2) ![shot](shot%20one.png)\n",
    "docs/v1.2/notes.md": "Notes.\n",
    "docs/shot one.png": "\0\1",
    "pyproject.toml": """
        [build-system]
        requires = ["hatchling"]

        [project]  @@ no-requires-python @@ no-licence
        name = "planted"
        version = "1"
        readme = "README.rst"  @@ no-readme-file

        [project.scripts]
        shop-of-one = "shop.used:nobody_else"
        """,
    "app.js": """
        function run() {
          console.log("here");  @@ leftover
          const log = "console.log('no')";
        }
        """,
    "deploy.env": f"TOKEN={_KEY}  @@ secret\nOTHER=ghp_{'x' * 36}\nKEY=AKIAIOSFODNN7EXAMPLE\n",
    "shop/__init__.py": """
        from shop import mistakes

        __all__ = ["mistakes", "risks", "lost", "mistakes"]  @@ undefined-all @@ all-twice
        """,
    "shop/mistakes.py": MISTAKES,
    "shop/risks.py": RISKS,
    "shop/decoys.py": DECOYS,
    "shop/lazy.py": """
        __all__ = ["anything", "Made"]


        def __getattr__(name):
            return name
        """,
    "shop/stars.py": """
        from os.path import *  @@ star-import
        from shop._private import *

        __all__ = ["join", "whatever"]


        def joined(parts):
            return join(*parts)
        """,
    "shop/faces.py": """
        from os.path import *

        NAME = "what paths can do"
        """,
    "shop/shadows.py": """
        async def step(x):
            return x


        def run(step, open, eval):
            step(open("x").read())
            return eval(step)


        class Player:
            async def go(self):
                return self

            def start(self, go):
                self.go = go
                self.go()
        """,
    "shop/_private.py": """
        def check(x):
            assert x > 0, "nobody outside calls this"
            return x
        """,
    "shop/broken.py": "def whole():\n    return 1\n\ndef broken(:  @@ syntax\n    pass\n",
    "shop/merged.txt": "a\n<<<<<<< ours  @@ conflict\nb\n=======\nc\n>>>>>>> theirs\n",
    "shop/heading.rst": "Title\n=======\n\n>>>>>>> quoted by mail\n",
    "shop/pem.py": 'HEAD = "-----BEGIN PRIVATE KEY-----"\n',
    "shop/query.py": "from sqlalchemy import select\n\n\ndef find(table):\n    return select(table).where(table.x == None)\n",
    "scripts/go.py": "print('scripts may print', '--verbose')\n",
    "tests/test_shop.py": """
        import pytest

        from shop import decoys, lazy, mistakes, query, risks, stars


        def test_nothing():  @@ test-empty
            pass


        def test_later():
            pass  # written with the next release


        @pytest.mark.skip  @@ skip-silent
        def test_skipped():
            assert mistakes.twice()


        @pytest.mark.skip(reason="no network")  @@ skip-always
        def test_skipped_with_a_reason():
            assert mistakes.twice()


        def test_gives_up():
            pytest.skip()  @@ skip-silent


        def test_compares():
            mistakes.twice() == 1  @@ lost-compare


        def test_compares_to_raise():
            with pytest.raises(TypeError):
                decoys.Model() < 1


        def test_twice():
            assert lazy and stars


        def test_twice():  @@ redefined
            assert query and eval(risks.__name__)


        def test_says_nothing():  @@ test-asserts-nothing
            mistakes.twice()


        def test_does_not_crash():
            mistakes.twice()


        def test_says_what_it_is_about():
            'Nothing is raised.'
            mistakes.twice()


        def test_calls_what_asserts():
            assert_twice(mistakes)


        def test_passes():
            assert "twice"  @@ assert-constant
            assert False


        def test_expects_anything():
            with pytest.raises(Exception):  @@ raises-broad
                mistakes.asked()
            with pytest.raises(Exception, match="asked"):
                mistakes.asked()
            with pytest.raises(Exception) as caught:
                mistakes.asked()
            assert caught


        class Helper:
            def test_like(self):
                pass
        """,
    "tests/data/python2.py": "print 'kept broken on purpose'\n",
}


def make_planted_repo(folder: Path) -> set[Planted]:
    """Write the repository into a folder, and return what has to be found in it."""
    planted: set[Planted] = set()
    for path, text in {**FILES, **WIDER_FILES, "shop/long.py": _long_file(), "shop/deep.py": _deep_file()}.items():
        lines = textwrap.dedent(text).removeprefix("\n").split("\n")
        for number, line in enumerate(lines, 1):
            plain, *kinds = line.split("@@ ")
            planted |= {(kind.strip(), path, number) for kind in kinds}
            lines[number - 1] = plain.rstrip() if kinds else line
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n".join(lines), encoding="utf-8")
    public = re.findall(
        r"^ *(?:async )?(?:def|class) ([a-z]\w+|[A-Z]\w+)", "\n".join(map(str, FILES.values())), re.MULTILINE
    )
    named = [*public, "find", "serve", "unpack", "wait", "Typed", "login", "very_long", "table", "deep", "flat"]
    (folder / "docs" / "api.txt").write_text("\n".join(named), encoding="utf-8")
    (folder / "shop" / "latin.py").write_bytes(b"# caf\xe9\n")
    return planted


def _long_file() -> str:
    steps = "    if x:\n        x = 1\n" * 80
    rows = "        1,\n" * 200
    return f"def very_long(x):  @@ very-long\n{steps}    return x\n\n\ndef table():\n    return [\n{rows}    ]\n"


def _deep_file() -> str:
    deep = "".join("    " * depth + "if x:\n" for depth in range(1, 8)) + "    " * 8 + "return 1\n"
    flat = "    if x == 0:\n        return 0\n"
    flat += "".join(f"    elif x == {number}:\n        return {number}\n" for number in range(1, 9))
    return f"def deep(x):  @@ depth\n{deep}\n\ndef flat(x):\n{flat}"
