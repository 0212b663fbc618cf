"""What the scripts share that run the examples against programs that others wrote."""

import contextlib
import re
import shutil
import subprocess
import sys
import venv

passed, failed, missing = [], [], {}


def check(name, work, needs=()):
    """Does the work, which raises what is wrong."""
    absent = [tool for tool in needs if not shutil.which(tool)]
    if absent:
        for tool in absent:
            missing.setdefault(tool, []).append(name)
        return
    try:
        work()
    except Exception as error:  # Whatever it is, the other checks go on.
        failed.append(name)
        print(f"FAILED {name}: {type(error).__name__}: {error}", flush=True)
    else:
        passed.append(name)
        print(f"ok {name}", flush=True)


def equal(got, expected):
    if got != expected:
        raise AssertionError(f"got {str(got)[:500]!r}, expected {str(expected)[:500]!r}")


def run(*command, stdin=None, fails=False):
    """What it writes to its standard output."""
    done = subprocess.run(command, input=stdin, capture_output=True, timeout=120)
    if done.returncode != 0 and not fails:
        words = done.stderr.decode(errors="replace")[-500:]
        raise AssertionError(f"{command[0]} exits with {done.returncode}: {words}")
    return done.stdout.decode(errors="replace")


@contextlib.contextmanager
def process(*command, **options):
    program = subprocess.Popen(command, **options)
    try:
        yield program
    finally:
        program.kill()
        program.wait()


def finish():
    """Says what was missing and how it went, and exits so."""
    for tool, names in missing.items():
        # Without what they are run against.
        kinds = sorted({re.sub("^(server|client)/[^/]*/", "", name) for name in names})
        print(f"NOT RUN for want of {tool}: {', '.join(kinds)}")
    print(f"{len(passed)} passed, {len(failed)} failed")
    sys.exit(1 if failed else 0)


# What others wrote, installed for this run.


def python_with_websockets(directory):
    """A python that has `websockets`, or nothing."""
    try:
        venv.create(directory / "env", with_pip=True)
        subprocess.run([directory / "env/bin/pip", "install", "-q", "websockets>=15"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return [directory / "env/bin/python"]


def node_with_ws(directory):
    """A node that has `ws`, or nothing."""
    (directory / "node").mkdir()
    install = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", directory / "node", "ws@8"]
    try:
        subprocess.run(install, check=True, capture_output=True)
        subprocess.run(["node", "--version"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return ["env", f"NODE_PATH={directory / 'node/node_modules'}", "node"]
