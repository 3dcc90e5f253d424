// Number n of a producer is one round-trip time of one link, so link counts show lost numbers.
import {
  Distribution,
  encodeMetrics,
  PROBE_ATTRIBUTES,
  PROBE_METRICS,
  RESOURCE_ATTRIBUTES,
} from "@isochrone/telemetry";

export interface NumberSpread {
  readonly producer: string;
  readonly nodes: number;
  readonly peers: number;
}

interface NumberedLink {
  readonly source: string;
  readonly target: string;
}

export function linkOf({ producer, nodes, peers }: NumberSpread, n: number): NumberedLink {
  return { source: `${producer}-${n % nodes}`, target: `peer-${Math.floor(n / nodes) % peers}` };
}

/** Encodes number `n` as a round-trip time of 1 ms, sampled now. */
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
