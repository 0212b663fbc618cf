"""Runs the WebSocket examples against programs that others wrote.

    python3 .ci/websocket_peers.py DIRECTORY_OF_EXAMPLES

`serve` on every runtime, `hyper_upgrade` and `epoll_ws` are asked by python's `websockets`, node's `ws`, Chromium with
the page of `serve`, curl, and sockets written to by hand. One line for each check; what is not installed is said to be
missing, and counts neither way. `websocket_talk` on every runtime asks servers of python's and of node's.
"""

import contextlib
import os
import pathlib
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

import peers
from peers import check, equal, finish, missing, node_with_ws, process, python_with_websockets, run

EXAMPLES = pathlib.Path(sys.argv[1])
HERE = pathlib.Path(__file__).parent
MIB = 1 << 20
# A server of ours: its command, and what can be asked of it. Without `deflate` no compression is agreed on.
SERVE = ["deflate", "close", "refuse", "page", "ends"]
SERVERS = {
    f"{runtime}_{topology}": (["serve", "--port", "0", "--runtime", runtime, "--topology", topology], SERVE)
    for runtime, topology in [
        ("tokio", "single"), ("tokio", "shared"), ("smol", "per-thread"), ("async-std", "handed-out"),
        ("blocking", "single"),
    ]
}
SERVERS["hyper"] = (["hyper_upgrade", "127.0.0.1:0"], ["deflate", "refuse"])
SERVERS["epoll"] = (["epoll_ws", "127.0.0.1:0"], [])


def relay(name, tool, command, *arguments):
    """Has a client do its checks, and counts them. It says `done` when it is through."""
    if command is None:
        missing.setdefault(tool, []).append(name)
        return
    done = subprocess.run([*command, *map(str, arguments)], capture_output=True, text=True, timeout=300)
    lines = done.stdout.splitlines()
    for line in lines:
        outcome, _, rest = line.partition(" ")
        if outcome in ("ok", "FAILED"):
            (peers.passed if outcome == "ok" else peers.failed).append(rest)
            print(f"{outcome} {name}/{rest}", flush=True)

    def through():
        assert lines and lines[-1] == "done", done.stderr[-1000:]

    check(f"{name}/through", through)


# Our server, asked by hand.


def upgrade(version="13", key="dGhlIHNhbXBsZSBub25jZQ==", method="GET", http="1.1", more=""):
    fields = f"sec-websocket-key: {key}\r\n" if key is not None else ""
    fields += f"sec-websocket-version: {version}\r\n" if version is not None else ""
    head = f"{method} /ws HTTP/{http}\r\nhost: a\r\nupgrade: websocket\r\nconnection: Upgrade\r\n{fields}{more}\r\n"
    return head.encode()


def frame(b0, payload, mask=b"\x37\xfa\x21\x3d"):
    size = len(payload)
    if size < 126:
        length = bytes([0x80 | size])
    else:
        length = b"\xfe" + struct.pack(">H", size) if size < 65536 else b"\xff" + struct.pack(">Q", size)
    masked = int.from_bytes(payload, "big") ^ int.from_bytes((mask * (size // 4 + 1))[:size], "big")
    return bytes([b0]) + length + mask + masked.to_bytes(size, "big")


def close_frame(code, reason=b""):
    return frame(0x88, struct.pack(">H", code) + reason)


class Raw:
    def __init__(self, port, *sent):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=20)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile("rb")
        self.socket.sendall(b"".join(sent))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.socket.close()

    def head(self):
        """The status, and the fields by their names in lower case."""
        lines = []
        while (line := self.file.readline()) not in (b"\r\n", b""):
            lines.append(line.decode().strip())
        assert lines, "no answer"
        return int(lines[0].split()[1]), dict(re.split(": *", line.lower(), maxsplit=1) for line in lines[1:])

    def response(self):
        status, fields = self.head()
        return status, fields, self.file.read(int(fields["content-length"]))

    def frame(self):
        b0, length = self.file.read(2)
        assert length < 128, "masked"
        if length > 125:
            length = int.from_bytes(self.file.read(2 if length == 126 else 8), "big")
        return b0, self.file.read(length)

    def switched(self):
        status, fields = self.head()
        equal((status, fields["sec-websocket-accept"]), (101, "s3pplmbitxaq9kygzzhzrbk+xoo="))

    def ends(self, code):
        """A close frame with that code, then the end."""
        b0, payload = self.frame()
        equal((b0, int.from_bytes(payload[:2], "big")), (0x88, code))
        equal(self.file.read(), b"")


def raw_checks(name, port, can):
    def frames_behind_the_request():
        sent = [frame(0x81, b"Hello"), frame(0x89, b"ping"), frame(1, b"in "), frame(0x80, b"pieces")]
        with Raw(port, upgrade(), *sent, close_frame(1000)) as raw:
            raw.switched()
            equal([raw.frame() for _ in range(3)], [(0x81, b"Hello"), (0x8A, b"ping"), (0x81, b"in pieces")])
            raw.ends(1000)

    def requests_before_it():
        get = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n"
        post = b"POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n\r\nbody"
        with Raw(port, get, post, upgrade(version="8"), upgrade(), frame(0x82, b"x" * 70000)) as raw:
            equal([raw.response()[0], raw.response()[::2], raw.response()[0]], [200, (200, b"body"), 426])
            raw.switched()
            equal(raw.frame(), (0x82, b"x" * 70000))

    def byte_by_byte():
        with Raw(port) as raw:
            for byte in upgrade() + frame(0x81, "Grüße".encode()) + close_frame(3000):
                raw.socket.sendall(bytes([byte]))
            raw.switched()
            equal(raw.frame(), (0x81, "Grüße".encode()))
            raw.ends(3000)

    def refusals():
        with Raw(port) as raw:
            for request, status, field in [
                (upgrade(version="8"), 426, ("sec-websocket-version", "13")),
                (upgrade(version=None), 426, ("sec-websocket-version", "13")),
                (upgrade(key=None), 400, None),
                (upgrade(key="dG9vIHNob3J0"), 400, None),
                (upgrade(method="DELETE"), 405, ("allow", "get")),
                (b"GET /ws HTTP/1.1\r\nhost: a\r\n\r\n", 426, ("upgrade", "websocket")),
            ]:
                raw.socket.sendall(request)
                got, fields, _ = raw.response()
                assert (got, field and fields.get(field[0])) == (status, field and field[1]), (request, got, fields)
            # Then it is accepted all the same.
            raw.socket.sendall(upgrade())
            raw.switched()

    def broken_protocol():
        for sent, code in [
            (b"\x81\x05Hello", 1002),
            (frame(0xC1, b"reserved bit"), 1002) if "deflate" not in can else (frame(0xA1, b"reserved bit"), 1002),
            (frame(0x83, b"reserved opcode"), 1002),
            (frame(0x09, b"ping in pieces"), 1002),
            (frame(0x89, b"x" * 126), 1002),
            (frame(0x80, b"continues nothing"), 1002),
            (frame(0x01, b"one") + frame(0x81, b"inside another"), 1002),
            (frame(0x88, b"\x03"), 1002),
            (close_frame(1005), 1002),
            (close_frame(2999), 1002),
            (frame(0x81, b"\xc3\x28"), 1007),
            (frame(0x01, b"\xf0\x9f") + frame(0x80, b"\x98"), 1007),
            (frame(0x88, b"\x03\xe8\xff"), 1007),
            (b"\x82\xff" + struct.pack(">Q", 1 << 40) + b"mask" + b"begin", 1009),
        ]:
            try:
                with Raw(port, upgrade(), frame(0x81, b"before"), sent) as raw:
                    raw.switched()
                    equal(raw.frame(), (0x81, b"before"))
                    raw.ends(code)
            except Exception as error:
                raise AssertionError(f"{sent[:40]!r}: {error!r}") from error

    def closes_without_a_code():
        with Raw(port, upgrade(), frame(0x88, b"")) as raw:
            raw.switched()
            equal((raw.frame(), raw.file.read()), ((0x88, b""), b""))

    def reads_late():
        """The server does not read on while nobody takes what it sends, and nothing is lost."""
        payload = os.urandom(MIB)
        with Raw(port, upgrade()) as raw:
            raw.switched()
            sent = frame(0x82, payload) * 48 + close_frame(1000)
            sending = threading.Thread(target=raw.socket.sendall, args=(sent,), daemon=True)
            sending.start()
            time.sleep(0.3)
            assert sending.is_alive(), "48 MiB are held in memory"
            for _ in range(48):
                assert raw.frame() == (0x82, payload)
            raw.ends(1000)
            sending.join()

    def leaves():
        """In the midst of a frame, in order and by a reset; whether it still serves is seen by what follows."""
        for reset in [False, True]:
            with Raw(port, upgrade(), frame(0x82, b"x" * 1000)[:500]) as raw:
                raw.switched()
                if reset:
                    raw.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        with Raw(port, upgrade(), frame(0x81, b"half")) as raw:
            raw.socket.shutdown(socket.SHUT_WR)
            raw.switched()
            equal((raw.frame(), raw.file.read()), ((0x81, b"half"), b""))

    for work in [
        frames_behind_the_request, requests_before_it, byte_by_byte, refusals, broken_protocol, closes_without_a_code,
        reads_late, leaves,
    ]:
        check(f"{name}/raw/{work.__name__}", work)


# Our server, asked by curl and Chromium.


def curl_checks(name, port):
    url = f"127.0.0.1:{port}"

    def curl(*arguments, **options):
        return run("curl", "--silent", "--show-error", "--max-time", "20", *arguments, **options)

    def http_on_the_same_port():
        urls = [f"http://{url}/{path}" for path in ["", "ws", "nothing"]]
        out = curl("--include", "--write-out", " %{num_connects}\n", *urls)
        equal(re.findall(r"^HTTP/1\.1 (\d+)", out, re.M), ["200", "426", "404"])
        equal(re.findall(r" ([01])$", out, re.M), ["1", "0", "0"])

    def post():
        equal(curl("--data", "hello", f"http://{url}/echo"), "hello")
        equal(curl("-H", "Transfer-Encoding: chunked", "--data", "hello" * 9999, f"http://{url}/echo"), "hello" * 9999)

    def websocket():
        # It listens until its time is over.
        out = curl("--max-time", "1", "--include", "--no-buffer", f"ws://{url}/ws", fails=True)
        assert out.startswith("HTTP/1.1 101"), out

    check(f"{name}/curl/http_on_the_same_port", http_on_the_same_port, ["curl"])
    check(f"{name}/curl/post", post, ["curl"])
    if shutil.which("curl") and not re.search("^Protocols:.* ws( |$)", run("curl", "--version"), re.M):
        missing.setdefault("a curl that speaks ws", []).append(f"{name}/curl/websocket")
    else:
        check(f"{name}/curl/websocket", websocket, ["curl"])


def chromium_check(name, port, directory):
    def selftest():
        options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={directory / 'chromium'}"]
        page = run("chromium", *options, "--dump-dom", f"http://127.0.0.1:{port}/?selftest")
        outcome = re.search('<pre id="selftest">(.*?)</pre>', page, re.S)
        assert outcome, page[:500]
        assert outcome[1].startswith("ok\n") and outcome[1].endswith("no upgrade: 426"), outcome[1]

    check(f"{name}/chromium/selftest", selftest, ["chromium"])


# The whole.


@contextlib.contextmanager
def served(command):
    """Our server, and what it writes to its log."""
    log = tempfile.TemporaryFile("w+")
    command = [EXAMPLES / command[0], *command[1:]]
    with process(*command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True) as server:
        yield int(server.stdout.readline().rsplit(":", 1)[1]), server, log


def server_checks(name, command, can, python, node, directory):
    with served(command) as (port, server, log):
        raw_checks(name, port, can)
        relay(f"{name}/websockets", "python's websockets", python, HERE / "websocket_python_client.py", port, *can)
        relay(f"{name}/ws", "node's ws", node, HERE / "websocket_node_client.js", port, *can)
        curl_checks(name, port)
        if "page" in can:
            chromium_check(name, port, directory)

        def ends_in_order():
            with Raw(port, upgrade(), frame(0x81, b"hello")) as raw:
                raw.switched()
                equal(raw.frame(), (0x81, b"hello"))
                server.stdin.write("\n")
                server.stdin.flush()
                equal(raw.frame(), (0x88, struct.pack(">H", 1001)))
                raw.socket.sendall(close_frame(1001))
                equal(raw.file.read(), b"")
            equal(server.wait(20), 0)

        def still_well():
            assert server.poll() in (None, 0), f"it has ended with {server.poll()}"
            log.seek(0)
            text = log.read()
            assert "panicked" not in text, text[-1000:]

        if "ends" in can:
            check(f"{name}/ends_in_order", ends_in_order)
        check(f"{name}/still_well", still_well)


# Our client against servers of others.

PYTHON_SERVER = """
import asyncio, websockets

async def echo(ws):
    async for message in ws:
        await ws.send(message)

async def main():
    async with websockets.serve(echo, "127.0.0.1", 0, max_size=1 << 26, subprotocols=["chat"]) as server:
        print(server.sockets[0].getsockname()[1], flush=True)
        await asyncio.Future()

asyncio.run(main())
"""


def client_checks(peer, command, subprotocols, directory):
    environment = {**os.environ, "NODE_PATH": str(directory / "node/node_modules")}
    with process(*command, stdout=subprocess.PIPE, text=True, env=environment) as server:
        url = f"ws://127.0.0.1:{int(server.stdout.readline())}/"
        for runtime in ["tokio", "smol", "async-std", "blocking"]:

            def talk():
                said = run(EXAMPLES / "websocket_talk", runtime, url, *subprotocols)
                assert "permessage-deflate" in said and said.endswith("ok: the close\n"), said

            check(f"client/{runtime}/{peer}", talk)


def main():
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
        directory = pathlib.Path(directory)
        python, node = python_with_websockets(directory), node_with_ws(directory)
        for name, (command, can) in SERVERS.items():
            server_checks(f"server/{name}", command, can, python, node, directory)
        if python:
            client_checks("websockets", [*python, "-c", PYTHON_SERVER], ["chat"], directory)
        if node:
            client_checks("ws", ["node", HERE / "websocket_node_server.js"], [], directory)
    finish()


main()
