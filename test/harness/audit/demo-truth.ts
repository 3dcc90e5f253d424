// Follows a running `isochrone up` from outside through its objects, its emulator and its load generator.
import type { KubernetesObject } from "@isochrone/kubernetes";
import { LabClient, readControlToken } from "@isochrone/lab/testing";
import { ask, LabRecord, type TimelinePoint } from "../lab-record.ts";
import { NetworkTruth } from "./network-truth.ts";
import { PodLives } from "./pod-lives.ts";

const POLL_MS = 400;
const TIMEOUT_MS = 30_000;

export interface DemoAddresses {
  readonly page: string;
  readonly extender: string;
  readonly emulator: string;
}

interface TruePlacementCost {
  readonly atMs: number;
  readonly networkMs: number;
}

export class DemoTruth {
  readonly lives = new PodLives();
  readonly network = new NetworkTruth();
  readonly lab: LabClient;
  readonly record: LabRecord;
  /** Emulated network time per request while the whole workflow was placed. */
  readonly requestTimes: TruePlacementCost[] = [];
  readonly points: TimelinePoint[] = [];
  marks: readonly ({ readonly at: string; readonly kind: string } & Readonly<Record<string, unknown>>)[] = [];
  /** Failed polls. Events during a failed poll are unknown. */
  missedPolls = 0;
  #objects: readonly KubernetesObject[] = [];
  readonly #ending = new AbortController();
  #following: Promise<void> = Promise.resolve();

  readonly #extender: string;

  private constructor(lab: LabClient, record: LabRecord, extender: string) {
    this.lab = lab;
    this.record = record;
    this.#extender = extender;
  }

  /** @param addresses as printed by `isochrone up` */
  static async follow(addresses: DemoAddresses): Promise<DemoTruth> {
    const { page, extender, emulator } = addresses;
    const token = await readControlToken(emulator, process.env);
    const truth = new DemoTruth(
      new LabClient(emulator, { token, timeoutMs: TIMEOUT_MS }),
      new LabRecord(page, emulator),
      new URL(extender).origin,
    );
    await truth.poll();
    truth.#following = truth.#run();
    return truth;
  }

  deschedulerReport<T>(): Promise<T> {
    return ask(`${this.#extender}/api/v1/descheduler`);
  }

  schedulerMetrics(): Promise<string> {
    return this.record.metrics("isochrone-scheduler-plugin", "scheduler-plugin");
  }

  zones(): ReadonlyMap<string, string> {
    return new Map(
      this.#objects
        .filter(({ kind }) => kind === "Node")
        .map(({ metadata: { name, labels } }) => [name, labels?.["topology.kubernetes.io/zone"] ?? ""]),
    );
  }

  /** Nodes that have pods, by descending number of pods. */
  usedNodes(): string[] {
    const nodes = [...this.lives.placementAt(Date.now()).values()];
    return [...Map.groupBy(nodes, (node) => node)]
      .sort(([, a], [, b]) => b.length - a.length)
      .map(([node]) => node);
  }

  /** Links that calls cross, as "a b" and "b a", by descending bytes. */
  async crossedLinks(): Promise<string[]> {
    const { channels } = await this.record.workflow();
    const at = this.lives.placementAt(Date.now());
    const bytes = new Map<string, number>();
    for (const { source, target, bytesPerSecond } of channels) {
      const [from, to] = [at.get(source), at.get(target)];
      if (from === undefined || to === undefined || from === to) continue;
      for (const pair of [`${from} ${to}`, `${to} ${from}`])
        bytes.set(pair, (bytes.get(pair) ?? 0) + (bytesPerSecond ?? 0));
    }
    return [...bytes].sort(([, a], [, b]) => b - a).map(([pair]) => pair);
  }

  async poll(): Promise<void> {
    const { items } = await this.lab.objects();
    const atMs = Date.now();
    this.#objects = items;
    this.lives.take(items, atMs);
    this.network.take({ atMs, ...(await this.lab.matrix()) });
    const { points, marks } = await this.record.timeline();
    const last = this.points.at(-1)?.at ?? "";
    this.points.push(...points.filter(({ at }) => at > last));
    this.marks = marks;
    const placement = this.lives.placementAt(atMs);
    if (placement.size === WORKLOADS)
      this.requestTimes.push({ atMs, networkMs: await this.record.networkMs(placement) });
  }

  async stop(): Promise<void> {
    this.#ending.abort();
    await this.#following;
  }

  async #run(): Promise<void> {
    const { signal } = this.#ending;
    while (!signal.aborted) {
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      try {
        if (!signal.aborted) await this.poll();
      } catch {
        this.missedPolls++;
      }
    }
  }
}

/** Workloads of the sample application. Each has one pod. */
const WORKLOADS = 17;
