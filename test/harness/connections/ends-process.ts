// `CONNECTIONS BUFFER_BYTES`: prints as JSON the received and dropped destroy events of expired connections.
import { writeFileSync } from "node:fs";
import { ConnectionRounds, ConntrackSocket } from "@isochrone/collector/testing";
import { makeUdpConnections } from "./udp-connections.ts";

const [connections = 0, bufferBytes = 0] = process.argv.slice(2).map(Number);
writeFileSync("/proc/sys/net/netfilter/nf_conntrack_udp_timeout", "0");
const rounds = new ConnectionRounds(await ConntrackSocket.open(bufferBytes), {
  interfaces: async () => "",
  accounting: async () => "1",
});
await rounds.round(1);
await makeUdpConnections(connections);
// Dumping the table removes expired entries.
const { overflows, bytes, state } = await rounds.round(2);
process.stdout.write(JSON.stringify({ overflows, bytes, state }));
process.exit(0);
