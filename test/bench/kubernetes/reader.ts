// Runs in its own process, so that its memory is that of reading alone.
import { KINDS, trimmedNode, trimmedPod } from "@isochrone/kubernetes";
import { createApiServerStore } from "@isochrone/kubernetes/api-server";
import type { ClusterStore } from "@isochrone/kubernetes";
import { createLogger, systemClock, systemRandom } from "@isochrone/runtime";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { WATCHED_CHANGES, type Reading, type ReadingTask } from "./load.ts";

/** A tenth for the library, which is slower and keeps everything. */
const LIBRARY_PODS = 10_000;
const LIBRARY_PAGE = 500;

process.once("message", (task: ReadingTask) => void run(task));

async function run(task: ReadingTask): Promise<void> {
  const startedMs = performance.now();
  const read = task.what === "library" ? await readByLibrary(task) : await readByStore(task);
  const seconds = (performance.now() - startedMs) / 1_000;
  const { user, system } = process.cpuUsage();
  const { maxRSS } = process.resourceUsage();
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  const reading: Reading = {
    objects: read.length,
    seconds,
    cpuSeconds: (user + system) / 1e6,
    peakResidentBytes: maxRSS * 1_024,
    heapBytes: process.memoryUsage().heapUsed,
  };
  process.send!(reading, () => process.exit());
}

async function readByStore({ what, url, ca }: ReadingTask): Promise<unknown[]> {
  const store = createApiServerStore({
    credentials: {
      login: () => Promise.resolve({ server: new URL(url), headers: {}, tls: { ca } }),
      forget: () => undefined,
    },
    clock: systemClock,
    random: systemRandom,
    logger: createLogger({ service: "bench", level: "error" }),
  });
  if (what === "watch") return await watch(store);
  if (what === "pods") return (await store.list(KINDS.pod, { trim: trimmedPod })).items;
  if (what === "metadata") return (await store.list(KINDS.pod, { metadataOnly: true })).items;
  const [nodes, pods] = await Promise.all([
    store.list(KINDS.node, { trim: trimmedNode }),
    store.list(KINDS.pod, { trim: trimmedPod }),
  ]);
  return [...nodes.items, ...pods.items];
}

async function watch(store: ClusterStore): Promise<unknown[]> {
  const end = new AbortController();
  const seen: string[] = [];
  const changes = store.watch(KINDS.pod, { resourceVersion: "1", signal: end.signal, trim: trimmedPod });
  for await (const change of changes) {
    if (change.type === "modified") seen.push(change.object.metadata.name);
    if (seen.length === WATCHED_CHANGES) break;
  }
  end.abort();
  return seen;
}

/** Reads like the client library's own typed lists. */
async function readByLibrary({ url, ca }: ReadingTask): Promise<unknown[]> {
  const { KubeConfig, CoreV1Api } = await import("@kubernetes/client-node");
  const config = new KubeConfig();
  const caData = Buffer.from(ca).toString("base64");
  config.loadFromClusterAndUser(
    { name: "bench", server: url, caData, skipTLSVerify: false },
    { name: "bench" },
  );
  const api = config.makeApiClient(CoreV1Api);
  const items: unknown[] = [];
  for (let next: string | undefined; items.length < LIBRARY_PODS;) {
    const list = await api.listPodForAllNamespaces({
      limit: LIBRARY_PAGE,
      ...(next === undefined ? {} : { ["_continue"]: next }),
    });
    items.push(...list.items);
    next = list.metadata?.["_continue"];
  }
  return items;
}
