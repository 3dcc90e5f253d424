// 5,000 nodes and 100,000 pods of 8 KB, listed and watched over HTTPS.
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { BenchResult } from "../types.ts";
import { NODES, PODS, WATCHED_CHANGES, type Reading, type ReadingTask, type Serving } from "./load.ts";

const MIB = 2 ** 20;
const LIST_TARGET_SECONDS = 30;
const LIST_TARGET_MIB = 512;
const CHANGES_TARGET_PER_SECOND = 2_000;

export async function run(): Promise<BenchResult[]> {
  const server = start("generated-api-server.ts", ["flood"]);
  try {
    const [serving] = (await once(server, "message")) as [Serving];
    const read = (what: ReadingTask["what"]): Promise<Reading> => measured({ ...serving, what });
    const readJson = (what: ReadingTask["what"]): Promise<Reading> =>
      measured({ ...serving, url: `${serving.url}/json`, what });
    const pods = await read("pods");
    const podsAsJson = await readJson("pods");
    const cluster = await read("cluster");
    const metadata = await read("metadata");
    const watched = await read("watch");
    const watchedAsJson = await readJson("watch");
    const library = await read("library");
    const perSecond = watched.objects / watched.seconds;
    const size = `${NODES.toLocaleString("en-US")} nodes and ${PODS.toLocaleString("en-US")} pods`;
    const cpuPerPodUs = (cpuSeconds: number, count: number): number => (1e6 * cpuSeconds) / count;
    const [ownUs, libraryUs] = [
      cpuPerPodUs(cluster.cpuSeconds, PODS),
      cpuPerPodUs(library.cpuSeconds, library.objects),
    ];
    return [
      atMost(`list, ${size}, trimmed: time`, cluster.seconds, "s", LIST_TARGET_SECONDS),
      atMost(`list, ${size}, trimmed: peak RSS`, cluster.peakResidentBytes / MIB, "MiB", LIST_TARGET_MIB),
      { name: `list, ${size}, trimmed: heap kept`, value: cluster.heapBytes / MIB, unit: "MiB" },
      {
        name: "list: CPU time per pod",
        value: ownUs,
        unit: "us",
        peer: "client-node's typed list",
        ratio: ownUs / libraryUs,
      },
      againstJson(
        "list, pods alone, binary form: CPU time per pod",
        cpuPerPodUs(pods.cpuSeconds, PODS),
        "us",
        pods.cpuSeconds / podsAsJson.cpuSeconds,
      ),
      againstJson(
        "list, pods alone, binary form: peak RSS",
        pods.peakResidentBytes / MIB,
        "MiB",
        pods.peakResidentBytes / podsAsJson.peakResidentBytes,
      ),
      againstJson(
        "list, pods alone, binary form: heap kept",
        pods.heapBytes / MIB,
        "MiB",
        pods.heapBytes / podsAsJson.heapBytes,
      ),
      againstJson(
        "watch, binary form: CPU time per change",
        cpuPerPodUs(watched.cpuSeconds, watched.objects),
        "us",
        watched.cpuSeconds / watchedAsJson.cpuSeconds,
      ),
      {
        name: "list, pods' metadata only (the server sends all here): peak RSS",
        value: metadata.peakResidentBytes / MIB,
        unit: "MiB",
      },
      {
        name: `watch, ${WATCHED_CHANGES.toLocaleString("en-US")} changes of 8 KB`,
        value: perSecond,
        unit: "changes/s",
        target: `>= ${CHANGES_TARGET_PER_SECOND.toLocaleString("en-US")}`,
        met: perSecond >= CHANGES_TARGET_PER_SECOND,
      },
      { name: "watch: peak RSS", value: watched.peakResidentBytes / MIB, unit: "MiB" },
      {
        name: "client-node's typed list, 10,000 pods: peak RSS",
        value: library.peakResidentBytes / MIB,
        unit: "MiB",
      },
    ];
  } finally {
    server.kill();
  }
}

async function measured(task: ReadingTask): Promise<Reading> {
  const reader = start("reader.ts");
  reader.send(task);
  const [reading] = (await once(reader, "message")) as [Reading];
  return reading;
}

function start(file: string, args: readonly string[] = []): ChildProcess {
  return fork(fileURLToPath(new URL(file, import.meta.url)), args, { execArgv: process.execArgv });
}

function againstJson(name: string, value: number, unit: string, ratio: number): BenchResult {
  return { name, value, unit, peer: "as JSON", ratio };
}

function atMost(name: string, value: number, unit: string, target: number): BenchResult {
  return { name, value, unit, target: `<= ${target} ${unit}`, met: value <= target };
}
