// Explains what a job without nodes waits for.
import type { JobDefinition, StreamJob, StreamStrategy, StreamSystem } from "@isochrone/streams";
import type { NodeRejection, StreamNode } from "./planned-job.ts";

export interface WaitReason {
  readonly reason: "NoNode" | "NoRoom" | "NoRoomTogether" | "Promises" | "Behind" | "Retrying";
  readonly message: string;
}

interface WaitQuestion {
  readonly job: StreamJob;
  readonly definition: JobDefinition;
  readonly system: StreamSystem;
  readonly strategy: StreamStrategy;
  readonly nodes: readonly StreamNode[];
  readonly rejection: (task: string, node: string) => NodeRejection | null;
}

/** Promise used to test whether anything is left for the job, frames/s. */
const NEXT_TO_NOTHING = 1e-9;

export async function waitReason(question: WaitQuestion): Promise<WaitReason> {
  const { job, system, strategy } = question;
  for (const task of job.tasks.keys()) {
    const why = ofTask(task, question);
    if (why !== null) return why;
  }
  if (job.minThroughput !== null) {
    const free = await strategy.place({ ...job, minThroughput: NEXT_TO_NOTHING }, system);
    if (free !== null)
      return {
        reason: "Promises",
        message: `it must have ${job.minThroughput} frames/s beside what other jobs are promised; at most ${free.throughput.toFixed(2)} are left for it`,
      };
  }
  return {
    reason: system.running.some(({ job: other }) => other.minThroughput !== null)
      ? "Promises"
      : "NoRoomTogether",
    message:
      "each task fits somewhere, but there are no nodes for all of them together, joined by links of known capacity that keep what other jobs are promised",
  };
}

function ofTask(task: number, question: WaitQuestion): WaitReason | null {
  const { job, system, nodes, rejection } = question;
  const { name, memoryBytes, cpuMillicores } = job.tasks[task]!;
  const { free } = system;
  const able = nodes.filter((_, node) => job.secondsPerFrame[task * nodes.length + node] !== Infinity);
  const needs = `${cpuMillicores}m CPU and ${Math.ceil(memoryBytes / 2 ** 20)} MiB`;
  if (able.length === 0) {
    const isForRoom = nodes.some((node) => rejection(name, node.name)?.plugin === "NodeResourcesFit");
    return {
      reason: isForRoom ? "NoRoom" : "NoNode",
      message: `task ${name} (${needs}) runs on none of ${nodes.length} nodes: ${rejections(name, question)}`,
    };
  }
  const hasRoom = able.some((node) => {
    const at = nodes.indexOf(node);
    return free.memoryBytes[at]! >= memoryBytes && free.cpuMillicores[at]! >= cpuMillicores;
  });
  return hasRoom
    ? null
    : {
        reason: "NoRoom",
        message: `task ${name} needs ${needs}, which none of its ${able.length} nodes has left beside other stream jobs`,
      };
}

const MAX_REASONS = 3;

function rejections(task: string, { definition, nodes, rejection }: WaitQuestion): string {
  const isUnmeasured = definition.tasks.get(task)!.profiling?.isAnywhere === true;
  const noProfile = isUnmeasured ? "its time isn't measured there yet" : "no entry of its profile matches";
  const counts = new Map<string, number>();
  for (const { name } of nodes) {
    const message = rejection(task, name)?.message ?? noProfile;
    counts.set(message, (counts.get(message) ?? 0) + 1);
  }
  const [...reasons] = [...counts].sort((a, b) => b[1] - a[1]).slice(0, MAX_REASONS);
  return reasons.map(([message, count]) => `${count} ${message}`).join(", ");
}
