// `CONNECTIONS RUNS`: prints as JSON the cost of counting that many tracked UDP connections.
import { readFileSync } from "node:fs";
import { ConnectionRounds, ConntrackSocket } from "@isochrone/collector/testing";
import { makeUdpConnections } from "./udp-connections.ts";

const [connections = 0, runs = 0] = process.argv.slice(2).map(Number);
function cpuMs({ user, system }: NodeJS.CpuUsage): number {
  return (user + system) / 1000;
}

async function costOf(run: () => Promise<void> | void): Promise<number> {
  const before = process.cpuUsage();
  for (let index = 0; index < runs; index++) await run();
  return cpuMs(process.cpuUsage(before)) / runs;
}

await makeUdpConnections(connections);
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
