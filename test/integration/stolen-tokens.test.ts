// Attacks with each account's stolen token, all features on. docs/rbac.md has the same table.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { KINDS, type KubernetesObject } from "@isochrone/kubernetes";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { OUR_CRDS } from "../harness/appgroups.ts";
import {
  controlPlaneSupport,
  startControlPlane,
  type ApiClient,
  type ControlPlane,
} from "../harness/control-plane/index.ts";
import { Helm, helmSupport } from "../harness/helm/index.ts";
import { STREAM_CRDS, streamJob } from "../harness/streams.ts";
import { CAN, CONTAINER, NAMESPACE, NEVER, reads, type Attempt } from "./stolen-tokens/attempts.ts";

const RIGHTS =
  /^(ServiceAccount|Role|RoleBinding|ClusterRole|ClusterRoleBinding|ValidatingAdmissionPolicy(Binding)?)$/;
const EVERYTHING = {
  settings: {
    webhook: { enabled: true },
    planner: { enabled: true },
    annotations: { workloads: true, netperfConfigMap: "default/netperf-metrics" },
    networkTopology: { namespace: "default", latenciesFrom: "default/latencies" },
    bandwidthResource: { advertise: "measured" },
    aggregator: { istioRouting: true },
    scheduler: { managedResource: "isochrone.dev/placement", deletionCosts: "write" },
    descheduler: { mode: "evict" },
    streams: { enabled: true },
    dispatch: { levers: ["hints", "istio", "replicas", "scale", "deletion-cost"] },
  },
  collector: { addressFromNode: true },
  dispatcher: { enabled: true },
  networkManager: { enabled: true },
  connections: { enabled: true },
};

const missing = [controlPlaneSupport([]), helmSupport()].flatMap((support) =>
  support.supported ? [] : [support.reason],
);
if (missing.length > 0) console.warn(`stolen tokens are not tested: ${missing.join("; ")}`);

test("docs/rbac.md has a line for each account, with what its token allows", () => {
  const text = readFileSync(join(import.meta.dirname, "../../docs/rbac.md"), "utf8");
  for (const [account, can] of Object.entries(CAN)) {
    const said = Object.keys(can).join(", ") || "nothing";
    expect(text).toMatch(new RegExp(`^\\| [^|]*\`${account}\`[^|]* \\| ${said}[;|. ]`, "m"));
  }
  for (const never of Object.keys(NEVER)) expect(text).toContain(`- ${never}`);
});

describe.runIf(missing.length === 0)("a stolen token", { timeout: 60_000 }, () => {
  let cluster: ControlPlane;
  const clients = new Map<string, ApiClient>();
  let accounts: readonly string[] = [];

  beforeAll(async () => {
    cluster = await startControlPlane();
    for (const file of [...OUR_CRDS, ...STREAM_CRDS]) await cluster.createYaml(readFileSync(file, "utf8"));
    for (const namespace of [NAMESPACE, "isochrone-canary", "kube-system"])
      await cluster.createNamespace(namespace);
    const helm = await Helm.open();
    const rendered = await helm.template(EVERYTHING);
    await helm.close();
    const rights = rendered.filter(({ kind }) => RIGHTS.test(kind));
    accounts = rights.filter(({ kind }) => kind === "ServiceAccount").map(({ metadata }) => metadata.name);
    await cluster.create(rights.map(inNamespace));
    for (const name of Object.keys(CAN)) {
      const serviceAccount = { namespace: NAMESPACE, name: `isochrone-${name}` };
      clients.set(name, await cluster.clientOf({ serviceAccount }));
    }
    await objects();
  }, 900_000);
  afterAll(() => cluster?.close());

  function inNamespace(object: KubernetesObject): KubernetesObject {
    const isNamespaced = /^(ServiceAccount|Role|RoleBinding)$/.test(object.kind);
    return isNamespaced && object.metadata.namespace === undefined
      ? { ...object, metadata: { ...object.metadata, namespace: NAMESPACE } }
      : object;
  }

  async function objects(): Promise<void> {
    await cluster.addNodes(1);
    await cluster.createPods(["pod-0"], { labels: { app: "web" } });
    await cluster.createPods(["gated"], { schedulingGates: ["isochrone.dev/placement"] });
    await cluster.createWorkload("web", { replicas: 2 });
    await cluster.create(streamJob("default", "gate"));
    const port = { port: 80 };
    await cluster.create([
      { ...KINDS.service, metadata: { namespace: "default", name: "web" }, spec: { ports: [port] } },
      { ...KINDS.secret, metadata: { namespace: "default", name: "theirs" } },
      { ...KINDS.secret, metadata: { namespace: NAMESPACE, name: "isochrone-probe-keys" } },
      {
        ...KINDS.endpointSlice,
        metadata: { namespace: "default", name: "web-1" },
        addressType: "IPv4",
        endpoints: [{ addresses: ["10.0.0.1"] }],
      },
      {
        ...KINDS.daemonSet,
        metadata: { namespace: NAMESPACE, name: "isochrone-network-manager" },
        spec: {
          selector: { matchLabels: { app: "x" } },
          template: { metadata: { labels: { app: "x" } }, spec: { containers: [CONTAINER] } },
        },
      },
    ]);
  }

  async function verdict(account: string, [verb, path, body]: Attempt): Promise<string> {
    const dry = verb === "GET" || path.includes("?") ? path : `${path}?dryRun=All`;
    const contentType = verb === "PATCH" ? "application/merge-patch+json" : "application/json";
    const { code, text } = await clients.get(account)!.answer(verb, dry, body, { contentType });
    return code < 300 ? "ok" : `${code} ${text}`;
  }

  test("may be of any account of the chart", () => {
    const known = Object.keys(CAN).map((name) => `isochrone-${name}`);
    // The account of `helm test` has no permissions here.
    expect(accounts.toSorted()).toEqual([...known, "isochrone-test"].toSorted());
  });

  test.each(Object.keys(CAN))("of %s allows what docs/rbac.md says", async (account) => {
    for (const [name, attempt] of Object.entries(CAN[account]!))
      await expect.poll(() => verdict(account, attempt), { timeout: 20_000, message: name }).toBe("ok");
    if (Object.keys(CAN[account]!).length > 0) return;
    for (const path of ["/api/v1/pods", "/api/v1/nodes", "/api/v1/services"])
      expect(await verdict(account, reads(path))).toContain("403");
  });

  test.each(Object.keys(CAN))("of %s allows nothing that is worse", async (account) => {
    const done = async (): Promise<string[]> => {
      const found: string[] = [];
      for (const [name, attempt] of Object.entries(NEVER)) {
        const said = await verdict(account, attempt);
        // 422: the API server finds no StreamJob as policy parameter.
        if (!/^403 |^422 .*no params found/s.test(said)) found.push(`${name}: ${said}`);
      }
      return found;
    };
    // The API server takes a moment to enforce a policy.
    await expect.poll(done, { timeout: 30_000, interval: 500 }).toEqual([]);
  });

  test.each(Object.keys(CAN))("of %s impersonates nobody", async (account) => {
    const headers = { "impersonate-user": "admin", "impersonate-group": "system:masters" };
    const { code } = await clients.get(account)!.answer("GET", "/api/v1/secrets", undefined, { headers });
    expect(code).toBe(403);
  });
});
