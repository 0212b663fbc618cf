// Asks the example `http_server` over one connection that is kept, then over many: `node http_node_client.js PORT`.
"use strict";
const http = require("http");
const { Readable } = require("stream");
const assert = require("assert");
const port = Number(process.argv[2]);
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
const sockets = new Set();

function ask(method, path, body, headers = {}) {
  return new Promise((resolve, reject) => {
    const request = http.request({ port, method, path, agent, headers, host: "127.0.0.1" }, (response) => {
      const blocks = [];
      response.on("data", (block) => blocks.push(block));
      response.on("end", () => resolve([response.statusCode, Buffer.concat(blocks).toString(), response]));
      response.on("error", reject);
    });
    request.on("socket", (socket) => sockets.add(socket));
    request.on("error", reject);
    if (body instanceof Readable) body.pipe(request);
    else request.end(body);
  });
}

(async () => {
  for (let i = 0; i < 100; i++) {
    assert.strictEqual((await ask("GET", "/"))[1], "Hello, this is bytewise.\n");
    assert.strictEqual((await ask("POST", "/echo", "hello " + i))[1], "hello " + i);
  }
  const pieces = Array.from({ length: 128 }, () => Buffer.alloc(65536));
  assert.strictEqual((await ask("PUT", "/upload", Readable.from(pieces)))[1], "8388608 bytes\n");
  const echo = await ask("POST", "/echo", Readable.from(["one ", "two"]), { "transfer-encoding": "chunked" });
  assert.strictEqual(echo[1], "one two");
  assert.strictEqual(echo[2].headers["transfer-encoding"], "chunked");
  assert.strictEqual(sockets.size, 1, "the connection was not kept");
  const parallel = Array.from({ length: 50 }, (_, i) => fetch(`http://127.0.0.1:${port}/echo`, { method: "POST", body: `${i}` }));
  const texts = await Promise.all(parallel.map(async (response) => (await response).text()));
  assert.deepStrictEqual(texts, texts.map((_, i) => `${i}`));
  console.log("ok");
  process.exit(0);
})();
