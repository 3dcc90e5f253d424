import { BufferedPublisher, type Bus } from "@isochrone/bus";
import { pause, systemClock, systemRandom } from "@isochrone/runtime";
import { TOPICS, type Attributes } from "@isochrone/telemetry";
import { encodeNumber, linkOf } from "../delivery/numbered-records.ts";
import { encode } from "./encode.ts";

const GOOD = { producer: "good", nodes: 6, peers: 4 };
/** Record keys, which determine the partitions. */
export const KEYS = Array.from({ length: GOOD.nodes }, (_, i) => `${GOOD.producer}-${i}`);
/** Rate on each channel; channels lead from a key to `db`. */
export const REQUESTS_PER_SECOND = 20;
/** Long enough that the bomb, if unbounded, would evict a series between two samples. */
const REQUESTS_EVERY_MS = 2500;

/** Numbers link samples and counts requests continuously, like a probe and a collector. */
export class GoodSource {
  readonly #publisher: BufferedPublisher;
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;
  readonly #links = new Map<string, number>();
  readonly #beganMs = Date.now();
  dropped = 0;

  constructor(bus: Bus) {
    this.#publisher = new BufferedPublisher({
      publisher: bus,
      source: "probe/good",
      clock: systemClock,
      random: systemRandom,
      onDropped: (_, count) => (this.dropped += count),
    });
    this.#running = this.#run();
  }

  get links(): ReadonlyMap<string, number> {
    return this.#links;
  }

  async #run(): Promise<void> {
    let nextMs = Date.now();
    for (let n = 0; !this.#stopping.signal.aborted; n++) {
      const { source, target } = linkOf(GOOD, n);
      this.#publisher.offer(TOPICS.probe, source, encodeNumber(GOOD, n, Date.now()));
      this.#links.set(`${source} ${target}`, (this.#links.get(`${source} ${target}`) ?? 0) + 1);
      if (Date.now() >= nextMs) {
        nextMs += REQUESTS_EVERY_MS;
        for (const key of KEYS) this.#publisher.offer(TOPICS.traffic, key, this.#requests(key));
      }
      await pause(systemClock, 5, this.#stopping.signal);
    }
  }

  #requests(key: string): Uint8Array {
    const timeMs = Date.now();
    const value = ((timeMs - this.#beganMs) / 1000) * REQUESTS_PER_SECOND;
    const attributes = channelOf(key, "db");
    const points = [{ attributes, timeMs, value }];
    return encode(key, [
      { kind: "sum", name: "istio_requests_total", temporality: "cumulative", monotonic: true, points },
    ]);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    await this.#publisher.close(20_000);
  }
}

function channelOf(source: string, target: string): Attributes {
  return {
    reporter: "source",
    source_workload: source,
    source_workload_namespace: "shop",
    destination_workload: target,
    destination_workload_namespace: "shop",
    response_code: "200",
  };
}
