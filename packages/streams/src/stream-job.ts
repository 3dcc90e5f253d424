import type { Bytes, Millicores } from "@isochrone/primitives";
import { StreamError } from "./errors.ts";

/** Represents the job's source node in a dependency. */
export const SOURCE = -1;

interface StreamTask {
  readonly name: string;
  readonly memoryBytes: Bytes;
  readonly cpuMillicores: Millicores;
}

interface StreamDependency {
  readonly source: number;
  readonly target: number;
  readonly bitsPerFrame: number;
}

export interface StreamJob {
  readonly name: string;
  readonly source: number;
  readonly tasks: readonly StreamTask[];
  readonly dependencies: readonly StreamDependency[];
  /** Seconds per frame at `task * nodes + node` under the task's request; Infinity: cannot run there. */
  readonly secondsPerFrame: Float64Array;
  /** Promised frames per second; null: none. */
  readonly minThroughput: number | null;
}

export interface StreamJobSpec {
  readonly name: string;
  readonly source: string;
  readonly bytesPerFrame: number;
  readonly tasks: readonly StreamTaskSpec[];
  readonly minThroughput?: number | null;
}

export interface StreamTaskSpec extends StreamTask {
  readonly downstream?: readonly { readonly task: string; readonly bytesPerFrame: number }[];
}

export function namespaceOf({ name }: Pick<StreamJob, "name">): string {
  return name.slice(0, Math.max(0, name.indexOf("/")));
}

export const MAX_TASKS = 256;
const BITS_PER_BYTE = 8;

/**
 * Validates a job and sorts its tasks topologically. Tasks without upstream tasks read from the source.
 * @param nodes names in network order
 * @param secondsPerFrame of a task by node index; null: cannot run there Throws StreamError `invalid_job`.
 */
export function createStreamJob(
  spec: StreamJobSpec,
  nodes: readonly string[],
  secondsPerFrame: (task: string, node: number) => number | null,
): StreamJob {
  const refuse = (rule: string, value: unknown): never => {
    throw new StreamError("invalid_job", `stream job ${spec.name}`, rule, value);
  };
  const amount = (value: number, what: string, least: number): number =>
    Number.isFinite(value) && value >= least && value <= Number.MAX_SAFE_INTEGER
      ? value
      : refuse(
          `${what} must be a number ${least === 0 ? "of at least" : "above"} 0 and at most 2^53 - 1`,
          value,
        );
  const source = nodes.indexOf(spec.source);
  if (source === -1) refuse("source must be a node of the network", spec.source);
  if (spec.tasks.length === 0 || spec.tasks.length > MAX_TASKS)
    refuse(`tasks must be 1 to ${MAX_TASKS}`, spec.tasks.length);
  const names = new Set<string>();
  for (const task of spec.tasks) {
    if (names.has(task.name)) refuse("tasks must have different names", `${task.name} twice`);
    names.add(task.name);
    amount(task.memoryBytes, `memoryBytes of task ${task.name}`, 0);
    amount(task.cpuMillicores, `cpuMillicores of task ${task.name}`, 0);
    const targets = new Set<string>();
    for (const { task: target, bytesPerFrame } of task.downstream ?? []) {
      if (!spec.tasks.some(({ name }) => name === target))
        refuse(`downstream of task ${task.name} must be a task of the job`, target);
      if (targets.has(target)) refuse(`downstream of task ${task.name} must differ`, `${target} twice`);
      targets.add(target);
      amount(bytesPerFrame, `bytesPerFrame from ${task.name} to ${target}`, Number.MIN_VALUE);
    }
  }
  amount(spec.bytesPerFrame, "bytesPerFrame of the source", Number.MIN_VALUE);
  const { minThroughput = null } = spec;
  if (minThroughput !== null) amount(minThroughput, "minThroughput", Number.MIN_VALUE);
  const ordered = topologicalOrder(spec.tasks);
  if (ordered === null) return refuse("tasks must form no cycle", cycleIn(spec.tasks).join(" -> "));
  return {
    name: spec.name,
    source,
    tasks: ordered.map(({ name, memoryBytes, cpuMillicores }) => ({ name, memoryBytes, cpuMillicores })),
    dependencies: dependenciesOf(ordered, spec.bytesPerFrame),
    secondsPerFrame: profileOf(ordered, nodes, secondsPerFrame, refuse),
    minThroughput,
  };
}

function profileOf(
  tasks: readonly StreamTaskSpec[],
  nodes: readonly string[],
  secondsPerFrame: (task: string, node: number) => number | null,
  refuse: (rule: string, value: unknown) => never,
): Float64Array {
  const profile = new Float64Array(tasks.length * nodes.length);
  for (const [at, { name }] of tasks.entries())
    for (const [node, nodeName] of nodes.entries()) {
      const seconds = secondsPerFrame(name, node);
      if (seconds !== null && !(Number.isFinite(seconds) && seconds > 0))
        refuse(`seconds per frame of task ${name} on ${nodeName} must be above 0`, seconds);
      profile[at * nodes.length + node] = seconds ?? Infinity;
    }
  return profile;
}

function dependenciesOf(tasks: readonly StreamTaskSpec[], bytesPerFrame: number): StreamDependency[] {
  const index = new Map(tasks.map(({ name }, at) => [name, at]));
  const dependencies: StreamDependency[] = tasks.flatMap(({ downstream = [] }, source) =>
    downstream.map(({ task, bytesPerFrame: bytes }) => ({
      source,
      target: index.get(task)!,
      bitsPerFrame: bytes * BITS_PER_BYTE,
    })),
  );
  const fed = new Set(dependencies.map(({ target }) => target));
  const first = tasks.flatMap((_, target) =>
    fed.has(target) ? [] : [{ source: SOURCE, target, bitsPerFrame: bytesPerFrame * BITS_PER_BYTE }],
  );
  return [...first, ...dependencies];
}

/** Keeps the written order if possible. Null: cycle. */
function topologicalOrder(tasks: readonly StreamTaskSpec[]): StreamTaskSpec[] | null {
  const open = new Map(tasks.map(({ name }) => [name, 0]));
  for (const { downstream = [] } of tasks)
    for (const { task } of downstream) open.set(task, open.get(task)! + 1);
  const ordered: StreamTaskSpec[] = [];
  let left = [...tasks];
  while (left.length > 0) {
    const next = left.find(({ name }) => open.get(name) === 0);
    if (next === undefined) return null;
    left = left.filter((task) => task !== next);
    for (const { task } of next.downstream ?? []) open.set(task, open.get(task)! - 1);
    ordered.push(next);
  }
  return ordered;
}

function cycleIn(tasks: readonly StreamTaskSpec[]): string[] {
  const byName = new Map(tasks.map((task) => [task.name, task]));
  const done = new Set<string>();
  const walk = (name: string, way: readonly string[]): string[] | null => {
    if (way.includes(name)) return [...way.slice(way.indexOf(name)), name];
    if (done.has(name)) return null;
    for (const { task } of byName.get(name)!.downstream ?? []) {
      const cycle = walk(task, [...way, name]);
      if (cycle !== null) return cycle;
    }
    done.add(name);
    return null;
  };
  for (const { name } of tasks) {
    const cycle = walk(name, []);
    if (cycle !== null) return cycle;
  }
  return [];
}
