// Pods never wait forever: gates open without scheduler-plugins, by hand, and on uninstallation.
import { gatesOf, KINDS, PLACEMENT_GATE, STREAM_GATE, type KubernetesObject } from "@isochrone/kubernetes";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { MANIFEST_VALUES, type ComponentProcess } from "../harness/components/index.ts";
import {
  controlPlaneSupport,
  nodeNameOf,
  startControlPlane,
  type ControlPlane,
} from "../harness/control-plane/index.ts";
import { CONFIGURATION, ENABLED, WebhookTestbed } from "../harness/webhook.ts";

const { NAMESPACE } = MANIFEST_VALUES;
const PODS = 200;
const DEADLINE_MS = 5_000;
/** Allowed time after the deadline until all pods are scheduled. */
const GRACE_MS = 30_000;
const OTHERS_GATE = "quota.example.com/admission";
const WITHIN = { timeout: 90_000, interval: 200 };

const support = controlPlaneSupport(["scheduler"]);
const STREAM_SPEC = { schedulingGates: [{ name: STREAM_GATE }] };
if (!support.supported) console.warn(`the opening of gates is not tested: ${support.reason}`);

describe.runIf(support.supported)("gates are opened", { timeout: 300_000 }, () => {
  let cluster: ControlPlane;
  let testbed: WebhookTestbed;
  let plugins: ComponentProcess[];
  let aggregator: ComponentProcess;
  let uninstaller: string;

  beforeAll(async () => {
    cluster = await startControlPlane({ components: ["scheduler"] });
    testbed = new WebhookTestbed(cluster);
    await testbed.prepare(8);
    for (const name of ["killed", "uninstalled", "apart", "by-hand"])
      await cluster.createNamespace(name, ENABLED);
    plugins = [await testbed.plugin("plugin-0"), await testbed.plugin("plugin-1")];
    aggregator = await testbed.aggregator("aggregator-0", { deadlineMs: DEADLINE_MS });
    await testbed.beat();
    await Promise.all(plugins.map((plugin) => plugin.start()));
    await testbed.untilGating();
    const serviceAccount = { namespace: NAMESPACE, name: "isochrone-uninstall" };
    uninstaller = await cluster.kubeconfigOf({ serviceAccount });
  }, 900_000);

  afterAll(async () => {
    await testbed?.close();
    await cluster?.close();
  });

  /**
   * Judged by the creation response, because the gate may open early. A late heartbeat may let a pod pass
   * ungated; recreate it then.
   */
  async function createGated(pod: KubernetesObject): Promise<void> {
    for (;;) {
      const [created] = await cluster.create(pod);
      if (gatesOf(created!).includes(PLACEMENT_GATE)) return;
      await cluster.remove({ ...KINDS.pod, namespace: pod.metadata.namespace!, name: pod.metadata.name });
    }
  }
  async function createMany(namespace: string, pods: number): Promise<void> {
    const all = Array.from({ length: pods }, (_, index) => testbed.pod(`pod-${index}`, { namespace }));
    await Promise.all(
      Array.from({ length: 10 }, async () => {
        for (let pod = all.pop(); pod !== undefined; pod = all.pop()) await createGated(pod);
      }),
    );
  }
  const bound = async (namespace: string): Promise<number> =>
    (await cluster.list("pods", { namespace })).filter((pod) => nodeNameOf(pod) !== null).length;

  test("by hand, of named pods, with the gates of others left; a list shows who waits", async () => {
    const spec = { schedulingGates: [{ name: OTHERS_GATE }] };
    for (const [name, more] of [
      ["a", {}],
      ["b", { spec }],
      // A pod of a StreamJob.
      ["c", { spec: STREAM_SPEC }],
    ] as const)
      await createGated(testbed.pod(name, { namespace: "by-hand", ...more }));
    const list = await testbed.gates(["list", "-n", "by-hand", "-o", "json"]);
    expect(JSON.parse(list.stdout)).toMatchObject([
      { name: "a", others: [] },
      { name: "b", others: [OTHERS_GATE] },
      { name: "c", others: [] },
    ]);
    const dry = await testbed.gates(["open", "--all", "-n", "by-hand", "--dry-run"]);
    expect(dry.stdout.match(/would be opened/g)).toHaveLength(3);
    expect(await testbed.gatedPods("by-hand")).toEqual(["a", "b", "c"]);
    const { code, stdout } = await testbed.gates(["open", "a", "b", "-n", "by-hand"]);
    expect([code, stdout.match(/ opened/g)?.length]).toEqual([0, 2]);
    expect(await testbed.gatedPods("by-hand")).toEqual(["c"]);
    expect(gatesOf((await cluster.get({ ...KINDS.pod, namespace: "by-hand", name: "b" }))!)).toEqual([
      OTHERS_GATE,
    ]);
    await expect.poll(() => bound("by-hand"), WITHIN).toBe(1);
  });

  test("by hand: what can't be done is said, with an exit code", async () => {
    expect(await testbed.gates(["open"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--all"),
    });
    expect(await testbed.gates(["open", "--all", "x"])).toMatchObject({ code: 2 });
    expect(await testbed.gates(["open", "x", "--remove-webhook"])).toMatchObject({ code: 2 });
    expect(await testbed.gates(["open", "nobody", "-n", "by-hand"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("no pod nobody with the gate"),
    });
    const reader = await cluster.kubeconfigOf({
      serviceAccount: { namespace: NAMESPACE, name: "isochrone-aggregator" },
    });
    expect(await testbed.gates(["open", "c", "-n", "by-hand"], reader)).toMatchObject({ code: 0 });
    expect(await testbed.gates(["list"], "/no/such/file")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("/no/such/file"),
    });
  });

  test("past their deadline, when every scheduler-plugin is killed: all pods are scheduled", async () => {
    await aggregator.start();
    const beganMs = performance.now();
    const spec = { schedulingGates: [{ name: OTHERS_GATE }] };
    await createGated(testbed.pod("waits-for-others", { namespace: "apart", spec }));
    await createMany("killed", PODS);
    await Promise.all(plugins.map((plugin) => plugin.kill()));
    await testbed.stopBeating();
    const lastMs = performance.now();
    await expect.poll(() => bound("killed"), { timeout: 150_000, interval: 500 }).toBe(PODS);
    console.log(
      `all ${PODS} pods were bound ${Math.round(performance.now() - lastMs)} ms after the last was created (deadline ${DEADLINE_MS} ms, allowed ${DEADLINE_MS + GRACE_MS} ms), the first ${Math.round(lastMs - beganMs)} ms before`,
    );
    // Our gate is not the one that holds it.
    expect(await testbed.gatedPods("apart")).toEqual(["waits-for-others"]);
    const metrics = await (await aggregator.get("/metrics")).text();
    expect(metrics).toMatch(/isochrone_gates_opened_total\{result="opened"\} 20[0-9]/);
    const events = await cluster.list(KINDS.event, { namespace: "killed" });
    expect(events.filter((event) => event["reason"] === "GateOpenedLate").length).toBeGreaterThan(0);
    // Its deadline starts when the other gates are gone.
    await cluster.patch(
      { ...KINDS.pod, namespace: "apart", name: "waits-for-others" },
      { spec: { schedulingGates: [{ name: PLACEMENT_GATE }] } },
    );
    await expect.poll(() => bound("apart"), WITHIN).toBe(1);
  });

  test("all at once when Isochrone goes: all pods are scheduled, and none waits again", async () => {
    await aggregator.kill();
    await testbed.beat();
    await Promise.all(plugins.map((plugin) => plugin.start()));
    await testbed.untilGating();
    await createMany("uninstalled", PODS);
    await createGated(testbed.pod("stage", { namespace: "apart", spec: STREAM_SPEC }));
    const { code, stdout, stderr } = await testbed.gates(
      ["open", "--all", "--remove-webhook", "-o", "json"],
      uninstaller,
    );
    expect([code, stderr]).toEqual([0, ""]);
    const { removed, pods } = JSON.parse(stdout) as { removed: string[]; pods: { result: string }[] };
    expect(removed).toEqual([
      "MutatingWebhookConfiguration isochrone-placement: deleted",
      "Secret isochrone-webhook: deleted",
    ]);
    expect(pods.filter(({ result }) => result === "opened").length).toBeGreaterThanOrEqual(PODS);
    await expect.poll(() => bound("uninstalled"), { timeout: 120_000, interval: 500 }).toBe(PODS);
    expect(gatesOf((await cluster.get({ ...KINDS.pod, namespace: "apart", name: "stage" }))!)).toEqual([]);
    expect(await cluster.get(CONFIGURATION)).toBeNull();
    const [late] = await cluster.create(testbed.pod("late", { namespace: "uninstalled" }));
    expect(gatesOf(late as KubernetesObject)).toEqual([]);
    expect(await testbed.gatedPods()).toEqual([]);
  });
});
