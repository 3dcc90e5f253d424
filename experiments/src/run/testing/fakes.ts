import { ContenderError } from "../../contenders/port.ts";
import type { Contender, Observation, Placement, PodMove } from "../../contenders/port.ts";
import type { Testbed, Running, Stretch } from "../../testbed/port.ts";
import { readScenario } from "../../scenario/read-scenario.ts";
import type { ContenderId, Point, PointCluster, Scenario } from "../../scenario/model.ts";

const TINY = `title: Tiny
question: Is it so?
source: nowhere
seed: 1
trials: 4
baseline: default
contenders: [default, isochrone]
protocol: { learn: 1s, rounds: 3, round: 10s }
axes: { rttMs: [10, 100] }
cluster:
  nodes:
    - { name: a, region: west, cpu: 1, memory: 1Gi }
    - { name: b, region: east, cpu: 1, memory: 1Gi }
  links: { all: $rttMs }
workflow:
  name: pair
  entry: web
  defaults: { memory: 64Mi, cpuMs: 1, cpuSpread: fixed, request: 100, response: 900 }
  workloads:
    - { name: web, calls: [{ callee: db, times: 2 }] }
    - { name: db }
load: { users: 5, warmUp: 1s, duration: 60s }
grounds: { model: { hopMs: 0 }, lab: { scale: 2, only: [{ rttMs: 10 }], warmUp: 3s, duration: 5s, trials: 1 } }
`;

export function tiny(change: (text: string) => string = (text) => text): Scenario {
  return readScenario(change(TINY), "tiny.yaml");
}

/** Requests take a round trip per call between nodes. Requests of pods on a dead node fail. */
export class FakeTestbed implements Testbed {
  readonly name = "model";
  readonly log: string[] = [];
  /** Extra milliseconds of the first interval; halves with each interval. */
  readonly #backlogMs: number;

  constructor(backlogMs = 0) {
    this.#backlogMs = backlogMs;
  }

  describe(): Readonly<Record<string, string>> {
    return { kind: "fake" };
  }

  start(point: Point, placement: Placement, seed: number): Promise<Running> {
    this.log.push(`start ${seed > 0 ? "seeded" : "unseeded"}`);
    return Promise.resolve(new FakeRun(point, placement, this.log, this.#backlogMs));
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

class FakeRun implements Running {
  readonly #point: Point;
  readonly #log: string[];
  readonly #placement: Map<string, string>;
  readonly #dead = new Set<string>();
  #changesFrom = Number.POSITIVE_INFINITY;
  #now = 0;
  #backlogMs: number;

  constructor(point: Point, placement: Placement, log: string[], backlogMs: number) {
    this.#backlogMs = backlogMs;
    this.#point = point;
    this.#placement = new Map(placement);
    this.#log = log;
  }

  beginChanges(): void {
    this.#changesFrom = this.#now;
    this.#log.push("changes");
  }

  run(seconds: number): Promise<Stretch> {
    this.#now += seconds;
    for (const change of this.#point.changes)
      if (change.kind === "node-down" && this.#changesFrom + change.atSeconds < this.#now)
        this.#dead.add(change.node);
    this.#log.push(`run ${seconds}`);
    if ([...this.#placement.values()].some((node) => this.#dead.has(node)))
      return Promise.resolve({ responseMs: new Float64Array(), failed: 10 });
    const isApart = this.#placement.get("web-0") !== this.#placement.get("db-0");
    const ms = 2 + (isApart ? this.#point.cluster.rttMs[0]![1]! : 0) + this.#backlogMs;
    this.#backlogMs /= 2;
    return Promise.resolve({ responseMs: Float64Array.from({ length: 10 }, () => ms), failed: 0 });
  }

  observe(): Observation {
    const { nodes, rttMs } = this.#point.cluster;
    const left = nodes
      .keys()
      .filter((index) => !this.#dead.has(nodes[index]!.name))
      .toArray();
    const cluster: PointCluster = {
      nodes: left.map((index) => nodes[index]!),
      rttMs: left.map((row) => left.map((column) => rttMs[row]![column]!)),
    };
    return { cluster, use: new Map(), traffic: [] };
  }

  move(moves: readonly PodMove[]): Promise<void> {
    for (const { pod, to } of moves) this.#placement.set(pod, to);
    this.#log.push(`move ${moves.map(({ pod, to }) => `${pod} to ${to}`).join(", ")}`);
    return Promise.resolve();
  }

  stop(): Promise<void> {
    this.#log.push("stop");
    return Promise.resolve();
  }
}

/** Places services apart first; moves them together in its only round if `joins`. */
export class FakeContender implements Contender {
  readonly id: ContenderId;
  readonly by = "a fake";
  readonly #joins: boolean;
  isClosed = false;

  constructor(id: ContenderId, joins = false) {
    this.id = id;
    this.#joins = joins;
  }

  place(point: Point, _before: unknown, _random: unknown, kept: Placement = new Map()): Promise<Placement> {
    const [first, second] = point.cluster.nodes;
    if (first === undefined) return Promise.reject(new ContenderError(this.id, "no node for web-0"));
    return Promise.resolve(new Map([["web-0", first.name], ["db-0", (second ?? first).name], ...kept]));
  }

  adjust(_point: Point, placement: Placement): Promise<readonly PodMove[]> {
    const [web, db] = [placement.get("web-0")!, placement.get("db-0")!];
    return Promise.resolve(this.#joins && web !== db ? [{ pod: "db-0", from: db, to: web }] : []);
  }

  close(): Promise<void> {
    this.isClosed = true;
    return Promise.resolve();
  }
}
