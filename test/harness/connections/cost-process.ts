// `CONNECTIONS RUNS`: makes so many tracked connections of UDP in the network namespace that it runs in, and
// prints as JSON what it costs to count them, beside a reader of the kernel's text.
import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { ConnectionRounds, ConntrackSocket } from "@isochrone/collector/testing";

const [connections = 0, runs = 0] = process.argv.slice(2).map(Number);
/** Of one target address. */
const SOCKETS = 200;
const PORTS = 50;

async function opened(): Promise<Socket> {
  const socket = createSocket("udp4");
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  return socket;
}

async function connect(count: number): Promise<void> {
  for (let made = 0, target = 1; made < count; target++) {
    const sockets = await Promise.all(Array.from({ length: SOCKETS }, opened));
    for (const socket of sockets)
      for (let port = 0; port < PORTS && made < count; port++, made++)
        await new Promise<void>((resolve) =>
          socket.send("x", 9000 + port, `127.0.${target}.2`, () => resolve()),
        );
    for (const socket of sockets) socket.close();
  }
}

function cpuMs({ user, system }: NodeJS.CpuUsage): number {
  return (user + system) / 1000;
}

async function costOf(run: () => Promise<void> | void): Promise<number> {
  const before = process.cpuUsage();
  for (let index = 0; index < runs; index++) await run();
  return cpuMs(process.cpuUsage(before)) / runs;
}

await connect(connections);
const rounds = new ConnectionRounds(await ConntrackSocket.open(), {
  interfaces: async () => "",
  accounting: async () => "1",
});
let nowMs = 0;
const { tracked } = await rounds.round(++nowMs);
await rounds.round(++nowMs);
const ours = await costOf(async () => void (await rounds.round(++nowMs)));
const text = await costOf(() => {
  let bytes = 0;
  for (const [, counted] of readFileSync("/proc/net/nf_conntrack", "latin1").matchAll(/bytes=(\d+)/g))
    bytes += Number(counted);
  if (bytes === 0) throw new Error("the kernel's table must have bytes, got none");
});
process.stdout.write(JSON.stringify({ tracked, ours, text }));
process.exit(0);
