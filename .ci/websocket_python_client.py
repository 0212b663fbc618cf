"""Asks a server of ours with python's `websockets`: one line for each check, then `done`.

    python3 websocket_python_client.py PORT WHAT_IT_CAN…
"""

import asyncio
import os
import sys
import traceback

import websockets
from websockets.extensions.permessage_deflate import ClientPerMessageDeflateFactory as Deflate

URL = f"ws://127.0.0.1:{sys.argv[1]}/ws"
CAN = sys.argv[2:]
MIB = 1 << 20
UNICODE = "Grüße, Ελληνικά, Кириллица, العربية, हिन्दी, 漢字かな交じり, 한국어, 𝔘𝔫𝔦, 👩🏽‍🚀"
COMPRESSIONS = {
    "plain": None,
    "deflate": Deflate(client_max_window_bits=True),
    "deflate_without_takeover": Deflate(server_no_context_takeover=True, client_no_context_takeover=True),
    "deflate_without_server_takeover": Deflate(server_no_context_takeover=True),
    "deflate_without_client_takeover": Deflate(client_no_context_takeover=True),
    "deflate_small_windows": Deflate(server_max_window_bits=9, client_max_window_bits=9),
    "deflate_uneven_windows": Deflate(server_max_window_bits=10, client_max_window_bits=15),
}


def connect(compression=None, url=URL):
    options = {"compression": None, "extensions": [compression] if compression else None}
    return websockets.connect(url, **options, max_size=None, ping_interval=None, proxy=None)


async def echo(ws, message, whole=None):
    """Sends it, in fragments if it is a list, and has it back, of the same kind."""
    await ws.send(message)
    back = await ws.recv()
    expected = message if whole is None else whole
    assert type(back) is type(expected) and back == expected, f"{len(back)} came back for {len(expected)}"


async def messages(compression):
    async with connect(compression) as ws:
        answer = ws.response.headers.get("Sec-WebSocket-Extensions", "")
        assert ("permessage-deflate" in answer) == (compression is not None), f"extensions: {answer!r}"
        for message in ["", b"", "hello", b"hello", bytes(range(256)) * 300, UNICODE, UNICODE * 2000, b"\0" * MIB]:
            await echo(ws, message)
        # Longer than any window, and near what came before: a context that differs would show.
        noise = os.urandom(100_000)
        for round in range(5):
            await echo(ws, noise)
            await echo(ws, noise[round * 1000 :] + b"the end")
            await echo(ws, f"{round} {UNICODE} " * 1000)
        for fragments in [["one ", "two ", "three"], ["", ""], [UNICODE] * 50]:
            await echo(ws, fragments, "".join(fragments))
        pieces = [noise[at : at + 999] for at in range(0, len(noise), 999)]
        await echo(ws, pieces, noise)
    assert (ws.close_code, ws.close_reason) == (1000, ""), (ws.close_code, ws.close_reason)


async def sixteen_mebibytes(compression):
    async with connect(compression) as ws:
        await echo(ws, os.urandom(16 * MIB))
        await echo(ws, bytes(16 * MIB))
        await echo(ws, "x" * (16 * MIB))


async def in_flight():
    async with connect() as ws:
        async def send():
            for number in range(3000):
                await ws.send(f"{number}" * 20)

        sending = asyncio.create_task(send())
        for number in range(3000):
            assert await ws.recv() == f"{number}" * 20
        await sending


async def many_connections():
    async def one(number):
        async with connect() as ws:
            for round in range(20):
                await echo(ws, f"{number} {round}")

    await asyncio.gather(*(one(number) for number in range(100)))


async def pings():
    async with connect(COMPRESSIONS["deflate"] if "deflate" in CAN else None) as ws:
        for payload in [b"", b"ping", bytes(125)]:
            await asyncio.wait_for(await ws.ping(payload), 10)
        # Between the fragments of a message.
        async def fragments():
            for piece in ["a", "b", "c"]:
                yield piece
                await asyncio.wait_for(await ws.ping(), 10)

        await echo(ws, fragments(), "abc")
        await ws.pong(b"unasked for")
        await echo(ws, "still here")


async def close_codes():
    frames = [(1000, ""), (1000, "done"), (1001, "left"), (1011, ""), (3000, UNICODE[:30]), (4999, "x" * 123)]
    for code, reason in frames:
        async with connect() as ws:
            await echo(ws, "hello")
            await ws.close(code, reason)
        assert ws.protocol.close_rcvd.code == code and not ws.protocol.close_rcvd_then_sent, ws.protocol.close_rcvd


async def closed_by_the_server():
    for code in [1000, 1001, 1011, 3000, 4999]:
        async with connect(url=f"{URL}?close={code}") as ws:
            try:
                await ws.recv()
            except websockets.ConnectionClosed as closed:
                assert closed.rcvd_then_sent and (closed.rcvd.code, closed.rcvd.reason) == (code, "as asked"), closed
            else:
                raise AssertionError("not closed")


async def too_big():
    async with connect(COMPRESSIONS["deflate"]) as ws:
        # A few kilobytes on the wire.
        await ws.send(bytes(64 * MIB + 1))
        try:
            await ws.recv()
        except websockets.ConnectionClosed as closed:
            assert closed.rcvd and closed.rcvd.code == 1009, closed
        else:
            raise AssertionError("not closed")


async def refused():
    try:
        async with connect(url=URL.removesuffix("ws") + "nothing"):
            raise AssertionError("accepted")
    except websockets.InvalidStatus as refusal:
        assert refusal.response.status_code == 404, refusal


async def main():
    kinds = {name: kind for name, kind in COMPRESSIONS.items() if not kind or "deflate" in CAN}
    checks = {f"messages/{name}": (messages, kind) for name, kind in kinds.items()}
    checks |= {
        "16_mib/plain": (sixteen_mebibytes, None), "in_flight": (in_flight,), "pings": (pings,),
        "close_codes": (close_codes,), "many_connections": (many_connections,),
    }
    if "deflate" in CAN:
        checks |= {"16_mib/deflate": (sixteen_mebibytes, COMPRESSIONS["deflate"]), "too_big": (too_big,)}
    if "close" in CAN:
        checks["closed_by_the_server"] = (closed_by_the_server,)
    if "refuse" in CAN:
        checks["refused"] = (refused,)
    for name, (work, *arguments) in checks.items():
        try:
            await asyncio.wait_for(work(*arguments), 60)
        except Exception as error:  # Whatever it is, the other checks go on.
            place = traceback.extract_tb(error.__traceback__)[-1]
            print(f"FAILED {name}: {type(error).__name__}: {error} (at {place.name}:{place.lineno})", flush=True)
        else:
            print(f"ok {name}", flush=True)
    print("done")


asyncio.run(main())
