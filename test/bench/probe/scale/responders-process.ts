// Child process of scale.bench.ts: the responders of nodes that don't probe.
import type { EngineConfig } from "@isochrone/probe/testing";
import { ResponderThread } from "@isochrone/probe/testing";
import { createLogger, systemClock } from "@isochrone/runtime";
import type { Seat } from "./cluster.ts";
import { HMAC_SECRET } from "./keys.ts";
import type { RespondersCalls, Usage } from "./messages.ts";
import { serve, startUsage } from "./serve.ts";

const logger = createLogger({ service: "scale-responders", level: "error", destination: process.stderr });
const thread = new ResponderThread({ clock: systemClock, logger, sockets: "node" });
let usage: () => Usage = startUsage();

serve({
  async start(seats, port) {
    await Promise.all(seats.map((seat, id) => thread.open(id, configOf(seat, port))));
    return null;
  },
  async begin() {
    usage = startUsage();
    return null;
  },
  end: async () => usage(),
} satisfies RespondersCalls);

/** Has the probes' defaults for the responder and sends nothing. */
function configOf({ node, address }: Seat, port: number): EngineConfig {
  return {
    node,
    identity: address,
    bindAddress: address,
    udpPort: port,
    tcpPort: port,
    methods: ["udp_rr"],
    intervalMs: 1000,
    timeoutMs: 2000,
    publishIntervalMs: 10_000,
    warmupPackets: 1,
    packetBytes: 128,
    keys: [{ id: 1, secret: HMAC_SECRET }],
    signingKeyId: 1,
    connectIntervalMs: 10_000,
    dscp: 0,
    icmpPayloadBytes: 56,
    icmpProber: "auto",
    acceptTranslatedSource: false,
    stallBoundMs: 20,
    responderPacketsPerSecond: 1000,
    zeroCheckIntervalMs: 0,
  };
}
