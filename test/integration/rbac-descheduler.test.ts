// No request of the descheduler is denied, and no grant of its files is unused. See also rbac.test.ts.
import { readFileSync } from "node:fs";
import { TEMPLATE_HASH_LABEL, type KubernetesObject } from "@isochrone/kubernetes";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { OUR_CRDS } from "../harness/appgroups.ts";
import {
  grantsOf,
  installPolicies,
  installRules,
  manifest,
  MANIFEST_VALUES,
  usesOf,
  verdictOf,
  type Verdict,
} from "../harness/components/index.ts";
import { controlPlaneSupport, startControlPlane, type ControlPlane } from "../harness/control-plane/index.ts";
import { FollowedGraphs, startDescheduler, type RunningDescheduler } from "../harness/descheduler/service.ts";
import { farAway, ZONES } from "../harness/descheduler/three-zones.ts";
import { PLACEMENT_GATE } from "../harness/planner.ts";

const { NAMESPACE: INSTALLATION, NAME } = MANIFEST_VALUES;
const DRY_RUN = "scheduler-plugin-descheduler";
const EVICTIONS = "scheduler-plugin-evictions";
const RULES = [
  "scheduler-plugin",
  "scheduler-plugin-pod-events",
  "scheduler-plugin-appgroup-status",
  "scheduler-plugin-planner",
  DRY_RUN,
];
const NAMESPACE = "drift";
/** Replicas are in both zones. In a distant zone, only moving both together helps. */
const WORKLOADS = { front: "Deployment", back: "StatefulSet" } as const;
const CHANNELS = [["front", "back", 300_000]] as const;
const WAIT = { timeout: 90_000, interval: 500 };

const support = controlPlaneSupport(["scheduler", "controller-manager", "kwok"]);
if (!support.supported) console.warn(`the rights of the descheduler are not tested: ${support.reason}`);

describe.runIf(support.supported)("the rights of the descheduler", { timeout: 150_000 }, () => {
  let cluster: ControlPlane;
  let kubeconfig: string;

  beforeAll(async () => {
    cluster = await startControlPlane({
      components: ["scheduler", "controller-manager", "kwok"],
      audit: "RequestResponse",
    });
    for (const file of OUR_CRDS) await cluster.createYaml(readFileSync(file, "utf8"));
    await installRules(cluster, RULES);
    await installPolicies(cluster);
    await cluster.addNodes(Object.entries(ZONES).map(([name, zone]) => ({ name, zone, cpu: "4" })));
    const serviceAccount = { namespace: INSTALLATION, name: `${NAME}-scheduler-plugin` };
    kubeconfig = await cluster.kubeconfigOf({ serviceAccount });
  }, 900_000);

  afterAll(() => cluster?.close());

  const verdict = async (): Promise<Verdict> => {
    const isOurs = (user: string): boolean =>
      user.startsWith(`system:serviceaccount:${INSTALLATION}:${NAME}-`);
    const events = await cluster.auditEvents(({ user }) => isOurs(user));
    const uses = events.flatMap((event) => usesOf(event, isOurs));
    const grants = grantsOf([DRY_RUN, EVICTIONS].flatMap((name) => manifest("rbac", name)));
    return verdictOf({ grants, uses, scenarios: [], faultsOnly: {}, byChance: new Set() });
  };

  /** Patches that release a pod from its ReplicaSet. The planner's permission to patch pods is for others. */
  const releases = async (): Promise<number> => {
    const path = `/metadata/labels/${TEMPLATE_HASH_LABEL}`;
    const patches = await cluster.auditEvents(
      ({ user, verb, resource, code, requestObject }) =>
        user.endsWith(`:${NAME}-scheduler-plugin`) &&
        verb === "patch" &&
        resource === "pods" &&
        code === 200 &&
        JSON.stringify(requestObject ?? null).includes(path),
    );
    return patches.length;
  };

  test("are to read in a dry run, and then what it uses when two pods move from a zone that went far away", async () => {
    const workloads = Object.keys(WORKLOADS);
    const graphs = new FollowedGraphs({
      cluster,
      namespace: NAMESPACE,
      zones: ZONES,
      workloads,
      channels: CHANNELS,
    });
    graphs.costMs = farAway("zc");
    const settings = { allowStatefulSets: true, coolDownMs: 1_000 };
    const start = async (mode: string): Promise<RunningDescheduler> => {
      const scheduler = { replicaNamespace: INSTALLATION };
      const running = await startDescheduler(kubeconfig, graphs, { ...settings, mode }, scheduler);
      onTestFinished(() => running.stop().catch(() => undefined));
      return running;
    };
    const dry = await start("dry-run");
    await cluster.createNamespace(NAMESPACE);
    for (const [name, kind] of Object.entries(WORKLOADS))
      await cluster.createWorkload(name, {
        kind,
        namespace: NAMESPACE,
        replicas: 2,
        schedulingGates: [PLACEMENT_GATE],
        spec: { terminationGracePeriodSeconds: 0 },
      });
    await cluster.waitFor("pods", (pods) => pods.filter(isReady).length === 4, { namespace: NAMESPACE });
    const zones = (): Set<string> =>
      new Set(workloads.flatMap((name) => graphs.nodesOf(name)).map((node) => ZONES[node]!));
    await expect.poll(() => [...zones()].sort(), WAIT).toEqual(["za", "zb"]);
    graphs.costMs = farAway("zb");
    await expect
      .poll(() => dry.metric("isochrone_descheduler_moves_proposed_total"), WAIT)
      .toBeGreaterThan(0);
    expect((await verdict()).denied).toEqual([]);
    expect([...zones()].sort()).toEqual(["za", "zb"]);
    expect(await releases()).toBe(0);
    await dry.stop();
    await cluster.create(manifest("rbac", EVICTIONS));
    await start("evict");
    await expect.poll(() => [...zones()].sort(), WAIT).toEqual(["za", "zc"]);
    await expect.poll(async () => (await verdict()).unused, WAIT).toEqual([]);
    expect(await releases()).toBeGreaterThan(0);
    expect((await verdict()).denied).toEqual([]);
  });
});

function isReady({ status }: KubernetesObject): boolean {
  return JSON.stringify(status?.["conditions"] ?? []).includes('"Ready"');
}
