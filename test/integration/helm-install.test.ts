// No kubelet runs: KWOK marks pods as ready, and the test runs their programs under their accounts.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { KINDS, type KubernetesObject } from "@isochrone/kubernetes";
import { parse } from "yaml";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { AUDIENCE } from "../harness/components/index.ts";
import { controlPlaneSupport, startControlPlane, type ControlPlane } from "../harness/control-plane/index.ts";
import {
  CHART,
  Helm,
  helmSupport,
  installOperators,
  inventory,
  isHook,
  isRight,
  MATRIX,
  operatorsSupport,
  runHook,
  runHookWithRights,
  Services,
  type ChartValues,
  type HelmResult,
} from "../harness/helm/index.ts";

const COMPONENTS = ["controller-manager", "scheduler", "kwok"] as const;
const supports = [helmSupport(), operatorsSupport(), controlPlaneSupport(COMPONENTS)];
const missing = supports.flatMap((support) => (support.supported ? [] : [support.reason]));
if (missing.length > 0) console.warn(`the chart is not installed: ${missing.join("; ")}`);

const NAMESPACE = "isochrone";
const KEYS = "isochrone-probe-keys";
const CERTIFICATES = { ...KINDS.secret, namespace: NAMESPACE, name: "isochrone-aggregator-certificates" };
const TRUSTED = { ...KINDS.configMap, namespace: NAMESPACE, name: "isochrone-aggregator-ca" };
const RESTRICTED = {
  "pod-security.kubernetes.io/enforce": "restricted",
  "pod-security.kubernetes.io/enforce-version": "latest",
};
const VALUES: ChartValues = {
  settings: { webhook: { enabled: true }, planner: { enabled: true } },
};
const CRD = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" };
const CRD_NAMES = [
  "appgroups.appgroup.diktyo.x-k8s.io",
  "networktopologies.networktopology.diktyo.x-k8s.io",
  "flownetworks.isochrone.dev",
  "streamjobs.isochrone.dev",
];
const TEST_ACCOUNTS = ["isochrone-test", "net-test"];
/** Namespaces in value sets, in addition to the release's own. */
const OTHER_NAMESPACES = ["topologies", "canaries", "isochrone-canary"];

describe.runIf(missing.length === 0)("the chart on a real API server", { timeout: 120_000 }, () => {
  let helm: Helm;
  let cluster: ControlPlane;

  beforeAll(async () => {
    helm = await Helm.open();
    cluster = await startControlPlane({ components: COMPONENTS });
    await installOperators(cluster);
    await cluster.createNamespace(NAMESPACE, RESTRICTED);
    await cluster.addNodes(3);
  }, 900_000);
  afterAll(async () => {
    await cluster?.close();
    await helm?.close();
  });

  const helmRun = (...args: readonly string[]): Promise<HelmResult> =>
    helm.run([...args, "--namespace", NAMESPACE], cluster.kubeconfig);
  const said = ({ code, stdout, stderr }: HelmResult): string => `${code}: ${stderr}${stdout}`;

  describe("every set of values", () => {
    /** Skip objects that another set already tested. */
    const taken = new Set<string>();

    beforeAll(async () => {
      for (const namespace of ["kube-system", ...OTHER_NAMESPACES]) await cluster.createNamespace(namespace);
      // Admission needs a Pod's account, which a dry run does not create.
      for (const account of TEST_ACCOUNTS)
        await cluster.serviceAccountToken({ namespace: NAMESPACE, name: account });
    });
    afterAll(() => clearOfDryRuns(cluster));

    test.each(Object.keys(MATRIX))("is taken, object by object, in a dry run: %s", async (name) => {
      const objects = (await helm.template(MATRIX[name])).filter(
        (object) => !taken.has(JSON.stringify(object)),
      );
      // Validates schema, defaults and admission without changing anything.
      const list = join(cluster.folder, "dry-run.json");
      writeFileSync(list, JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }));
      const flags = ["--server-side", "--dry-run=server", "--force-conflicts", "--validate=strict"];
      const answer = await cluster.kubectl("apply", ...flags, "-f", list);
      expect(answer.trim().split("\n")).toHaveLength(objects.length);
      for (const object of objects) taken.add(JSON.stringify(object));
    });
  });

  test("what operators don't know would be refused", async () => {
    const rule = {
      metadata: { namespace: NAMESPACE, name: "wrong" },
      spec: { groups: [{ name: "a", rulez: [] }] },
    };
    const list = join(cluster.folder, "wrong.json");
    writeFileSync(
      list,
      JSON.stringify({ apiVersion: "monitoring.coreos.com/v1", kind: "PrometheusRule", ...rule }),
    );
    const flags = ["--server-side", "--dry-run=server", "--validate=strict"];
    await expect(cluster.kubectl("apply", ...flags, "-f", list)).rejects.toThrow(/rulez/);
  });

  describe("a release", () => {
    let hooks: KubernetesObject[];
    let before: string[];
    let services: Services;

    beforeAll(async () => {
      hooks = (await helm.template(VALUES)).filter(isHook);
      before = await inventory(cluster, NAMESPACE);
      const args = ["install", NAMESPACE, CHART, "--values", helm.valuesFile(VALUES), "--timeout", "90s"];
      const installed = await helmRun(...args);
      if (installed.code !== 0) throw new Error(said(installed));
      services = new Services(cluster);
    }, 120_000);
    afterAll(() => services?.close());

    test("has all its pods admitted under restricted Pod Security, and scheduled", async () => {
      const wanted = { probe: 3, collector: 3, aggregator: 1, "scheduler-plugin": 2 };
      await cluster.waitFor(
        "pods",
        (pods) => {
          const running = pods.filter(({ status }) => status?.["phase"] === "Running");
          const count = (component: string): number =>
            running.filter(({ metadata }) => metadata.labels?.["app.kubernetes.io/component"] === component)
              .length;
          // These pods wait for the aggregator's Secret, but KWOK ignores volumes.
          return Object.entries(wanted).every(([component, pods]) => count(component) === pods);
        },
        { namespace: NAMESPACE, timeoutMs: 60_000 },
      );
      const events = await cluster.list("/apis/events.k8s.io/v1/events");
      const forbidden = events
        .filter(({ reason }) => reason === "FailedCreate")
        .map((event) => event["note"]);
      expect(forbidden).toEqual([]);
    });

    test("has services that work with its settings and rights: peers, keys, registration", async () => {
      const objects = await helm.template(VALUES);
      const aggregator = await services.start("aggregator", objects);
      const probe = await bearer(cluster, "isochrone-probe");
      const peers = async (): Promise<string[]> => {
        const answer = await aggregator.get("/api/v1/probe-plan/node-0", probe);
        const plan = (await answer.json()) as { peers?: { node: string }[] };
        return (plan.peers ?? []).map(({ node }) => node).sort();
      };
      // Found by the labels of the chart's pods, with addresses from KWOK.
      await expect.poll(peers, { timeout: 30_000, interval: 250 }).toEqual(["node-1", "node-2"]);
      const keys = { ...KINDS.secret, namespace: NAMESPACE, name: KEYS };
      await expect
        .poll(() => cluster.get(keys), { timeout: 20_000, interval: 250 })
        .toMatchObject({ type: "Opaque", data: { "hmac-keys": expect.any(String) } });
      await services.start("scheduler-plugin", objects, { scheduler: { graphUrl: aggregator.url } });
      const registration = { ...KINDS.mutatingWebhookConfiguration, name: "isochrone-placement" };
      const service = { namespace: NAMESPACE, name: "isochrone-scheduler-plugin", port: 443 };
      const entry = { clientConfig: expect.objectContaining({ service: expect.objectContaining(service) }) };
      await expect
        .poll(() => cluster.get(registration), { timeout: 20_000, interval: 250 })
        .toMatchObject({ webhooks: expect.arrayContaining([expect.objectContaining(entry)]) });
      // The graph API requires TLS by default.
      expect(aggregator.url).toMatch(/^https:/);
      const statusOf = async (headers: Record<string, string>): Promise<number> =>
        (await aggregator.get("/api/v1/graph/cluster", headers)).status;
      expect([await statusOf({}), await statusOf(probe)]).toEqual([401, 403]);
      expect(await statusOf(await bearer(cluster, "isochrone-scheduler-plugin"))).toBe(200);
      expect(await cluster.get(CERTIFICATES)).toMatchObject({
        type: "Opaque",
        data: { "ca.key": expect.any(String), "tls.key": expect.any(String) },
      });
      // Other pods see only the CA certificates.
      expect(Object.keys((await cluster.get(TRUSTED))!["data"] as object)).toEqual(["ca.crt"]);
      await services.kill();
    });

    test("passes its own test, and has its hooks gone", async () => {
      const [tested] = await Promise.all([
        helmRun("test", NAMESPACE, "--timeout", "60s"),
        succeed(cluster, "isochrone-test"),
      ]);
      expect(said(tested)).toMatch(/^0:/);
      const jobs = await cluster.list("jobs", { namespace: NAMESPACE });
      expect(jobs.map(({ metadata }) => metadata.name)).toEqual([]);
    });

    test("is upgraded with other values, and what the services made stays", async () => {
      const made = [{ ...KINDS.secret, namespace: NAMESPACE, name: KEYS }, CERTIFICATES, TRUSTED];
      const dataOf = () => Promise.all(made.map(async (ref) => (await cluster.get(ref))!["data"]));
      const before = await dataOf();
      const values = {
        ...VALUES,
        kafka: { enabled: true, brokers: ["kafka:9092"] },
        aggregator: { replicas: 2 },
      };
      const args = ["upgrade", NAMESPACE, CHART, "--values", helm.valuesFile(values), "--timeout", "90s"];
      expect(said(await helmRun(...args))).toMatch(/^0:/);
      expect(await dataOf()).toEqual(before);
      await cluster.waitFor(
        "statefulsets",
        ([set]) => set?.status?.["readyReplicas"] === 2 && set.status["updatedReplicas"] === 2,
        { namespace: NAMESPACE },
      );
    });

    test("goes, its gates opened, and nothing but the definitions stays", async () => {
      await leaveMore(cluster);
      const opened = await runHook(cluster, await helm.template(VALUES), "isochrone-uninstall");
      expect(said(opened)).toMatch(/^0:/);
      expect(opened.stdout).toContain("MutatingWebhookConfiguration isochrone-placement: deleted");
      const removed = await helmRun("uninstall", NAMESPACE, "--timeout", "90s");
      expect(said(removed)).toMatch(/^0:/);
      expect(said(await runHookWithRights(cluster, hooks, "isochrone-clean-up"))).toMatch(/^0:/);
      const definitions = CRD_NAMES.map((name) => `CustomResourceDefinition ${name}`);
      await expect
        .poll(() => inventory(cluster, NAMESPACE), { timeout: 40_000, interval: 500 })
        .toEqual([...before, ...definitions].sort());
      const [node] = await cluster.list("nodes");
      expect(
        Object.keys(node!.metadata.annotations ?? {}).filter((name) => name.startsWith("isochrone.dev/")),
      ).toEqual(["isochrone.dev/bandwidth-capacity"]);
    });
  });

  describe("the hook of the definitions", () => {
    const [appGroups] = CRD_NAMES as [string, string];
    let objects: KubernetesObject[];

    beforeAll(async () => {
      objects = await helm.template();
      await cluster.create(
        objects.filter((object) => /^isochrone-crds$/.test(object.metadata.name) && isRight(object)),
      );
    });

    test("widens what is narrower, under its own rights", async () => {
      await changeProperties(cluster, appGroups, (status) => delete status["appGroupStatistics"]);
      const ran = await runHook(cluster, objects, "isochrone-crds");
      expect(said(ran)).toMatch(/^0:/);
      expect(ran.stdout).toContain(`${appGroups}: applied`);
      expect(await properties(cluster, appGroups)).toHaveProperty("appGroupStatistics");
    });

    test("leaves what is wider", async () => {
      await changeProperties(cluster, appGroups, (status) => (status["newer"] = { type: "string" }));
      const ran = await runHook(cluster, objects, "isochrone-crds");
      expect(said(ran)).toMatch(/^0:/);
      expect(ran.stdout).toContain(`${appGroups}: what is there allows more, and stays`);
      expect(await properties(cluster, appGroups)).toHaveProperty("newer");
    });

    test("refuses to take away, and says what", async () => {
      await changeProperties(cluster, appGroups, (status) => delete status["appGroupStatistics"]);
      const ran = await runHook(cluster, objects, "isochrone-crds");
      expect(ran.code).toBe(1);
      expect(ran.stderr).toContain("v1alpha1.status.newer: is gone");
      expect(ran.stderr).toContain("v1alpha1.status.appGroupStatistics: is gone");
      expect(await properties(cluster, appGroups)).toHaveProperty("newer");
    });
  });
});

async function bearer(cluster: ControlPlane, name: string): Promise<Record<string, string>> {
  const options = { audiences: [AUDIENCE] };
  const { token } = await cluster.serviceAccountToken({ namespace: NAMESPACE, name }, options);
  return { authorization: `Bearer ${token}` };
}

async function clearOfDryRuns(cluster: ControlPlane): Promise<void> {
  for (const name of OTHER_NAMESPACES) await cluster.remove({ ...KINDS.namespace, name });
  for (const name of TEST_ACCOUNTS)
    await cluster.remove({ apiVersion: "v1", kind: "ServiceAccount", namespace: NAMESPACE, name });
  await cluster.waitFor("namespaces", (all) =>
    all.every(({ metadata }) => !OTHER_NAMESPACES.includes(metadata.name)),
  );
}

async function succeed(cluster: ControlPlane, name: string): Promise<void> {
  await cluster.waitFor(
    "pods",
    (pods) => pods.some(({ metadata, status }) => metadata.name === name && status?.["phase"] === "Running"),
    { namespace: NAMESPACE },
  );
  await cluster.patch(
    { ...KINDS.pod, namespace: NAMESPACE, name },
    { status: { phase: "Succeeded" } },
    "status",
  );
}

async function leaveMore(cluster: ControlPlane): Promise<void> {
  for (const name of ["isochrone-aggregator", "isochrone-aggregator-isochrone-aggregator-0"])
    await cluster.create({ ...KINDS.lease, metadata: { namespace: NAMESPACE, name }, spec: {} });
  const annotations = Object.fromEntries(
    ["available-cpu", "network-cost-node-1", "network-coordinate", "bandwidth-capacity"].map((name) => [
      `isochrone.dev/${name}`,
      "1",
    ]),
  );
  await cluster.patch({ ...KINDS.node, name: "node-0" }, { metadata: { annotations } });
}

type Properties = Record<string, unknown>;

interface CrdSpec {
  versions: { schema: { openAPIV3Schema: { properties: { status: { properties: Properties } } } } }[];
}

async function properties(cluster: ControlPlane, name: string): Promise<Properties> {
  const { spec } = (await cluster.get({ ...CRD, name }))! as unknown as { spec: CrdSpec };
  return spec.versions[0]!.schema.openAPIV3Schema.properties.status.properties;
}

/** Starts from the chart's definition unless it was already changed. */
async function changeProperties(
  cluster: ControlPlane,
  name: string,
  change: (properties: Properties) => void,
): Promise<void> {
  const object = (await cluster.get({ ...CRD, name })) ?? (await cluster.create(chartDefinition(name)))[0]!;
  const spec = structuredClone(object.spec) as unknown as CrdSpec;
  change(spec.versions[0]!.schema.openAPIV3Schema.properties.status.properties);
  await cluster.patch({ ...CRD, name }, { spec: { versions: spec.versions } });
}

function chartDefinition(name: string): KubernetesObject {
  const [plural, ...group] = name.split(".");
  return parse(
    readFileSync(join(CHART, `crds/${group.join(".")}_${plural}.yaml`), "utf8"),
  ) as KubernetesObject;
}
