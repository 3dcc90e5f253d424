import { KINDS } from "@isochrone/kubernetes";
import type { KubernetesObject } from "@isochrone/kubernetes";
import { channel, workload } from "@isochrone/placement/testing";
import { describe, expect, test } from "vitest";
import { workflowSnapshot } from "../../testing/graphs.ts";
import { asked, NAMES, promiseRig, shown } from "../../testing/promise-rig.ts";

const PLANNED = "isochrone.dev/planned-node";
const LABELS = { "isochrone.dev/workflow": "flow" };

describe("pods of a workflow that is new", () => {
  function newWorkflow(settings: Readonly<Record<string, unknown>> = {}) {
    const rig = promiseRig({ hostnameMaxSkew: 0, ...settings });
    rig.graphs.setWorkflow({
      ...workflowSnapshot(),
      workloads: ["p", "q", "r"].map((name) => workload(name, { cpu: 100, memory: 1e6 }, {})),
      channels: [channel("p", "q", 1_000), channel("r", "q", 500)],
    });
    const deploy = (name: string, replicas: number, more: Fields = {}): Promise<KubernetesObject> =>
      rig.store.create({
        ...(more.kind ?? KINDS.deployment),
        metadata: { namespace: "shop", name },
        spec: {
          replicas,
          template: {
            metadata: { labels: LABELS },
            spec: {
              containers: [{ name: "main", image: "none", resources: { requests: { cpu: "2500m" } } }],
            },
          },
          ...more.spec,
        },
        ...(more.status === undefined ? {} : { status: more.status }),
      });
    const ask = (of: string, isDryRun = false): string | null =>
      rig.promise(asked({ workload: of, cpu: "2500m" }), { isDryRun })?.annotations[PLANNED] ?? null;
    const settle = (): Promise<void> => rig.clock.advance(1_000);
    return { ...rig, deploy, ask, settle };
  }
  interface Fields {
    readonly kind?: { readonly apiVersion: string; readonly kind: string };
    readonly spec?: object;
    readonly status?: Record<string, unknown>;
  }

  test.each([["Deployments"], ["StatefulSets"]])("get places of one plan: %s", async (what) => {
    const kind = what === "Deployments" ? KINDS.deployment : KINDS.statefulSet;
    const { deploy, ask, settle, promise, promises, decisions, model } = newWorkflow();
    await Promise.all(["p", "q", "r"].map((name) => deploy(name, 1, { kind })));
    await settle();
    const pod = asked({ workload: "p", cpu: "2500m" });
    const first = promise(pod)!;
    const nodes = [first.annotations[PLANNED]!, ask("q")!, ask("r")!];
    // One takes most of a node: the three are neighbours with q in the middle.
    const [p, q, r] = nodes.map((name) => NAMES.indexOf(name));
    expect(new Set(nodes).size).toBe(3);
    expect([Math.abs(p! - q!), Math.abs(r! - q!)]).toEqual([1, 1]);
    const { decision } = promises.redeem(shown(pod, "p-5d4f-x1", first))!;
    expect(decisions.get(decision)).toMatchObject({ mode: "admission", best: nodes[0] });
    expect(decisions.get(decision)!.explanation[0]).toBe(
      `Planned to ${nodes[0]} together with 2 other pods.`,
    );
    expect(model.model.verdict(asked({ cpu: "2500m", metadata: { name: "x" } }), nodes[1]!)).not.toBeNull();
  });

  test("wait for a plan where a workload isn't there yet that they talk to", async () => {
    const { deploy, ask, settle } = newWorkflow();
    await deploy("p", 1);
    await deploy("q", 1);
    await settle();
    expect([ask("p"), ask("q")]).toEqual([null, null]);
    await deploy("r", 1);
    await settle();
    expect(ask("p")).not.toBeNull();
  });

  test("get places beside a gang, which gets none", async () => {
    const { deploy, ask, settle, promise } = newWorkflow();
    const member = { schedulingGroup: { podGroupName: "g" } };
    const spec = { ...member, containers: [{ name: "main", image: "none" }] };
    const template = { metadata: { labels: LABELS }, spec };
    await Promise.all([deploy("p", 1), deploy("q", 1, { spec: { template } }), deploy("r", 1)]);
    await settle();
    expect([ask("p"), ask("r")]).toEqual([expect.any(String), expect.any(String)]);
    expect(promise(asked({ workload: "q", spec: member }))).toBeNull();
  });

  test("are planned with those that wait already", async () => {
    const { deploy, ask, settle, gated } = newWorkflow();
    const waiting = asked({ workload: "r", cpu: "2500m" });
    gated.put({ ...waiting, metadata: { ...waiting.metadata, name: "r-5d4f-x1", uid: "r" } }, 0);
    await deploy("p", 1);
    await deploy("q", 1);
    await settle();
    const nodes = [ask("p")!, ask("q")!];
    expect(Math.abs(NAMES.indexOf(nodes[0]!) - NAMES.indexOf(nodes[1]!))).toBe(1);
    expect(gated.of("shop/flow")).toHaveLength(1);
  });

  test("are planned when the first is asked about where nobody asked before, or the plan is old", async () => {
    const { deploy, ask, settle, around, clock } = newWorkflow();
    around.isAsking = false;
    for (const name of ["p", "q", "r"]) await deploy(name, 1);
    await settle();
    await clock.advance(20_000);
    expect(ask("p", true)).not.toBeNull();
    expect([ask("p"), ask("q"), ask("r")]).not.toContain(null);
  });

  test("get no place of a plan that is too large for the answer", async () => {
    const { deploy, ask, settle, around } = newWorkflow();
    around.isAsking = false;
    for (const name of ["p", "q", "r"]) await deploy(name, 300);
    await settle();
    expect(ask("p")).toBeNull();
  });

  test.each<[string, Fields]>([
    ["has pods already", { status: { replicas: 1 } }],
    ["is paused", { spec: { paused: true } }],
    ["is to have no pods", { spec: { replicas: 0 } }],
    [
      "makes volumes that aren't known yet",
      { kind: KINDS.statefulSet, spec: { volumeClaimTemplates: [{}] } },
    ],
  ])("wait for one of another workload that %s", async (_, fields) => {
    const { deploy, ask, settle, store } = newWorkflow();
    for (const name of ["p", "r"]) await deploy(name, 1);
    await deploy("q", 1, fields);
    if (fields.status !== undefined)
      await store.patch(
        { ...KINDS.deployment, namespace: "shop", name: "q" },
        { status: fields.status },
        { subresource: "status" },
      );
    await settle();
    expect(ask("p")).toBeNull();
  });

  test("wait for a plan where pods of the workflow are about to leave their room", async () => {
    const { deploy, ask, settle, bind } = newWorkflow();
    for (const name of ["p", "q", "r"]) await deploy(name, 1);
    bind("old", "q", "n2", { deletionTimestamp: "2026-01-01T00:00:30Z" });
    await settle();
    expect(ask("p")).toBeNull();
  });

  test("are planned anew when a workload changes before it has pods", async () => {
    const { deploy, ask, settle, store } = newWorkflow();
    for (const name of ["p", "q", "r"]) await deploy(name, 1);
    await settle();
    expect(ask("p", true)).not.toBeNull();
    await store.patch({ ...KINDS.deployment, namespace: "shop", name: "r" }, { spec: { replicas: 2 } });
    await settle();
    const nodes = ["p", "q", "r", "r"].map((of) => ask(of));
    expect(nodes).not.toContain(null);
    expect(new Set(nodes).size).toBe(4);
  });

  test("never get a place that somebody else has by then, nor one node twice", async () => {
    const { deploy, ask, settle, bind } = newWorkflow();
    for (const name of ["p", "q", "r"]) await deploy(name, 2);
    await settle();
    const first = ask("p", true)!;
    bind("thief", "thief", first);
    bind("thief-2", "thief", first);
    for (let pod = 0; pod < 20; pod++) bind(`thief-${pod}`, "thief", first);
    const nodes = ["p", "p", "q", "q", "r", "r", "p", "q"].map((of) => ask(of));
    const got = nodes.filter((node) => node !== null);
    expect(got).not.toContain(first);
    expect(new Set(got).size).toBe(got.length);
    expect(got.length).toBeGreaterThanOrEqual(3);
  });
});
