// Checks the parts of a point against each other before anything starts. Pure; names the part of the file for
// each mistake.
import type { Point, PointWorkload } from "./model.ts";

type Part = "workflow" | "cluster" | "load";

interface PointMistake {
  readonly part: Part;
  readonly workload?: string;
  readonly message: string;
}

/** Default maximum of the kubelet. */
const PODS_PER_NODE = 110;

export function pointMistakes(point: Point): readonly PointMistake[] {
  const shape = [...nameMistakes(point), ...callMistakes(point), ...pinMistakes(point)];
  // Skips sums for a workflow with broken calls, as they would only repeat the mistake.
  return shape.length > 0 ? shape : [...cycleMistakes(point), ...capacityMistakes(point)];
}

function nameMistakes({ workflow, cluster }: Point): PointMistake[] {
  const names = workflow.workloads.map(({ name }) => name);
  const mistakes: PointMistake[] = names
    .filter((name, index) => names.indexOf(name) !== index)
    .map((name) => ({
      part: "workflow",
      workload: name,
      message: `must have names of their own, got ${name} twice`,
    }));
  if (!names.includes(workflow.entry))
    mistakes.push({ part: "workflow", message: `entry must be a workload, got ${workflow.entry}` });
  const { usersAt } = workflow;
  if (usersAt !== null && !cluster.nodes.some(({ name }) => name === usersAt))
    mistakes.push({ part: "workflow", message: `usersAt must be a node, got ${usersAt}` });
  return mistakes;
}

function callMistakes({ workflow }: Point): PointMistake[] {
  const names = new Set(workflow.workloads.map(({ name }) => name));
  const mistakes = workflow.workloads.flatMap((workload) =>
    workload.calls
      .filter(({ callee }) => !names.has(callee))
      .map(({ callee }): PointMistake => ({
        part: "workflow",
        workload: workload.name,
        message: `calls must name workloads, got ${callee}`,
      })),
  );
  const called = reached(workflow.workloads, workflow.entry);
  const idle = workflow.workloads.filter(({ name }) => !called.has(name));
  if (mistakes.length > 0 || !names.has(workflow.entry)) return mistakes;
  return idle.map(({ name }) => ({
    part: "workflow",
    workload: name,
    message: `must be called by a request to ${workflow.entry}, got no way to ${name}`,
  }));
}

function reached(workloads: readonly PointWorkload[], entry: string): ReadonlySet<string> {
  const callees = new Map(workloads.map(({ name, calls }) => [name, calls.map(({ callee }) => callee)]));
  const seen = new Set([entry]);
  for (const name of seen) for (const callee of callees.get(name) ?? []) seen.add(callee);
  return seen;
}

/** Stand-ins know calls by callee only, so calls between the same two workloads must be alike. */
export function labMistakes({ workflow }: Point): readonly PointMistake[] {
  return workflow.workloads.flatMap(({ name, calls }) =>
    [...Map.groupBy(calls, ({ callee }) => callee)]
      .filter(([, same]) => new Set(same.map((call) => JSON.stringify(call))).size > 1)
      .map(([callee]): PointMistake => ({
        part: "workflow",
        workload: name,
        message: `must make all its calls to ${callee} alike for the lab, got some with another size or probability`,
      })),
  );
}

function pinMistakes({ workflow, cluster }: Point): PointMistake[] {
  const nodes = new Set(cluster.nodes.map(({ name }) => name));
  return workflow.workloads
    .filter(({ pinnedTo }) => pinnedTo !== null && !nodes.has(pinnedTo))
    .map(({ name, pinnedTo }) => ({
      part: "workflow",
      workload: name,
      message: `must be pinned to a node, got ${pinnedTo}`,
    }));
}

function cycleMistakes({ workflow }: Point): PointMistake[] {
  const order = callersFirst(workflow.workloads);
  if (order !== null) return [];
  return [
    { part: "workflow", message: `calls must not go round in a cycle, got ${cycleOf(workflow.workloads)}` },
  ];
}

/** Sorts callers before callees, otherwise in the given order; null if calls are cyclic. */
export function callersFirst(workloads: readonly PointWorkload[]): readonly PointWorkload[] | null {
  const callers = new Map(workloads.map(({ name }) => [name, 0]));
  for (const { calls } of workloads)
    for (const { callee } of calls) callers.set(callee, (callers.get(callee) ?? 0) + 1);
  const left = [...workloads];
  const order: PointWorkload[] = [];
  while (left.length > 0) {
    const next = left.findIndex(({ name }) => callers.get(name) === 0);
    if (next < 0) return null;
    const [workload] = left.splice(next, 1);
    order.push(workload!);
    for (const { callee } of workload!.calls) callers.set(callee, callers.get(callee)! - 1);
  }
  return order;
}

function cycleOf(workloads: readonly PointWorkload[]): string {
  const byName = new Map(workloads.map((workload) => [workload.name, workload]));
  const walk = (name: string, path: readonly string[]): readonly string[] | null => {
    if (path.includes(name)) return [...path.slice(path.indexOf(name)), name];
    for (const { callee } of byName.get(name)?.calls ?? []) {
      const found = walk(callee, [...path, name]);
      if (found !== null) return found;
    }
    return null;
  };
  for (const { name } of workloads) {
    const found = walk(name, []);
    if (found !== null) return found.join(" to ");
  }
  return "one";
}

function capacityMistakes({ workflow, cluster }: Point): PointMistake[] {
  const mistakes: PointMistake[] = [];
  const add = (message: string): void => void mistakes.push({ part: "workflow", message });
  const sum = (value: (workload: PointWorkload) => number): number =>
    workflow.workloads.reduce((total, workload) => total + workload.replicas * value(workload), 0);
  const pods = sum(() => 1);
  if (pods > PODS_PER_NODE * cluster.nodes.length)
    add(`must have at most ${PODS_PER_NODE} pods per node, got ${pods} on ${cluster.nodes.length} nodes`);
  const cpu = cluster.nodes.reduce((total, node) => total + node.cpuMillicores, 0);
  const memory = cluster.nodes.reduce((total, node) => total + node.memoryBytes, 0);
  const asked = sum(({ requests }) => requests.cpuMillicores ?? 0);
  if (asked > cpu)
    add(`must not request more CPU than the nodes have: ${pods} pods request ${asked}m of ${cpu}m`);
  const used = sum((workload) => memoryOf(workload));
  if (used > memory)
    add(
      `must not need more memory than the nodes have: ${pods} pods need ${mebibytes(used)} of ${mebibytes(memory)}`,
    );
  for (const workload of workflow.workloads) {
    const fits = cluster.nodes.some(
      (node) =>
        (workload.pinnedTo === null || workload.pinnedTo === node.name) &&
        (workload.requests.cpuMillicores ?? 0) <= node.cpuMillicores &&
        memoryOf(workload) <= node.memoryBytes,
    );
    if (!fits)
      mistakes.push({
        part: "workflow",
        workload: workload.name,
        message: `must fit a node, got ${workload.requests.cpuMillicores ?? 0}m and ${mebibytes(memoryOf(workload))} a pod`,
      });
  }
  return mistakes;
}

function memoryOf({ requests, memoryBytes }: PointWorkload): number {
  return Math.max(requests.memoryBytes ?? 0, memoryBytes);
}

function mebibytes(bytes: number): string {
  return `${Math.ceil(bytes / 2 ** 20)} Mi`;
}
