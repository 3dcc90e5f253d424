// No request of the StreamJob controller is denied, and no grant is unused. See also rbac.test.ts.
import { readFileSync } from "node:fs";
import { KINDS, type KubernetesObject } from "@isochrone/kubernetes";
import { looseFields } from "@isochrone/primitives";
import { LINK_SHARES } from "@isochrone/streams";
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
import { startGraphApi, type GraphApi } from "../harness/extender.ts";
import { flowNetwork, STREAM_CRD_NAMES, STREAM_CRDS, streamJob, streamTask } from "../harness/streams.ts";
import { startStreams } from "../harness/streams-plugin.ts";

const { NAMESPACE: INSTALLATION, NAME } = MANIFEST_VALUES;
const STREAMS = "scheduler-plugin-streams";
const RULES = [
  "scheduler-plugin",
  "scheduler-plugin-pod-events",
  "scheduler-plugin-appgroup-status",
  STREAMS,
];
type Running = Awaited<ReturnType<typeof startStreams>>;
const WAIT = { timeout: 60_000, interval: 300 };
const COMPONENTS = ["scheduler", "controller-manager", "kwok"] as const;

const SITE = "site";
/** Fields that the API server fills in, which the policy must not treat as changes. */
const EVERYTHING = {
  hostNetwork: true,
  serviceAccountName: "stream-stage",
  shareProcessNamespace: false,
  priorityClassName: "",
  tolerations: [{ key: "cameras", operator: "Exists" }],
  securityContext: { fsGroup: 1000, runAsNonRoot: true },
  volumes: [
    { name: "settings", configMap: { name: "settings" } },
    { name: "key", secret: { secretName: "model", items: [{ key: "a", path: "b" }] } },
    { name: "cache" },
    {
      name: "downward",
      downwardAPI: { items: [{ path: "labels", fieldRef: { fieldPath: "metadata.labels" } }] },
    },
    { name: "identity", projected: { sources: [{ serviceAccountToken: { audience: "s3", path: "t" } }] } },
    { name: "host", hostPath: { path: "/dev/video0" } },
  ],
  initContainers: [{ name: "fetch", image: "example.com/fetch", env: [{ name: "EMPTY", value: "" }] }],
  containers: [
    {
      name: "stage",
      image: "example.com/stage:1",
      args: [],
      env: [
        { name: "A", value: "b" },
        { name: "POD", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
        { name: "CPU", valueFrom: { resourceFieldRef: { resource: "limits.cpu" } } },
        { name: "KEY", valueFrom: { secretKeyRef: { name: "model", key: "key", optional: true } } },
      ],
      envFrom: [{ configMapRef: { name: "settings", optional: true } }],
      ports: [{ containerPort: 7000 }],
      volumeMounts: [
        { name: "settings", mountPath: "/settings", readOnly: false },
        { name: "cache", mountPath: "/cache", subPath: "here" },
      ],
      lifecycle: { preStop: { exec: { command: ["sleep", "1"] } } },
      readinessProbe: { httpGet: { path: "/", port: 7000 } },
      securityContext: { privileged: true, capabilities: { add: ["NET_ADMIN"], drop: [] } },
    },
    { name: "proxy", image: "example.com/proxy:1", securityContext: { runAsUser: 1001 } },
  ],
};

const support = controlPlaneSupport(COMPONENTS);
if (!support.supported) console.warn(`the rights of stream jobs are not tested: ${support.reason}`);

describe.runIf(support.supported)("the rights of stream jobs", { timeout: 150_000 }, () => {
  let cluster: ControlPlane;
  let graphs: GraphApi;

  beforeAll(async () => {
    [cluster, graphs] = await Promise.all([
      startControlPlane({ components: COMPONENTS, audit: "RequestResponse" }),
      startGraphApi(),
    ]);
    for (const file of OUR_CRDS) await cluster.createYaml(readFileSync(file, "utf8"));
    for (const file of STREAM_CRDS) await cluster.kubectl("apply", "-f", file);
    await cluster.kubectl("wait", "--for=condition=Established", "--timeout=20s", ...STREAM_CRD_NAMES);
    await installRules(cluster, RULES);
    await installPolicies(cluster);
    await cluster.addNodes([{ name: "n0" }, { name: "n1" }]);
    const labels = { "pod-security.kubernetes.io/enforce": "privileged" };
    await cluster.create({ ...KINDS.namespace, metadata: { name: SITE, labels } });
    await cluster.create({
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { namespace: SITE, name: "stream-stage" },
    });
  }, 900_000);
  afterAll(async () => {
    await graphs?.close();
    await cluster?.close();
  });

  const verdict = async (): Promise<Verdict> => {
    const isOurs = (user: string): boolean =>
      user.startsWith(`system:serviceaccount:${INSTALLATION}:${NAME}-`);
    const events = await cluster.auditEvents(({ user }) => isOurs(user));
    const uses = events.flatMap((event) => usesOf(event, isOurs));
    const grants = grantsOf(manifest("rbac", STREAMS));
    return verdictOf({ grants, uses, scenarios: [], faultsOnly: {}, byChance: new Set() });
  };

  /** An AppGroup requests more than the link, less, then more, which causes an Event series. */
  const cutFloors = async (running: Running): Promise<void> => {
    const namespace = SITE;
    const workload = (selector: string): object => ({
      kind: "Pod",
      name: selector,
      selector,
      apiVersion: "v1",
      namespace,
    });
    const specWith = (minBandwidth: string): object => ({
      numMembers: 2,
      topologySortingAlgorithm: "KahnSort",
      workloads: [
        { workload: workload("web"), dependencies: [{ workload: workload("db"), minBandwidth }] },
        { workload: workload("db") },
      ],
    });
    const group = { ...KINDS.appGroup, namespace, name: "greedy" };
    await cluster.request(
      "POST",
      `/apis/appgroup.diktyo.x-k8s.io/v1alpha1/namespaces/${namespace}/appgroups`,
      {
        ...KINDS.appGroup,
        metadata: { namespace, name: "greedy" },
        spec: specWith("1P"),
      },
    );
    for (const [name, nodeName] of [
      ["web", "n0"],
      ["db", "n1"],
    ] as const)
      await cluster.createPods([name], {
        namespace,
        labels: { "appgroup.diktyo.x-k8s.io": "greedy", "appgroup.diktyo.x-k8s.io.workload": name },
        spec: { nodeName, terminationGracePeriodSeconds: 0 },
      });
    const told = async (): Promise<readonly unknown[]> => {
      const events = await cluster.list("events", { namespace });
      return events
        .map((event): Readonly<Record<string, unknown>> => ({ ...event }))
        .filter(({ reason }) => reason === "FloorsCut")
        .map(({ message, series }) => [message, looseFields<{ count: number }>(series).count ?? 1]);
    };
    const floor = async (): Promise<number | undefined> =>
      (await running.flowPlans()).get("n0")?.flows.find(({ owner }) => owner.kind === "AppGroup")
        ?.bitsPerSecond;
    const note = expect.stringContaining("1 of 1 pairs of pods have less than minBandwidth, such as web->db");
    await expect.poll(floor, WAIT).toBe(10e6 * LINK_SHARES.namespace);
    await expect.poll(told, WAIT).toEqual([[note, 1]]);
    await cluster.patch(group, { spec: specWith("1M") });
    await expect.poll(floor, WAIT).toBe(1e6);
    await cluster.patch(group, { spec: specWith("1P") });
    await expect.poll(told, WAIT).toEqual([[note, 2]]);
    await cluster.remove(group);
    for (const name of ["web", "db"]) await cluster.remove({ ...KINDS.pod, namespace, name });
  };

  test("a pod of a StreamJob that does not exist is deleted", async () => {
    const identity = { serviceAccount: { namespace: INSTALLATION, name: `${NAME}-scheduler-plugin` } };
    const client = await cluster.clientOf(identity);
    const path = `/apis/isochrone.dev/v1alpha1/namespaces/${SITE}/streamjobs`;
    await cluster.request(
      "POST",
      path,
      streamJob(SITE, "other", { source: { node: "n9", bytesPerFrame: 1 } }),
    );
    onTestFinished(() => cluster.remove({ ...KINDS.streamJob, namespace: SITE, name: "other" }));
    const owner = { ...KINDS.streamJob, name: "ghost", uid: "00000000-0000-4000-8000-000000000000" };
    const labels = { "isochrone.dev/stream-job": "ghost", "isochrone.dev/stream-template": "work" };
    const pod = {
      ...KINDS.pod,
      metadata: { name: "ghost", labels, ownerReferences: [{ ...owner, controller: true }] },
      spec: { containers: [{ name: "stage", image: "none" }], schedulerName: "nobody" },
    };
    const pods = `/api/v1/namespaces/${SITE}/pods`;
    await expect.poll(async () => (await client.answer("POST", pods, pod)).code, WAIT).toBe(201);
    await expect.poll(() => cluster.get({ ...KINDS.pod, namespace: SITE, name: "ghost" }), WAIT).toBeNull();
  });

  test("are used from the first pod to the last", async () => {
    const serviceAccount = { namespace: INSTALLATION, name: `${NAME}-scheduler-plugin` };
    const kubeconfig = await cluster.kubeconfigOf({ serviceAccount });
    const running = await startStreams({
      kubeconfig,
      graphUrl: graphs.url,
      streams: { awaitRules: true },
      scheduler: { replicaNamespace: INSTALLATION },
    });
    onTestFinished(() => running.stop().catch(() => undefined));
    const path = "/apis/isochrone.dev/v1alpha1";
    const link = { source: "n0", target: "n1", capacity: "10M" };
    await cluster.request("POST", `${path}/flownetworks`, flowNetwork("site", [link]));
    const profiling = { command: ["measure"] };
    const tasks = [streamTask("work", { template: { spec: EVERYTHING }, profiling })];
    const job = streamJob(SITE, "gate", { tasks });
    await cluster.request("POST", `${path}/namespaces/${SITE}/streamjobs`, job);
    const ref = { ...KINDS.streamJob, namespace: SITE, name: "gate" };
    const phase = async (): Promise<unknown> => (await cluster.get(ref))?.status?.["phase"];
    await expect
      .poll(async () => {
        await running.confirm(["n0", "n1"]);
        return await phase();
      }, WAIT)
      .toBe("Running");
    // The first container of each would run forever.
    await expect
      .poll(() => cluster.list("pods", { labels: "isochrone.dev/stream-profile=gate" }), WAIT)
      .toHaveLength(1);
    await cluster.remove(ref);
    await cutFloors(running);
    const pods = (): Promise<KubernetesObject[]> => cluster.list("pods", { namespace: SITE });
    await expect.poll(pods, WAIT).toEqual([]);
    await expect.poll(async () => (await verdict()).unused, WAIT).toEqual([]);
    expect((await verdict()).denied).toEqual([]);
  });
});
