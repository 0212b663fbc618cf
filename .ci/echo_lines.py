"""Runs the example `echo_lines` and talks to it: whole, byte by byte, over-long, half-closed, many at once."""

import socket
import subprocess
import sys
import threading

program, runtime, topology = sys.argv[1:]
server = subprocess.Popen([program, runtime, "127.0.0.1:0", topology, "2"], stdout=subprocess.PIPE, text=True)
port = int(server.stdout.readline().rsplit(":", 1)[1])


def exchange(blocks):
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for block in blocks:
            connection.sendall(block)
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(65536), b""))


def check(blocks, expected):
    got = exchange(blocks)
    assert got == expected, (blocks[:3], got[:200], expected[:200])


try:
    check([b"hello\r\nworld\nlast"], b"hello\nworld\nlast\n")
    check([bytes([byte]) for byte in b"one\r\ntwo\n"], b"one\ntwo\n")
    check([b"x" * 5000, b"\nafter\n"], b"5000 bytes are too many\nafter\n")
    lines = b"".join(b"line %d\n" % i for i in range(20000))
    outcomes = []
    clients = [threading.Thread(target=lambda: outcomes.append(exchange([lines[:99999]]))) for _ in range(20)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    # What was cut off at the end is a last line without its end.
    assert outcomes == [lines[:99999] + b"\n"] * 20
    print(f"echo_lines on {runtime}, {topology}: as expected")
finally:
    server.kill()
