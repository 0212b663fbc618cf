// Echoes messages on a free port, which it says first; `ws` is found by NODE_PATH.
const { WebSocketServer } = require("ws");

const server = new WebSocketServer({ host: "127.0.0.1", port: 0, perMessageDeflate: { threshold: 0 }, maxPayload: 1 << 26 });
server.on("listening", () => console.log(server.address().port));
server.on("connection", ws => ws.on("message", (data, binary) => ws.send(data, { binary })));
