"""A channel of one's own: a chat in two files. Lines of `in` are messages, and each answer is a line of `out` behind its key."""

import tempfile
from pathlib import Path

import trio

from greenroom.gateway import channels as ch

ANN = ch.ChatRoute(channel="files", peer="ann")


class FileChannel:
    """A package names this class as an entry point of the group `greenroom.channels`."""

    traits = ch.ChannelTraits(limit=500, takes_keys=True)

    def __init__(self, *, options: dict[str, str], **_: object) -> None:
        self._in, self._out = Path(options["folder"], "in"), Path(options["folder"], "out")

    async def run(self, host: ch.ChannelHost) -> None:
        host.connected()
        at = int(host.cursor or 0)
        while True:
            for line in self._in.read_text().splitlines()[at:]:
                await host.hear(ch.Inbound(route=ANN, sender=ch.Sender(id="ann"), id=f"line {at}", text=line))
                at += 1
                await host.save_cursor(str(at))  # only now: what is not stored comes again
            await trio.sleep(0.1)

    async def send(self, part: ch.Outbound) -> ch.SendReceipt:
        if await self.was_sent(part.key) is ch.WasSent.NO:
            self._out.write_text(f"{self._out.read_text()}{part.key}\t{part.text!r}\n")
        return ch.SendReceipt(result=ch.SendResult.TAKEN)

    async def was_sent(self, key: str) -> ch.WasSent:
        return ch.WasSent.YES if f"{key}\t" in self._out.read_text() else ch.WasSent.NO

    async def show_typing(self, route: ch.ChatRoute, *, is_typing: bool) -> None: ...  # files show none


async def main(folder: Path) -> None:
    (folder / "in").write_text("hello\nare you there?\n")
    (folder / "out").touch()
    channel: ch.Channel = FileChannel(channel="files", account="a", options={"folder": str(folder)}, ports=None)

    async def hear(heard: ch.Inbound) -> None:  # a gateway stores the message here, and answers later
        await channel.send(ch.Outbound(route=heard.route, key=heard.id, text=f"you said: {heard.text}"))

    async def save(cursor: str) -> None:
        print("read up to line", cursor)

    with trio.move_on_after(0.5):
        await channel.run(ch.ChannelHost(hear=hear, connected=lambda: None, save_cursor=save))
    print((folder / "out").read_text())


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as chat:
        trio.run(main, Path(chat))
