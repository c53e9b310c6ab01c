"""The part of the planted repository that is seen only in the whole tree, or in what a call is given."""

from __future__ import annotations

from typing import Final

WIDER_FILES: Final = {
    "shop/data.py": """
        import hashlib
        import tarfile
        import zipfile

        TABLE = "goods"


        def find(cursor, name, names, server):
            cursor.execute(f"SELECT price FROM goods WHERE name = '{name}'")  @@ sql
            cursor.execute("DELETE FROM goods WHERE name = '%s'" % name)  @@ sql
            statement = "INSERT INTO goods VALUES (" + name + ")"
            cursor.execute(statement)  @@ sql
            cursor.execute("UPDATE goods SET name = {}".format(name))  @@ sql
            cursor.execute("SELECT price FROM goods WHERE name = ?", (name,))
            cursor.execute(f"SELECT price FROM {TABLE}")
            cursor.execute(f"SELECT price FROM goods WHERE name IN ({', '.join('?' * len(names))})", names)
            server.bind(("0.0.0.0", 80))  @@ bind-all
            server.bind(("127.0.0.1", 80))


        def serve(host="0.0.0.0", other="0.0.0.0"):  @@ bind-all
            return host in ("0.0.0.0", other)


        def unpack(path, password):
            tarfile.open(path).extractall(".")  @@ extract-all
            tarfile.open(path).extractall(".", filter="data")
            with zipfile.ZipFile(path) as zipped:
                zipped.extractall(".")
            checksum = hashlib.md5(path.read_bytes())
            return hashlib.md5(password.encode()), checksum  @@ weak-hash
        """,
    "shop/rings/__init__.py": "",
    "shop/rings/first.py": "from shop.rings import second  @@ import-cycle\n\nFIRST = second\n",
    "shop/rings/second.py": "from shop.rings.first import FIRST\n\nSECOND = FIRST\n",
    "shop/rings/late.py": """
        from typing import TYPE_CHECKING

        if TYPE_CHECKING:
            from shop.rings.typed import Typed


        def wait():
            from shop.rings import later  @@ import-cycle-late

            return later


        def told(x: "Typed"):
            return wait(), x
        """,
    "shop/rings/later.py": "from shop.rings import late\n\nLATER = late.told\n",
    "shop/rings/typed.py": "from shop.rings.late import told\n\n\nclass Typed:\n    told = told\n",
    "shop/used.py": """
        import logging

        log = logging.getLogger(__name__)


        def _forgotten():  @@ dead-code
            return _forgotten()


        def _named():
            return 1


        def _in_a_text():
            return 1


        def _from_elsewhere():
            return 1


        def _show_one():
            return 1


        @log.register
        def _registered():
            return 1


        class Shown(logging.Handler):
            def emit(self, record):
                return getattr(self, f"_show_{record}")(_named), "shop.used:_in_a_text"


        def nobody_calls():  @@ named-nowhere
            return Shown
        """,
    "setup.cfg": "[options.entry_points]\nconsole = shop.used:_from_elsewhere\n",
    "shop/keys.py": """
        PASSWORD = "hunter2hunter2"  @@ secret
        OPTIONS = {"api_key": "q8Kd02mZqP5v", "token": "access_token", "secret": "changeme123"}  @@ secret
        PASSWORD_FIELD = "password-2b"
        password_hash = "5f4dcc3b5aa765d61d8327deb882cf99"
        DATABASE = "postgres://shop:q8Kd02mZqP5v@db.internal/shop"  @@ secret
        LOCAL = "postgres://postgres:postgres@localhost/shop, redis://user:pass@localhost"


        def login(password="q8Kd02mZqP5v", name="shop"):  @@ secret
            '''Use login(password="q8Kd02mZqP5v9").'''
            return password == name
        """,
    "config.yaml": "db:\n  password: q8Kd02mZqP5v  @@ secret\n  other_password: ${DB_PASSWORD_2}\n  password_file: /run/secrets/db1\n",
    ".env.example": "API_KEY=q8Kd02mZqP5v\n",
    "docs/names.md": """
        # Names

        `shop/mistakes.py`, `shop/lost.py` and `elsewhere/lost.py`.  @@ stale-path
        `shop.risks.fetched`, `shop.risks.lost`, `shop.lazy.anything`, `other.lost`.  @@ stale-name

        ```python
        from shop.risks import fetched, gone  @@ stale-name
        ```

        ```console
        $ python -m shop.mistakes
        $ python -m shop.nowhere  @@ stale-command
        $ shop-of-one --verbose --colour  @@ stale-command
        $ make all
        $ make nothing  @@ stale-command
        $ pip install planted==0.9  @@ stale-version
        $ pip install planted==1
        ```

        `shop.risks.removed_name` was removed.

        ## A new file

        Write `shop/new.py`.
        """,
    "Makefile": "all: shop\n\techo done\n",
    "CHANGELOG.md": "`shop.risks.lost` and `shop/lost.py` are there.\n",
}
