// Asks a server of ours with node's `ws`: one line for each check, then `done`.
//
//     node websocket_node_client.js PORT WHAT_IT_CAN…
"use strict";
const assert = require("node:assert");
const crypto = require("node:crypto");
const { once } = require("node:events");
const WebSocket = require("ws");

const [port, ...can] = process.argv.slice(2);
const url = `ws://127.0.0.1:${port}/ws`;
const MIB = 1 << 20;
const UNICODE = "Grüße, Ελληνικά, Кириллица, العربية, हिन्दी, 漢字かな交じり, 한국어, 𝔘𝔫𝔦, 👩🏽‍🚀";
const COMPRESSIONS = {
  plain: false,
  deflate: { threshold: 0 },
  deflate_of_long_ones: { threshold: 1024 },
  deflate_without_takeover: { threshold: 0, serverNoContextTakeover: true, clientNoContextTakeover: true },
  deflate_without_server_takeover: { threshold: 0, serverNoContextTakeover: true },
  deflate_without_client_takeover: { threshold: 0, clientNoContextTakeover: true },
  deflate_small_windows: { threshold: 0, serverMaxWindowBits: 9, clientMaxWindowBits: 9 },
};

async function connect(perMessageDeflate = false, target = url) {
  const ws = new WebSocket(target, { perMessageDeflate, maxPayload: 0 });
  // Before it is open: a frame may come with the handshake.
  ws.closed = new Promise(resolve => ws.on("close", (code, reason) => resolve([code, reason.toString()])));
  ws.received = [];
  ws.on("message", (data, isBinary) => ws.received.push(isBinary ? data : data.toString()) && ws.emit("received"));
  await once(ws, "open");
  return ws;
}

async function receive(ws) {
  while (!ws.received.length) {
    await Promise.race([once(ws, "received"), ws.closed.then(closed => { throw new Error(`closed with ${closed}`); })]);
  }
  return ws.received.shift();
}

async function expect(ws, message) {
  const back = await receive(ws);
  assert(typeof back === typeof message, "of the other kind");
  const same = typeof back === "string" ? back === message : back.equals(message);
  assert(same, `${back.length} came back for ${message.length}`);
}

async function echo(ws, message) {
  ws.send(message);
  await expect(ws, message);
}

async function fragments(ws, pieces, between = () => {}) {
  for (const piece of pieces) {
    ws.send(piece, { fin: false });
    between();
  }
  ws.send(typeof pieces[0] === "string" ? "" : Buffer.alloc(0), { fin: true });
  await expect(ws, typeof pieces[0] === "string" ? pieces.join("") : Buffer.concat(pieces));
}

async function close(ws, code, reason) {
  ws.close(code, reason);
  return await ws.closed;
}

async function messages(compression) {
  const ws = await connect(compression);
  assert.equal(ws.extensions.includes("permessage-deflate"), Boolean(compression), `extensions: ${ws.extensions}`);
  const bytes = Buffer.from(Array.from({ length: 256 * 300 }, (_, at) => at & 255));
  const noise = crypto.randomBytes(100_000);
  for (const message of ["", Buffer.alloc(0), "hello", bytes, UNICODE, UNICODE.repeat(2000), Buffer.alloc(MIB)]) {
    await echo(ws, message);
  }
  for (let round = 0; round < 5; round++) {
    await echo(ws, noise);
    await echo(ws, noise.subarray(round * 1000));
    await echo(ws, `${round} ${UNICODE} `.repeat(1000));
  }
  await fragments(ws, ["one ", "two ", "three"]);
  await fragments(ws, ["", ""]);
  await fragments(ws, Array.from({ length: 100 }, (_, at) => noise.subarray(at * 1000, (at + 1) * 1000)));
  assert.deepEqual(await close(ws, 1000), [1000, ""]);
}

async function sixteenMebibytes(compression) {
  const ws = await connect(compression);
  await echo(ws, crypto.randomBytes(16 * MIB));
  await echo(ws, Buffer.alloc(16 * MIB));
  await echo(ws, "x".repeat(16 * MIB));
  assert.deepEqual(await close(ws, 1000), [1000, ""]);
}

async function inFlight(compression) {
  const ws = await connect(compression);
  for (let number = 0; number < 3000; number++) ws.send(`${number}`.repeat(20));
  for (let number = 0; number < 3000; number++) await expect(ws, `${number}`.repeat(20));
  assert.deepEqual(await close(ws, 1000), [1000, ""]);
}

async function pings() {
  const ws = await connect();
  for (const payload of ["", "ping", "x".repeat(125)]) {
    ws.ping(payload);
    const [pong] = await once(ws, "pong");
    assert.equal(pong.toString(), payload);
  }
  let pongs = 0;
  ws.on("pong", () => pongs++);
  await fragments(ws, ["a", "b", "c"], () => ws.ping());
  assert.equal(pongs, 3);
  ws.pong("unasked for");
  await echo(ws, "still here");
  ws.terminate();
}

async function closeCodes() {
  const frames = [[1000, ""], [1000, "done"], [1001, "left"], [3000, UNICODE.slice(0, 30)], [4999, "x".repeat(123)]];
  for (const [code, reason] of frames) {
    const ws = await connect();
    await echo(ws, "hello");
    assert.equal((await close(ws, code, reason))[0], code);
  }
  assert.deepEqual(await close(await connect()), [1005, ""]);
  // What was sent before comes back before.
  const ws = await connect();
  ws.send("last words");
  assert.deepEqual(await close(ws, 1000), [1000, ""]);
  assert.deepEqual(ws.received, ["last words"]);
}

async function closedByTheServer() {
  for (const code of [1000, 1001, 1011, 3000, 4999]) {
    assert.deepEqual(await (await connect(false, `${url}?close=${code}`)).closed, [code, "as asked"]);
  }
}

async function status(target, options) {
  const ws = new WebSocket(target, options);
  ws.on("error", () => {});
  const [request, response] = await once(ws, "unexpected-response");
  request.destroy();
  return [response.statusCode, response.headers["sec-websocket-version"]];
}

async function refused() {
  assert.deepEqual(await status(url, { protocolVersion: 8 }), [426, "13"]);
  if (can.includes("refuse")) assert.deepEqual(await status(`ws://127.0.0.1:${port}/nothing`, {}), [404, undefined]);
}

async function main() {
  const has = Object.entries(COMPRESSIONS).filter(([, compression]) => !compression || can.includes("deflate"));
  const checks = has.map(([name, compression]) => [`messages/${name}`, () => messages(compression)]);
  checks.push(
    ["16_mib/plain", () => sixteenMebibytes(false)], ["in_flight/plain", () => inFlight(false)], ["pings", pings],
    ["close_codes", closeCodes], ["refused", refused],
  );
  if (can.includes("deflate")) {
    checks.push(["16_mib/deflate", () => sixteenMebibytes(COMPRESSIONS.deflate)]);
    checks.push(["in_flight/deflate", () => inFlight(COMPRESSIONS.deflate)]);
  }
  if (can.includes("close")) checks.push(["closed_by_the_server", closedByTheServer]);
  for (const [name, work] of checks) {
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error("it takes too long")), 60_000);
    });
    try {
      await Promise.race([work(), late]);
      console.log(`ok ${name}`);
    } catch (error) {
      console.log(`FAILED ${name}: ${String(error.stack).split("\n").slice(0, 3).join(" ")}`);
    }
    clearTimeout(timer);
  }
  console.log("done");
  process.exit(0);
}

main();
