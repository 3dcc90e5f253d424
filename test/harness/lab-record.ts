// Reads the records of a running `isochrone up`: of its emulator, its receivers and its load generator.
import type { WorkflowGraphSnapshot } from "@isochrone/topology";

interface Matrix {
  readonly nodes: readonly string[];
  readonly rttMs: readonly (readonly (number | null)[])[];
}

interface Receivers {
  readonly channels: readonly { readonly source: string; readonly target: string }[];
}

export interface LoadRecord {
  readonly count: number;
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
}

export interface TimelinePoint {
  readonly at: string;
  readonly requests: number;
  readonly errors: number;
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
}

interface Timeline {
  readonly spanSeconds: number;
  readonly points: readonly TimelinePoint[];
  readonly marks: readonly ({ readonly at: string; readonly kind: string } & Readonly<
    Record<string, unknown>
  >)[];
}

/** Node by workload; each has one pod. */
export type Placement = ReadonlyMap<string, string>;

export class LabRecord {
  readonly #page: string;
  readonly #emulator: string;

  constructor(page: string, emulator: string) {
    this.#page = page;
    this.#emulator = emulator;
  }

  workflow(): Promise<WorkflowGraphSnapshot> {
    return ask(`${this.#page}/api/v1/graph/workflows/default/sample`);
  }

  page<T>(path: string): Promise<T> {
    return ask(`${this.#page}${path}`);
  }

  async metrics(job: string, instance: string): Promise<string> {
    return (await answered(`${this.#emulator}/lab/v1/metrics/${job}/${instance}`)).text();
  }

  load(): Promise<LoadRecord> {
    return ask(`${this.#emulator}/lab/v1/workflow`);
  }

  timeline(): Promise<Timeline> {
    return ask(`${this.#emulator}/lab/v1/timeline`);
  }

  async placement(): Promise<Placement> {
    const { workloads } = await this.workflow();
    return new Map(
      workloads.flatMap(({ name, pods }) =>
        pods.flatMap(({ node }) => (node === null ? [] : [[name, node]])),
      ),
    );
  }

  /** The emulator's current round trip. Null: cut. */
  async rttMs(source: string, target: string): Promise<number | null> {
    const { nodes, rttMs } = await this.#matrix();
    return rttMs[nodes.indexOf(source)]![nodes.indexOf(target)]!;
  }

  /** Sum of the emulator's round trips of one request, by the receivers' records. */
  async networkMs(at: Placement): Promise<number> {
    const { nodes, rttMs } = await this.#matrix();
    const { channels } = await ask<Receivers>(`${this.#emulator}/lab/v1/receivers`);
    const calls = channels.filter(({ source }) => source !== "unknown");
    // Each call causes one call to each callee. Counters would miss calls that failed.
    const visitsOf = (workload: string): number =>
      workload === "m0"
        ? 1
        : calls
            .filter(({ target }) => target === workload)
            .reduce((sum, { source }) => sum + visitsOf(source), 0);
    const indexOf = (workload: string): number => nodes.indexOf(at.get(workload) ?? "");
    return calls.reduce((sum, { source, target }) => {
      const [from, to] = [indexOf(source), indexOf(target)];
      return sum + (from === to ? 0 : visitsOf(source) * rttMs[from]![to]!);
    }, 0);
  }

  /** The descheduler's objective: measured channel bytes times emulated round trips. */
  async trafficCost({ channels }: WorkflowGraphSnapshot, at: Placement): Promise<number> {
    const { nodes, rttMs } = await this.#matrix();
    const indexOf = (workload: string): number => nodes.indexOf(at.get(workload) ?? "");
    return channels.reduce((sum, { source, target, bytesPerSecond }) => {
      const [from, to] = [indexOf(source), indexOf(target)];
      return sum + (from === to ? 0 : (bytesPerSecond ?? 0) * rttMs[from]![to]!);
    }, 0);
  }

  #matrix(): Promise<Matrix> {
    return ask(`${this.#emulator}/lab/v1/matrix`);
  }
}

const ATTEMPTS = 20;
const PAUSE_MS = 1_000;

export async function ask<T>(url: string): Promise<T> {
  return (await (await answered(url)).json()) as T;
}

/** A busy machine answers late, and the first request may fail. */
async function answered(url: string): Promise<Response> {
  for (let attempt = 1; ; attempt++)
    try {
      const response = await fetch(url, { signal: AbortSignal.timeout(30_000) });
      if (!response.ok) throw new Error(`${url} answered ${response.status}`);
      return response;
    } catch (error) {
      if (attempt === ATTEMPTS) throw error;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
}
