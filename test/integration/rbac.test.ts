// With the chart's RBAC rules the API server denies no request, and no grant is unused.
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import {
  hasOurGate,
  KINDS,
  PLANNER_LEASE,
  WEBHOOK_CONFIGURATION,
  type KubernetesObject,
  type ObjectRef,
} from "@isochrone/kubernetes";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { OUR_CRDS } from "../harness/appgroups.ts";
import {
  AUDIENCE,
  installPolicies,
  installRules,
  MANIFEST_VALUES,
  RULE_FILES,
  verdictOf,
  type ComponentProcess,
  type Evidence,
  type Scenario,
  type Verdict,
} from "../harness/components/index.ts";
import {
  controlPlaneSupport,
  startControlPlane,
  type ControlPlane,
  type CutProxy,
} from "../harness/control-plane/index.ts";
import {
  FAULTS_ONLY,
  LEAVING,
  OTHERS,
  RACES,
  SUBRESOURCE,
  UNASKED,
  UNINSTALLED,
  UNPLANNED,
} from "./rbac-faults.ts";
import { certifiedServices } from "./rbac-certificates.ts";
import { evidenceOf } from "./rbac-evidence.ts";
import { addGatedPod, isGatedPastDeadline, replicasUntil, SHORT_DEADLINE, uninstall } from "./rbac-gates.ts";
import { askForRecordKeys, DECLARED, Testbed, NODES, SHOP } from "./rbac-testbed.ts";
import { raceForObjects } from "./rbac-races.ts";

const { NAMESPACE, NAME, KEYS_SECRET, NETPERF_NAMESPACE, NETPERF_NAME, TOPOLOGY_NAMESPACE, TOPOLOGY_NAME } =
  MANIFEST_VALUES;
const BASE: readonly string[] = [
  "aggregator",
  "collector",
  "collector-node",
  "graph-roles",
  "probe",
  "scheduler-plugin",
];

/** rbac-descheduler, stream-jobs-rights, zone-weights and orchestration.test.ts cover these. */
const ELSEWHERE = /^scheduler-plugin-(de.*|evictions|streams|dispatch|hints|scale)$/;

const TOPOLOGY: ObjectRef = { ...KINDS.networkTopology, namespace: TOPOLOGY_NAMESPACE, name: TOPOLOGY_NAME };
const KEYS: ObjectRef = { ...KINDS.secret, namespace: NAMESPACE, name: KEYS_SECRET };
const NETPERF: ObjectRef = { ...KINDS.configMap, namespace: NETPERF_NAMESPACE, name: NETPERF_NAME };
const GENERATED: ObjectRef = { ...KINDS.appGroup, namespace: SHOP, name: "flow" };
const LEASE: ObjectRef = { ...KINDS.lease, namespace: NAMESPACE, name: "isochrone-aggregator" };
const WITHIN = { timeout: 120_000, interval: 500 };

const support = controlPlaneSupport([]);
if (!support.supported) console.warn(`RBAC is not tested: ${support.reason}`);

describe.runIf(support.supported)("the rights of each service account", { timeout: 300_000 }, () => {
  let cluster: ControlPlane;
  let testbed: Testbed;
  /** Between the aggregators and the API server. */
  let proxy: CutProxy;
  let aggregator: ComponentProcess;
  let second: ComponentProcess;
  let plugin: ComponentProcess;
  const scenarios: Scenario[] = [];

  beforeAll(async () => {
    cluster = await startControlPlane({ audit: "RequestResponse" });
    proxy = await cluster.startCutProxy();
    testbed = new Testbed(cluster);
    for (const file of OUR_CRDS) await cluster.createYaml(readFileSync(file, "utf8"));
    await installRules(cluster, BASE);
    await installPolicies(cluster);
    await testbed.prepare();
  }, 900_000);

  afterAll(async () => {
    await testbed?.close();
    proxy?.close();
    await cluster?.close();
  });

  const evidence = (): Promise<Evidence> => evidenceOf(cluster, scenarios, FAULTS_ONLY);
  const verdict = async (): Promise<Verdict> => verdictOf(await evidence());
  /** Unused grants that no scenario covers. */
  const unusedEveryday = async (): Promise<string[]> => {
    const { unused } = await verdict();
    return unused.filter((grant) => !Object.hasOwn(FAULTS_ONLY, grant));
  };
  const unusedIn = async (name: string): Promise<string[]> => {
    const { unused } = await verdict();
    return unused.filter((grant) => FAULTS_ONLY[grant] === name);
  };

  /** The scenario lasts until the next one, because its effects may come later. */
  async function during(name: string, act: () => Promise<unknown>): Promise<void> {
    const fromMs = Date.now();
    const before = scenarios.pop();
    if (before !== undefined) scenarios.push({ ...before, untilMs: fromMs });
    scenarios.push({ name, fromMs, untilMs: Number.POSITIVE_INFINITY });
    await act();
  }

  const object = (ref: ObjectRef): Promise<KubernetesObject | null> => cluster.get(ref);
  const exists = (ref: ObjectRef): Promise<unknown> =>
    vi.waitFor(async () => expect(await object(ref)).not.toBeNull(), WITHIN);
  const annotationOf = async (ref: ObjectRef, name: string): Promise<string | undefined> =>
    (await object(ref))?.metadata.annotations?.[`isochrone.dev/${name}`];
  const uidOf = async (ref: ObjectRef): Promise<string | null> => (await object(ref))?.metadata.uid ?? null;
  const holderOf = async (ref: ObjectRef): Promise<string> =>
    String((await object(ref))?.spec?.["holderIdentity"]);
  const leaseOf = ({ name }: ComponentProcess): ObjectRef => ({ ...LEASE, name: `${LEASE.name}-${name}` });
  const writtenSince = async (sinceMs: number): Promise<string[]> => {
    const names: string[] = [];
    for (const name of NODES) {
      const observedAt = await annotationOf({ ...KINDS.node, name }, "observed-at");
      if (Date.parse(observedAt ?? "") >= sinceMs) names.push(name);
    }
    return names;
  };

  test("without the optional features the rules of the services themselves are enough", async () => {
    const plain = await testbed.withoutFeatures();
    await Promise.all(plain.map((component) => component.start()));
    // Longer than the interval of the work loop.
    await sleep(1500);
    expect((await verdict()).denied).toEqual([]);
    await Promise.all(plain.map((component) => component.stop()));
  });

  test("every day all that is granted is used", async () => {
    await installRules(
      cluster,
      RULE_FILES.filter((name) => !BASE.includes(name) && !ELSEWHERE.test(name)),
    );
    aggregator = await testbed.aggregator("aggregator-0", {}, proxy.url);
    await aggregator.start();
    second = await testbed.aggregator("aggregator-1", {}, proxy.url);
    await second.start();
    await exists(KEYS);
    const { url } = aggregator;
    plugin = await testbed.schedulerPlugin("scheduler-plugin-0", url);
    // The second replica forwards the second probe's reports to the leader.
    const probes = [await testbed.probe(0, url), await testbed.probe(1, second.url)];
    const certified = await certifiedServices(testbed.installation, url);
    const others = [plugin, await testbed.collector(url), ...certified, ...probes];
    await Promise.all(others.map((other) => other.start()));
    await testbed.place(plugin, "web-1");
    await exists(TOPOLOGY);
    expect(await askForRecordKeys(testbed.installation, url)).toEqual(["not_your_key", "not_your_key"]);
    await testbed.declare();
    await replicasUntil(testbed, async () => (await unusedEveryday()).length === 0);
    expect(await unusedEveryday()).toEqual([]);
    expect((await verdict()).denied).toEqual([]);
  });

  test(`${RACES}: they are read anew`, async () => {
    await during(RACES, async () => {
      const stop = raceForObjects(cluster, proxy, [...NODES]);
      try {
        await expect.poll(() => unusedIn(RACES), WITHIN).toEqual([]);
      } finally {
        await stop();
      }
    });
  });

  test(`${OTHERS}: that is told, and told again`, async () => {
    await during(OTHERS, async () => {
      for (let round = 0; round < 2; round++) {
        const { spec } = (await object(TOPOLOGY))!;
        const changed = JSON.parse(
          JSON.stringify(spec).replace(/"networkCost":\d+/, '"networkCost":77'),
        ) as object;
        await cluster.patch(TOPOLOGY, { spec: changed });
        await vi.waitFor(
          () => expect(aggregatorsLogs().split("the NetworkTopology is not written")).toHaveLength(round + 2),
          WITHIN,
        );
        await cluster.patch(TOPOLOGY, {
          metadata: { annotations: { "isochrone.dev/network-costs-written": null } },
        });
        await vi.waitFor(
          async () => expect(await annotationOf(TOPOLOGY, "network-costs-written")).toBeDefined(),
          WITHIN,
        );
      }
      for (const algorithm of ["ReverseKahn", "KahnSort", "ReverseKahn"]) {
        const { status } = (await object(DECLARED))!;
        await cluster.patch(DECLARED, { spec: { topologySortingAlgorithm: algorithm } });
        const order = JSON.stringify(status?.["topologyOrder"]);
        await vi.waitFor(
          async () =>
            expect(JSON.stringify((await object(DECLARED))!.status?.["topologyOrder"])).not.toBe(order),
          WITHIN,
        );
      }
      await expect.poll(() => unusedIn(OTHERS), WITHIN).toEqual([]);
    });
  });
  const aggregatorsLogs = (): string => aggregator.log + second.log;

  test(`${UNASKED}: it is deleted, and made again`, async () => {
    await during(UNASKED, async () => {
      const ask = (value: string | null): Promise<unknown> =>
        cluster.patch(
          { ...KINDS.namespace, name: SHOP },
          { metadata: { annotations: { "isochrone.dev/appgroup": value } } },
        );
      await ask(null);
      await vi.waitFor(async () => expect(await object(GENERATED)).toBeNull(), WITHIN);
      await ask("observe");
      await exists(GENERATED);
    });
  });

  test("what is written is deleted: it is made again", async () => {
    await during("objects are deleted", async () => {
      const all = [
        TOPOLOGY,
        KEYS,
        NETPERF,
        GENERATED,
        LEASE,
        { ...LEASE, name: "isochrone-scheduler-plugin" },
      ];
      const before = await Promise.all(all.map(uidOf));
      for (const ref of all) await cluster.remove(ref);
      await expect
        .poll(async () => {
          const after = await Promise.all(all.map(uidOf));
          return all.filter((_, index) => after[index] === null || after[index] === before[index]);
        }, WITHIN)
        .toEqual([]);
    });
  });

  test("the API server restarts and has forgotten all versions: everything goes on", async () => {
    await during("the API server restarts", async () => {
      await cluster.compact();
      const sinceMs = Date.now();
      await expect.poll(() => writtenSince(sinceMs), WITHIN).toEqual(NODES);
    });
  });

  test("the leader is killed, and the scheduler-plugin with it: others take over", async () => {
    await during("the leader is killed", async () => {
      const isFirst = (await holderOf(LEASE)).startsWith("aggregator-0_");
      const [leader, other] = isFirst ? [aggregator, second] : [second, aggregator];
      const own = leaseOf(leader);
      const before = await holderOf(own);
      await Promise.all([leader.kill(), plugin.kill()]);
      await expect.poll(() => holderOf(LEASE), WITHIN).toContain(`${other.name}_`);
      await Promise.all([leader.start(), plugin.start()]);
      await expect.poll(() => holderOf(own), WITHIN).not.toBe(before);
    });
  });

  test(`${LEAVING}: its Lease goes with it`, async () => {
    await during(LEAVING, async () => {
      const lease = leaseOf(second);
      expect(await uidOf(lease)).not.toBeNull();
      await second.stop();
      expect(await uidOf(lease)).toBeNull();
      await second.start();
    });
    expect(await unusedIn(LEAVING)).toEqual([]);
  });

  test(`${SUBRESOURCE}: the status goes there`, async () => {
    await during(SUBRESOURCE, async () => {
      const ref = { ...KINDS.customResourceDefinition, name: "appgroups.appgroup.diktyo.x-k8s.io" };
      const { spec } = (await object(ref))!;
      const versions = (spec!["versions"] as object[]).map((version) => ({
        ...version,
        subresources: { status: {} },
      }));
      await cluster.patch(ref, { spec: { versions } });
      await vi.waitFor(
        () => cluster.patch(DECLARED, { spec: { topologySortingAlgorithm: "KahnSort" } }),
        WITHIN,
      );
      await expect.poll(() => unusedIn(SUBRESOURCE), WITHIN).toEqual([]);
    });
  });

  test(`${UNPLANNED}: its gate is opened`, async () => {
    await during(UNPLANNED, async () => {
      await plugin.stop();
      const opener = await testbed.aggregator("aggregator-2", SHORT_DEADLINE, proxy.url);
      expect(await isGatedPastDeadline(cluster, opener, [aggregator, second])).toBe(false);
    });
  });

  test(`${UNINSTALLED}: its webhook goes, and all gates are opened`, async () => {
    await during(UNINSTALLED, async () => {
      await plugin.start();
      const registration = { ...KINDS.mutatingWebhookConfiguration, name: WEBHOOK_CONFIGURATION };
      await exists(registration);
      await plugin.stop();
      const planner = { ...LEASE, name: PLANNER_LEASE };
      if ((await object(planner)) !== null) await cluster.remove(planner);
      // Gated for others as well, so the aggregator leaves it alone.
      const pod = await addGatedPod(cluster, "waits-too", ["example.com/other"]);
      expect(await uninstall(cluster)).toContain("waits-too");
      expect(hasOurGate((await object(pod))!)).toBe(false);
      expect(await object(registration)).toBeNull();
      await expect.poll(() => unusedIn(UNINSTALLED), WITHIN).toEqual([]);
    });
  });

  test("of all that, nothing was denied, nothing is granted in vain, and each scenario is needed", async () => {
    expect(await verdict()).toEqual({ denied: [], unused: [], misnamed: [] });
  });

  test("the graph API opens to readers and to publishers, to each of them for its own", async () => {
    const ask = async (role: string, method: string, path: string): Promise<number | "denied"> => {
      const serviceAccount = { namespace: SHOP, name: role };
      const { token } = await cluster.serviceAccountToken(serviceAccount, { audiences: [AUDIENCE] });
      const binding = await object({ ...ref(role) });
      if (binding === null)
        await cluster.create({
          ...KIND_OF_BINDING,
          metadata: { name: `test-${role}` },
          roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: `${NAME}-${role}` },
          subjects: [{ kind: "ServiceAccount", ...serviceAccount }],
        });
      const headers = { authorization: `Bearer ${token}` };
      const answer = await fetch(aggregator.url + path, { method, headers });
      const text = await answer.text();
      return text.includes("needs a ClusterRole") ? "denied" : answer.status;
    };
    const ref = (role: string): ObjectRef => ({ ...KIND_OF_BINDING, name: `test-${role}` });
    expect(await ask("graph-reader", "GET", "/api/v1/graph/cluster")).toBe(200);
    expect(await ask("graph-reader", "GET", "/api/v1/graph/workflows")).toBe(200);
    expect(await ask("graph-reader", "POST", "/v1/metrics")).toBe("denied");
    expect(await ask("telemetry-publisher", "GET", "/api/v1/graph/cluster")).toBe("denied");
    // RBAC allows it. Then its token must be bound to a pod on a node.
    expect(await ask("telemetry-publisher", "POST", "/v1/metrics")).toBe(403);
  });

  describe("the test itself", () => {
    test("finds a rule that is missing", async () => {
      await cluster.remove({ ...KIND_OF_BINDING, name: `${NAME}-aggregator-node-annotations` });
      await expect
        .poll(async () => (await verdict()).denied, WITHIN)
        .toContainEqual(
          expect.stringMatching(/^isochrone-aggregator patch nodes node-\d: RBAC does not allow it$/),
        );
    });

    test("finds a verb that nobody needs", async () => {
      const ref = {
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind: "ClusterRole",
        name: `${NAME}-collector`,
      };
      const { rules } = (await object(ref)) as unknown as { rules: { verbs: string[] }[] };
      await cluster.patch(ref, {
        rules: [{ ...rules[0]!, verbs: [...rules[0]!.verbs, "delete"] }, ...rules.slice(1)],
      });
      expect((await verdict()).unused).toContain("isochrone-collector delete pods");
    });

    test("finds what is wrong in its table", async () => {
      const faultsOnly = {
        ...FAULTS_ONLY,
        "isochrone-probe get secrets": RACES,
        "isochrone-aggregator list pods": RACES,
        "isochrone-aggregator get deployments.apps": "a flood",
      };
      expect(verdictOf({ ...(await evidence()), faultsOnly }).misnamed).toEqual([
        'isochrone-aggregator get deployments.apps: there is no scenario "a flood"',
        "isochrone-probe get secrets: not granted",
        `isochrone-aggregator list pods: used without "${RACES}" too`,
      ]);
    });
  });
});

const KIND_OF_BINDING = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRoleBinding" };
