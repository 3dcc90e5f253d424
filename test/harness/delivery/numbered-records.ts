// Numbered records as probes send them: number n of a producer is one round-trip time of one link, so that
// the graph's counts tell for each link how many of its numbers arrived.
import {
  Distribution,
  encodeMetrics,
  PROBE_ATTRIBUTES,
  PROBE_METRICS,
  RESOURCE_ATTRIBUTES,
} from "@isochrone/telemetry";

/** How the numbers of a producer are spread over links. */
export interface NumberSpread {
  readonly producer: string;
  /** Nodes that it speaks for: keys, and so partitions. */
  readonly nodes: number;
  /** Peers of each. */
  readonly peers: number;
}

interface NumberedLink {
  readonly source: string;
  readonly target: string;
}

/** The link of number `n`. */
export function linkOf({ producer, nodes, peers }: NumberSpread, n: number): NumberedLink {
  return { source: `${producer}-${n % nodes}`, target: `peer-${Math.floor(n / nodes) % peers}` };
}

/** The record of number `n`: 1 ms, taken now. */
export function encodeNumber(spread: NumberSpread, n: number, timeMs: number): Uint8Array {
  const { source, target } = linkOf(spread, n);
  const rtt = new Distribution();
  rtt.record(0.001);
  return encodeMetrics({
    resource: { [RESOURCE_ATTRIBUTES.node]: source },
    scope: { name: "isochrone.test" },
    metrics: [
      {
        name: PROBE_METRICS.rtt,
        unit: "s",
        kind: "exponentialHistogram",
        temporality: "delta",
        points: [
          {
            attributes: {
              [PROBE_ATTRIBUTES.destinationNode]: target,
              [PROBE_ATTRIBUTES.method]: "udp_rr",
              [PROBE_ATTRIBUTES.ipFamily]: "ipv4",
            },
            startMs: timeMs - 1,
            timeMs,
            data: rtt.toData(),
          },
        ],
      },
    ],
  });
}
