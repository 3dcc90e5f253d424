// One end of a stream: `receive ADDRESS PORT` prints what has arrived; `send SOURCE TARGET PORT` goes on
// sending.
import { connect, createServer } from "node:net";

const [role, address = "", ...rest] = process.argv.slice(2);
const REPORT_MS = 50;

if (role === "receive") {
  let bytes = 0;
  const report = (): void => {
    process.stdout.write(`${JSON.stringify({ ms: performance.now(), bytes })}\n`);
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
