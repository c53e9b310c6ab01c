"""The page about the protocol is made from the code, and the example speaks it."""

from __future__ import annotations

from typing import Any

import trio

from greenroom.gateway.rpc._methods import METHODS, OWN_METHODS, Answer, RpcCall
from greenroom.serving import Tcp, open_server
from tests.docs.gateway_protocol import PAGE, page
from tests.docs.programs import ROOT, run_python
from tests.gateway.rpc.peers import OPERATOR, open_house

EXAMPLE = ROOT / "examples" / "gateway_client.py"


def test_the_page_is_that_of_the_code() -> None:
    assert page() == PAGE.read_text(encoding="utf-8"), "run `python -m tests.docs.gateway_protocol`"


def test_every_method_has_its_section() -> None:
    text = page()

    assert [spec.name for spec in (*METHODS, *OWN_METHODS) if f"\n### {spec.name}\n" not in text] == []


async def test_the_example_prints_the_reply(tmp_path: Any) -> None:
    async def send(_: RpcCall, params: Any) -> Answer:
        payload = {"sessionKey": params.session_key, "state": "final", "message": f"you said {params.message}"}
        house.hub.publish("chat", params.session_key, payload)
        await trio.lowlevel.checkpoint()
        return {"runId": "r", "status": "started"}

    async with (
        open_house(replaced={"chat.send": send}) as house,
        open_server(house.rpc.endpoints(), listen=[Tcp()]) as server,
    ):
        environment = {
            "GATEWAY_URL": f"ws{server.addresses[0].removeprefix('http')}/rpc",
            "GREENROOM_GATEWAY_TOKEN": OPERATOR,
        }
        code = EXAMPLE.read_text(encoding="utf-8")
        shown = await trio.to_thread.run_sync(lambda: run_python(code, cwd=tmp_path, **environment))

    assert shown == "you said Hello\n"
    assert len(code.splitlines()) <= 45
