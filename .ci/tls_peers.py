"""Runs the TLS examples against programs that others wrote.

    python3 .ci/tls_peers.py DIRECTORY_OF_EXAMPLES

`tls_server` on every runtime and `epoll_https` are asked by curl, openssl, node and python, the former by node's `ws`, too;
`tls_client` on every runtime asks nginx, node, a `ws` of node's and our server, whose certificates openssl makes, good ones and bad
ones. One line for each check; what is not installed is said to be missing, and counts neither way.
"""

import contextlib
import http.client
import os
import pathlib
import re
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time

from peers import check, equal, finish, missing, node_with_ws, process

EXAMPLES = pathlib.Path(sys.argv[1])
MIB = 1 << 20
RUNTIMES = ["tokio", "smol", "async-std", "blocking"]


def run(*command, stdin=None, code=0):
    """What it writes to its standard output, and to that for errors."""
    done = subprocess.run([str(part) for part in command], input=stdin, capture_output=True, timeout=60)
    if code is not None and done.returncode != code:
        raise AssertionError(f"{command[0]} exits with {done.returncode}: {done.stderr.decode(errors='replace')[-500:]}")
    return done.stdout, done.stderr.decode(errors="replace")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


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


# Our servers.


def curl(*arguments, stdin=None, code=0):
    return run("curl", "--silent", "--show-error", "--max-time", "50", *arguments, stdin=stdin, code=code)


def server_checks(name, port, pem, other, directory, node_ws):
    url = f"https://localhost:{port}"
    trusts = ("--cacert", pem)

    def curl_versions():
        for version, tls in [("--tlsv1.3", "TLSv1.3"), ("--tlsv1.2", "TLSv1.2")]:
            most = ("--tls-max", version[-3:])
            out, err = curl(*trusts, "--verbose", version, *most, "-d", "hello", f"{url}/")
            equal(out, b"hello")
            assert f"SSL connection using {tls}" in err, err
            out, _ = curl(*trusts, version, *most, "-d", "a", "-w", "%{num_connects}", f"{url}/", f"{url}/")
            equal(out, b"a1a0")
        # By its address, too.
        equal(curl(*trusts, "-d", "hello", f"https://127.0.0.1:{port}/")[0], b"hello")

    def curl_big_bodies():
        noise, back = directory / "noise", directory / "back"
        noise.write_bytes(os.urandom(8 * MIB))
        for version in ["1.2", "1.3"]:
            curl(*trusts, "--tls-max", version, "--data-binary", f"@{noise}", "--output", back, f"{url}/")
            assert noise.read_bytes() == back.read_bytes()
            chunked = ("-H", "Transfer-Encoding: chunked", "--data-binary", f"@{noise}")
            curl(*trusts, "--tls-max", version, *chunked, "--output", back, f"{url}/")
            assert noise.read_bytes() == back.read_bytes()

    def curl_does_not_trust():
        # 60: the certificate is not trusted.
        _, err = curl("--cacert", other, f"{url}/", code=60)
        assert "SSL" in err, err
        equal(curl(*trusts, "-d", "hello", f"{url}/")[0], b"hello")

    def curl_plain():
        # Whatever it makes of it, it ends, and the server goes on.
        _, err = curl(f"http://localhost:{port}/", code=None)
        assert err, "no error"
        equal(curl(*trusts, "-d", "hello", f"{url}/")[0], b"hello")

    request = "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\n\r\nhello"

    def s_client(*steps, options=()):
        """Says the steps, each once what is expected of the one before has come; what it heard."""
        command = ["openssl", "s_client", "-connect", f"localhost:{port}", "-servername", "localhost", "-CAfile", pem]
        command += ["-verify_return_error", *options]
        heard = b""
        with process(*command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as client:
            os.set_blocking(client.stdout.fileno(), False)
            deadline = time.monotonic() + 20
            for say, expected in steps:
                begin = len(heard)
                client.stdin.write(say.encode())
                client.stdin.flush()
                while not re.search(expected.encode(), heard[begin:], re.S):
                    heard += client.stdout.read() or b""
                    assert time.monotonic() < deadline, f"no {expected!r} in {heard[-300:]!r}"
                    if client.poll() is not None:
                        heard += client.stdout.read() or b""
                        assert re.search(expected.encode(), heard[begin:], re.S), f"it ended: {heard[-300:]!r}"
                    time.sleep(0.005)
        return heard.decode(errors="replace")

    def openssl_requests():
        for version, tls in [("-tls1_2", "TLSv1.2"), ("-tls1_3", "TLSv1.3")]:
            out = s_client(("", "Verify return code: 0"), (request, "200 OK.*hello"), options=[version])
            assert tls in out, out

    def openssl_changes_keys():
        steps = [("", "Verify return code: 0")]
        for command in ["K\n", "k\n", "K\n"]:
            # A command is a line of its own in what is sent.
            steps += [(command, "KEYUPDATE"), (request, "200 OK.*hello")]
        s_client(*steps, options=["-tls1_3"])

    def openssl_renegotiates():
        # Nobody has to agree to it; openssl ends the session then. The server goes on.
        s_client(("", "Verify return code: 0"), ("R\n", "RENEGOTIATING.*(no renegotiation|error|alert)"), options=["-tls1_2"])
        s_client(("", "Verify return code: 0"), (request, "200 OK.*hello"), options=["-tls1_2"])

    def openssl_is_told_of_the_end():
        close = "GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
        for version in ["-tls1_2", "-tls1_3"]:
            out = s_client(("", "Verify return code: 0"), (close, "200 OK.*closed"), options=[version])
            assert "unexpected eof" not in out, out

    def python():
        for version in [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]:
            context = ssl.create_default_context(cafile=pem)
            context.minimum_version = context.maximum_version = version
            connection = http.client.HTTPSConnection("localhost", port, timeout=30, context=context)
            connection.connect()
            first = connection.sock
            equal(first.version(), version.name.replace("_", "."))
            for size in [0, 1, 16_384, 16_385, 2 * MIB]:
                body = os.urandom(size)
                connection.request("POST", "/", body)
                response = connection.getresponse()
                assert (response.status, response.read()) == (200, body), size
                assert connection.sock is first, "closed"
            # In order, both ways.
            first.unwrap().close()
        untrusting = ssl.create_default_context(cafile=other)
        try:
            http.client.HTTPSConnection("localhost", port, timeout=30, context=untrusting).request("GET", "/")
        except ssl.SSLCertVerificationError:
            pass
        else:
            raise AssertionError("it trusts a stranger")

    def python_breaks_off():
        context = ssl.create_default_context(cafile=pem)
        for part in [b"", b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\nhalf"]:
            with socket.create_connection(("localhost", port), timeout=20) as plain:
                with context.wrap_socket(plain, server_hostname="localhost") as session:
                    session.sendall(part)
        with socket.create_connection(("localhost", port), timeout=20) as plain:
            plain.sendall(b"\x16\x03\x01")
        python()

    def node():
        script = """
            const https = require("https"), fs = require("fs");
            const [port, ca] = [process.argv[1], fs.readFileSync(process.argv[2])];
            const agent = new https.Agent({ keepAlive: true, maxSockets: 2, ca });
            const ask = (size) => new Promise((resolve, reject) => {
              const body = Buffer.alloc(size, "x");
              const request = https.request({ host: "localhost", port, method: "POST", agent }, (response) => {
                const parts = [];
                response.on("data", (part) => parts.push(part));
                response.on("end", () => Buffer.concat(parts).equals(body) ? resolve() : reject(new Error("another body")));
              });
              request.on("error", reject);
              request.end(body);
            });
            Promise.all([0, 1, 100, 16384, 16385, 1000000, 7, 7, 7].map(ask))
              .then(() => { console.log("ok"); agent.destroy(); }, (error) => { console.log(error); process.exit(1); });
        """
        equal(run("node", "-e", script, port, pem)[0], b"ok\n")

    def websockets_of_node():
        script = """
            const WebSocket = require("ws"), fs = require("fs");
            const [port, ca] = [process.argv[1], fs.readFileSync(process.argv[2])];
            const fail = (error) => { console.log(error); process.exit(1); };
            const ws = new WebSocket(`wss://localhost:${port}/`, { ca, maxPayload: 0 });
            const messages = ["", "Grüße", Buffer.alloc(16384, 1), Buffer.alloc(2000000, 2)];
            let heard = 0;
            ws.on("open", () => messages.forEach((message) => ws.send(message)));
            ws.on("message", (data, isBinary) => {
              const message = messages[heard++];
              if (isBinary === (typeof message === "string") || !data.equals(Buffer.from(message))) fail("another message");
              if (heard === messages.length) ws.close(1000, "enough");
            });
            ws.on("close", (code, reason) => { if (code !== 1000) fail(code); console.log("ok"); });
            ws.on("error", fail);
        """
        equal(run(*node_ws, "-e", script, port, pem)[0], b"ok\n")

    for work in [curl_versions, curl_big_bodies, curl_does_not_trust, curl_plain]:
        check(f"{name}/{work.__name__}", work, ["curl"])
    for work in [openssl_requests, openssl_changes_keys, openssl_renegotiates, openssl_is_told_of_the_end]:
        check(f"{name}/{work.__name__}", work, ["openssl"])
    check(f"{name}/python", python)
    check(f"{name}/python_breaks_off", python_breaks_off)
    check(f"{name}/node", node, ["node"])
    # The loop without a runtime speaks HTTP only.
    if name != "server/epoll" and node_ws:
        check(f"{name}/websockets_of_node", websockets_of_node)


@contextlib.contextmanager
def served(directory, name, *command):
    """Our server, the file of its certificate, and its log."""
    pem, log = directory / f"{name}.pem", tempfile.TemporaryFile("w+")
    command = [pem if part == "PEM" else part for part in command]
    with process(*command, stdout=subprocess.PIPE, stderr=log, text=True) as server:
        port = int(server.stdout.readline().rsplit(":", 1)[1])
        yield port, pem, server, log


# Our client.


def certificate(directory, name, *options):
    """A file with a key, and one with a certificate that vouches for itself."""
    key, pem = directory / f"{name}.key", directory / f"{name}.crt"
    run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
        "-subj", f"/CN={name}", "-keyout", key, "-out", pem, *options)
    return key, pem


def expired(directory, key):
    """One whose last day was in 2001."""
    request, pem, config = directory / "expired.csr", directory / "expired.crt", directory / "ca.conf"
    run("openssl", "req", "-new", "-key", key, "-subj", "/CN=expired", "-out", request)
    (directory / "index").write_text("")
    (directory / "serial").write_text("01\n")
    config.write_text(
        f"""
        [ca]
        default_ca = own
        [own]
        database = {directory}/index
        serial = {directory}/serial
        new_certs_dir = {directory}
        default_md = sha256
        policy = any
        x509_extensions = names
        [any]
        commonName = supplied
        [names]
        subjectAltName = DNS:localhost,IP:127.0.0.1
        """
    )
    run("openssl", "ca", "-batch", "-config", config, "-selfsign", "-keyfile", key, "-in", request, "-out", pem, "-notext",
        "-startdate", "20000101000000Z", "-enddate", "20010101000000Z")
    return pem


@contextlib.contextmanager
def nginx(directory, good, bad, late):
    """On four ports: with TLS 1.3, with 1.2, with a certificate for somebody else, and with one that has expired."""
    root = directory / "nginx"
    (root / "files").mkdir(parents=True)
    (root / "files" / "small").write_text("a small file\n")
    with open(root / "files" / "large", "wb") as file:
        file.truncate(4 * MIB)
    os.chmod(directory, 0o755)
    ports = [free_port() for _ in range(4)]
    servers = "".join(
        f"""
            server {{
                listen 127.0.0.1:{port} ssl;
                ssl_certificate {pem};
                ssl_certificate_key {key};
                ssl_protocols {protocol};
                root {root}/files;
                location /taken {{ return 200 "taken\\n"; }}
            }}
        """
        for port, (key, pem), protocol in zip(ports, [good, good, bad, late], ["TLSv1.3", "TLSv1.2", "TLSv1.3", "TLSv1.2"])
    )
    temporary = "\n".join(f"{kind}_temp_path {root}/{kind};" for kind in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"])
    (root / "nginx.conf").write_text(
        f"""
        daemon off;
        pid {root}/pid;
        error_log {root}/errors;
        worker_processes 1;
        events {{ worker_connections 100; }}
        http {{ access_log off; {temporary} {servers} }}
        """
    )
    with process("nginx", "-p", root, "-c", root / "nginx.conf", stderr=subprocess.DEVNULL) as master:
        try:
            answers(ports[0])
            yield ports
        finally:
            # So that its worker ends, too.
            master.terminate()
            master.wait(20)


NODE_SERVER = """
    const https = require("https"), fs = require("fs");
    const [key, cert] = [fs.readFileSync(process.argv[1]), fs.readFileSync(process.argv[2])];
    const server = https.createServer({ key, cert }, (request, response) => {
      if (request.url === "/until-close") {
        response.useChunkedEncodingByDefault = false;
        response.shouldKeepAlive = false;
        response.removeHeader("transfer-encoding");
        response.write("up to ");
        response.end("the end");
      } else {
        request.pipe(response);
      }
    });
    server.listen(0, "127.0.0.1", () => console.log(server.address().port));
"""


def client(runtime, pem, method, url, *body, code=0):
    return run(EXAMPLES / "tls_client", runtime, pem, method, url, *body, code=code)


def client_against_our_server(runtime, ours):
    def echo():
        port, pem = ours
        equal(client(runtime, pem, "POST", f"https://localhost:{port}/", "hello")[0], b"200\nhello")
        equal(client(runtime, pem, "ECHO", f"wss://localhost:{port}/", "hello")[0], b"hello\n")
        equal(client(runtime, pem, "POST", f"https://127.0.0.1:{port}/", "x" * 100_000)[0], b"200\n" + b"x" * 100_000)

    check(f"client/{runtime}/our_server", echo)


def client_against_nginx(runtime, ports, good, bad, late):
    trusts = good[1]

    def files():
        for port in ports[:2]:
            url = f"https://localhost:{port}"
            equal(client(runtime, trusts, "GET", f"{url}/small")[0], b"200\na small file\n")
            equal(client(runtime, trusts, "GET", f"{url}/large")[0], b"200\n" + bytes(4 * MIB))
            equal(client(runtime, trusts, "POST", f"{url}/taken", "hello" * 1000)[0], b"200\ntaken\n")

    def refuses(name, words, pem, port, host="localhost"):
        def work():
            out, err = client(runtime, pem, "GET", f"https://{host}:{port}/small", code=1)
            equal(out, b"")
            assert words in err, err

        check(f"client/{runtime}/nginx/{name}", work)

    check(f"client/{runtime}/nginx/files", files)
    refuses("an_authority_that_is_not_trusted", "no authority that is trusted here", bad[1], ports[0])
    refuses("a_certificate_for_somebody_else", "is for another name", bad[1], ports[2])
    refuses("an_expired_certificate", "has expired", late[1], ports[3])


def client_against_node(runtime, port, good):
    def bodies():
        url = f"https://localhost:{port}"
        equal(client(runtime, good[1], "POST", f"{url}/", "hello" * 10_000)[0], b"200\n" + b"hello" * 10_000)
        equal(client(runtime, good[1], "GET", f"{url}/until-close")[0], b"200\nup to the end")

    check(f"client/{runtime}/node/bodies", bodies)


NODE_WEBSOCKETS = """
    const https = require("https"), fs = require("fs"), { WebSocketServer } = require("ws");
    const [key, cert] = [fs.readFileSync(process.argv[1]), fs.readFileSync(process.argv[2])];
    const server = https.createServer({ key, cert });
    new WebSocketServer({ server }).on("connection", (ws) => {
      ws.on("message", (data, isBinary) => ws.send(data, { binary: isBinary }));
    });
    server.listen(0, "127.0.0.1", () => console.log(server.address().port));
"""


def client_against_websockets_of_node(runtime, port, good):
    def echo():
        for text in ["hello", "Grüße" * 10_000]:
            equal(client(runtime, good[1], "ECHO", f"wss://localhost:{port}/", text)[0].decode(), f"{text}\n")

    check(f"client/{runtime}/websockets_of_node", echo)


def main():
    with tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(directory)
        node_ws = node_with_ws(directory)
        if node_ws is None:
            missing.setdefault("node's ws", []).append("server/*/websockets_of_node, client/*/websockets_of_node")
        servers = [(f"server/{runtime}", [EXAMPLES / "tls_server", runtime, "127.0.0.1:0", "PEM"]) for runtime in RUNTIMES]
        servers.append(("server/epoll", [EXAMPLES / "epoll_https", "127.0.0.1:0", "PEM"]))
        with served(directory, "another", *servers[0][1]) as (ours, other, _, _):
            for name, command in servers:
                with served(directory, name.replace("/", "-"), *command) as (port, pem, server, log):
                    server_checks(name, port, pem, other, directory, node_ws)

                    def still_well():
                        assert server.poll() is None, "it has ended"
                        log.seek(0)
                        text = log.read()
                        assert "panicked" not in text, text[-1000:]

                    check(f"{name}/still_well", still_well)
            for runtime in RUNTIMES:
                client_against_our_server(runtime, (ours, other))
        if shutil.which("openssl"):
            names = ("-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:FALSE")
            good = certificate(directory, "good", *names)
            bad = certificate(directory, "bad", "-addext", "subjectAltName=DNS:somebody.else", names[2], names[3])
            late = (good[0], expired(directory, good[0]))
            if shutil.which("nginx"):
                with nginx(directory, good, bad, late) as ports:
                    for runtime in RUNTIMES:
                        client_against_nginx(runtime, ports, good, bad, late)
            else:
                missing.setdefault("nginx", []).append("client/*/nginx/*")
            if shutil.which("node"):
                with process("node", "-e", NODE_SERVER, *good, stdout=subprocess.PIPE, text=True) as server:
                    port = int(server.stdout.readline())
                    for runtime in RUNTIMES:
                        client_against_node(runtime, port, good)
            else:
                missing.setdefault("node", []).append("client/*/node/*")
            if node_ws:
                with process(*node_ws, "-e", NODE_WEBSOCKETS, *good, stdout=subprocess.PIPE, text=True) as server:
                    port = int(server.stdout.readline())
                    for runtime in RUNTIMES:
                        client_against_websockets_of_node(runtime, port, good)
        else:
            missing.setdefault("openssl", []).append("client/*/*")

    finish()


main()
