"""Runs a WebSocket test suite against the example `websocket_echo`, on every runtime.

    python3 .ci/websocket_conformance.py DIRECTORY_OF_EXAMPLES

The suite is kosoku (517 cases), installed into an environment of its own. Sections 12 and 13, compression, take minutes: of
them a fixed sample. A case is in order if what it saw, and how the connection was closed, is `OK`; of three it says that
either is.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import venv

EXAMPLE = pathlib.Path(sys.argv[1]) / "websocket_echo"
# How these end is the endpoint's choice.
INFORMATIONAL = ("7.1.6", "7.13.1", "7.13.2")
SAMPLE = ["12.1.*", "12.3.1", "12.5.17", "13.1.1", "13.3.*", "13.7.18"]
RUNS = [["-x", "12.*", "-x", "13.*"], [part for case in SAMPLE for part in ("-i", case)]]
# Fewer cases mean that the suite did not run.
LEAST = 300

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
    for runtime in ["tokio", "smol", "async-std", "blocking"]:
        server = subprocess.Popen(
            [EXAMPLE, runtime, "127.0.0.1:0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        try:
            address = server.stdout.readline().rsplit("/", 1)[1].strip()
            cases = {}
            for number, run in enumerate(RUNS):
                out = directory / f"{runtime}-{number}"
                suite = [directory / "env/bin/kosoku", "-p", "2", *run, "-o", out, address]
                subprocess.run(suite, capture_output=True, timeout=600)
                for agent in json.loads((out / "index.json").read_text()).values():
                    cases.update(agent)
        finally:
            server.kill()
        bad = {
            name: (case["behavior"], case["behaviorClose"])
            for name, case in cases.items()
            if name not in INFORMATIONAL and (case["behavior"], case["behaviorClose"]) != ("OK", "OK")
        }
        print(f"{runtime}: {len(cases) - len(bad)} of {len(cases)} cases in order", *bad.items(), sep="\n  ")
        wrong += len(bad) + (len(cases) < LEAST)
    sys.exit(wrong > 0)
