// Simulates jobs that arrive, wait, run and leave; between events each runs at its throughput.
import type { PlacedJob } from "../placed-job.ts";
import { schedule, type StreamStrategy } from "../strategy.ts";
import type { StreamJob } from "../stream-job.ts";
import { StreamSystem, type NodeResources } from "../stream-system.ts";
import type { FlowNetwork } from "../flow-network.ts";
import { cutToCapacities, isBroken, networkAfter, type SystemChange } from "./system-change.ts";

export interface Arrival {
  readonly atSeconds: number;
  readonly job: StreamJob;
  /** Run time after placement. */
  readonly durationSeconds: number;
}

interface SimulateOptions {
  readonly network: FlowNetwork;
  readonly total: NodeResources;
  readonly arrivals: readonly Arrival[];
  readonly changes?: readonly SystemChange[];
  readonly strategy: StreamStrategy;
  readonly now: () => number;
}

interface JobOutcome {
  readonly job: StreamJob;
  /** From submission to placement; null if never run. */
  readonly waitedSeconds: number | null;
  /** Mean while running, frames/s; 0 if never run. */
  readonly throughput: number;
  /** Frames per second since submission; 0 if never run. */
  readonly sinceSubmission: number;
  /** Share of its run time at or above its promise; null without a promise or a run. */
  readonly kept: number | null;
}

export interface SimulationResult {
  readonly jobs: readonly JobOutcome[];
  /** Rerouted flows and moved tasks of running jobs. */
  readonly reroutes: number;
  readonly moves: number;
  readonly decisionsMs: readonly number[];
}

interface Run {
  readonly arrival: Arrival;
  readonly startSeconds: number;
  /** A re-placed job pauses until then and still ends on time. */
  endSeconds: number;
  frames: number;
  keptSeconds: number;
}

const KEPT = 1 - 1e-6;

export async function simulate(options: SimulateOptions): Promise<SimulationResult> {
  const simulation = new Simulation(options);
  await simulation.run();
  return simulation.result();
}

class Simulation {
  readonly #options: SimulateOptions;
  readonly #system: StreamSystem;
  readonly #runs = new Map<StreamJob, Run>();
  readonly #outcomes = new Map<StreamJob, JobOutcome>();
  readonly #decisionsMs: number[] = [];
  #waiting: StreamJob[] = [];
  #arrived = 0;
  #nowSeconds = 0;
  #reroutes = 0;
  #moves = 0;

  constructor(options: SimulateOptions) {
    this.#options = options;
    this.#system = new StreamSystem(options.network, options.total);
  }

  async run(): Promise<void> {
    const { arrivals, changes = [] } = this.#options;
    for (let changed = 0; ;) {
      const next = arrivals[this.#arrived]?.atSeconds ?? Infinity;
      const end = this.#nextEnd();
      if (next === Infinity && end === Infinity) return;
      const change = changes[changed];
      if (change !== undefined && change.atSeconds <= Math.min(next, end)) {
        changed++;
        this.#advance(change.atSeconds);
        await this.#change(change);
        continue;
      }
      this.#advance(Math.min(next, end));
      const hasLeft = end <= next && this.#endRuns();
      if (!hasLeft) this.#waiting.push(arrivals[this.#arrived++]!.job);
      await this.#decide(hasLeft);
    }
  }

  result(): SimulationResult {
    const jobs = this.#options.arrivals.map(
      ({ job }) =>
        this.#outcomes.get(job) ?? {
          job,
          waitedSeconds: null,
          throughput: 0,
          sinceSubmission: 0,
          kept: null,
        },
    );
    return { jobs, reroutes: this.#reroutes, moves: this.#moves, decisionsMs: this.#decisionsMs };
  }

  #nextEnd(): number {
    let end = Infinity;
    for (const { endSeconds } of this.#runs.values()) end = Math.min(end, endSeconds);
    return end;
  }

  #advance(toSeconds: number): void {
    const seconds = toSeconds - this.#nowSeconds;
    for (const { job, throughput } of this.#system.running) {
      const run = this.#runs.get(job)!;
      run.frames += throughput * seconds;
      if (throughput >= (job.minThroughput ?? 0) * KEPT) run.keptSeconds += seconds;
    }
    this.#nowSeconds = toSeconds;
  }

  #endRuns(): boolean {
    const ended = [...this.#runs].filter(([, { endSeconds }]) => endSeconds <= this.#nowSeconds);
    for (const [job, run] of ended) {
      const durationSeconds = run.endSeconds - run.startSeconds;
      const waitedSeconds = run.startSeconds - run.arrival.atSeconds;
      this.#outcomes.set(job, {
        job,
        waitedSeconds,
        throughput: run.frames / durationSeconds,
        sinceSubmission: run.frames / (durationSeconds + waitedSeconds),
        kept: job.minThroughput === null ? null : run.keptSeconds / durationSeconds,
      });
      this.#runs.delete(job);
      if (!this.#system.remove(job)) this.#waiting = this.#waiting.filter((each) => each !== job);
    }
    return ended.length > 0;
  }

  /** Jobs using removed elements stop until re-placed, ahead of all waiting jobs. */
  async #change(change: SystemChange): Promise<void> {
    const { strategy } = this.#options;
    const system = this.#system;
    if (change.kind === "job") {
      const [first] = [...this.#runs.values()].sort((a, b) => a.startSeconds - b.startSeconds);
      if (first !== undefined) first.endSeconds = this.#nowSeconds;
      await this.#decide(this.#endRuns());
      return;
    }
    system.changeNetwork(networkAfter(system.network, change));
    const lost = change.kind === "node" ? change.node : null;
    const standing = this.#remove(({ hosts }) => lost !== null && hosts.includes(lost));
    if (lost !== null) system.free.memoryBytes[lost] = 0;
    const before = system.running;
    system.update(await strategy.share(system, "changed"));
    this.#count(before);
    standing.push(...this.#remove(({ flows }) => isBroken(flows, system.network)));
    this.#waiting.unshift(...standing);
    await this.#decide(true);
  }

  #remove(isLost: (placed: PlacedJob) => boolean): StreamJob[] {
    const jobs = this.#system.running.filter(isLost).map(({ job }) => job);
    for (const job of jobs) this.#system.remove(job);
    return jobs;
  }

  async #decide(hasLeft: boolean): Promise<void> {
    const { strategy, now, arrivals } = this.#options;
    const before = this.#system.running;
    const waiting = this.#waiting;
    const began = now();
    this.#waiting = await schedule(strategy, this.#system, waiting, hasLeft);
    this.#decisionsMs.push(now() - began);
    for (const job of waiting) {
      if (this.#waiting.includes(job)) continue;
      if (this.#runs.has(job)) continue;
      const arrival = arrivals.find((each) => each.job === job)!;
      const startSeconds = this.#nowSeconds;
      const endSeconds = startSeconds + arrival.durationSeconds;
      this.#runs.set(job, { arrival, startSeconds, endSeconds, frames: 0, keptSeconds: 0 });
    }
    this.#count(before);
    if (this.#options.changes !== undefined)
      this.#system.update(cutToCapacities(this.#system.running, this.#system.network.capacities));
    this.#check();
  }

  #count(before: StreamSystem["running"]): void {
    for (const [at, old] of before.entries()) {
      const { flows, hosts } = this.#system.running[at]!;
      this.#moves += hosts.filter((host, task) => host !== old.hosts[task]).length;
      if (hosts.some((host, task) => host !== old.hosts[task])) continue;
      this.#reroutes += flows.filter(({ path }, index) => path !== old.flows[index]!.path).length;
    }
  }

  /** A strategy that over-promises would win every comparison. */
  #check(): void {
    const { network, running, free } = this.#system;
    const used = new Float64Array(network.capacities.length);
    for (const { flows, throughput } of running)
      for (const { path, bitsPerFrame } of flows)
        for (const hop of path.hops) used[hop]! += bitsPerFrame * throughput;
    for (const [link, bits] of used.entries())
      if (bits > network.capacities[link]! * (1 + TOLERANCE))
        throw new Error(
          `${this.#options.strategy.name} put ${bits} bit/s on a link of ${network.capacities[link]!}`,
        );
    if (free.memoryBytes.some((bytes) => bytes < -1))
      throw new Error(`${this.#options.strategy.name} put more on a node than fits`);
  }
}

const TOLERANCE = 1e-6;
