"""Runs the example `epoll_echo` and exchanges length-prefixed frames with it."""

import socket
import struct
import subprocess
import sys
import threading
import time

with socket.socket() as probe:
    probe.bind(("127.0.0.1", 0))
    port = probe.getsockname()[1]
server = subprocess.Popen([sys.argv[1], f"127.0.0.1:{port}"])


def connect():
    # The example says nothing when it listens.
    deadline = time.monotonic() + 20
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=20)
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise


try:
    with connect() as connection:
        wire = b"".join(struct.pack(">I", n) + bytes(i & 255 for i in range(n)) for n in (0, 1, 64, 5000, 300000))
        sender = threading.Thread(target=lambda: (connection.sendall(wire), connection.shutdown(socket.SHUT_WR)))
        sender.start()
        echo = b"".join(iter(lambda: connection.recv(65536), b""))
        sender.join()
        assert echo == wire, (len(echo), len(wire))
    print("epoll_echo: as expected")
finally:
    server.kill()
