import { setTimeout as delay } from "node:timers/promises";
import { Child } from "./child.ts";
import { seatsOf, type Seat } from "./cluster.ts";
import type {
  AggregatorCalls,
  AggregatorReport,
  Pace,
  ProbesCalls,
  ProbesReport,
  RespondersCalls,
  Usage,
} from "./messages.ts";
import { planGone, planOnceReady, spreadOf, surveyPlans, type PlanSurvey, type Spread } from "./plans.ts";

interface StageOptions {
  readonly nodes: number;
  /** For all nodes but one. */
  readonly pace: Pace;
  /** For the witness. */
  readonly defaultPace: Pace;
  readonly port: number;
  readonly windowMs: number;
  readonly nodesPerProcess: number;
  /** Maximum number of probing nodes, in addition to the witness' neighbours. Others only respond. */
  readonly maxProbing: number;
}

export interface NodeFigures {
  readonly nodes: number;
  readonly processes: number;
  readonly packetsPerSecond: number;
  readonly cpuMsPerSecond: number;
  readonly rssBytes: number;
  readonly series: Spread;
  readonly otlpBytesPerSecond: number;
  readonly otlpCompressedBytesPerSecond: number;
}

export interface StageResult {
  readonly options: StageOptions;
  readonly plans: Omit<PlanSurvey, "peers">;
  readonly assignMs: number;
  /** Nodes that share processes, the same for all cluster sizes. */
  readonly group: NodeFigures;
  /** One node in its own process at the default intervals. */
  readonly witness: NodeFigures;
  /** Numbers of probing nodes and of responding ones. */
  readonly probing: number;
  readonly answering: number;
  /** CPU beyond idle use, per probing node. Adding the group's CPU gives a node's full cost. */
  readonly answeringCpuMsPerSecond: number;
  readonly aggregator: AggregatorReport & Usage;
  readonly outcomes: Readonly<Record<string, number>>;
  readonly lostByMethod: Readonly<Record<string, number>>;
  readonly droppedRecords: number;
  readonly startMs: number;
}

/** Parts of a cluster: the witness, its neighbours in either direction, and all others by process. */
interface Parts {
  readonly witness: readonly Seat[];
  readonly surroundings: readonly Seat[];
  readonly group: readonly (readonly Seat[])[];
  readonly answering: readonly (readonly Seat[])[];
}

interface Measured {
  readonly seats: readonly Seat[];
  readonly usage: Usage;
  readonly report: ProbesReport;
}

interface Team {
  readonly seats: readonly Seat[];
  readonly child: Child<ProbesCalls>;
}

/** Number of processes that start at the same time. */
const WAVE = 4;
/** Time to open connections, discard first packets and warm up caches, after the first interval. */
const SETTLE_MS = 5000;
const READY_PATIENCE_MS = 150_000;
/** Interval between two rounds of plan requests. Milliseconds. */
const REFRESH_MS = 500;
const IDLE_MS = 5000;
const RESPONDERS_PER_PROCESS = 1000;
const OPEN_PER_FLOW = 3;
const OPEN_PER_NODE = 4;

export async function runStage(options: StageOptions): Promise<StageResult> {
  const beganMs = performance.now();
  const seats = seatsOf(options.nodes);
  const aggregator = new Child<AggregatorCalls>("./aggregator-process.ts");
  const teams: Team[] = [];
  const responders: Child<RespondersCalls>[] = [];
  try {
    const { url, assignMs } = await aggregator.calls.start(seats, options.port);
    await aggregator.calls.addPods();
    const { peers, ...plans } = await surveyPlans(
      url,
      seats.map(({ node }) => node),
    );
    // Like a rollout: no probe gets a plan before the peers in it exist.
    await aggregator.calls.removePods();
    await planGone(url, seats.at(-1)!.node);
    const parts = divide(seats, peers, options);
    for (const part of parts.answering) {
      const child = new Child<RespondersCalls>("./responders-process.ts");
      responders.push(child);
      await child.calls.start(part, options.port);
    }
    for (const [index, part] of [parts.witness, parts.surroundings, ...parts.group].entries()) {
      teams.push({ seats: part, child: new Child("./probes-process.ts") });
      if (index % WAVE === WAVE - 1) await startTeams(teams.slice(-WAVE), url, options);
    }
    await startTeams(teams.slice(teams.length - (teams.length % WAVE)), url, options);
    const idleCpu = await idleCpuOf(responders);
    await aggregator.calls.addPods();
    await planOnceReady(url, seats.at(-1)!.node);
    await refreshAll(teams);
    const startMs = performance.now() - beganMs;
    await delay(options.pace.intervalMs + SETTLE_MS);
    const { usage, report, measured, answeringCpu } = await measure(
      aggregator,
      teams,
      responders,
      options.windowMs,
    );
    const [witness, , ...group] = measured;
    const probing = sum(teams.map((team) => team.seats.length));
    return {
      options,
      probing,
      answering: seats.length - probing,
      answeringCpuMsPerSecond: (answeringCpu - idleCpu) / probing,
      plans,
      assignMs,
      group: figuresOf(group),
      witness: figuresOf([witness!]),
      aggregator: { ...usage, ...report },
      outcomes: addUp(measured.map((part) => part.report.outcomes)),
      lostByMethod: addUp(measured.map((part) => part.report.lostByMethod)),
      droppedRecords: sum(measured.map((part) => part.report.dropped)),
      startMs,
    };
  } finally {
    await Promise.all(
      [aggregator, ...responders, ...teams.map(({ child }) => child)].map((child) => child.end()),
    );
  }
}

/** Maximum descriptors of a process with this many nodes, on both ends of its flows. */
export function descriptorsOf(nodes: number, peers: number): number {
  return nodes * (OPEN_PER_NODE + OPEN_PER_FLOW * peers);
}

/** The witness has the typical number of peers. */
function divide(
  seats: readonly Seat[],
  peers: ReadonlyMap<string, readonly string[]>,
  { nodesPerProcess, maxProbing }: StageOptions,
): Parts {
  const typical = spreadOf([...peers.values()].map(({ length }) => length)).p50;
  const witness = seats.find(({ node }) => peers.get(node)?.length === typical)!;
  const near = ({ node }: Seat): boolean =>
    peers.get(witness.node)!.includes(node) || peers.get(node)!.includes(witness.node);
  const rest = seats.filter((seat) => seat !== witness && !near(seat));
  const probing = rest.slice(0, maxProbing);
  return {
    witness: [witness],
    surroundings: seats.filter((seat) => seat !== witness && near(seat)),
    group: deal(probing, Math.ceil(probing.length / nodesPerProcess)),
    answering: deal(
      rest.slice(maxProbing),
      Math.ceil((rest.length - probing.length) / RESPONDERS_PER_PROCESS),
    ),
  };
}

/** Distributes neighbours by name to different processes, so that each has nodes of all zones. */
function deal(seats: readonly Seat[], hands: number): Seat[][] {
  return Array.from({ length: hands }, (_, hand) => seats.filter((_seat, index) => index % hands === hand));
}

async function startTeams(teams: readonly Team[], url: string, options: StageOptions): Promise<void> {
  await Promise.all(
    teams.map(({ seats, child }) => {
      const pace = seats.length === 1 ? options.defaultPace : options.pace;
      return child.calls.start(seats, options.port, url, pace);
    }),
  );
}

/** The aggregator answers one wave at a time. Probes without a plan ask again. */
async function refreshAll(teams: readonly Team[]): Promise<void> {
  const deadlineMs = performance.now() + READY_PATIENCE_MS;
  for (let waiting = teams; waiting.length > 0;) {
    const ready: Team[] = [];
    for (let first = 0; first < waiting.length; first += WAVE) {
      const wave = waiting.slice(first, first + WAVE);
      const answers = await Promise.all(wave.map(({ child }) => child.calls.refresh()));
      ready.push(...wave.filter((_, index) => answers[index]));
    }
    waiting = waiting.filter((team) => !ready.includes(team));
    await delay(REFRESH_MS);
    if (performance.now() > deadlineMs)
      throw new Error(`all probes must have a plan in time, those of ${waiting.length} processes have not`);
  }
}

async function idleCpuOf(responders: readonly Child<RespondersCalls>[]): Promise<number> {
  if (responders.length === 0) return 0;
  await Promise.all(responders.map(({ calls }) => calls.begin()));
  await delay(IDLE_MS);
  const usages = await Promise.all(responders.map(({ calls }) => calls.end()));
  return sum(usages.map(cpuPerSecond));
}

async function measure(
  aggregator: Child<AggregatorCalls>,
  teams: readonly Team[],
  responders: readonly Child<RespondersCalls>[],
  windowMs: number,
): Promise<{ usage: Usage; report: AggregatorReport; measured: Measured[]; answeringCpu: number }> {
  const children = [aggregator, ...responders, ...teams.map(({ child }) => child)];
  await Promise.all(children.map(({ calls }) => calls.begin()));
  await delay(windowMs);
  const [usage, ...usages] = await Promise.all(children.map(({ calls }) => calls.end()));
  const answering = usages.splice(0, responders.length);
  const report = await aggregator.calls.report();
  const measured: Measured[] = [];
  for (const [index, { seats, child }] of teams.entries())
    measured.push({ seats, usage: usages[index]!, report: await child.calls.report() });
  return { usage: usage!, report, measured, answeringCpu: sum(answering.map(cpuPerSecond)) };
}

function figuresOf(parts: readonly Measured[]): NodeFigures {
  const nodes = sum(parts.map(({ seats }) => seats.length));
  const nodeSeconds = sum(parts.map(({ report }) => report.nodeSeconds));
  return {
    nodes,
    processes: parts.length,
    packetsPerSecond: sum(parts.map(({ report }) => report.outcomes["sent"] ?? 0)) / nodeSeconds,
    cpuMsPerSecond: sum(parts.map(({ usage }) => cpuPerSecond(usage))) / nodes,
    rssBytes: sum(parts.map(({ usage }) => usage.rssBytes)) / nodes,
    series: spreadOf(parts.flatMap(({ report }) => report.series)),
    otlpBytesPerSecond: sum(parts.map(({ report }) => report.bytes)) / nodeSeconds,
    otlpCompressedBytesPerSecond: sum(parts.map(({ report }) => report.compressedBytes)) / nodeSeconds,
  };
}

function cpuPerSecond({ cpuMs, elapsedMs }: Usage): number {
  return (1000 * cpuMs) / elapsedMs;
}

function addUp(counts: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const total: Record<string, number> = {};
  for (const [name, count] of counts.flatMap((each) => Object.entries(each)))
    total[name] = (total[name] ?? 0) + count;
  return total;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
