import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";

const [port, file = ""] = process.argv.slice(2);

createServer((request, response) => {
  const { url = "" } = request;
  if (url === "/api/v1/flow-plans/applied") request.on("data", (body: Buffer) => process.stdout.write(body));
  else request.resume();
  if (/^\/api\/v1\/flow-plans?(?:\/[^/]+)?$/.test(url) && request.method === "GET")
    void servePlan(request, response, url === "/api/v1/flow-plans");
  else response.writeHead(200).end();
}).listen(Number(port), "127.0.0.1", () => process.stdout.write("listening\n"));

async function servePlan(request: IncomingMessage, response: ServerResponse, areAll: boolean): Promise<void> {
  try {
    const { "isochrone-flow-generation": standing = "none" } = request.headers;
    process.stdout.write(`standing ${String(standing)}\n`);
    const text = await readFile(file, "utf8");
    const etag = `"${createHash("sha256").update(text).digest("hex")}"`;
    const isKnown = request.headers["if-none-match"] === etag;
    response.writeHead(isKnown ? 304 : 200, { etag, "content-type": "application/json" });
    response.end(isKnown ? undefined : areAll ? `{"plans":[${text}]}` : text);
  } catch {
    response.writeHead(503, { "retry-after": "1" }).end("{}");
  }
}
