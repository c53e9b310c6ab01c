"""Talk to a gateway in plain frames: connect, say something, print the reply. URL and token stand in the environment."""

import json
import os
import sys
from uuid import uuid4

import trio
from trio_websocket import open_websocket_url


async def main(message: str, session: str = "agent:main:main") -> None:
    url = os.environ.get("GATEWAY_URL", "ws://127.0.0.1:18789/rpc")
    async with open_websocket_url(url) as socket:
        sent = 0

        async def call(method: str, **params: object) -> None:
            nonlocal sent
            sent += 1
            await socket.send_message(json.dumps({"type": "req", "id": str(sent), "method": method, "params": params}))

        await call(
            "connect",
            minProtocol=1,
            maxProtocol=1,
            client={"id": "example", "version": "1"},
            auth={"token": os.environ["GREENROOM_GATEWAY_TOKEN"]},
        )
        await call("events.subscribe", events=["chat"], sessionKeys=[session])
        await call("chat.send", sessionKey=session, message=message, idempotencyKey=str(uuid4()))
        while True:
            frame = json.loads(await socket.get_message())
            if frame["type"] == "res" and not frame["ok"]:
                sys.exit(frame["error"]["message"])
            if frame.get("event") == "chat" and frame["payload"]["state"] == "final":
                print(frame["payload"]["message"])
                return


if __name__ == "__main__":
    trio.run(main, " ".join(sys.argv[1:]) or "Hello")
