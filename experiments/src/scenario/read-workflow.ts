import { seededRandom } from "@isochrone/runtime";
import type { Field } from "./field.ts";
import { generateWorkflow } from "./generate/microservices.ts";
import type { PointCall, PointWorkflow, PointWorkload } from "./model.ts";

const KEYS = [
  "name",
  "entry",
  "usersAt",
  "pinned",
  "factors",
  "defaults",
  "workloads",
  "created",
  "generate",
  "singleReplicas",
  "minZones",
] as const;

const DEFAULTS = ["replicas", "requests", "memory", "cpuMs", "cpuSpread", "request", "response"] as const;
const MAX_REPLICAS = 100;
const MAX_TIMES = 20;
const MAX_CPU_MS = 60_000;
const MAX_BYTES = 1e9;

interface Factors {
  readonly cpu: number;
  readonly bytes: number;
  readonly memory: number;
}

export function readWorkflow(field: Field): PointWorkflow {
  field.map(...KEYS);
  const usersAt = field.get("usersAt").textOr(null);
  const single = field.get("singleReplicas");
  const moves = single.isPresent && single.oneOf(["stay", "move"]) === "move";
  const zones = field.get("minZones");
  const availability = {
    ...(moves ? ({ movesSingleReplicas: true } as const) : {}),
    ...(zones.isPresent ? { minZones: zones.number({ min: 1, max: MAX_REPLICAS, whole: true }) } : {}),
  };
  const factors = readFactors(field.get("factors"));
  const pins = readPins(field.get("pinned"));
  if (field.get("generate").isPresent) {
    for (const key of ["workloads", "entry", "defaults", "created"])
      if (field.get(key).isPresent) field.get(key).fail("must not be given beside generate");
    const made = generated(field.get("generate"));
    const workloads = made.workloads.map((workload) => pinned(scaled(workload, factors), pins));
    return { ...made, name: field.get("name").text(), usersAt, workloads, ...availability };
  }
  const defaults = field.get("defaults");
  if (defaults.isPresent) defaults.map(...DEFAULTS);
  const items = field.get("workloads").someList();
  const responses = new Map(items.map((item) => [item.get("name").text(), said(item, defaults, "response")]));
  const workloads = items.map((item) =>
    pinned(scaled(readWorkload(item, defaults, responses), factors), pins),
  );
  for (const name of pins.keys())
    if (!workloads.some((workload) => workload.name === name))
      field.get("pinned").fail(`must name workloads, got ${name}`);
  const created = readCreated(field.get("created"), workloads);
  return {
    name: field.get("name").text(),
    entry: field.get("entry").text(),
    usersAt,
    workloads,
    ...(created === null ? {} : { created }),
    ...availability,
  };
}

function readCreated(field: Field, workloads: readonly PointWorkload[]): readonly string[] | null {
  if (!field.isPresent) return null;
  const created = field.list().map((item) => item.text());
  const wanted = workloads.map(({ name }) => name);
  if ([...created].sort().join() !== [...wanted].sort().join())
    field.fail(`must name each workload once (${wanted.join(", ")}), got ${created.join(", ")}`);
  return created;
}

function readFactors(field: Field): Factors {
  if (!field.isPresent) return { cpu: 1, bytes: 1, memory: 1 };
  field.map("cpu", "bytes", "memory");
  const factor = (key: string): number => field.get(key).numberOr(1, { above: 0, max: 1000 });
  return { cpu: factor("cpu"), bytes: factor("bytes"), memory: factor("memory") };
}

/** Node by workload; pins may vary by axis while workloads don't. */
function readPins(field: Field): ReadonlyMap<string, string> {
  if (!field.isPresent) return new Map();
  if (!field.isMap) field.fail("must be a mapping from workload to node");
  return new Map(field.keys().map((name) => [name, field.get(name).text()]));
}

function generated(field: Field): PointWorkflow {
  field.map("services", "seed", "cpuMs", "memory", "conditional", "requests");
  return generateWorkflow(
    {
      services: field.get("services").number({ min: 2, max: 500, whole: true }),
      cpuMs: field.get("cpuMs").number({ above: 0, max: MAX_CPU_MS }),
      memoryBytes: field.get("memory").memoryBytes(),
      conditionalShare: field.get("conditional").number({ min: 0, max: 1 }),
      requests: readRequests(field.get("requests")),
    },
    seededRandom(field.get("seed").number({ min: 0, whole: true })),
  );
}

type Said = (typeof DEFAULTS)[number];

function said(item: Field, defaults: Field, key: Said): Field {
  const own = item.get(key);
  return own.isPresent || !defaults.get(key).isPresent ? own : defaults.get(key);
}

function readWorkload(item: Field, defaults: Field, responses: ReadonlyMap<string, Field>): PointWorkload {
  item.map("name", "calls", "pinnedTo", ...DEFAULTS);
  const get = (key: Said): Field => said(item, defaults, key);
  return {
    name: item.get("name").text(),
    replicas: get("replicas").numberOr(1, { min: 1, max: MAX_REPLICAS, whole: true }),
    requests: readRequests(get("requests")),
    memoryBytes: get("memory").memoryBytes(),
    cpuMs: get("cpuMs").number({ min: 0, max: MAX_CPU_MS }),
    cpuSpread: get("cpuSpread").isPresent ? get("cpuSpread").oneOf(["fixed", "exponential"]) : "exponential",
    calls: item
      .get("calls")
      .list()
      .flatMap((call) => readCall(call, get("request"), responses)),
    pinnedTo: item.get("pinnedTo").textOr(null),
  };
}

function readRequests(field: Field): PointWorkload["requests"] {
  if (!field.isPresent) return { cpuMillicores: null, memoryBytes: null };
  field.map("cpu", "memory");
  const [cpu, memory] = [field.get("cpu"), field.get("memory")];
  return {
    cpuMillicores: cpu.isPresent ? cpu.cpuMillicores() : null,
    memoryBytes: memory.isPresent ? memory.memoryBytes() : null,
  };
}

/** `db1`, or a mapping. The caller states request sizes, the callee response sizes. */
function readCall(call: Field, request: Field, responses: ReadonlyMap<string, Field>): PointCall[] {
  const bytes = (field: Field): number => field.number({ min: 0, max: MAX_BYTES, whole: true });
  if (call.isMap) call.map("callee", "times", "probability", "request", "response", "channel");
  const callee = call.isMap ? call.get("callee").text() : call.text();
  const size = (key: "request" | "response", otherwise: Field | undefined): number => {
    const own = call.get(key);
    // The check of callees reports an unknown one.
    return own.isPresent ? bytes(own) : otherwise === undefined ? 0 : bytes(otherwise);
  };
  const channelType = call.get("channel").textOr(null);
  const made: PointCall = {
    callee,
    probability: call.get("probability").numberOr(1, { above: 0, max: 1 }),
    requestBytes: size("request", request),
    responseBytes: size("response", responses.get(callee)),
    ...(channelType === null ? {} : { channelType }),
  };
  const times = call.get("times").numberOr(1, { min: 1, max: MAX_TIMES, whole: true });
  return Array.from({ length: times }, () => made);
}

function scaled(workload: PointWorkload, factors: Factors): PointWorkload {
  return {
    ...workload,
    cpuMs: workload.cpuMs * factors.cpu,
    memoryBytes: Math.round(workload.memoryBytes * factors.memory),
    calls: workload.calls.map((call) => ({
      ...call,
      requestBytes: Math.round(call.requestBytes * factors.bytes),
      responseBytes: Math.round(call.responseBytes * factors.bytes),
    })),
  };
}

function pinned(workload: PointWorkload, pins: ReadonlyMap<string, string>): PointWorkload {
  return { ...workload, pinnedTo: pins.get(workload.name) ?? workload.pinnedTo };
}
