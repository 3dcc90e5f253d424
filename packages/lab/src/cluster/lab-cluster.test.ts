import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { KINDS, type ClusterStore } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { seededRandom, systemClock } from "@isochrone/runtime";
import type { Clock } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { LabCluster } from "./lab-cluster.ts";
import type { EndToEnd } from "./load/protocol.ts";
import type { SocketAddress } from "./ports.ts";
import type { LabClusterOptions } from "./lab-cluster.ts";
import type { LabPod } from "./lab-pod.ts";
import { DirectNetwork } from "./testing/direct-network.ts";
import { sites, threeServices } from "./testing/builders.ts";

const WITHIN = { timeout: 120_000 };
const PODS = {
  terminationGraceMs: 400,
  restartBackoffMs: 50,
  usageIntervalMs: 100,
  callTimeoutMs: 20_000,
  // At lower priority they might starve.
  niceness: null,
};

interface World {
  readonly cluster: LabCluster;
  readonly store: ClusterStore;
  readonly network: DirectNetwork;
}

async function startCluster(options: Partial<LabClusterOptions> = {}): Promise<World> {
  const store = createMemoryStore({ clock: systemClock });
  const nodes = sites(3);
  const network = new DirectNetwork(nodes.map(({ name }) => name));
  const cluster = await LabCluster.start({
    store,
    network,
    sites: nodes,
    manifest: threeServices(),
    clock: systemClock,
    random: seededRandom(7),
    logger: new MemoryLogger(),
    requestsPerSecond: 20,
    placement: "spread",
    pods: PODS,
    ...options,
  });
  onTestFinished(() => cluster.stop());
  await cluster.waitReady(WITHIN.timeout);
  return { cluster, store, network };
}

class SlowNetwork extends DirectNetwork {
  readonly #opened = Promise.withResolvers<void>();

  open(): void {
    this.#opened.resolve();
  }

  override async resolve(...args: Parameters<DirectNetwork["resolve"]>): Promise<SocketAddress> {
    await this.#opened.promise;
    return super.resolve(...args);
  }
}

const podOf = (cluster: LabCluster, workload: string): LabPod =>
  cluster.pods().find((pod) => pod.workload === workload && !pod.deleting)!;
const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

async function metric(
  pod: LabPod,
  family: string,
  wanted: Readonly<Record<string, string>>,
): Promise<number> {
  const page = await (await fetch(pod.metricsUrl!)).text();
  const labels = Object.entries(wanted).map(([name, value]) => `${name}="${value}"`);
  const lines = page
    .split("\n")
    .filter((line) => line.startsWith(`${family}{`) && labels.every((label) => line.includes(label)));
  return lines.reduce((sum, line) => sum + Number(line.split(" ").pop()), 0);
}

async function received(cluster: LabCluster, source: string, target: string): Promise<number> {
  return (
    (await cluster.receiverCounts()).find((count) => count.source === source && count.target === target)
      ?.count ?? 0
  );
}

/** Ends the load. Resolves with the number of requests once all were passed on. */
async function stopLoad(cluster: LabCluster): Promise<number> {
  // A killed one would be restarted.
  process.kill(cluster.processes().get("load")!, "SIGSTOP");
  return vi.waitFor(
    async () => {
      const entered = await received(cluster, "unknown", "a");
      for (const [source, target] of [
        ["a", "b"],
        ["a", "c"],
        ["b", "c"],
      ] as const)
        expect(await received(cluster, source, target)).toBe(entered);
      await systemClock.sleep(150);
      expect(await received(cluster, "unknown", "a")).toBe(entered);
      return entered;
    },
    { ...WITHIN, interval: 150 },
  );
}

const experienced = (cluster: LabCluster): Promise<EndToEnd> =>
  vi.waitFor(() => cluster.endToEnd({ lastMs: 30_000 }), WITHIN);

/** The system clock, except that sleeps of one length last until `release`. */
function holding(heldMs: number): { readonly clock: Clock; release(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  const sleep = (ms: number, signal?: AbortSignal): Promise<void> => {
    if (ms !== heldMs) return systemClock.sleep(ms, signal);
    const aborted = new Promise<never>((_, reject) => {
      signal?.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
    });
    return Promise.race([promise, aborted]);
  };
  const clock: Clock = { now: () => systemClock.now(), monotonic: () => systemClock.monotonic(), sleep };
  return { clock, release: resolve };
}

describe("the embedded cluster", { timeout: 400_000 }, () => {
  it("runs the workflow: every edge carries the requests that the entry received", async () => {
    const { cluster } = await startCluster();
    await vi.waitFor(async () => expect(await received(cluster, "unknown", "a")).toBeGreaterThan(20), WITHIN);
    expect(await stopLoad(cluster)).toBeGreaterThan(20);
  });

  it("has both sidecars count each request, and their bytes are those of the manifest", async () => {
    const { cluster } = await startCluster();
    await vi.waitFor(async () => expect(await received(cluster, "b", "c")).toBeGreaterThan(10), WITHIN);
    const count = await stopLoad(cluster);
    const edge = { source_workload: "b", destination_workload: "c", response_code: "200" };
    for (const [reporter, workload] of [
      ["source", "b"],
      ["destination", "c"],
    ] as const) {
      const pod = podOf(cluster, workload);
      const counted = (family: string): Promise<number> => metric(pod, family, { ...edge, reporter });
      // A response is counted shortly after it is sent.
      await vi.waitFor(async () => expect(await counted("istio_requests_total")).toBe(count), WITHIN);
      expect(await counted("istio_request_bytes_sum")).toBe(count * 200);
      expect(await counted("istio_response_bytes_sum")).toBe(count * 3000);
      expect(await counted("istio_request_duration_milliseconds_count")).toBe(count);
    }
  });

  it("serves the sidecar's page in the text format with Istio's 25 labels", async () => {
    const { cluster } = await startCluster();
    await vi.waitFor(
      async () =>
        expect(
          await metric(podOf(cluster, "b"), "istio_requests_total", { reporter: "destination" }),
        ).toBeGreaterThan(0),
      WITHIN,
    );
    const response = await fetch(podOf(cluster, "b").metricsUrl!);
    expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    const line = (await response.text())
      .split("\n")
      .find((row) => row.startsWith('istio_requests_total{reporter="destination"'))!;
    expect(line.match(/[a-z_]+="/g)).toHaveLength(25);
    expect(line).toContain('destination_service="b.default.svc.cluster.local"');
  });

  it("measures what users experience", async () => {
    const { cluster } = await startCluster();
    const report = await vi.waitFor(async () => {
      const seen = await cluster.endToEnd({ lastMs: 30_000 });
      expect(seen.count).toBeGreaterThan(20);
      return seen;
    }, WITHIN);
    expect(report.errors).toBe(0);
    expect(report.p50Ms).toBeGreaterThan(0);
    expect(report.p95Ms).toBeGreaterThanOrEqual(report.p50Ms!);
    // Planned requests plus one at the start: 20 take at least a second.
    expect(report.requestsPerSecond).toBeLessThanOrEqual(21);
  });

  it("begins the load only when every sidecar knows the way, however long that takes", async () => {
    const network = new SlowNetwork(["n1", "n2", "n3"]);
    const { cluster } = await startCluster({ network });
    // A client that started without a route would have failed by now.
    await systemClock.sleep(1_500);
    expect(await experienced(cluster)).toMatchObject({ count: 0, errors: 0 });
    network.open();
    await vi.waitFor(async () => expect((await experienced(cluster)).count).toBeGreaterThan(5), WITHIN);
    expect((await experienced(cluster)).errors).toBe(0);
  });

  it("starts a crashed pod again on its old ports, counts the restart, and goes on counting requests", async () => {
    const { cluster } = await startCluster();
    await vi.waitFor(async () => expect(await received(cluster, "b", "c")).toBeGreaterThan(10), WITHIN);
    const before = podOf(cluster, "c");
    const pid = cluster.processes().get(before.name)!;
    process.kill(pid, "SIGKILL");
    await vi.waitFor(
      () => expect(podOf(cluster, "c")).toMatchObject({ name: before.name, restarts: 1, ready: true }),
      WITHIN,
    );
    const counted = await received(cluster, "b", "c");
    expect(counted).toBeGreaterThan(5);
    await vi.waitFor(
      async () => expect(await received(cluster, "b", "c")).toBeGreaterThan(counted + 5),
      WITHIN,
    );
    expect(podOf(cluster, "c").metricsUrl).toBe(before.metricsUrl);
  });

  it("takes a deleted pod out of service at once, lets it be scraped for its grace period, then ends it", async () => {
    const terminationGraceMs = 437;
    const grace = holding(terminationGraceMs);
    const { cluster, store, network } = await startCluster({
      clock: grace.clock,
      pods: { ...PODS, terminationGraceMs },
    });
    const old = podOf(cluster, "c");
    const pid = cluster.processes().get(old.name)!;
    await store.delete({ ...KINDS.pod, namespace: "default", name: old.name });
    await vi.waitFor(
      () => expect(cluster.pods().find(({ name }) => name === old.name)).toMatchObject({ deleting: true }),
      WITHIN,
    );
    expect((await fetch(old.metricsUrl!)).status).toBe(200);
    grace.release();
    await vi.waitFor(() => expect(cluster.pods().some(({ name }) => name === old.name)).toBe(false), WITHIN);
    expect(isAlive(pid)).toBe(false);
    await cluster.waitReady(WITHIN.timeout);
    expect(podOf(cluster, "c").name).not.toBe(old.name);
    expect(network.exposed.size).toBe(3);
  });

  it("keeps the counts of pods that have ended", async () => {
    const { cluster, store } = await startCluster();
    await vi.waitFor(async () => expect(await received(cluster, "b", "c")).toBeGreaterThan(10), WITHIN);
    const before = await received(cluster, "b", "c");
    const old = podOf(cluster, "c").name;
    await store.delete({ ...KINDS.pod, namespace: "default", name: old });
    await vi.waitFor(() => expect(cluster.pods().some(({ name }) => name === old)).toBe(false), WITHIN);
    expect(await received(cluster, "b", "c")).toBeGreaterThanOrEqual(before);
  });

  it("answers 503 where a service has no pod, and the callers fail", async () => {
    const { cluster, store } = await startCluster();
    await store.patch({ ...KINDS.deployment, namespace: "default", name: "c" }, { spec: { replicas: 0 } });
    await vi.waitFor(async () => {
      expect(
        await metric(podOf(cluster, "b"), "istio_requests_total", {
          reporter: "source",
          response_code: "503",
          response_flags: "UH",
        }),
      ).toBeGreaterThan(0);
      // The caller's and load generator's counts follow the callee's shortly.
      expect(
        await metric(podOf(cluster, "a"), "istio_requests_total", {
          reporter: "destination",
          response_code: "502",
        }),
      ).toBeGreaterThan(0);
      expect((await cluster.endToEnd({ lastMs: 10_000 })).errors).toBeGreaterThan(0);
    }, WITHIN);
  });

  it("answers 504 when a callee is too slow", async () => {
    const { cluster } = await startCluster({ pods: { ...PODS, callTimeoutMs: 500 } });
    await vi.waitFor(async () => expect(await received(cluster, "b", "c")).toBeGreaterThan(0), WITHIN);
    process.kill(cluster.processes().get(podOf(cluster, "c").name)!, "SIGSTOP");
    await vi.waitFor(async () => {
      expect(
        await metric(podOf(cluster, "b"), "istio_requests_total", {
          reporter: "source",
          destination_workload: "c",
          response_code: "504",
          response_flags: "UT",
        }),
      ).toBeGreaterThan(0);
    }, WITHIN);
  });

  it("scales a workload and shares its load", async () => {
    const { cluster, store } = await startCluster();
    await store.patch({ ...KINDS.deployment, namespace: "default", name: "c" }, { spec: { replicas: 2 } });
    const twins = await vi.waitFor(() => {
      const ready = cluster.pods().filter(({ workload, ready }) => workload === "c" && ready);
      expect(ready).toHaveLength(2);
      return ready;
    }, WITHIN);
    for (const twin of twins)
      await vi.waitFor(
        async () =>
          expect(await metric(twin, "istio_requests_total", { reporter: "destination" })).toBeGreaterThan(3),
        WITHIN,
      );
  });

  it("reports the pods' usage in cAdvisor's format, the root row being their sum", async () => {
    const { cluster } = await startCluster();
    const pod = podOf(cluster, "a");
    const rows = await vi.waitFor(async () => {
      const page = await (await fetch(cluster.usagePage(pod.node!)!)).text();
      const cpu = page.split("\n").filter((line) => line.startsWith("container_cpu_usage_seconds_total{"));
      expect(Number(cpu[0]!.split(" ")[1])).toBeGreaterThan(0);
      return cpu;
    }, WITHIN);
    const value = (match: RegExp): number =>
      rows.filter((row) => match.test(row)).reduce((sum, row) => sum + Number(row.split(" ")[1]), 0);
    expect(value(/container="app".*pod="a-/)).toBeGreaterThan(0);
    expect(value(/id="\/"/)).toBeCloseTo(value(/container="",.*pod="[a-c]/), 9);
    expect(rows.every((row) => /\} \S+ \d{13}$/.test(row))).toBe(true);
  });

  it("places every pod anew, callers first, and reports the moves", async () => {
    const { cluster } = await startCluster({ placement: "score" });
    const before = new Map(cluster.pods().map(({ workload, name, node }) => [workload, { name, node }]));
    const moves = await cluster.rePlace();
    expect(moves.map(({ workload }) => workload)).toEqual(["a", "b", "c"]);
    for (const { workload, from, to } of moves) {
      expect(from).toBe(before.get(workload)!.node);
      expect(podOf(cluster, workload)).toMatchObject({ node: to, ready: true });
      expect(podOf(cluster, workload).name).not.toBe(before.get(workload)!.name);
    }
  });

  it("names what is not ready when the time is over", async () => {
    const store = createMemoryStore({ clock: systemClock });
    const tiny = sites(1, 250);
    const cluster = await LabCluster.start({
      store,
      network: new DirectNetwork(["n1"]),
      sites: tiny,
      manifest: threeServices(),
      clock: systemClock,
      random: seededRandom(1),
      logger: new MemoryLogger(),
    });
    onTestFinished(() => cluster.stop());
    await vi.waitFor(() => expect(cluster.pods().filter(({ ready }) => ready)).toHaveLength(2), WITHIN);
    await expect(cluster.waitReady(100)).rejects.toMatchObject({
      code: "not_ready",
      missing: [expect.any(String)],
    });
  });

  it("refuses sites with the same name", async () => {
    const twice = [...sites(1), ...sites(1)];
    const options = {
      store: createMemoryStore({ clock: systemClock }),
      network: new DirectNetwork(["n1"]),
      sites: twice,
      manifest: threeServices(),
      clock: systemClock,
      random: seededRandom(1),
      logger: new MemoryLogger(),
    };
    await expect(LabCluster.start(options)).rejects.toThrow('site names must be unique, got "n1" twice');
  });

  it("leaves no process behind when it stops", async () => {
    const { cluster, network } = await startCluster();
    const pids = [...cluster.processes().values()];
    expect(pids).toHaveLength(4);
    await cluster.stop();
    expect(pids.filter(isAlive)).toEqual([]);
    expect(network.exposed.size).toBe(0);
  });

  it("leaves no process behind when its own process is killed", async () => {
    const parent = spawn(process.execPath, [fileURLToPath(new URL("testing/parent.ts", import.meta.url))], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    onTestFinished(() => void parent.kill("SIGKILL"));
    const [line] = (await once(parent.stdout, "data")) as [Buffer];
    const pids = JSON.parse(line.toString()) as number[];
    expect(pids.filter(isAlive)).toHaveLength(4);
    parent.kill("SIGKILL");
    await vi.waitFor(() => expect(pids.filter(isAlive)).toEqual([]), WITHIN);
  });
});
