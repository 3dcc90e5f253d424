import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { KINDS, type KubernetesObject } from "@isochrone/kubernetes";
import { Distribution, encodeMetrics, PROBE_METRICS, RESOURCE_ATTRIBUTES } from "@isochrone/telemetry";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freePort } from "../harness/common/free-port.ts";
import { controlPlaneSupport, startControlPlane, type ControlPlane } from "../harness/control-plane/index.ts";
import { TUNED, tunedEnvironment } from "../harness/components/tuned.ts";

const support = controlPlaneSupport([]);
if (!support.supported) console.warn(`the aggregator on a real API server skipped: ${support.reason}`);

const MAIN = join(import.meta.dirname, "../../aggregator/src/main.ts");

describe.runIf(support.supported)("the aggregator's process on a real API server", () => {
  let cluster: ControlPlane;
  let child: ChildProcess;
  let url: string;
  let output = "";

  beforeAll(async () => {
    cluster = await startControlPlane();
    await cluster.addNodes(8);
    await cluster.createNamespace("isochrone");
    const port = await freePort("127.0.0.1", new Set());
    url = `http://127.0.0.1:${port}`;
    child = spawn(process.execPath, [...TUNED, MAIN], {
      env: {
        PATH: process.env["PATH"],
        ISOCHRONE_KUBERNETES_KUBECONFIG: cluster.kubeconfig,
        ISOCHRONE_AGGREGATOR_HOST: "127.0.0.1",
        ISOCHRONE_AGGREGATOR_PORT: String(port),
        ISOCHRONE_AGGREGATOR_REPLICA_NAME: "aggregator-0",
        ISOCHRONE_AGGREGATOR_WINDOW_MS: "30s",
        ISOCHRONE_AGGREGATOR_BUILD_INTERVAL_MS: "1s",
        ...tunedEnvironment({
          aggregator: { paneMs: 2_000 },
          annotations: { warmUpMs: 0, minIntervalMs: 1_000 },
        }),
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    for (const stream of [child.stdout!, child.stderr!])
      stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
  }, 900_000);
  afterAll(async () => {
    child?.kill("SIGKILL");
    await cluster?.close();
  });

  /** Posts ten round trips of 25 ms to node-1, like node-0's probe. */
  async function postProbe(): Promise<void> {
    const rtts = new Distribution();
    for (let reply = 0; reply < 10; reply++) rtts.record(0.025);
    const timeMs = Date.now();
    const body = encodeMetrics({
      resource: { [RESOURCE_ATTRIBUTES.node]: "node-0" },
      scope: { name: "test" },
      metrics: [
        {
          kind: "exponentialHistogram",
          name: PROBE_METRICS.rtt,
          unit: "s",
          temporality: "delta",
          points: [
            {
              attributes: { destination_node: "node-1", method: "udp_rr", ip_family: "4" },
              startMs: timeMs - 1000,
              timeMs,
              data: rtts.toData(),
            },
          ],
        },
      ],
    });
    const answer = await fetch(`${url}/v1/metrics`, {
      method: "POST",
      headers: { "content-type": "application/x-protobuf" },
      body: Buffer.from(body),
    });
    expect(answer.status).toBe(200);
  }

  test("leads by a Lease, draws the nodes, and annotates them with what probes measured", async () => {
    const status = async (path: string): Promise<number> =>
      (await fetch(url + path).catch(() => null))?.status ?? 0;
    await expect.poll(() => status("/readyz"), { timeout: 30_000 }).toBe(200);
    const lease = { ...KINDS.lease, namespace: "isochrone", name: "isochrone-aggregator" };
    await expect
      .poll(async () => (await cluster.get(lease))?.spec?.["holderIdentity"], { timeout: 30_000 })
      .toMatch(/^aggregator-0_/);
    await postProbe();
    const cost = ({ metadata }: KubernetesObject): string | undefined =>
      metadata.annotations?.["isochrone.dev/network-cost-node-1"];
    const nodes = await cluster.waitFor("nodes", (all) => all.some(cost) && [...all], { timeoutMs: 30_000 });
    // Within the histogram's 1.1 %.
    expect(Number(nodes.map(cost).find((text) => text !== undefined))).toBeCloseTo(25, 0);
    expect(nodes.filter(cost).map(({ metadata }) => metadata.name)).toEqual(["node-0"]);
  });

  test("ends cleanly and gives its Lease back", async () => {
    child.kill("SIGTERM");
    const [code] = (await once(child, "exit")) as [number | null];
    expect([code, code === 0 ? "" : output]).toEqual([0, ""]);
    const lease = { ...KINDS.lease, namespace: "isochrone", name: "isochrone-aggregator" };
    expect((await cluster.get(lease))?.spec?.["holderIdentity"] ?? "").toBe("");
  }, 30_000);
});
