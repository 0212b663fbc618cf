"""Runs the HTTP examples against programs that others wrote.

    python3 .ci/http_peers.py DIRECTORY_OF_EXAMPLES

`http_server` on every runtime is asked by curl, wrk, h2load, node, nginx as a proxy, and python; `http_client` on every
runtime asks nginx, node and servers played here. One line for each check; what is not installed is said to be missing, and
counts neither way.
"""

import contextlib
import filecmp
import http.client
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

from peers import check, equal, finish, missing, process, run

EXAMPLES = pathlib.Path(sys.argv[1])
HERE = pathlib.Path(__file__).parent
MIB = 1 << 20
GREETING = "Hello, this is bytewise.\n"
SERVERS = [("tokio", "single"), ("tokio", "shared"), ("smol", "per-thread"), ("async-std", "handed-out"), ("blocking", "single")]
RUNTIMES = ["tokio", "smol", "async-std", "blocking"]


@contextlib.contextmanager
def served(runtime, topology):
    """Our server, and what it writes to its log."""
    log = tempfile.TemporaryFile("w+")
    command = [EXAMPLES / "http_server", runtime, "127.0.0.1:0", topology, "2"]
    with process(*command, stdout=subprocess.PIPE, stderr=log, text=True) as server:
        port = int(server.stdout.readline().rsplit(":", 1)[1])
        yield port, server, log


def answers(port):
    """Waits until somebody listens there."""
    deadline = time.monotonic() + 20
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=20).close()
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def sparse(directory, name, size):
    path = directory / name
    with open(path, "wb") as file:
        file.truncate(size)
    return path


def curl(*arguments, stdin=None, fails=False):
    return run("curl", "--silent", "--show-error", "--max-time", "60", *map(str, arguments), stdin=stdin, fails=fails)


# Our server, asked by curl.


def curl_checks(name, port, directory):
    url = f"http://127.0.0.1:{port}"
    status = ("--output", "/dev/null", "--write-out", "%{http_code}")

    def keep_alive():
        out = curl("--write-out", "%{num_connects} ", f"{url}/", f"{url}/nothing", f"{url}/")
        equal(out, f"{GREETING}1 There is nothing here.\n0 {GREETING}0 ")

    def head():
        out = curl("--head", "--write-out", "%{num_connects}\n", f"{url}/", f"{url}/")
        equal(re.findall("content-length: ([0-9]+)", out), ["25", "25"])
        equal(re.findall("^[01]$", out, re.M), ["1", "0"])

    def echo():
        sent, back = directory / "noise", directory / "back"
        sent.write_bytes(os.urandom(5 * MIB))
        curl("--data-binary", f"@{sent}", "--output", back, f"{url}/echo")
        assert filecmp.cmp(sent, back, shallow=False)
        with open(sent, "rb") as data:
            chunked = ("-H", "Transfer-Encoding: chunked", "--data-binary", "@-", "--output", back)
            curl(*chunked, f"{url}/echo", stdin=data.read())
        assert filecmp.cmp(sent, back, shallow=False)

    def upload_in_chunks():
        out = curl("--upload-file", "-", f"{url}/upload", stdin=bytes(64 * MIB))
        equal(out, f"{64 * MIB} bytes\n")

    def upload_of_a_length():
        out = curl("--upload-file", sparse(directory, "64", 64 * MIB), f"{url}/upload")
        equal(out, f"{64 * MIB} bytes\n")

    def too_large():
        large = sparse(directory, "17", 17 * MIB)
        # Announced, waiting and not; and only as it comes.
        equal(curl(*status, "--upload-file", large, f"{url}/other"), "413")
        equal(curl(*status, "-H", "Expect:", "--upload-file", large, f"{url}/other"), "413")
        equal(curl(*status, "--upload-file", "-", f"{url}/other", stdin=bytes(17 * MIB)), "413")

    def expect_continue():
        begin = time.monotonic()
        waits = ("--expect100-timeout", "50", "-H", "Expect: 100-continue")
        out = curl("--include", *waits, "--data", "hello", f"{url}/upload")
        assert out.startswith("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n"), out
        assert out.endswith("\r\n\r\n5 bytes\n"), out
        # Who streams a success wants the body, though the head goes out first.
        out = curl("--include", *waits, "--data", "hello", f"{url}/echo")
        assert out.startswith("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n") and out.endswith("hello"), out
        # Nobody asks for what is not wanted.
        out = curl("--include", *waits, "--request", "DELETE", "--data", "hello", f"{url}/")
        assert out.startswith("HTTP/1.1 405"), out
        assert time.monotonic() - begin < 40, "it waited in vain"

    def http_10():
        out = curl("--http1.0", "--write-out", "%{num_connects} ", f"{url}/", f"{url}/")
        equal(out, f"{GREETING}1 {GREETING}1 ")
        keeps = ("-H", "Connection: keep-alive")
        out = curl("--http1.0", *keeps, "--write-out", "%{num_connects} ", f"{url}/", f"{url}/")
        equal(out, f"{GREETING}1 {GREETING}0 ")
        equal(curl("--http1.0", "--data", "hello", f"{url}/echo"), "hello")

    def many_at_once():
        # Fragments are not sent: these are fifty times the same.
        out = curl("--parallel", "--parallel-max", "20", f"{url}/#[1-50]")
        equal(out, GREETING * 50)

    for work in [
        keep_alive, head, echo, upload_in_chunks, upload_of_a_length, too_large, expect_continue, http_10, many_at_once
    ]:
        check(f"{name}/curl/{work.__name__}", work, ["curl"])


# Our server under load.


def load_checks(name, port, directory):
    url = f"http://127.0.0.1:{port}"

    def wrk(*arguments):
        out = run("wrk", "-t2", "-c50", "-d1s", *map(str, arguments))
        assert int(re.search(r"(\d+) requests in", out)[1]) > 100, out
        assert "Socket errors" not in out and "Non-2xx" not in out, out

    def wrk_one_after_another():
        wrk(f"{url}/")

    def wrk_pipelined():
        script = directory / "pipeline.lua"
        script.write_text(
            """
            init = function()
                local get = wrk.format("GET", "/")
                local post = wrk.format("POST", "/echo", {}, "hello")
                requests = string.rep(get .. post, 8)
            end
            request = function() return requests end
            """
        )
        wrk("-s", script, url)

    def h2load(*arguments):
        out = run("h2load", "--h1", "-c", "20", "-m", "16", "-n", "20000", *map(str, arguments))
        requests = re.search(r"requests: (.*)", out)[1]
        assert "20000 succeeded, 0 failed, 0 errored, 0 timeout" in requests, requests
        assert "20000 2xx, 0 3xx, 0 4xx, 0 5xx" in out, out

    def h2load_get():
        h2load(f"{url}/")

    def h2load_post():
        data = directory / "kibibyte"
        data.write_bytes(b"x" * 1024)
        h2load("-d", data, f"{url}/echo")

    for work in [wrk_one_after_another, wrk_pipelined]:
        check(f"{name}/{work.__name__}", work, ["wrk"])
    for work in [h2load_get, h2load_post]:
        check(f"{name}/{work.__name__}", work, ["h2load"])


# Our server, asked by python and node, and behind nginx.


def library_checks(name, port, directory):
    def python():
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.connect()
        first = connection.sock
        for method, target, body, status, expected in [
            ("GET", "/", None, 200, GREETING.encode()),
            ("HEAD", "/", None, 200, b""),
            ("POST", "/echo", b"hello" * 1000, 200, b"hello" * 1000),
            ("PUT", "/upload", (b"x" * 1000 for _ in range(100)), 200, b"100000 bytes\n"),
            ("GET", "/nothing", None, 404, b"There is nothing here.\n"),
            ("DELETE", "/", None, 405, b""),
        ]:
            connection.request(method, target, body, encode_chunked=True)
            response = connection.getresponse()
            equal((response.status, response.read()), (status, expected))
            assert connection.sock is first, f"closed after {method} {target}"
        # Sent whole before the answer is read.
        connection.request("POST", "/other", bytes(16 * MIB + 1))
        response = connection.getresponse()
        equal((response.status, response.read()), (413, b""))

    def raw():
        with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
            # As one that speaks TLS would begin.
            connection.sendall(bytes.fromhex("1603010200010001fc0303"))
            out = b"".join(iter(lambda: connection.recv(65536), b""))
            assert out.startswith(b"HTTP/1.1 400 "), out
        with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n" * 1000)
            connection.shutdown(socket.SHUT_WR)
            out = b"".join(iter(lambda: connection.recv(65536), b""))
            equal(out.count(GREETING.encode()), 1000)

    def node():
        equal(run("node", str(HERE / "http_node_client.js"), str(port)), "ok\n")

    def behind_nginx():
        with nginx(directory, upstream=port) as front:
            url = f"http://127.0.0.1:{front}/proxied"
            equal(curl(f"{url}/", f"{url}/", f"{url}/"), GREETING * 3)
            # Small: nginx, whatever is behind it, may stop in the midst of a long request that is being answered already.
            for framing in ["Expect:", "Transfer-Encoding: chunked"]:
                equal(curl("-H", framing, "--data-binary", "hello" * 1000, f"{url}/echo"), "hello" * 1000)
            for way in ["proxied", "streamed"]:
                target = f"http://127.0.0.1:{front}/{way}/upload"
                equal(curl("--upload-file", "-", target, stdin=bytes(64 * MIB)), f"{64 * MIB} bytes\n")
            if shutil.which("wrk"):
                out = run("wrk", "-t1", "-c20", "-d1s", f"{url}/")
                assert "Socket errors" not in out and "Non-2xx" not in out, out

    check(f"{name}/python", python)
    check(f"{name}/raw", raw)
    check(f"{name}/node", node, ["node"])
    check(f"{name}/behind_nginx", behind_nginx, ["nginx", "curl"])


@contextlib.contextmanager
def nginx(directory, upstream=9):
    """nginx on a port of its own: files, redirects, refusals, and a proxy for `upstream`."""
    root = directory / "nginx"
    shutil.rmtree(root, ignore_errors=True)
    (root / "files").mkdir(parents=True)
    (root / "files" / "small").write_text("a small file\n")
    (root / "files" / "chunks.shtml").write_text('before <!--#echo var="host" --> after\n' * 1000)
    sparse(root / "files", "large", 20 * MIB)
    # The workers' user has to get at them.
    os.chmod(directory, 0o755)
    port = free_port()
    (root / "nginx.conf").write_text(
        f"""
        daemon off;
        pid {root}/pid;
        error_log {root}/errors;
        worker_processes 1;
        events {{ worker_connections 500; }}
        http {{
            access_log off;
            default_type text/plain;
            client_body_temp_path {root}/body;
            proxy_temp_path {root}/proxy;
            fastcgi_temp_path {root}/fastcgi;
            uwsgi_temp_path {root}/uwsgi;
            scgi_temp_path {root}/scgi;
            keepalive_requests 100000;
            upstream ours {{ server 127.0.0.1:{upstream}; keepalive 10; }}
            server {{
                listen 127.0.0.1:{port};
                root {root}/files;
                client_max_body_size 1k;
                location /moved {{ return 302 /small; }}
                location /empty {{ return 204; }}
                location /taken {{ return 200 "taken\\n"; }}
                location /chunks {{ ssi on; ssi_types text/plain; try_files /chunks.shtml =404; }}
                location /once {{ keepalive_timeout 0; try_files /small =404; }}
                location /proxied/ {{
                    client_max_body_size 0;
                    proxy_pass http://ours/;
                    proxy_http_version 1.1;
                    proxy_set_header Connection "";
                }}
                location /streamed/ {{
                    client_max_body_size 0;
                    proxy_pass http://ours/;
                    proxy_http_version 1.1;
                    proxy_set_header Connection "";
                    proxy_request_buffering off;
                }}
            }}
        }}
        """
    )
    with process("nginx", "-p", str(root), "-c", str(root / "nginx.conf"), stderr=subprocess.DEVNULL) as master:
        try:
            answers(port)
            yield port
        finally:
            # So that its worker ends, too.
            master.terminate()
            master.wait(20)


@contextlib.contextmanager
def node_server():
    with process("node", str(HERE / "http_node_server.js"), stdout=subprocess.PIPE, text=True) as server:
        yield int(server.stdout.readline())


@contextlib.contextmanager
def played(answer, ends):
    """Reads a head, then writes that, and closes in order or by a reset."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()

        def serve():
            connection, _ = listener.accept()
            with connection:
                head = b""
                while b"\r\n\r\n" not in head:
                    head += connection.recv(65536)
                connection.sendall(answer)
                if ends == "open":
                    # Until the client leaves.
                    connection.recv(65536)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        thread.join(20)


# Our client.


def client(runtime, method, url, body="", fails=False):
    """The status line, the fields, and the body."""
    out = run(str(EXAMPLES / "http_client"), "--runtime", runtime, method, url, body, fails=fails)
    head, _, body = out.partition("\n\n")
    status, _, fields = head.partition("\n")
    fields = dict(line.lower().split(": ", 1) for line in fields.splitlines() if ": " in line)
    return status, fields, body


def client_against_nginx(runtime, port, ours):
    url = f"http://127.0.0.1:{port}"

    def files():
        status, fields, body = client(runtime, "GET", f"{url}/small")
        equal((status, fields["content-length"], body), ("HTTP/1.1 200 OK", "13", "a small file\n"))
        status, fields, body = client(runtime, "GET", f"{url}/large")
        equal((status, len(body)), ("HTTP/1.1 200 OK", 20 * MIB))
        status, _, _ = client(runtime, "GET", f"{url}/nothing")
        equal(status, "HTTP/1.1 404 Not Found")
        status, _, body = client(runtime, "GET", f"{url}/once")
        equal((status, body), ("HTTP/1.1 200 OK", "a small file\n"))

    def chunks():
        status, fields, body = client(runtime, "GET", f"{url}/chunks")
        equal((status, fields.get("transfer-encoding")), ("HTTP/1.1 200 OK", "chunked"))
        equal(body, "before 127.0.0.1 after\n" * 1000)

    def without_a_body():
        status, fields, body = client(runtime, "HEAD", f"{url}/large")
        equal((status, fields["content-length"], body), ("HTTP/1.1 200 OK", str(20 * MIB), ""))
        status, _, body = client(runtime, "GET", f"{url}/empty")
        equal((status, body), ("HTTP/1.1 204 No Content", ""))

    def redirects():
        status, _, body = client(runtime, "GET", f"{url}/moved")
        equal((status, body), ("HTTP/1.1 200 OK", "a small file\n"))

    def bodies():
        status, _, body = client(runtime, "POST", f"{url}/taken", "hello")
        equal((status, body), ("HTTP/1.1 200 OK", "taken\n"))
        status, _, _ = client(runtime, "POST", f"{url}/taken", "x" * 2000)
        equal(status, "HTTP/1.1 413 Request Entity Too Large")

    def through_it_to_our_server():
        status, _, body = client(runtime, "POST", f"{url}/proxied/echo", "hello" * 1000)
        equal((status, body), ("HTTP/1.1 200 OK", "hello" * 1000))
        status, _, body = client(runtime, "GET", f"http://127.0.0.1:{ours}/")
        equal((status, body), ("HTTP/1.1 200 OK", GREETING))

    for work in [files, chunks, without_a_body, redirects, bodies, through_it_to_our_server]:
        check(f"client/{runtime}/nginx/{work.__name__}", work)


def client_against_node(runtime, port):
    url = f"http://127.0.0.1:{port}"

    def chunks():
        status, fields, body = client(runtime, "GET", f"{url}/chunks")
        equal((status, fields["transfer-encoding"], body), ("HTTP/1.1 200 OK", "chunked", "one two three"))

    def early_hints():
        status, _, body = client(runtime, "GET", f"{url}/hints")
        equal((status, body), ("HTTP/1.1 200 OK", "hinted"))

    def echo():
        for method in ["POST", "PUT", "PATCH"]:
            status, fields, body = client(runtime, method, f"{url}/echo", "hello" * 10_000)
            equal((status, fields["x-method"], body), ("HTTP/1.1 200 OK", method.lower(), "hello" * 10_000))
        equal(client(runtime, "POST", f"{url}/length")[2], "0")

    def redirects():
        equal(client(runtime, "GET", f"{url}/moved")[2], "one two three")

    def until_close():
        status, fields, body = client(runtime, "GET", f"{url}/until-close")
        assert "content-length" not in fields and "transfer-encoding" not in fields, fields
        equal((status, body), ("HTTP/1.1 200 OK", "up to the end"))

    def early_refusal():
        status, _, body = client(runtime, "POST", f"{url}/early", "x" * 100_000)
        equal((status, body), ("HTTP/1.1 403 Forbidden", "refused"))

    def other_methods():
        for method in ["GET", "DELETE", "OPTIONS"]:
            equal(client(runtime, method, f"{url}/a?b=c")[2], f"{method} /a?b=c")

    for work in [chunks, early_hints, echo, redirects, until_close, early_refusal, other_methods]:
        check(f"client/{runtime}/node/{work.__name__}", work)


def client_against_bad_servers(runtime):
    """They exist; nothing that breaks off is taken for whole."""

    def refuses(name, answer, ends="closed"):
        def work():
            with played(answer, ends) as port:
                command = [EXAMPLES / "http_client", "--runtime", runtime, "GET", f"http://127.0.0.1:{port}/"]
                done = subprocess.run(command, capture_output=True, timeout=60)
                assert done.returncode == 1, (done.returncode, done.stdout)
                assert b"panicked" not in done.stderr, done.stderr

        check(f"client/{runtime}/bad_server/{name}", work)

    refuses("too_short", b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhello")
    refuses("chunks_that_break_off", b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n")
    refuses("half_a_head", b"HTTP/1.1 200 OK\r\n")
    refuses("no_answer", b"")
    refuses("no_http", b"SSH-2.0-OpenSSH_9.2\r\n", "open")
    refuses("another_http", b"HTTP/2.0 200 OK\r\n\r\n", "open")


def main():
    with tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(directory)
        for runtime, topology in SERVERS:
            name = f"server/{runtime}-{topology}"
            with served(runtime, topology) as (port, server, log):
                curl_checks(name, port, directory)
                library_checks(name, port, directory)

                def memory():
                    status = pathlib.Path(f"/proc/{server.pid}/status").read_text()
                    most = int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) // 1024
                    # It has seen uploads of 64 MiB, and a body of 16 MiB that it takes whole.
                    assert most < 60, f"{most} MiB"

                check(f"{name}/memory", memory)
                load_checks(name, port, directory)

                def still_well():
                    assert server.poll() is None, "it has ended"
                    log.seek(0)
                    text = log.read()
                    assert "panicked" not in text, text[-1000:]

                check(f"{name}/still_well", still_well)

        with served("tokio", "single") as (ours, _, _):
            if shutil.which("nginx"):
                with nginx(directory, upstream=ours) as port:
                    for runtime in RUNTIMES:
                        client_against_nginx(runtime, port, ours)
            else:
                missing.setdefault("nginx", []).append("client/*/nginx/*")
        if shutil.which("node"):
            with node_server() as port:
                for runtime in RUNTIMES:
                    client_against_node(runtime, port)
        else:
            missing.setdefault("node", []).append("client/*/node/*")
        for runtime in RUNTIMES:
            client_against_bad_servers(runtime)

    finish()


main()
