// Publishes for a part of a simulated cluster's nodes. Prints JSON lines until its input closes.
import { BusError, type OutgoingRecord } from "@isochrone/bus";
import { createKafkaBus } from "@isochrone/bus/kafka";
import { createLogger, systemClock, systemRandom } from "@isochrone/runtime";
import { encodeHeaders } from "@isochrone/telemetry";
import type { SoakProducerLine, SoakProducerTask } from "./processes.ts";
import { PROBE_PERIOD_MS, World, type WorldRecord } from "./world.ts";

const TICK_MS = 100;
const REPORT_MS = 1000;
const RETRY_MS = 200;

const task = JSON.parse(process.argv[2] ?? "{}") as SoakProducerTask;
const world = new World(task.shape);
const bus = createKafkaBus({
  client: task.client,
  brokers: task.brokers,
  clientId: `soak-${task.firstNode}`,
  clock: systemClock,
  random: systemRandom,
  logger: createLogger({ service: "soak-producer", level: "warn", destination: process.stderr }),
});

/** One run of a publisher: a node has a probe and a collector, and one stream per topic. */
class Stream {
  epoch = 0;
  sequence = 0;
}
const streams = new Map<string, Stream>();
const totals = { points: 0, records: 0, failures: 0, lateTicks: 0 };
let restarted = 0;

function outgoing({ topic, key, value }: WorldRecord): OutgoingRecord {
  const source = `${topic.split(".")[1]}/${key}`;
  let stream = streams.get(source);
  if (stream === undefined) streams.set(source, (stream = new Stream()));
  const headers = encodeHeaders({
    source,
    epoch: `${task.shape.beginMs}-${stream.epoch}`,
    sequence: stream.sequence++,
    sentAtMs: Date.now(),
  });
  return { key, value, headers };
}

/** Nodes that publish between two times. Each has its own moment in every period. */
function* dueNodes(periodMs: number, fromMs: number, toMs: number): Generator<[node: number, atMs: number]> {
  for (let i = 0; i < task.nodes; i++) {
    const phaseMs = (i / task.nodes) * periodMs;
    const turn = Math.floor((toMs - phaseMs) / periodMs);
    const atMs = turn * periodMs + phaseMs;
    if (atMs > fromMs) yield [task.firstNode + i, atMs];
  }
}

async function publish(records: readonly WorldRecord[]): Promise<void> {
  const byTopic = Map.groupBy(records, ({ topic }) => topic);
  await Promise.all(
    Array.from(byTopic, async ([topic, group]) => {
      const batch = group.map(outgoing);
      for (;;) {
        try {
          await bus.publish(topic, batch);
          break;
        } catch (error) {
          totals.failures++;
          if (!(error instanceof BusError && error.retryable)) throw error;
          await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
        }
      }
      totals.records += batch.length;
      totals.points += group.reduce((sum, { points }) => sum + points, 0);
    }),
  );
}

function restartProbes(toMs: number): void {
  const due = Math.floor((toMs - task.shape.beginMs) / 1000);
  for (; restarted < due; restarted++) {
    const node = (restarted * 7919) % task.shape.nodes;
    const stream = streams.get(`probe/${world.nodeName(node)}`);
    if (stream === undefined) continue;
    stream.epoch++;
    stream.sequence = 0;
  }
}

const ending = new AbortController();
process.stdin.resume();
process.stdin.on("end", () => ending.abort());
const reporting = setInterval(() => report(false), REPORT_MS);

function report(done: boolean): void {
  const line: SoakProducerLine = { ...totals, done };
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

for (let fromMs = Date.now(); !ending.signal.aborted;) {
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, fromMs + TICK_MS - Date.now())));
  const toMs = Date.now();
  if (toMs - fromMs > 10 * TICK_MS) totals.lateTicks++;
  restartProbes(toMs);
  const records: WorldRecord[] = [];
  for (const [node, atMs] of dueNodes(PROBE_PERIOD_MS, fromMs, toMs))
    records.push(world.probeRecord(node, atMs));
  for (const [node, atMs] of dueNodes(task.shape.scrapePeriodMs, fromMs, toMs))
    records.push(world.usageRecord(node, atMs), world.trafficRecord(node, atMs));
  if (records.length > 0) await publish(records);
  fromMs = toMs;
}
clearInterval(reporting);
report(true);
await bus.close();
