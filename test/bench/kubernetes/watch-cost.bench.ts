// API server CPU per change: no other watch, a JSON watch, a binary watch. Also of a watch that starts
// several thousand changes ago, whose events are encoded for it alone.
import { once } from "node:events";
import { get } from "node:https";
import type { IncomingMessage } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { median } from "@isochrone/primitives";
import { largePod } from "../../contract/cluster-store-api-server/pods.ts";
import { startControlPlane, type ControlPlane } from "../../harness/control-plane/index.ts";
import type { BenchResult } from "../types.ts";

const PODS = 200;
const CHANGES = 500;
const ROUNDS = 8;
const REPLAYS = 10;
const AT_ONCE = 8;
const POLL_MS = 50;
const DEADLINE_MS = 60_000;
/** Minimum size of a pod in either form. */
const POD_BYTES = 5_000;
const JSON_FORM = "application/json";
const BINARY_FORM = "application/vnd.kubernetes.protobuf";
const TURNS = [null, JSON_FORM, BINARY_FORM];
const WATCHER = { namespace: "bench", name: "watcher" };

interface Watched {
  readonly cluster: ControlPlane;
  readonly token: string;
}

export async function run(): Promise<BenchResult[]> {
  const cluster = await startControlPlane({ components: ["scheduler"] });
  try {
    const rules = [{ apiGroups: [""], resources: ["pods"], verbs: ["watch"] }];
    await cluster.grant({ serviceAccount: WATCHER }, rules);
    const { token } = await cluster.serviceAccountToken(WATCHER);
    for (let i = 0; i < PODS; i += 1) await cluster.create(largePod(`web-${i}`, "default"));
    const watched = { cluster, token };
    const began = await newestVersion(cluster);
    await change(cluster, 4 * CHANGES);
    const [jsonMs, binaryMs] = await replayed(watched, began, 4 * CHANGES);
    const [none, addsJson, addsBinary] = await live(watched);
    return [
      { name: "API server, CPU per changed pod, kube-scheduler alone watches", value: none, unit: "ms" },
      { name: "API server, CPU that a watch as JSON adds per change", value: addsJson, unit: "ms" },
      {
        name: "API server, CPU that a watch in binary form adds per change",
        value: addsBinary,
        unit: "ms",
      },
      {
        name: "API server, CPU per past change that only one watch gets, binary form",
        value: binaryMs,
        unit: "ms",
        peer: "as JSON",
        ratio: binaryMs / jsonMs,
      },
    ];
  } finally {
    await cluster.close();
  }
}

/** API server CPU per past change, ms: as JSON, and in binary form. */
async function replayed(watched: Watched, from: string, changes: number): Promise<readonly [number, number]> {
  const spentMs = new Map<string, number[]>([
    [JSON_FORM, []],
    [BINARY_FORM, []],
  ]);
  for (let round = 0; round < REPLAYS; round += 1) {
    for (const [form, spent] of spentMs) {
      const before = cpuMs(watched.cluster);
      const { ended } = await watch(watched, form, from);
      await ended(changes);
      spent.push((cpuMs(watched.cluster) - before) / changes);
    }
  }
  return [middle(spentMs.get(JSON_FORM)!), middle(spentMs.get(BINARY_FORM)!)];
}

/** API server CPU per change, ms: without our watch, and the addition for a JSON and a binary one. */
async function live(watched: Watched): Promise<readonly [number, number, number]> {
  const alone: number[] = [];
  const added: [number[], number[]] = [[], []];
  for (let round = 0; round < ROUNDS; round += 1) {
    const spent = [0, 0, 0];
    for (let turn = 0; turn < TURNS.length; turn += 1) {
      const which = (round + turn) % TURNS.length;
      spent[which] = await spentLive(watched, TURNS[which]!);
    }
    const [none = 0, json = 0, binary = 0] = spent;
    alone.push(none);
    added[0].push(json - none);
    added[1].push(binary - none);
  }
  return [middle(alone), middle(added[0]), middle(added[1])];
}

async function spentLive(watched: Watched, form: string | null): Promise<number> {
  const { cluster } = watched;
  const ours = form === null ? null : await watch(watched, form, await newestVersion(cluster));
  const before = cpuMs(cluster);
  await change(cluster, CHANGES);
  await (ours?.ended(CHANGES) ?? sleep(POLL_MS));
  return (cpuMs(cluster) - before) / CHANGES;
}

async function change(cluster: ControlPlane, count: number): Promise<void> {
  const changes = Array.from({ length: count }, (_, i) => i).values();
  const worker = async (): Promise<void> => {
    for (const i of changes) {
      const path = `/api/v1/namespaces/default/pods/web-${i % PODS}/status`;
      await cluster.request("PATCH", path, { status: { message: `at ${performance.now()}` } });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

function cpuMs(cluster: ControlPlane): number {
  return 1_000 * cluster.usage("api-server").cpuSeconds;
}

async function newestVersion(cluster: ControlPlane): Promise<string> {
  const path = "/api/v1/namespaces/default/pods?limit=1";
  return (await cluster.request<{ metadata: { resourceVersion: string } }>("GET", path)).metadata
    .resourceVersion;
}

function middle(values: readonly number[]): number {
  return median(values) ?? 0;
}

interface OpenWatch {
  readonly ended: (pods: number) => Promise<void>;
}

async function watch(
  { cluster, token }: Watched,
  accept: string,
  resourceVersion: string,
): Promise<OpenWatch> {
  const request = get(`${cluster.url}/api/v1/pods?watch=1&resourceVersion=${resourceVersion}`, {
    ca: cluster.ca,
    headers: { accept, authorization: `Bearer ${token}` },
  });
  const [response] = (await once(request, "response")) as [IncomingMessage];
  const { "content-type": form = "" } = response.headers;
  if (!form.startsWith(accept)) throw new Error(`the server must answer ${accept}, got ${form}`);
  let bytes = 0;
  response.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
  });
  response.on("error", () => undefined);
  const hasAll = (pods: number): boolean => bytes >= pods * POD_BYTES;
  const ended = async (pods: number): Promise<void> => {
    const deadline = performance.now() + DEADLINE_MS;
    while (!hasAll(pods)) {
      if (performance.now() > deadline) throw new Error(`${pods} pods must come, got ${bytes} bytes`);
      await sleep(POLL_MS);
    }
    request.destroy();
  };
  return { ended };
}
