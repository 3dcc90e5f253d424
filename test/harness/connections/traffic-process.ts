// `serve PORT`: reads each connection and replies with the number of bytes given by the first four bytes.
// `load ADDRESS PORT PER_SECOND CONNECTIONS`: opens CONNECTIONS connections, each with 1 to 100 kB both ways.
// `long ADDRESS PORT MS`: one connection that sends 20 kB every 50 ms.
import { connect, createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { seededRandom } from "@isochrone/runtime";

const [role, ...args] = process.argv.slice(2);
const HEAD_BYTES = 4;

function serve(port: number): void {
  createServer({ allowHalfOpen: true }, (socket) => {
    let head = Buffer.alloc(0);
    socket.on("data", (chunk) => {
      if (head.length < HEAD_BYTES) head = Buffer.concat([head, chunk.subarray(0, HEAD_BYTES)]);
    });
    socket.on("end", () => socket.end(Buffer.alloc(head.length < HEAD_BYTES ? 0 : head.readUInt32BE(0), 1)));
    socket.on("error", () => socket.destroy());
  }).listen(port, () => process.stdout.write("ready\n"));
}

function exchange(address: string, port: number, sent: number, answered: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: address, port, allowHalfOpen: true });
    const body = Buffer.alloc(HEAD_BYTES + sent, 1);
    body.writeUInt32BE(answered, 0);
    socket.once("error", reject);
    socket.once("close", () => resolve());
    socket.resume();
    socket.end(body);
  });
}

async function load(address: string, port: number, perSecond: number, connections: number): Promise<void> {
  const random = seededRandom(7);
  const size = (): number => Math.round(1000 * 100 ** random.next());
  const running = new Set<Promise<void>>();
  const beganMs = Date.now();
  for (let index = 0; index < connections; index++) {
    const one = exchange(address, port, size(), size()).finally(() => running.delete(one));
    running.add(one);
    await sleep(Math.max(0, beganMs + ((index + 1) * 1000) / perSecond - Date.now()));
  }
  await Promise.all(running);
}

async function long(address: string, port: number, ms: number): Promise<void> {
  const socket = connect({ host: address, port });
  socket.resume();
  for (const endMs = Date.now() + ms; Date.now() < endMs; await sleep(50))
    socket.write(Buffer.alloc(20_000, 1));
  socket.end(Buffer.alloc(0));
  await new Promise((resolve) => socket.once("close", resolve));
}

if (role === "serve") serve(Number(args[0]));
else if (role === "load") await load(args[0]!, Number(args[1]), Number(args[2]), Number(args[3]));
else await long(args[0]!, Number(args[1]), Number(args[2]));
