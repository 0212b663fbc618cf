"""Looks at pages that `report` wrote, in headless Chromium, as people see them.

    python3 .ci/report_page.py PAGE.html|DIRECTORY… [--screenshots DIRECTORY]

Each page at 1,400 and at 400 pixels: nothing is wrong by the console, nothing is fetched, charts have a bar for each
row and no label that is cut off, nothing is wider than the window but what scrolls in its own box. Once more in the
dark, and without scripts. Chromium is driven over its pipe, by the DevTools protocol.
"""

import argparse
import base64
import json
import os
import pathlib
import select
import subprocess
import tempfile

from peers import check, equal, finish

WIDTHS = [1400, 400]


class Browser:
    """A page in Chromium, and what it had to say."""

    def __init__(self, directory):
        command_end, commands = os.pipe()
        answers, answer_end = os.pipe()
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--hide-scrollbars"]
        # Whoever asks a host asks in vain.
        options += [f"--user-data-dir={directory}", "--host-resolver-rules=MAP * ~NOTFOUND", "--no-first-run"]

        def move():
            # Chromium reads commands from 3 and answers on 4.
            ends = [os.dup(command_end), os.dup(answer_end)]
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        self.program = subprocess.Popen(
            ["chromium", *options], preexec_fn=move, close_fds=False, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        os.close(command_end)
        os.close(answer_end)
        self.commands, self.answers = open(commands, "wb", buffering=0), open(answers, "rb")
        self.count, self.session, self.events, self.rest = 0, None, [], b""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ["Page", "Runtime", "Log", "Network"]:
            self.call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.program.kill()
        self.program.wait()
        self.commands.close()
        self.answers.close()

    def message(self):
        while b"\0" not in self.rest:
            assert select.select([self.answers], [], [], 60)[0], "Chromium says nothing"
            block = os.read(self.answers.fileno(), 1 << 20)
            assert block, "Chromium has ended"
            self.rest += block
        line, _, self.rest = self.rest.partition(b"\0")
        return json.loads(line)

    def call(self, method, **parameters):
        self.count += 1
        message = {"id": self.count, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        self.commands.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = self.message()
            if answer.get("id") == self.count:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]
            self.events.append(answer)

    def open(self, url, width, scheme="light", scripts=True):
        """Loads it anew; what was said of another page is forgotten."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", features=features)
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        # By way of another one: a URL that differs in its hash alone would load nothing.
        for each in ["about:blank", url]:
            self.events = []
            failed = self.call("Page.navigate", url=each).get("errorText")
            assert not failed, failed
            while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
                self.events.append(self.message())

    def value(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def complaints(self):
        """What went to the console and to the log."""
        said = []
        for event in self.events:
            method, words = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                said.append(words["exceptionDetails"].get("text"))
            elif method == "Runtime.consoleAPICalled":
                said.append(json.dumps(words["args"]))
            elif method == "Log.entryAdded":
                said.append(words["entry"]["text"])
        return said

    def requests(self):
        sent = [event["params"] for event in self.events if event.get("method") == "Network.requestWillBeSent"]
        return [request["request"]["url"] for request in sent]

    def screenshot(self, path, most=6000):
        """Of the whole page, down to that many pixels."""
        width, height = self.value("[innerWidth, document.documentElement.scrollHeight]")
        clip = {"x": 0, "y": 0, "width": width, "height": min(height, most), "scale": 1}
        picture = self.call("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)["data"]
        path.write_bytes(base64.b64decode(picture))


CHARTS = """[...document.querySelectorAll("details.group")].map((group) => ({
  id: group.id,
  rows: Number(group.dataset.rows),
  told: [...group.querySelectorAll("figure")].map((figure) => Number(figure.dataset.bars)),
  bars: [...group.querySelectorAll("figure")].map((figure) => figure.querySelectorAll("svg rect").length),
  lines: group.querySelectorAll("tbody tr").length,
  empty: [...group.querySelectorAll("svg rect")].filter((bar) => !(bar.getBBox().width > 0)).length,
  nameless: [...group.querySelectorAll("svg")].filter((svg) =>
    svg.getAttribute("role") !== "img" || !svg.getAttribute("aria-label") || !svg.querySelector("title")).length,
  cut: [...group.querySelectorAll("svg text")].filter((text) => {
    const {x, y, width, height} = text.getBBox(), box = text.ownerSVGElement.viewBox.baseVal;
    return x < 0 || y < 0 || x + width > box.width || y + height > box.height;
  }).map((text) => text.textContent),
}))"""

WIDE = """[...document.querySelectorAll("body *")].filter((element) =>
  element.getBoundingClientRect().right > innerWidth + 1 && !element.closest(".scroll")
).slice(0, 5).map((element) => element.outerHTML.slice(0, 120))"""

OPEN_ALL = """document.querySelectorAll("details").forEach((details) => { details.open = true; })"""


def page_checks(browser, page, screenshots):
    url, name = page.absolute().as_uri(), page.stem

    def picture(what):
        if screenshots:
            browser.screenshot(screenshots / f"{name}-{what}.png")

    def renders(width):
        browser.open(url, width)
        assert browser.value("document.title").startswith("bytewise"), browser.value("document.title")
        assert browser.value("document.querySelector('h1').getBoundingClientRect().height > 0")
        equal(browser.value("matchMedia('(prefers-color-scheme: dark)').matches"), False)
        picture(width)

    def charts(width):
        browser.value(OPEN_ALL)
        groups = browser.value(CHARTS)
        equal(browser.value("document.querySelectorAll('svg rect').length"), sum(sum(one["bars"]) for one in groups))
        for one in groups:
            equal((one["id"], one["bars"]), (one["id"], one["told"]))
            # Round trips of each row; a latency where there is one.
            assert not one["rows"] or one["bars"][0] == one["rows"] == one["lines"], one
            assert all(bars <= one["rows"] for bars in one["bars"]), one
            equal((one["empty"], one["nameless"], one["cut"]), (0, 0, []))

    def fits(width):
        browser.value(OPEN_ALL)
        equal(browser.value(WIDE), [])
        equal(browser.value("document.documentElement.scrollWidth"), width)
        # Tables are wider than a narrow window, and scroll.
        scrolling = "[...document.querySelectorAll('.scroll')].some((box) => box.scrollWidth > box.clientWidth + 50)"
        assert width > 400 or browser.value(scrolling)

    def contents(width):
        dangling = "[...document.querySelectorAll('nav a')].filter((a) => !document.querySelector(a.hash)).length"
        twins = "(() => { const ids = [...document.querySelectorAll('[id]')].map((e) => e.id);"
        twins += " return ids.filter((id, at) => ids.indexOf(id) !== at); })()"
        equal((browser.value(dangling), browser.value(twins)), (0, []))
        position = browser.value("getComputedStyle(document.querySelector('nav')).position")
        equal(position, "sticky" if width > 1100 else "static")

    def quiet(width):
        equal(browser.complaints(), [])
        equal([request for request in browser.requests() if not request.startswith("data:")], [url])

    for width in WIDTHS:
        for work in [renders, charts, fits, contents, quiet]:
            check(f"{name}/{width}/{work.__name__}", lambda: work(width))

    def filters():
        browser.open(url, 1400)
        selects = browser.value("[...document.querySelectorAll('.filters select')].map((select) => select.name)")
        everything = browser.value("document.querySelectorAll('details.group').length")
        shown = "[...document.querySelectorAll('details.group')].filter((group) => group.checkVisibility())"
        for select in selects:
            browser.open(url, 1400)
            field = f"document.querySelector('select[name={select}]')"
            change = f"{field}.dispatchEvent(new Event('change', {{bubbles: true}}))"
            value = browser.value(f"({field}.selectedIndex = 1, {change}, {field}.value)")
            chosen = browser.value(f"{shown}.map((group) => group.dataset.{select})")
            assert 0 < len(chosen) < everything and set(chosen) == {value}, (select, value, chosen)
        if everything:
            browser.value("document.querySelector('button[data-open=\"\"]').click()")
            equal(browser.value("document.querySelectorAll('details.group[open]').length"), 0)
            browser.value("document.querySelector('button[data-open=\"1\"]').click()")
            equal(browser.value("document.querySelectorAll('details.group[open]').length"), everything)

    def links():
        browser.open(url, 1400)
        last = browser.value("[...document.querySelectorAll('details.group')].map((group) => group.id).pop()")
        if last:
            browser.open(f"{url}#{last}", 1400)
            assert browser.value(f"document.getElementById({json.dumps(last)}).open")
            top = browser.value(f"document.getElementById({json.dumps(last)}).getBoundingClientRect().top")
            assert -1 <= top < 900, top
            picture("linked")

    def dark():
        background = "getComputedStyle(document.body).backgroundColor"
        browser.open(url, 1400)
        light = browser.value(background)
        browser.open(url, 1400, scheme="dark")
        assert browser.value(background) != light, light
        picture("dark")

    def without_scripts():
        browser.open(url, 1400, scripts=False)
        hidden = browser.value("[...document.querySelectorAll('form')].filter((form) => form.checkVisibility()).length")
        equal(hidden, 0)
        assert browser.value("[...document.querySelectorAll('main table')].some((table) => table.checkVisibility())")
        quiet(1400)

    for work in [filters, links, dark, without_scripts]:
        check(f"{name}/{work.__name__}", work)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="+", type=pathlib.Path, help="pages, or directories of them")
    parser.add_argument("--screenshots", type=pathlib.Path, help="where pictures of the pages go")
    options = parser.parse_args()
    if options.screenshots:
        options.screenshots.mkdir(parents=True, exist_ok=True)

    def looked_at(page):
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory, Browser(directory) as browser:
            page_checks(browser, page, options.screenshots)

    pages = [sorted(page.glob("*.html")) if page.is_dir() else [page] for page in options.pages]
    for page in sum(pages, []):
        check(f"{page.stem}/page", lambda: looked_at(page), ["chromium"])
    finish()


main()
