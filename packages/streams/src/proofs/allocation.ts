// ENTS, problem P1 for one job as a mixed-integer linear program: nodes and free paths jointly.
import { LinearProgram } from "@isochrone/primitives/algorithms";
import type { Computing } from "../placed-job.ts";
import { SOURCE, type StreamJob } from "../stream-job.ts";
import type { StreamSystem } from "../stream-system.ts";

/** Objective variable: seconds per frame of the slowest stage. */
export const SECONDS = "seconds";

const host = (task: number, node: number): string => `x${task}_${node}`;
const hop = (dependency: number, source: number, target: number): string =>
  `y${dependency}_${source}_${target}`;

/** Minimizes the seconds per frame. Task placement is where `x<task>_<node>` is 1. */
export function allocationProgram(
  job: StreamJob,
  system: StreamSystem,
  computing: Computing = "slowest",
): LinearProgram {
  const program = new LinearProgram();
  program.cost(1, SECONDS);
  addHosts(program, job, system);
  addComputing(program, job, system, computing);
  addFlows(program, job, system);
  return program;
}

function addHosts(program: LinearProgram, job: StreamJob, { network, free }: StreamSystem): void {
  const nodes = [...network.nodes.keys()];
  for (const task of job.tasks.keys()) {
    for (const node of nodes) program.binary(host(task, node));
    program.row(
      nodes.map((node) => [1, host(task, node)] as const),
      "=",
      1,
    );
  }
  for (const node of nodes) {
    addRoom(
      program,
      job.tasks.map(({ memoryBytes }) => memoryBytes),
      node,
      free.memoryBytes[node]!,
    );
    addRoom(
      program,
      job.tasks.map(({ cpuMillicores }) => cpuMillicores),
      node,
      free.cpuMillicores[node]!,
    );
  }
}

/** In shares of free resources, since solver tolerances are absolute. */
function addRoom(program: LinearProgram, needs: readonly number[], node: number, free: number): void {
  if (free > 0) {
    program.row(
      needs.map((need, task) => [need / free, host(task, node)] as const),
      "<=",
      1,
    );
  } else {
    for (const [task, need] of needs.entries()) if (need > 0) program.upTo(host(task, node), 0);
  }
}

function addComputing(
  program: LinearProgram,
  job: StreamJob,
  { network }: StreamSystem,
  computing: Computing,
): void {
  const count = network.nodes.length;
  const term = (task: number, node: number): readonly [number, string] => {
    const seconds = job.secondsPerFrame[task * count + node]!;
    if (seconds !== Infinity) return [seconds, host(task, node)];
    program.upTo(host(task, node), 0);
    return [0, host(task, node)];
  };
  if (computing === "sum") {
    for (let node = 0; node < count; node++)
      program.row([...job.tasks.keys().map((task) => term(task, node)), [-1, SECONDS]], "<=", 0);
    return;
  }
  for (const task of job.tasks.keys())
    program.row([...network.nodes.keys().map((node) => term(task, node)), [-1, SECONDS]], "<=", 0);
}

function addFlows(program: LinearProgram, job: StreamJob, { network }: StreamSystem): void {
  const loads = new Map<number, [number, string][]>();
  for (const [at, { source, target, bitsPerFrame }] of job.dependencies.entries())
    for (const node of network.nodes.keys()) {
      const terms: [number, string][] = [];
      for (const arc of network.arcsFrom(node)) {
        terms.push([1, hop(at, node, arc.target)]);
        program.binary(hop(at, node, arc.target));
        const load = loads.get(arc.capacity) ?? [];
        load.push([bitsPerFrame / network.capacities[arc.capacity]!, hop(at, node, arc.target)]);
        loads.set(arc.capacity, load);
      }
      terms.push(...incoming(network, node, at), [1, host(target, node)]);
      const isStart = source === SOURCE && node === job.source;
      if (source !== SOURCE) terms.push([-1, host(source, node)]);
      program.row(terms, "=", isStart ? 1 : 0);
    }
  for (const terms of loads.values()) program.row([...terms, [-1, SECONDS]], "<=", 0);
}

function incoming(network: StreamSystem["network"], node: number, dependency: number): [number, string][] {
  return network.nodes
    .keys()
    .filter((from) => network.arcsFrom(from).some(({ target }) => target === node))
    .map((from): [number, string] => [-1, hop(dependency, from, node)])
    .toArray();
}
