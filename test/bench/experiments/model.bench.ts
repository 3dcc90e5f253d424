// The queueing model: how many events a second, and how long a minute of figure 3's heaviest load takes.
import { createModelGround } from "@isochrone/experiments";
import type { Point } from "@isochrone/experiments";
import type { BenchResult } from "../types.ts";

/** The sample workflow: 17 services, 32 calls for a request. */
const CALLS: Readonly<Record<string, string>> = {
  m0: "m1 m2 m3",
  m1: "m4 m5",
  m2: "m5 m6 m7",
  m3: "m7 m8",
  m4: "m9 db1",
  m5: "m9 m10",
  m6: "m10 db2",
  m7: "m11",
  m8: "m11 m12",
  m9: "db1",
  m10: "db2",
  m11: "db3",
  m12: "db4",
  db1: "",
  db2: "",
  db3: "",
  db4: "",
};
const CALLS_A_REQUEST = 32;
/** A call arrives, is worked at, is answered; a request is a call of its own and is sent. */
const EVENTS_A_REQUEST = 3 * (CALLS_A_REQUEST + 1) + 1;
const USERS = 600;
const NODES = 5;
const SECONDS = 60;
const TARGET_PER_SECOND = 2e6;

export async function run(): Promise<BenchResult[]> {
  const running = await createModelGround({ hopMs: 0.2 }).start(
    point(),
    placement(),
    1,
    new AbortController().signal,
  );
  // Compiled code is what an experiment spends its time in.
  await running.run(10);
  const startedMs = performance.now();
  const { responseMs } = await running.run(SECONDS);
  const seconds = (performance.now() - startedMs) / 1000;
  const perSecond = (responseMs.length * EVENTS_A_REQUEST) / seconds;
  return [
    {
      name: "model events",
      value: Math.round(perSecond / 1e4) / 100,
      unit: "million/s",
      target: `>= ${TARGET_PER_SECOND / 1e6}`,
      met: perSecond >= TARGET_PER_SECOND,
    },
    { name: `model, ${USERS} users for ${SECONDS} s`, value: Math.round(seconds * 100) / 100, unit: "s" },
  ];
}

function placement(): Map<string, string> {
  return new Map(Object.keys(CALLS).map((name, index) => [`${name}-0`, `n${index % NODES}`]));
}

function point(): Point {
  const nodes = Array.from({ length: NODES }, (_, index) => ({
    name: `n${index}`,
    zone: "z",
    region: "r",
    cpuMillicores: 2_000,
    memoryBytes: 8 * 2 ** 30,
  }));
  const workloads = Object.entries(CALLS).map(([name, callees]) => ({
    name,
    replicas: 1,
    requests: { cpuMillicores: null, memoryBytes: null },
    memoryBytes: 2 ** 27,
    cpuMs: 0.2,
    cpuSpread: "exponential" as const,
    calls: callees
      .split(" ")
      .filter((callee) => callee !== "")
      .map((callee) => ({ callee, requestBytes: 256, responseBytes: 1_024, probability: 1 })),
    pinnedTo: null,
  }));
  return {
    id: "bench",
    labels: {},
    cluster: { nodes, rttMs: nodes.map((_, i) => nodes.map((_, j) => (i === j ? 0 : 100))) },
    workflow: { name: "sample", workloads, entry: "m0", usersAt: null },
    load: { users: USERS, requestsPerSecondPerUser: 1, warmUpSeconds: 10, durationSeconds: SECONDS },
    changes: [],
  };
}
