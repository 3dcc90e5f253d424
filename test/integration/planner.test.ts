// Plans, nominates and releases gated pods, which a real kube-scheduler binds.
import type { KubernetesObject } from "@isochrone/kubernetes";
import type { Decision } from "@isochrone/topology";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import { controlPlaneSupport } from "../harness/control-plane/index.ts";
import { COMMAND } from "../harness/extender.ts";
import { boundPods, gated, PLACEMENT_GATE, plannedNodes, shopGraphs } from "../harness/planner.ts";
import type { RunningPlanner } from "../harness/planner.ts";
import { PLANNER_COMPONENTS, plannerTestbed } from "../harness/planner-testbed.ts";

const support = controlPlaneSupport(PLANNER_COMPONENTS);
if (!support.supported) console.warn(`the planner on a real control plane is not tested: ${support.reason}`);

describe.runIf(support.supported)("the planner", () => {
  const testbed = plannerTestbed();
  const { planner, begin } = testbed;
  const podOf = (namespace: string, name: string): Promise<KubernetesObject> =>
    testbed.cluster.request("GET", `/api/v1/namespaces/${namespace}/pods/${name}`);

  const decisionOf = async (running: RunningPlanner, namespace: string, pod: string): Promise<Decision> => {
    await expect.poll(() => running.decisions(namespace, pod), { timeout: 20_000 }).not.toEqual([]);
    return (await running.decisions(namespace, pod))[0]!;
  };

  test("a workflow that is created at once lands on the plan, and so does a late replica", async () => {
    const namespace = "at-once";
    await begin(namespace);
    const running = await planner();
    for (const [name, replicas] of [
      ["web", 3],
      ["api", 2],
      ["db", 1],
    ] as const)
      await testbed.cluster.createWorkload(name, { ...gated(namespace, name), replicas });
    const bound = await boundPods(testbed.cluster, namespace, 6);
    expect(await plannedNodes(running, namespace)).toEqual(bound);
    await expect
      .poll(() => running.sum("isochrone_planner_landings_total", "landed"), { timeout: 10_000 })
      .toBe(6);
    const plans = await running.plans(namespace);
    expect(plans.reduce((sum, { pods }) => sum + pods.length, 0)).toBe(6);
    // Replicas span two zones, and db is next to the api with most of its traffic.
    const zones = [...bound.values()].map((node) => Number(node.slice(1)) < 4);
    expect(new Set(zones).size).toBe(2);
    await testbed.cluster.request("PATCH", `/apis/apps/v1/namespaces/${namespace}/deployments/web`, {
      spec: { replicas: 4 },
    });
    const all = await boundPods(testbed.cluster, namespace, 7);
    const [late] = [...all.keys()].filter((name) => !bound.has(name));
    expect((await plannedNodes(running, namespace)).get(late!)).toBe(all.get(late!));
    await expect
      .poll(async () => (await running.decisions(namespace, late))[0]?.outcome?.result, { timeout: 10_000 })
      .toBe("landed");
    const decision = (await running.decisions(namespace, late))[0]!;
    expect(decision).toMatchObject({
      kind: "plan",
      strategy: "joint-plan",
      mode: "required-affinity",
      workload: "web",
    });
    expect(decision.explanation.join(" ")).toMatch(/Planned to n\d\. .*The plan of at-once\/at-once costs/);
    expect(decision.candidates.length).toBeGreaterThan(1);
  });

  test("pods that fit nowhere, and pods that can't be planned, are released at once and say why", async () => {
    const namespace = "released";
    await begin(namespace);
    const running = await planner();
    await testbed.cluster.createPods(["huge"], gated(namespace, "api", "1000"));
    await testbed.cluster.createPods(
      ["claims"],
      gated(namespace, "api", "100m", [PLACEMENT_GATE], {
        resourceClaims: [{ name: "gpu", resourceClaimName: "gpu" }],
      }),
    );
    await testbed.cluster.createPods(["web"], gated(namespace, "web"));
    await boundPods(testbed.cluster, namespace, 1);
    for (const name of ["huge", "claims"])
      await expect
        .poll(async () => (await podOf(namespace, name)).spec?.["schedulingGates"], { timeout: 20_000 })
        .toBeUndefined();
    expect((await podOf(namespace, "huge")).status?.["nominatedNodeName"]).toBeUndefined();
    expect((await decisionOf(running, namespace, "huge")).explanation[0]).toMatch(
      /Released without a plan \(infeasible\): 0\/8 nodes are available/,
    );
    expect((await decisionOf(running, namespace, "claims")).explanation[0]).toMatch(
      /\(unsupported\): it has resourceClaims/,
    );
    const events = await testbed.cluster.waitFor(
      `/apis/events.k8s.io/v1/namespaces/${namespace}/events`,
      (all) => {
        const ours = all.filter(({ reason }) => reason === "ReleasedUnplanned");
        return ours.length >= 2 ? ours : null;
      },
    );
    expect(events.map(({ note }) => String(note)).join()).toContain("0/8 nodes are available");
  });

  test("a pod with another's gate waits until that is open, and keeps it meanwhile", async () => {
    const namespace = "others";
    await begin(namespace);
    const running = await planner();
    await testbed.cluster.createPods(
      ["both"],
      gated(namespace, "web", "100m", ["example.com/quota", PLACEMENT_GATE]),
    );
    await testbed.cluster.createPods(["ours"], gated(namespace, "api"));
    await boundPods(testbed.cluster, namespace, 1);
    expect((await podOf(namespace, "both")).spec?.["schedulingGates"]).toHaveLength(2);
    await testbed.cluster.request(
      "PATCH",
      `/api/v1/namespaces/${namespace}/pods/both`,
      [{ op: "remove", path: "/spec/schedulingGates/0" }],
      "application/json-patch+json",
    );
    const bound = await boundPods(testbed.cluster, namespace, 2);
    expect((await plannedNodes(running, namespace)).get("both")).toBe(bound.get("both"));
  });

  test("a nomination of somebody else is kept", async () => {
    const namespace = "nominated";
    await begin(namespace, { api: ["n0"] });
    await testbed.cluster.createPods(["taken"], gated(namespace, "web"));
    await testbed.cluster.request("PATCH", `/api/v1/namespaces/${namespace}/pods/taken/status`, {
      status: { nominatedNodeName: "n7" },
    });
    const running = await planner();
    const bound = await boundPods(testbed.cluster, namespace, 1);
    expect(bound.get("taken")).toBe("n7");
    await expect
      .poll(() => running.sum("isochrone_planner_unplanned_total", "nominated_by_other"), { timeout: 10_000 })
      .toBe(1);
  });

  test("the command explains a planned pod, and says what moving would save", async () => {
    const namespace = "told";
    await begin(namespace);
    const running = await planner();
    for (const name of ["api", "db"]) await testbed.cluster.createWorkload(name, gated(namespace, name));
    const bound = await boundPods(testbed.cluster, namespace, 2);
    const [api, db] = ["api-", "db-"].map((prefix) =>
      [...bound.keys()].find((pod) => pod.startsWith(prefix))!,
    );
    const node = bound.get(api!)!;
    expect(bound.get(db!)).toBe(node);
    const command = async (...args: string[]): Promise<string> =>
      (
        await promisify(execFile)(
          process.execPath,
          [COMMAND, ...args, "--kubeconfig", testbed.cluster.kubeconfig],
          {
            timeout: 60_000,
          },
        )
      ).stdout;
    await expect
      .poll(async () => (await running.decisions(namespace, db))[0]?.outcome?.result, { timeout: 10_000 })
      .toBe("landed");
    const explained = await command("explain", db!, "-n", namespace, "--server", running.url);
    expect(explained).toContain(`It is on ${node}, put there by default-scheduler.`);
    expect(explained).toMatch(/That is where the plan \S+ of its workflow wanted it/);
    expect(explained).toContain(`outcome: landed on ${node}`);
    const far = node < "n4" ? "n7" : "n0";
    await testbed.cluster.createPods(["web-1"], { ...gated(namespace, "web", "100m", []), nodeName: far });
    const places = { web: [["web-1", far]], api: [[api, node]], db: [[db, node]] };
    const shop = shopGraphs(namespace);
    const shown = (): (typeof shop.workflow.workloads)[number][] =>
      shop.workflow.workloads.map((workload) => ({
        ...workload,
        pods: places[workload.name as keyof typeof places].map(([name, at]) => ({ name: name!, node: at! })),
      }));
    testbed.graphs.say({ ...shop, workflow: { ...shop.workflow, workloads: shown() } });
    const tooYoung = await command("plan", namespace, "--server", testbed.graphs.url);
    expect(tooYoung).toMatch(/No move can be made now; [12] moves? would gain\./);
    expect(tooYoung).toMatch(/(web-1 .*\(bare_pod\)|api-\S+ +api .*\(too_young\))/);

    // Uses the service's settings if they are valid.
    const folder = mkdtempSync(join(tmpdir(), "isochrone-plan-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const settings = join(folder, "settings.yaml");
    const plan = async (text: string, ...words: string[]): Promise<string> => {
      writeFileSync(settings, text);
      return command("plan", namespace, "--server", testbed.graphs.url, "--settings", settings, ...words);
    };
    const young = "descheduler: { minPodAgeMs: 0 }\n";
    const planned = await plan(young);
    // web-1 has no controller that could replace it, so the others join it.
    expect(planned).toMatch(/2 moves: \S+ -> \S+ ms per request \(\+- \S+\)\./);
    for (const [workload, pod] of Object.entries({ api, db }))
      expect(planned).toMatch(new RegExp(`1 +${pod} +${workload} +${node} +${far}`));
    interface Report {
      readonly today: { readonly total: number };
      readonly best: { readonly total: number; readonly network: number };
    }
    const [report] = JSON.parse(await plan(young, "-o", "json")) as [Report];
    expect(report.best.total).toBeLessThan(report.today.total / 10);
    const near = `service: { port: 1 }\nplanner: { minNodes: 1, minZones: 1 }\n${young}`;
    const [together] = JSON.parse(await plan(near, "-o", "json")) as [Report];
    expect(together.best.network).toBe(0);
    await expect(plan("nothing but words\n")).rejects.toThrow(
      /--settings must be a readable YAML or JSON file/,
    );
    await expect(plan("planner: { minNodes: many }\n")).rejects.toThrow(
      /the settings of the planner in .+ are wrong: [^]*minNodes/,
    );
  });
});
