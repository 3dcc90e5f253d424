// Honest probes and collectors send constant figures, so that only a tenant can change the graphs.
import { BufferedPublisher } from "@isochrone/bus";
import { OtlpHttpPublisher } from "@isochrone/bus/testing";
import { authorizedFetch, systemClock, systemRandom, type Fetch } from "@isochrone/runtime";
import { encodeMetrics, RESOURCE_ATTRIBUTES, TOPICS, type Metric } from "@isochrone/telemetry";
import { rttMetrics } from "../../soak/floods/honest.ts";
import { NODES, VICTIM, type HostileTestbed } from "./testbed.ts";

const EVERY_MS = 500;
const BYTES_PER_SECOND = 100_000;
/** Round trips by the two nodes. The tenant's node is the farthest. */
const RTT_MS: Readonly<Record<string, number>> = {
  "node-0 node-1": 40,
  "node-0 node-2": 30,
  "node-1 node-2": 10,
};

/** Keyed by node, whose collector is one source: the reporter, and sources of its requests to db. */
const TRAFFIC = [
  [NODES[1], "source", ["web"]],
  [NODES[2], "destination", ["api", "worker"]],
] as const;

interface Publisher {
  readonly publisher: BufferedPublisher;
  readonly say: () => void;
}

export class HonestSpeakers {
  readonly #publishers: readonly Publisher[];
  readonly #timer: NodeJS.Timeout;

  private constructor(publishers: readonly Publisher[]) {
    this.#publishers = publishers;
    this.#timer = setInterval(() => this.#say(), EVERY_MS);
  }

  static async start(testbed: HostileTestbed): Promise<HonestSpeakers> {
    const ca = await testbed.trustedCa();
    const open = async (component: string, node: string): Promise<BufferedPublisher> => {
      const token = await testbed.podToken(component, node);
      const plain = authorizedFetch({ ca: () => ca, clock: systemClock });
      const authorization = `Bearer ${token}`;
      const fetch: Fetch = (url, init) =>
        plain(url, { ...init, headers: { ...init?.headers, authorization } });
      return new BufferedPublisher({
        publisher: new OtlpHttpPublisher({ url: `${testbed.aggregator.url}/v1/metrics`, fetch }),
        source: `${component}/${node}`,
        epoch: "honest",
        clock: systemClock,
        random: systemRandom,
        onDropped: () => undefined,
      });
    };
    const probes = NODES.map(async (node) => {
      const publisher = await open("probe", node);
      const metrics = (): Metric[] =>
        NODES.filter((peer) => peer !== node).flatMap((peer) =>
          rttMetrics(peer, RTT_MS[[node, peer].sort().join(" ")]!, Date.now()),
        );
      return { publisher, say: () => offer(publisher, TOPICS.probe, node, metrics()) };
    });
    const beganMs = Date.now();
    // The sidecar of an end with a pod on the node reports the traffic; `api` has no pod yet.
    const traffic = TRAFFIC.map(async ([node, reporter, sources]) => {
      const publisher = await open("collector", node);
      const metrics = (): Metric[] => sentBytes(reporter, sources, beganMs, Date.now());
      return { publisher, say: () => offer(publisher, TOPICS.traffic, node, metrics()) };
    });
    return new HonestSpeakers(await Promise.all([...probes, ...traffic]));
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.allSettled(this.#publishers.map(({ publisher }) => publisher.close()));
  }

  #say(): void {
    for (const { publisher, say } of this.#publishers) {
      say();
      publisher.flush().catch(() => undefined);
    }
  }
}

function offer(publisher: BufferedPublisher, topic: string, node: string, metrics: readonly Metric[]): void {
  const resource = { [RESOURCE_ATTRIBUTES.node]: node };
  publisher.offer(topic, node, encodeMetrics({ resource, scope: { name: "honest" }, metrics }));
}

/** Bytes as counted by a sidecar at one end. */
function sentBytes(reporter: string, sources: readonly string[], startMs: number, timeMs: number): Metric[] {
  const value = Math.round(((timeMs - startMs) / 1_000) * BYTES_PER_SECOND);
  return [
    {
      kind: "sum",
      name: "istio_tcp_sent_bytes_total",
      temporality: "cumulative",
      monotonic: true,
      points: sources.map((source) => ({
        attributes: {
          reporter,
          source_workload: source,
          source_workload_namespace: VICTIM,
          destination_workload: "db",
          destination_workload_namespace: VICTIM,
          request_protocol: "tcp",
        },
        startMs,
        timeMs,
        value,
      })),
    },
  ];
}
