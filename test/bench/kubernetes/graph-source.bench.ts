// CPU of polls with and without a new version, at 2,000 workflows and 100,000 pods. The share is of one core
// at a poll per second and a version every 10 s.
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { systemClock } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import { GraphApiSource } from "@isochrone/scheduler-plugin/testing";
import { GraphClient } from "@isochrone/topology/client";
import type { BenchResult } from "../types.ts";

const IDLE_LOOKS = 200;
const VERSIONS = 10;
const CHANGED = 100;
const LOOKS_PER_VERSION = 10;
const LOOK_MS = 1_000;

export async function run(): Promise<BenchResult[]> {
  const server = fork(fileURLToPath(new URL("graph-source-server.ts", import.meta.url)), {
    execArgv: process.execArgv,
  });
  try {
    const [baseUrl] = (await once(server, "message")) as [string];
    const source = new GraphApiSource({
      client: new GraphClient({ baseUrl, timeoutMs: 60_000 }),
      refreshMs: LOOK_MS,
      clock: systemClock,
      logger: new MemoryLogger(),
      onFailure: () => undefined,
    });
    const firstMs = await cpuMsOf(() => source.refresh());
    let idleMs = 0;
    for (let look = 0; look < IDLE_LOOKS; look++) idleMs += await cpuMsOf(() => source.refresh());
    let versionMs = 0;
    for (let version = 0; version < VERSIONS; version++) {
      server.send(CHANGED);
      await once(server, "message");
      versionMs += await cpuMsOf(() => source.refresh());
    }
    const [idle, changed] = [idleMs / IDLE_LOOKS, versionMs / VERSIONS];
    const share = (idle * (LOOKS_PER_VERSION - 1) + changed) / (LOOKS_PER_VERSION * LOOK_MS);
    return [
      { name: "first look, 2,000 workflows, 100,000 pods", value: firstMs, unit: "ms of CPU" },
      { name: "a look without news", value: idle, unit: "ms of CPU" },
      { name: `a look at a version with ${CHANGED} changed workflows`, value: changed, unit: "ms of CPU" },
      { name: "of one core", value: 100 * share, unit: "%" },
    ];
  } finally {
    server.kill();
  }
}

async function cpuMsOf(work: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
