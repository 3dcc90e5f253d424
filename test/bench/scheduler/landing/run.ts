// Measures one run of kube-scheduler over a backlog: binding rate and CPU.
import { setTimeout as sleep } from "node:timers/promises";
import type { Component, ControlPlane } from "../../../harness/control-plane/index.ts";
import { sumOf } from "../../../harness/extender.ts";
import { NAMESPACE } from "./testbed.ts";

const COMPONENTS = ["scheduler", "api-server", "etcd", "kwok"] as const satisfies readonly Component[];
export type Spender = (typeof COMPONENTS)[number] | "bench";

export interface Run {
  /** Pods per second from the first binding after the warm-up to the last. */
  readonly rate: number;
  /** CPU by process, ms per pod; `bench` is this process, which includes the planner. */
  readonly cpuMs: Readonly<Record<Spender, number>>;
}

interface Look {
  readonly atMs: number;
  readonly bound: number;
  readonly cpuSeconds: Readonly<Record<Spender, number>>;
}

/** A poll costs kube-scheduler about 10 ms of CPU, so a slow run has more per pod. */
const POLL_MS = 500;
const DEADLINE_MS = 300_000;

/** From more than `warmUp` bound pods until `pods`. kube-scheduler's count MUST begin at 0. */
export async function measured(
  cluster: ControlPlane,
  warmUp: number,
  pods: number,
  pollMs = POLL_MS,
): Promise<Run> {
  let first: Look | null = null;
  const seen = (look: Look): void => {
    if (look.bound > warmUp) first ??= look;
  };
  const now = await until(cluster, pods, seen, pollMs);
  return between(first ?? now, now);
}

export function between(from: Look, now: Look): Run {
  const done = now.bound - from.bound;
  const spent = (of: Spender): number => ((now.cpuSeconds[of] - from.cpuSeconds[of]) * 1_000) / done;
  return {
    rate: (done * 1_000) / (now.atMs - from.atMs),
    cpuMs: {
      scheduler: spent("scheduler"),
      "api-server": spent("api-server"),
      etcd: spent("etcd"),
      kwok: spent("kwok"),
      bench: spent("bench"),
    },
  };
}

/** Resolves when kube-scheduler has bound this number of pods since its start. */
export async function until(
  cluster: ControlPlane,
  pods: number,
  seen: (look: Look) => void = () => undefined,
  pollMs = POLL_MS,
): Promise<Look> {
  const deadline = performance.now() + DEADLINE_MS;
  while (performance.now() < deadline) {
    const look = await lookAt(cluster);
    seen(look);
    if (look.bound >= pods) return look;
    await sleep(pollMs);
  }
  throw new Error(`kube-scheduler did not bind ${pods} pods within ${DEADLINE_MS} ms`);
}

export async function lookAt(cluster: ControlPlane): Promise<Look> {
  const metrics = await cluster.metrics("scheduler");
  const cpuOf = (name: Component): number => cluster.usage(name).cpuSeconds;
  const { user, system } = process.cpuUsage();
  return {
    atMs: performance.now(),
    bound: sumOf(metrics, "scheduler_schedule_attempts_total", 'result="scheduled"'),
    cpuSeconds: {
      scheduler: cpuOf("scheduler"),
      "api-server": cpuOf("api-server"),
      etcd: cpuOf("etcd"),
      kwok: cpuOf("kwok"),
      bench: (user + system) / 1e6,
    },
  };
}

export async function clear(cluster: ControlPlane): Promise<void> {
  await cluster.request("DELETE", `/api/v1/namespaces/${NAMESPACE}/pods?gracePeriodSeconds=0`);
  await cluster.waitFor("pods", (all) => all.length === 0, { namespace: NAMESPACE, timeoutMs: DEADLINE_MS });
}
