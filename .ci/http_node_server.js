// What the example `http_client` asks; says its port when it listens.
"use strict";
const http = require("http");
const server = http.createServer((request, response) => {
  const { method, url } = request;
  if (url === "/chunks") {
    response.writeHead(200, { trailer: "x-sum" });
    response.write("one ");
    response.write("two ");
    setImmediate(() => { response.addTrailers({ "x-sum": "7" }); response.end("three"); });
  } else if (url === "/hints") {
    response.writeEarlyHints({ link: "</style.css>; rel=preload" });
    response.end("hinted");
  } else if (url === "/echo") {
    response.writeHead(200, { "x-method": method });
    request.pipe(response);
  } else if (url === "/length") {
    let length = 0;
    request.on("data", (data) => { length += data.length; });
    request.on("end", () => response.end(`${length}`));
  } else if (url === "/moved") {
    response.writeHead(302, { location: "/chunks" });
    response.end("elsewhere");
  } else if (url === "/until-close") {
    response.removeHeader("transfer-encoding");
    response.useChunkedEncodingByDefault = false;
    response.shouldKeepAlive = false;
    response.write("up to ");
    response.end("the end");
  } else if (url === "/early") {
    response.writeHead(403, { connection: "close" });
    response.end("refused");
  } else {
    response.end(`${method} ${url}`);
  }
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
