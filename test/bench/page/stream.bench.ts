// Aggregator CPU for 200 browsers on 5,000 nodes: event stream alone, and with each also reading every
// announced graph, like the page.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { get, type ClientRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../harness/common/free-port.ts";
import { ComponentProcess } from "../../harness/components/component-process.ts";
import { nodeObject, recordsOf } from "../../harness/page-testbed.ts";
import { processUse } from "../../soak/proc.ts";
import type { BenchResult } from "../types.ts";

const NODES = 5_000;
const ZONE_SIZE = 250;
const DEGREE = 20;
const BROWSERS = 200;
/** Interval of the probes. Each publishes once per interval, spread over it. */
const ROUND_MS = 10_000;
const NODES_PER_POST = 50;
const WARM_ROUNDS = 4;
/** Phases without and with browsers alternate, so that the machine's load affects both. */
const TURNS = 2;
const PHASE_ROUNDS = 3;
/** Path that the page requests. */
const STREAM = "/api/v1/events?changes=none";
const GRAPH = "/api/v1/graph/cluster/columns";

export async function run(): Promise<BenchResult[]> {
  const folder = await mkdtemp(join(tmpdir(), "isochrone-stream-"));
  const aggregator = await startAggregator(folder);
  const feed = new Feed(aggregator.url);
  try {
    await feed.run(WARM_ROUNDS);
    const shares = { alone: [] as number[], told: [] as number[], reading: [] as number[] };
    const counts: Counts[] = [];
    for (let turn = 0; turn < TURNS; turn++) {
      shares.alone.push(await shareOf(aggregator, feed));
      for (const kind of ["told", "reading"] as const) {
        const browsers = new Browsers(aggregator.url, kind === "reading");
        await browsers.open();
        shares[kind].push(await shareOf(aggregator, feed));
        counts.push(browsers.close());
      }
    }
    if (counts.some(({ events }) => events < BROWSERS * PHASE_ROUNDS * 0.8))
      throw new Error(`browsers got too few events: ${counts.map(({ events }) => events).join(", ")}`);
    return resultsOf(shares, counts);
  } finally {
    await aggregator.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

interface Counts {
  readonly events: number;
  readonly reads: number;
  readonly bytes: number;
}

function resultsOf(
  { alone, told, reading }: Readonly<Record<"alone" | "told" | "reading", readonly number[]>>,
  counts: readonly Counts[],
): BenchResult[] {
  const beside = (shares: readonly number[]): number =>
    100 * mean(shares.map((share, index) => share - alone[index]!));
  const [reads, bytes] = [sumOf(counts, "reads"), sumOf(counts, "bytes")];
  const unit = "% of a core";
  const who = `${BROWSERS} browsers, ${NODES} nodes`;
  return [
    {
      name: `event stream to ${who}: CPU beside what the graphs take (mean of ${TURNS})`,
      value: beside(told),
      unit,
      target: "<= 20 %",
      met: beside(told) <= 20,
    },
    { name: `the same, and each reads every graph that it is told of`, value: beside(reading), unit },
    { name: "the whole aggregator without browsers", value: 100 * mean(alone), unit },
    { name: "the whole aggregator with those that are told", value: 100 * mean(told), unit },
    { name: "a graph as a browser gets it", value: bytes / Math.max(1, reads) / 1e6, unit: "MB" },
    { name: "graphs read per phase", value: (2 * reads) / counts.length, unit: "graphs" },
  ];
}

const sumOf = (counts: readonly Counts[], key: keyof Counts): number =>
  counts.reduce((sum, each) => sum + each[key], 0);

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

async function startAggregator(folder: string): Promise<ComponentProcess> {
  const dump = join(folder, "cluster.json");
  const items = Array.from({ length: NODES }, (_, node) => nodeObject(nameOf(node), zoneOf(node)));
  await writeFile(dump, JSON.stringify({ apiVersion: "v1", kind: "List", items }));
  const aggregator = new ComponentProcess({
    kind: "aggregator",
    name: "aggregator",
    port: await freePort("127.0.0.1", new Set()),
    settings: { aggregator: { dumpFile: dump } },
    environment: process.env,
    folder,
  });
  await aggregator.start();
  return aggregator;
}

const nameOf = (node: number): string => `node-${String(node + 1).padStart(4, "0")}`;
const zoneOf = (node: number): number => Math.floor(node / ZONE_SIZE);

class Feed {
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  async run(rounds: number): Promise<void> {
    const posts = NODES / NODES_PER_POST;
    const began = performance.now();
    for (let post = 0; post < rounds * posts; post++) {
      await pause(began + (post * ROUND_MS) / posts - performance.now());
      await this.#post((post % posts) * NODES_PER_POST);
    }
    await pause(began + rounds * ROUND_MS - performance.now());
  }

  async #post(first: number): Promise<void> {
    const sources = Array.from({ length: NODES_PER_POST }, (_, index) => first + index);
    // Concatenated messages are one message.
    const body = Buffer.concat(
      sources.map((source) =>
        recordsOf(
          nameOf(source),
          Array.from({ length: DEGREE }, (_, peer) => {
            const target = (source + 1 + peer * Math.floor(NODES / DEGREE)) % NODES;
            return {
              target: nameOf(target),
              ms: 1 + Math.abs(zoneOf(source) - zoneOf(target)) + Math.random(),
            };
          }),
        ),
      ),
    );
    const response = await fetch(`${this.#url}/v1/metrics`, {
      method: "POST",
      headers: { "content-type": "application/x-protobuf" },
      body,
    });
    if (!response.ok) throw new Error(`the aggregator answered ${response.status}: ${await response.text()}`);
    await response.body?.cancel();
  }
}

class Browsers {
  readonly #url: string;
  readonly #isReading: boolean;
  readonly #requests: ClientRequest[] = [];
  #counts: Counts = { events: 0, reads: 0, bytes: 0 };

  constructor(url: string, isReading: boolean) {
    this.#url = url;
    this.#isReading = isReading;
  }

  async open(): Promise<void> {
    await Promise.all(Array.from({ length: BROWSERS }, () => this.#connect()));
    this.#counts = { events: 0, reads: 0, bytes: 0 };
  }

  close(): Counts {
    for (const request of this.#requests) request.destroy();
    return this.#counts;
  }

  #add(more: Partial<Counts>): void {
    const { events, reads, bytes } = this.#counts;
    this.#counts = {
      events: events + (more.events ?? 0),
      reads: reads + (more.reads ?? 0),
      bytes: bytes + (more.bytes ?? 0),
    };
  }

  #connect(): Promise<void> {
    return new Promise((resolve, reject) => {
      const request = get(this.#url + STREAM, { agent: false }, (response) => {
        if (response.statusCode !== 200)
          return reject(new Error(`the stream answered ${response.statusCode}`));
        response.setEncoding("utf8").on("data", (text: string) => {
          const events = text.split("event: graph").length - 1;
          this.#add({ events });
          if (this.#isReading && events > 0) this.#read();
        });
        response.on("error", () => undefined);
        return resolve();
      });
      request.on("error", reject);
      this.#requests.push(request);
    });
  }

  /** Reads over its own connection and discards the data, because browser work is not measured here. */
  #read(): void {
    const headers = { "accept-encoding": "gzip" };
    const request = get(this.#url + GRAPH, { agent: false, headers }, (response) => {
      response.on("data", (chunk: Buffer) => this.#add({ bytes: chunk.length }));
      response.on("end", () => this.#add({ reads: 1 }));
      response.on("error", () => undefined);
    });
    // A request cut off at the end of a phase is not counted.
    request.on("error", () => undefined);
    this.#requests.push(request);
  }
}

async function shareOf(aggregator: ComponentProcess, feed: Feed): Promise<number> {
  const before = { cpu: processUse(aggregator.pid!)!.cpuSeconds, ms: performance.now() };
  await feed.run(PHASE_ROUNDS);
  const seconds = (performance.now() - before.ms) / 1000;
  return (processUse(aggregator.pid!)!.cpuSeconds - before.cpu) / seconds;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));
