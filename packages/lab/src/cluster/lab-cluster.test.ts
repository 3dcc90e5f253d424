import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { KINDS } from "@isochrone/kubernetes";
import type { ClusterStore } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { seededRandom, systemClock } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { LabCluster } from "./lab-cluster.ts";
import type { LabClusterOptions, LabPod } from "./lab-cluster.ts";
import { DirectNetwork } from "./testing/direct-network.ts";
import { sites, threeServices } from "./testing/builders.ts";

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
    pods: { terminationGraceMs: 400, restartBackoffMs: 50, usageIntervalMs: 100, callTimeoutMs: 500 },
    ...options,
  });
  onTestFinished(() => cluster.stop());
  await cluster.waitReady(15_000);
  return { cluster, store, network };
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

/** Sum of a sidecar family over the series whose labels match. */
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

async function stopLoad(cluster: LabCluster): Promise<void> {
  process.kill(cluster.processes().get("load")!, "SIGKILL");
  let previous = -1;
  await vi.waitFor(
    async () => {
      const now = await received(cluster, "b", "c");
      const settled = now === previous;
      previous = now;
      expect(settled).toBe(true);
    },
    { interval: 150, timeout: 5_000 },
  );
}

describe("the embedded cluster", () => {
  it("runs the workflow: every edge carries the requests that the entry received", async () => {
    const { cluster } = await startCluster();
    await vi.waitFor(async () => expect(await received(cluster, "unknown", "a")).toBeGreaterThan(20), {
      timeout: 5_000,
    });
    await stopLoad(cluster);
    const entered = await received(cluster, "unknown", "a");
    expect(await cluster.receiverCounts()).toEqual(
      expect.arrayContaining([
        { source: "a", target: "b", count: entered },
        { source: "a", target: "c", count: entered },
        { source: "b", target: "c", count: entered },
      ]),
    );
  });

  it("has both sidecars count each request, and their bytes are those of the manifest", async () => {
    const { cluster } = await startCluster();
    await vi.waitFor(async () => expect(await received(cluster, "b", "c")).toBeGreaterThan(10), {
      timeout: 5_000,
    });
    await stopLoad(cluster);
    const count = await received(cluster, "b", "c");
    const edge = { source_workload: "b", destination_workload: "c", response_code: "200" };
    for (const [reporter, workload] of [
      ["source", "b"],
      ["destination", "c"],
    ] as const) {
      const pod = podOf(cluster, workload);
      expect(await metric(pod, "istio_requests_total", { ...edge, reporter })).toBe(count);
      expect(await metric(pod, "istio_request_bytes_sum", { ...edge, reporter })).toBe(count * 200);
      expect(await metric(pod, "istio_response_bytes_sum", { ...edge, reporter })).toBe(count * 3000);
      expect(await metric(pod, "istio_request_duration_milliseconds_count", { ...edge, reporter })).toBe(
        count,
      );
    }
  });

  it("serves the sidecar's page in the text format with Istio's 25 labels", async () => {
    const { cluster } = await startCluster();
    await vi.waitFor(
      async () =>
        expect(
          await metric(podOf(cluster, "b"), "istio_requests_total", { reporter: "destination" }),
        ).toBeGreaterThan(0),
      { timeout: 5_000 },
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
    const report = await vi.waitFor(
      async () => {
        const seen = await cluster.endToEnd({ lastMs: 30_000 });
        expect(seen.count).toBeGreaterThan(20);
        return seen;
      },
      { timeout: 5_000 },
    );
    expect(report.errors).toBe(0);
    expect(report.p50Ms).toBeGreaterThan(0);
    expect(report.p95Ms).toBeGreaterThanOrEqual(report.p50Ms!);
    expect(report.requestsPerSecond).toBeGreaterThan(10);
    expect(report.requestsPerSecond).toBeLessThan(30);
  });

  it("starts a crashed pod again on its old ports, counts the restart, and goes on counting requests", async () => {
    const { cluster } = await startCluster();
    await vi.waitFor(async () => expect(await received(cluster, "b", "c")).toBeGreaterThan(10), {
      timeout: 5_000,
    });
    const before = podOf(cluster, "c");
    const pid = cluster.processes().get(before.name)!;
    process.kill(pid, "SIGKILL");
    await vi.waitFor(
      () => expect(podOf(cluster, "c")).toMatchObject({ name: before.name, restarts: 1, ready: true }),
      { timeout: 8_000 },
    );
    const counted = await received(cluster, "b", "c");
    expect(counted).toBeGreaterThan(5);
    await vi.waitFor(async () => expect(await received(cluster, "b", "c")).toBeGreaterThan(counted + 5), {
      timeout: 5_000,
    });
    expect(podOf(cluster, "c").metricsUrl).toBe(before.metricsUrl);
  });

  it("takes a deleted pod out of service at once, lets it be scraped for its grace period, then ends it", async () => {
    const { cluster, store, network } = await startCluster();
    const old = podOf(cluster, "c");
    const pid = cluster.processes().get(old.name)!;
    await store.delete({ ...KINDS.pod, namespace: "default", name: old.name });
    await vi.waitFor(() =>
      expect(cluster.pods().find(({ name }) => name === old.name)).toMatchObject({ deleting: true }),
    );
    expect((await fetch(old.metricsUrl!)).status).toBe(200);
    await vi.waitFor(() => expect(cluster.pods().some(({ name }) => name === old.name)).toBe(false), {
      timeout: 5_000,
    });
    expect(isAlive(pid)).toBe(false);
    await cluster.waitReady(10_000);
    expect(podOf(cluster, "c").name).not.toBe(old.name);
    expect(network.exposed.size).toBe(3);
  });

  it("keeps the counts of pods that have ended", async () => {
    const { cluster, store } = await startCluster();
    await vi.waitFor(async () => expect(await received(cluster, "b", "c")).toBeGreaterThan(10), {
      timeout: 5_000,
    });
    const before = await received(cluster, "b", "c");
    const old = podOf(cluster, "c").name;
    await store.delete({ ...KINDS.pod, namespace: "default", name: old });
    await vi.waitFor(() => expect(cluster.pods().some(({ name }) => name === old)).toBe(false), {
      timeout: 5_000,
    });
    expect(await received(cluster, "b", "c")).toBeGreaterThanOrEqual(before);
  });

  it("answers 503 where a service has no pod, and the callers fail", async () => {
    const { cluster, store } = await startCluster();
    await store.patch({ ...KINDS.deployment, namespace: "default", name: "c" }, { spec: { replicas: 0 } });
    await vi.waitFor(
      async () => {
        expect(
          await metric(podOf(cluster, "b"), "istio_requests_total", {
            reporter: "source",
            response_code: "503",
            response_flags: "UH",
          }),
        ).toBeGreaterThan(0);
        // The caller's answer, and then the load generator's count, come a moment after the callee's.
        expect(
          await metric(podOf(cluster, "a"), "istio_requests_total", {
            reporter: "destination",
            response_code: "502",
          }),
        ).toBeGreaterThan(0);
        expect((await cluster.endToEnd({ lastMs: 10_000 })).errors).toBeGreaterThan(0);
      },
      { timeout: 8_000 },
    );
  });

  it("answers 504 when a callee is too slow", async () => {
    const { cluster } = await startCluster();
    process.kill(cluster.processes().get(podOf(cluster, "c").name)!, "SIGSTOP");
    await vi.waitFor(
      async () => {
        expect(
          await metric(podOf(cluster, "b"), "istio_requests_total", {
            reporter: "source",
            destination_workload: "c",
            response_code: "504",
            response_flags: "UT",
          }),
        ).toBeGreaterThan(0);
      },
      { timeout: 8_000 },
    );
  });

  it("scales a workload and shares its load", async () => {
    const { cluster, store } = await startCluster();
    await store.patch({ ...KINDS.deployment, namespace: "default", name: "c" }, { spec: { replicas: 2 } });
    const twins = await vi.waitFor(
      () => {
        const ready = cluster.pods().filter(({ workload, ready }) => workload === "c" && ready);
        expect(ready).toHaveLength(2);
        return ready;
      },
      { timeout: 8_000 },
    );
    for (const twin of twins)
      await vi.waitFor(
        async () =>
          expect(await metric(twin, "istio_requests_total", { reporter: "destination" })).toBeGreaterThan(3),
        { timeout: 5_000 },
      );
  });

  it("reports the pods' usage in cAdvisor's format, the root row being their sum", async () => {
    const { cluster } = await startCluster();
    const pod = podOf(cluster, "a");
    const rows = await vi.waitFor(
      async () => {
        const page = await (await fetch(cluster.usagePage(pod.node!)!)).text();
        const cpu = page.split("\n").filter((line) => line.startsWith("container_cpu_usage_seconds_total{"));
        expect(Number(cpu[0]!.split(" ")[1])).toBeGreaterThan(0);
        return cpu;
      },
      { timeout: 5_000 },
    );
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
    // The node has room for two of the three.
    await vi.waitFor(() => expect(cluster.pods().filter(({ ready }) => ready)).toHaveLength(2), {
      timeout: 15_000,
    });
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
    await vi.waitFor(() => expect(pids.filter(isAlive)).toEqual([]), { timeout: 5_000 });
  });
});
