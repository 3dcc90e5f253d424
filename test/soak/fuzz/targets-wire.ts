// Targets on the wire: telemetry, scraped pages, responses, packets, plans.
import { EventHistory, GraphKeeper, Ingest, Tables } from "@isochrone/aggregator/testing";
import { PrometheusError, readAnswer, readPage } from "@isochrone/collector/parsers";
import { parsePlan, Responder, sourceOf } from "@isochrone/probe/parsers";
import {
  createRequest,
  Keyring,
  parseAddress,
  PlanRefusedError,
  signRequest,
} from "@isochrone/probe/testing";
import { seededRandom } from "@isochrone/runtime";
import { encodeHeaders, encodeMetrics, type MetricsBatch } from "@isochrone/telemetry";
import { SnapshotError } from "@isochrone/topology";
import { parseClusterGraph, parseWorkflowGraph } from "@isochrone/topology/testing";
import { BATCHES, BODIES, CLUSTER, NOW_MS } from "./batches.ts";
import { mutateBytes, mutateJson, mutateText, mutateValue, textOf } from "./mutate.ts";
import { Violation, type Outcome, type Target } from "./oracle.ts";
import type { Draws } from "./random.ts";

const SHAPE = { windowMs: 30_000, paneMs: 2_000, panes: 15, fastPanes: 3 };
const LIMITS = { maxLinks: 1_000, maxChannels: 1_000, maxPods: 1_000 };
const INGEST = { maxFutureMs: 1_000, maxSeries: 10_000, maxSources: 100 };
const RULE = { methods: ["udp_rr", "tcp_rr", "icmp"], quantile: "p50" } as const;

/** Whole-number fields on the wire. Our writer trusts them and would never finish an infinite number. */
const WHOLE = new Set(["startMs", "timeMs", "scale", "zeroCount", "offset", "count", "bucketCounts"]);
const DEEPEST = 20;

function writable(value: unknown, name: string, depth = 0): unknown {
  if (typeof value === "number")
    return WHOLE.has(name) ? Math.max(-(2 ** 31), Math.min(2 ** 52, Math.trunc(value) || 0)) : value;
  if (depth > DEEPEST || typeof value !== "object" || value === null) return depth > DEEPEST ? null : value;
  if (Array.isArray(value)) return value.map((each) => writable(each, name, depth + 1));
  if (ArrayBuffer.isView(value)) return value;
  const entries = Object.entries(value).map(([key, field]) => [key, writable(field, key, depth + 1)]);
  return Object.fromEntries(entries) as unknown;
}

function strangeBody(draws: Draws): Uint8Array {
  if (draws.chance(0.6)) {
    try {
      return encodeMetrics(writable(mutateValue(draws, draws.pick(BATCHES)), "") as MetricsBatch);
    } catch {
      // The writer rejects values that our writers never produce. Fuzzed bytes can contain them.
    }
  }
  return mutateBytes(draws, draws.pick(BODIES), BODIES);
}

/** Feeds the input to a new aggregator core and validates its graphs against their schema. */
function graphsOf(key: string, value: Uint8Array, headers: Readonly<Record<string, string>>): Outcome {
  const tables = new Tables(SHAPE, LIMITS);
  const ingest = new Ingest(tables, INGEST);
  ingest.take({ key, value, headers, appendedAtMs: NOW_MS }, NOW_MS);
  const keeper = new GraphKeeper(tables, RULE, new EventHistory("fuzz", 10));
  const graphs = keeper.build(CLUSTER, NOW_MS, () => true);
  const cluster = graphs.cluster("full");
  const workflows = [...graphs.workflows("full").values()];
  try {
    // As on the wire: numbers that JSON can't express become null.
    parseClusterGraph(JSON.parse(JSON.stringify(cluster)));
    for (const workflow of workflows) parseWorkflowGraph(JSON.parse(JSON.stringify(workflow)));
  } catch (error) {
    if (error instanceof SnapshotError)
      throw new Violation(`the graph breaks its own schema: ${error.message}`, { cause: error });
    throw error;
  }
  return { isTaken: ingest.counts.points > 0, output: { cluster, workflows } };
}

const HEADERS = encodeHeaders({ source: "n1", epoch: "e1", sequence: 1, sentAtMs: NOW_MS });

export const otlp: Target = {
  name: "otlp",
  seeds: BODIES,
  iterations: 2_500,
  mutate: strangeBody,
  run: (body) => graphsOf("n1", body, HEADERS),
};

interface FuzzedRecord {
  readonly key: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly value: string;
}

const RECORDS: readonly FuzzedRecord[] = BODIES.map((body) => ({
  key: "n1",
  headers: HEADERS,
  value: Buffer.from(body).toString("base64"),
}));

/** A record as JSON with its value in base64, because Kafka keys and headers are foreign input, too. */
export const kafkaRecord: Target = {
  name: "kafka-record",
  seeds: RECORDS.map((record) => Buffer.from(JSON.stringify(record))),
  iterations: 2_000,
  mutate(draws) {
    const record = draws.pick(RECORDS);
    const strange = mutateValue(draws, { key: record.key, headers: record.headers });
    const { key, headers } = (
      typeof strange === "object" && strange !== null ? strange : {}
    ) as Partial<FuzzedRecord>;
    const texts = Object.entries(typeof headers === "object" && headers !== null ? headers : {}).map(
      ([name, value]) => [name, typeof value === "string" ? value : textOf(value).slice(0, 10_000)] as const,
    );
    const value = draws.chance(0.5) ? record.value : Buffer.from(strangeBody(draws)).toString("base64");
    return Buffer.from(
      JSON.stringify({ key: typeof key === "string" ? key : "", headers: Object.fromEntries(texts), value }),
    );
  },
  run(input) {
    const { key, headers, value } = JSON.parse(Buffer.from(input).toString("utf8")) as FuzzedRecord;
    return graphsOf(key, Buffer.from(value, "base64"), headers);
  },
};

const PAGES = [
  `# HELP istio_requests_total Requests.
# TYPE istio_requests_total counter
istio_requests_total{reporter="source",destination_service="m1.default.svc",response_code="200"} 12
container_memory_working_set_bytes{container="",id="/kubepods/a\\"b\\\\c\\n",pod="p-1"} 1.5e+06 1690000000123
up 1
`,
  `# TYPE h histogram
h_bucket{le="0.1"} 1
h_bucket{le="+Inf"} 2
h_sum 0.5
h_count 2
# EOF
`,
];

export const exposition: Target = {
  name: "exposition",
  seeds: PAGES.map((page) => Buffer.from(page)),
  iterations: 3_000,
  mutate: (draws) => Buffer.from(mutateText(draws, draws.pick(PAGES), PAGES)),
  run(input) {
    const { samples } = readPage([input]);
    // The format allows a NaN value but no NaN time.
    return { isTaken: samples.length > 0, output: samples.map(({ timestampMs }) => timestampMs) };
  },
};

const ANSWERS: readonly unknown[] = [
  {
    status: "success",
    data: {
      resultType: "matrix",
      result: [
        {
          metric: { __name__: "up", pod: "p" },
          values: [
            [1_690_000_000.5, "1"],
            [1_690_000_010, "2.5"],
          ],
        },
      ],
    },
    warnings: ["w"],
  },
];

/** Around the times of the seeds. */
const ASKED = { fromMs: 1_690_000_000_000, toMs: 1_690_000_060_000 };

export const promql: Target = {
  name: "promql",
  seeds: ANSWERS.map((answer) => Buffer.from(JSON.stringify(answer))),
  iterations: 3_000,
  mutate: (draws) => Buffer.from(mutateJson(draws, ANSWERS)),
  run(input) {
    try {
      const { series } = readAnswer(Buffer.from(input).toString("utf8"), "http://p", ASKED);
      return { isTaken: true, output: series.flatMap(({ samples }) => samples.map(({ timeMs }) => timeMs)) };
    } catch (error) {
      if (error instanceof PrometheusError) return { isTaken: false };
      throw error;
    }
  },
};

const KEY = { id: 1, secret: Buffer.alloc(32, 0x5a) };
const [ASKER, ANSWERER] = ["127.0.0.1", "127.0.0.2"] as const;
const addressBytes = (address: string): Uint8Array => parseAddress(address)!;

function packet(bytes: number): Buffer {
  const keys = new Keyring([KEY]);
  const request = createRequest(
    {
      bytes,
      transport: "udp",
      session: 7,
      nonce: 0x1122334455667788n,
      source: addressBytes(ASKER),
      destination: addressBytes(ANSWERER),
    },
    KEY.id,
  );
  signRequest(request, 1, keys);
  return request;
}

const PACKETS = [packet(84), packet(128), packet(1200)];

export const packets: Target = {
  name: "packets",
  seeds: PACKETS,
  iterations: 10_000,
  mutate: (draws) => mutateBytes(draws, draws.pick(PACKETS), PACKETS),
  run(input) {
    const responder = new Responder({
      config: { responderPacketsPerSecond: 300, acceptTranslatedSource: false },
      keys: new Keyring([KEY]),
      identity: addressBytes(ANSWERER),
      monotonic: () => 0,
      random: seededRandom(1),
    });
    const asked = Buffer.from(input);
    if (!responder.admit(asked, "udp", sourceOf(ASKER)!, 0))
      return { isTaken: false, output: responder.drain() };
    if (!PACKETS.some((known) => known.equals(input)))
      throw new Violation("a packet that nobody signed was admitted");
    responder.answer(asked, 1);
    if (asked.length > input.length) throw new Violation("the answer is longer than the request");
    return { isTaken: true, output: responder.drain() };
  },
};

const PLANS: readonly unknown[] = [
  {
    version: "1",
    node: "n1",
    identity: "10.0.0.1",
    zone: "z",
    region: null,
    signingKeyId: 1,
    peers: [
      {
        node: "n2",
        address: "10.0.0.2",
        identity: "10.0.0.2",
        zone: "z",
        region: null,
        udpPort: 7000,
        tcpPort: 7001,
        bandwidthPort: null,
      },
    ],
  },
];

export const plans: Target = {
  name: "plans",
  seeds: PLANS.map((plan) => Buffer.from(JSON.stringify(plan))),
  iterations: 3_000,
  mutate: (draws) => Buffer.from(mutateJson(draws, PLANS)),
  run(input) {
    let body: unknown;
    try {
      body = JSON.parse(Buffer.from(input).toString("utf8"));
    } catch {
      return { isTaken: false };
    }
    try {
      return { isTaken: true, output: parsePlan(body, { node: "n1", maxPeers: 100 }) };
    } catch (error) {
      if (error instanceof PlanRefusedError) return { isTaken: false };
      throw error;
    }
  },
};
