// `receive ADDRESS PORT` prints payload and link bytes; `send SOURCE TARGET PORT` sends until killed.
import { readFileSync } from "node:fs";
import { connect, createServer } from "node:net";

const [role, address = "", ...rest] = process.argv.slice(2);
const REPORT_MS = 50;

if (role === "receive") {
  let bytes = 0;
  const report = (): void => {
    process.stdout.write(`${JSON.stringify({ ms: performance.now(), bytes, wireBytes: wireBytes() })}\n`);
  };
  createServer((socket) => {
    socket.on("data", (chunk) => (bytes += chunk.length));
    socket.on("error", () => undefined);
  }).listen(Number(rest[0]), address, () => {
    report();
    setInterval(report, REPORT_MS);
  });
} else {
  const [target = "", port] = rest;
  const socket = connect({ host: target, port: Number(port), localAddress: address });
  const block = Buffer.alloc(16_384);
  const fill = (): void => {
    while (socket.write(block));
  };
  socket.on("connect", fill);
  socket.on("drain", fill);
  socket.on("error", () => process.exit(1));
}

function wireBytes(): number {
  const lines = readFileSync("/proc/self/net/dev", "utf8").matchAll(/^ *([\w-]+): *(\d+)/gm);
  let sum = 0;
  for (const [, device, received] of lines)
    if (device !== "lo" && device !== "isochrone-vx") sum += Number(received);
  return sum;
}
