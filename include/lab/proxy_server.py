"""The way into each cluster for who is outside of its datacenter: a TCP proxy that can cut it, as a dead link does.

While a link is cut nothing is forwarded or answered, and no connection ends; what was sent meanwhile arrives when the
link is whole again. Of new connections the first are taken and not answered; to the others not even the kernel answers.
It needs nothing but Python, and runs as a process of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import socket
import sys
from dataclasses import dataclass, field

_BLOCK_BYTES, _BLOCKS_ON_THE_WAY, _BACKLOG = 64 * 1024, 256, 128
_Way = asyncio.Queue[tuple[float, bytes]]


@dataclass(slots=True)
class Link:
    """The link to one cluster, with the ports of all its processes.

    :param delay: how many seconds it takes each way
    """

    delay: float = 0.0
    listeners: list[socket.socket] = field(default_factory=list)
    whole: asyncio.Event = field(default_factory=asyncio.Event)

    def set_whole(self, whole: bool) -> None:
        """Cut it, or make it whole again."""
        for listener in self.listeners:
            listener.listen(_BACKLOG if whole else 0)
        if whole:
            self.whole.set()
        else:
            self.whole.clear()

    async def listen(self, host: str, port: int, inside: int) -> None:
        """Take connections on a port and forward them to another one, for ever."""
        listener = socket.create_server((host, port), backlog=_BACKLOG)
        listener.setblocking(False)
        self.listeners.append(listener)
        joined = set[asyncio.Task[None]]()
        while True:
            caller, _ = await asyncio.get_running_loop().sock_accept(listener)
            await self.whole.wait()
            joined.add(task := asyncio.create_task(self._join(caller, host, inside)))
            task.add_done_callback(joined.discard)

    async def _join(self, caller: socket.socket, host: str, inside: int) -> None:
        """Forward one connection until both ends have closed it, or one has broken it."""
        from_outside, to_outside = await asyncio.open_connection(sock=caller)
        try:
            from_inside, to_inside = await asyncio.open_connection(host, inside)
        except OSError:
            to_outside.transport.abort()
            return
        there, back = _Way(_BLOCKS_ON_THE_WAY), _Way(_BLOCKS_ON_THE_WAY)
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._take(from_outside, there))
                tasks.create_task(self._give(to_inside, there))
                tasks.create_task(self._take(from_inside, back))
                tasks.create_task(self._give(to_outside, back))
        except* OSError:
            pass
        finally:
            to_inside.close()
            to_outside.close()

    async def _take(self, reader: asyncio.StreamReader, way: _Way) -> None:
        """Take what one end sends; its end is the last thing that it sends, and waits for the link as well."""
        data = b"more"
        while data:
            try:
                data = await reader.read(_BLOCK_BYTES)
            except OSError:
                data = b""
            await self.whole.wait()
            await way.put((asyncio.get_running_loop().time() + self.delay, data))

    async def _give(self, writer: asyncio.StreamWriter, way: _Way) -> None:
        """Give it to the other end when it is due and the link is whole."""
        while True:
            due, data = await way.get()
            await asyncio.sleep(due - asyncio.get_running_loop().time())
            await self.whole.wait()
            if not data:
                writer.write_eof()
                return
            writer.write(data)
            await writer.drain()


async def serve(host: str, control: int, ports: list[tuple[str, int, int]]) -> None:
    """Forward all ports, and do what a line on the control port says.

    :param ports: name of a link, the port outside, the port inside
    """
    links = {name: Link() for name, _, _ in ports}

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        words = (await reader.readline()).decode().split()
        match words:
            case [name, "cut" | "heal" as what] if name in links:
                links[name].set_whole(what == "heal")
            case [name, "delay", milliseconds] if name in links and milliseconds.isdecimal():
                links[name].delay = int(milliseconds) / 1000
            case _:
                writer.write(f"not understood: {' '.join(words)}".encode())
        writer.write(b"\n")
        writer.close()

    async with asyncio.TaskGroup() as tasks:
        for name, outside, inside in ports:
            links[name].whole.set()
            tasks.create_task(links[name].listen(host, outside, inside))
        tasks.create_task((await asyncio.start_server(answer, host, control)).serve_forever())


def _port(text: str) -> tuple[str, int, int]:
    name, outside, inside = text.split(":")
    return name, int(outside), int(inside)


def main(arguments: list[str]) -> None:
    """Serve until it is ended."""
    parser = argparse.ArgumentParser(prog="proxy")
    parser.add_argument("--host", required=True)
    parser.add_argument("--control", type=int, required=True)
    parser.add_argument("ports", type=_port, nargs="+", metavar="LINK:OUTSIDE:INSIDE")
    options = parser.parse_args(arguments)
    asyncio.run(serve(options.host, options.control, options.ports))


if __name__ == "__main__":
    main(sys.argv[1:])
