"""Runs a WebSocket test suite against the examples `websocket_echo` and `websocket_client`, on every runtime.

    python3 .ci/websocket_conformance.py DIRECTORY_OF_EXAMPLES [--all]

The suite is kosoku (517 cases), installed into an environment of its own. Sections 12 and 13, compression, take minutes: of
them a fixed sample, unless `--all` is asked for. A case is in order if what it saw, and how the connection was closed, is `OK`;
of three it says that either is.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import time
import venv

EXAMPLES = pathlib.Path(sys.argv[1])
RUNTIMES = ["tokio", "smol", "async-std", "blocking"]
# How these end is the endpoint's choice.
INFORMATIONAL = ("7.1.6", "7.13.1", "7.13.2")
# A client agrees to them only if it says so in its offer, which is then another one for all cases.
HINTED = ["13.2.*", "13.5.*", "13.6.*"]


def only(cases):
    return [part for case in cases for part in ("-i", case)]


def without(cases):
    return [part for case in cases for part in ("-x", case)]


if "--all" in sys.argv:
    SERVER = [[]]
    CLIENT = [(without(HINTED), []), (only(HINTED), ["no-context-takeover"])]
    LEAST = 517
else:
    SERVER = [without(["12.*", "13.*"]), only(["12.1.*", "12.3.1", "12.5.17", "13.1.1", "13.3.*", "13.7.18"])]
    CLIENT = [
        (without(["12.*", "13.*"]), []),
        (only(["12.1.1", "12.3.1", "12.5.17", "13.1.1", "13.3.1", "13.7.18"]), []),
        (only(["13.2.1", "13.5.1", "13.6.1"]), ["no-context-takeover"]),
    ]
    # Fewer mean that the suite did not run.
    LEAST = 300


def report(path):
    """What the suite saw, by case; the file is written when it is done."""
    for _ in range(200):
        try:
            agents = json.loads((path / "index.json").read_text())
            return {name: case for agent in agents.values() for name, case in agent.items()}
        except (OSError, ValueError):
            time.sleep(0.1)
    return {}


def server_role(kosoku, runtime, directory):
    server = subprocess.Popen(
        [EXAMPLES / "websocket_echo", runtime, "127.0.0.1:0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    cases = {}
    try:
        address = server.stdout.readline().rsplit("/", 1)[1].strip()
        for number, run in enumerate(SERVER):
            out = directory / f"server-{runtime}-{number}"
            subprocess.run([kosoku, "-p", "2", *run, "-o", out, address], capture_output=True, timeout=1800)
            cases.update(report(out))
    finally:
        server.kill()
    return cases


def client_role(kosoku, runtime, directory):
    cases = {}
    for number, (run, arguments) in enumerate(CLIENT):
        out = directory / f"client-{runtime}-{number}"
        suite = subprocess.Popen(
            [kosoku, "-m", "fuzzingserver", *run, "-o", out, "127.0.0.1:0"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            url = suite.stderr.readline().split()[-1]
            client = [EXAMPLES / "websocket_client", runtime, url, *arguments]
            subprocess.run(client, capture_output=True, timeout=1800)
            cases.update(report(out))
        finally:
            suite.kill()
    return cases


with tempfile.TemporaryDirectory() as directory:
    directory = pathlib.Path(directory)
    try:
        venv.create(directory / "env", with_pip=True)
        pip = [directory / "env/bin/pip", "install", "-q", "kosoku==0.1.0"]
        subprocess.run(pip, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"NOT RUN: the WebSocket test suite cannot be installed: {error}")
        sys.exit(0)
    wrong = 0
    for runtime in RUNTIMES:
        for role in (server_role, client_role):
            cases = role(directory / "env/bin/kosoku", runtime, directory)
            bad = {
                name: (case["behavior"], case["behaviorClose"])
                for name, case in cases.items()
                if name not in INFORMATIONAL and (case["behavior"], case["behaviorClose"]) != ("OK", "OK")
            }
            what = f"{runtime}, {role.__name__.replace('_', ' ')}"
            print(f"{what}: {len(cases) - len(bad)} of {len(cases)} cases in order", *bad.items(), sep="\n  ", flush=True)
            wrong += len(bad) + (len(cases) < LEAST)
    sys.exit(wrong > 0)
