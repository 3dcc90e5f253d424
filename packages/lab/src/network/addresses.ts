import { createServer, type Server } from "node:net";
import { NetworkError } from "./errors.ts";

export interface SocketAddress {
  readonly host: string;
  readonly port: number;
}

/**
 * `loopback`: an address in 127.0.0.0/8 per node and pair. `ports`: all on 127.0.0.1, one port per pair, for
 * systems with no other loopback addresses. `auto`: loopback if available.
 */
export type Addressing = "auto" | "loopback" | "ports";

/** Nodes per plan; address octets 251 to 255 are reserved for the plan. */
export const MAX_NODES = 250;

/** Octet of the source address under which others see a node's traffic. */
const EGRESS_OCTET = 255;
const FIRST_SEGMENT = 10;
const LAST_SEGMENT = 254;
/** A listener on 127.r.255.255 at this port owns 127.r.0.0/16. */
const CLAIM_PORT = 46_113;

/**
 * Addresses of one run, by node index. With loopback networks (r is the run's octet): node i listens on
 * 127.r.0.(i+1); i reaches j at 127.r.(i+1).(j+1); j sees i's traffic from 127.r.255.(i+1).
 */
export interface AddressPlan {
  readonly kind: "loopback" | "ports";
  nodeHost(node: number): string;
  /** Relay's listen address for traffic of `source` to `target`. */
  pairHost(source: number, target: number): string;
  /** Relay's source address for traffic of `source`; null: the system chooses. */
  egressHost(source: number): string | null;
  /** The pair's port for a target's port; 0: the system chooses. */
  pairPort(port: number): number;
  release(): Promise<void>;
}

const PORTS_PLAN: AddressPlan = {
  kind: "ports",
  nodeHost: () => "127.0.0.1",
  pairHost: () => "127.0.0.1",
  egressHost: () => null,
  pairPort: () => 0,
  release: () => Promise.resolve(),
};

/**
 * Claims addresses that no other run on this machine uses.
 * @throws NetworkError `no_addresses`
 */
export async function claimAddresses(addressing: Addressing): Promise<AddressPlan> {
  if (addressing === "ports") return PORTS_PLAN;
  for (let segment = FIRST_SEGMENT; segment <= LAST_SEGMENT; segment++) {
    const claim = await claimSegment(segment);
    if (claim === "taken") continue;
    if (claim !== "absent") return loopbackPlan(segment, claim);
    if (addressing === "auto") return PORTS_PLAN;
    throw new NetworkError(
      "no_addresses",
      `this system has no address 127.${segment}.255.255, use addressing "ports"`,
    );
  }
  throw new NetworkError(
    "no_addresses",
    `every network from 127.${FIRST_SEGMENT}.0.0/16 to 127.${LAST_SEGMENT}.0.0/16 is taken by another run`,
  );
}

function loopbackPlan(segment: number, claim: Server): AddressPlan {
  return {
    kind: "loopback",
    nodeHost: (node) => `127.${segment}.0.${node + 1}`,
    pairHost: (source, target) => `127.${segment}.${source + 1}.${target + 1}`,
    egressHost: (source) => `127.${segment}.${EGRESS_OCTET}.${source + 1}`,
    pairPort: (port) => port,
    release: () => new Promise((resolve) => claim.close(() => resolve())),
  };
}

async function claimSegment(segment: number): Promise<Server | "taken" | "absent"> {
  const server = createServer((socket) => socket.destroy());
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EADDRINUSE") resolve("taken");
      else if (error.code === "EADDRNOTAVAIL" || error.code === "EINVAL") resolve("absent");
      else
        reject(
          new NetworkError("no_addresses", `can't claim 127.${segment}.0.0/16: ${error.message}`, {
            cause: error,
          }),
        );
    });
    server.listen({ host: `127.${segment}.255.255`, port: CLAIM_PORT, exclusive: true }, () => {
      server.unref();
      resolve(server);
    });
  });
}
