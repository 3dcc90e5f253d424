import { conditionsOf, type KubernetesObject } from "@isochrone/kubernetes";
import { looseFields, looseList, looseText } from "@isochrone/primitives";
import type { StreamJobView } from "@isochrone/topology";
import { table } from "../output/table.ts";

interface JobView {
  readonly namespace: string;
  readonly name: string;
  readonly phase: string | null;
  /** Frames per second. */
  readonly throughput: number | null;
  /** Carried by its flows, frames per second. */
  readonly measuredThroughput: number | null;
  readonly minThroughput: number | null;
  /** The limiting task or link, or what it waits for. */
  readonly limit: string | null;
  readonly tasks: readonly {
    readonly name: string;
    readonly node: string;
    readonly secondsPerFrame: number | null;
  }[];
  readonly flows: readonly {
    /** Null: the source. */
    readonly from: string | null;
    readonly to: string;
    readonly bitsPerSecond: number | null;
    readonly route: readonly string[];
  }[];
  readonly profiles: readonly {
    readonly task: string;
    readonly kind: string;
    readonly secondsPerFrame: number | null;
    readonly failure: string | null;
  }[];
  readonly conditions: readonly {
    readonly type: string;
    readonly status: string;
    readonly reason: string;
    readonly message: string;
  }[];
}

type SpecFields = Record<"minThroughput", unknown>;
type StatusFields = Record<
  "flows" | "limitText" | "measuredThroughput" | "phase" | "profiles" | "tasks" | "throughput",
  unknown
>;
type ProfileFields = Record<"failure" | "kind" | "secondsPerFrame" | "task", unknown>;
type TaskFields = Record<"name" | "node" | "secondsPerFrame", unknown>;
type FlowFields = Record<"bitsPerSecond" | "from" | "route" | "to", unknown>;

/** From the graph API, which lacks profiles and met conditions. */
export function servedJobView(job: StreamJobView): JobView {
  const { namespace, name, phase, minThroughput, tasks, flows, limit, waits } = job;
  return {
    namespace,
    name,
    phase,
    throughput: job.framesPerSecond,
    measuredThroughput: job.measuredFramesPerSecond,
    minThroughput,
    limit: servedLimit(limit) ?? waits?.message ?? null,
    tasks: tasks.map((task) => ({ ...task })),
    flows: flows.map(({ from, to, bitsPerSecond, route }) => ({ from, to, bitsPerSecond, route })),
    profiles: [],
    conditions: waits === null ? [] : [{ type: "Placed", status: "False", ...waits }],
  };
}

function servedLimit(limit: StreamJobView["limit"]): string | null {
  switch (limit?.kind) {
    case "task":
      return `task ${limit.task} on ${limit.node}`;
    case "link":
      return `link ${limit.source} -> ${limit.target}`;
    case "source":
      return `source on ${limit.node}`;
    default:
      return null;
  }
}

export function jobView(object: KubernetesObject): JobView {
  const { namespace = "default", name } = object.metadata;
  const { minThroughput } = looseFields<SpecFields>(object.spec);
  const status = looseFields<StatusFields>(object.status);
  return {
    namespace,
    name,
    phase: textOf(status.phase),
    throughput: numberOf(status.throughput),
    measuredThroughput: numberOf(status.measuredThroughput),
    minThroughput: numberOf(minThroughput),
    limit: textOf(status.limitText),
    tasks: looseList<TaskFields>(status.tasks).map((task) => ({
      name: looseText(task.name),
      node: looseText(task.node),
      secondsPerFrame: numberOf(task.secondsPerFrame),
    })),
    flows: looseList<FlowFields>(status.flows).map((flow) => ({
      from: textOf(flow.from),
      to: looseText(flow.to),
      bitsPerSecond: numberOf(flow.bitsPerSecond),
      route: Array.isArray(flow.route) ? flow.route.map(looseText) : [],
    })),
    profiles: looseList<ProfileFields>(status.profiles).map((profile) => ({
      task: looseText(profile.task),
      kind: looseText(profile.kind),
      secondsPerFrame: numberOf(profile.secondsPerFrame),
      failure: textOf(profile.failure),
    })),
    conditions: conditionsOf(object).map(({ type, status: is, reason = "", message = "" }) => ({
      type,
      status: is,
      reason,
      message,
    })),
  };
}

export function jobViewOf({
  framesPerSecond,
  measuredFramesPerSecond,
  waits,
  ...job
}: StreamJobView): JobView {
  return {
    ...job,
    throughput: framesPerSecond,
    measuredThroughput: measuredFramesPerSecond,
    limit: job.limit === null ? null : limitText(job.limit),
    profiles: [],
    conditions: waits === null ? [] : [{ type: "Placed", status: "False", ...waits }],
  };
}

function limitText(limit: NonNullable<StreamJobView["limit"]>): string {
  switch (limit.kind) {
    case "task":
      return `task ${limit.task} on ${limit.node}`;
    case "link":
      return `link ${limit.source} -> ${limit.target}`;
    case "source":
      return `its source on ${limit.node}`;
    default:
      return limit satisfies never;
  }
}

export function jobsText(jobs: readonly JobView[]): string {
  if (jobs.length === 0) return "there is no StreamJob";
  return table(
    ["namespace", "job", "phase", "frames/s", "measured", "promised", "limited by", "nodes"],
    jobs.map(({ namespace, name, phase, throughput, measuredThroughput, minThroughput, limit, tasks }) => [
      namespace,
      name,
      phase ?? "new",
      throughput,
      measuredThroughput,
      minThroughput,
      limit,
      [...new Set(tasks.map(({ node }) => node))].join(" "),
    ]),
  );
}

export function jobText(job: JobView): string {
  const { namespace, name, phase, throughput, minThroughput, limit, tasks, flows, profiles, conditions } =
    job;
  const pace = throughput === null ? "" : `, ${throughput.toFixed(2)} frames/s`;
  const promise = minThroughput === null ? "" : promiseText(minThroughput, throughput);
  const measured = job.measuredThroughput === null ? "" : `, ${job.measuredThroughput.toFixed(2)} measured`;
  const parts = [
    `StreamJob ${namespace}/${name}: ${phase ?? "no controller has seen it"}${pace}${promise}${measured}`,
  ];
  if (throughput !== null && limit !== null) parts[0] += `\nlimited by ${limit}`;
  const placed = conditions.find(({ type, status }) => type === "Placed" && status === "True");
  // The following clause is more informative than the table of tasks.
  const nextBest = placed?.message.split("; ")[1];
  if (nextBest !== undefined) parts[0] += `\n${nextBest}`;
  const open = conditions.filter(({ status }) => status !== "True");
  if (open.length > 0)
    parts.push(open.map(({ type, reason, message }) => `${type}: ${reason}: ${message}`).join("\n"));
  if (tasks.length > 0)
    parts.push(
      table(
        ["task", "node", "s/frame", "frames/s"],
        tasks.map((task) => [
          task.name,
          task.node,
          task.secondsPerFrame,
          task.secondsPerFrame === null ? null : 1 / task.secondsPerFrame,
        ]),
      ),
    );
  if (flows.length > 0)
    parts.push(
      table(
        ["flow", "rate", "route"],
        flows.map(({ from, to, bitsPerSecond, route }) => [
          `${from ?? "source"} -> ${to}`,
          bitsPerSecond === null ? null : megabits(bitsPerSecond),
          route.join(" "),
        ]),
      ),
    );
  if (profiles.length > 0)
    parts.push(
      table(
        ["profiled task", "kind of node", "s/frame", "last attempt"],
        profiles.map(({ task, kind, secondsPerFrame, failure }) => [
          task,
          kind,
          secondsPerFrame,
          failure ?? "measured",
        ]),
      ),
    );
  return parts.join("\n\n");
}

function promiseText(promised: number, throughput: number | null): string {
  return throughput === null ? `, ${promised} frames/s promised` : ` of ${promised} promised`;
}

export function megabits(bitsPerSecond: number): string {
  return `${(bitsPerSecond / 1e6).toFixed(3)} Mbit/s`;
}

function numberOf(value: unknown): number | null {
  return typeof value === "number" ? value : null;
}

function textOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}
