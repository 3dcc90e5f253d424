import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { TestContext } from "vitest";
import { CertificateAuthority } from "../harness/common/x509.ts";
import { kubernetesFolder } from "../harness/control-plane/build.ts";
import {
  ApiClient,
  controlPlaneSupport,
  isRunning,
  nodeNameOf,
  startControlPlane,
  type ControlPlane,
  type ControlPlaneOptions,
} from "../harness/control-plane/index.ts";
import { kubernetesVersion } from "../harness/control-plane/versions.ts";

const support = controlPlaneSupport();
const PROGRAM = join(import.meta.dirname, "../harness/control-plane/start-and-wait.ts");
const PODS = "/api/v1/namespaces/default/pods";

function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await sleep(20);
}

async function codeOf(client: ApiClient, path: string): Promise<number> {
  return (await client.answer("GET", path)).code;
}

interface Started {
  readonly pids: readonly number[];
  readonly folder: string;
}

async function startElsewhere(
  { onTestFinished }: TestContext,
  environment: NodeJS.ProcessEnv,
): Promise<Started & { kill: () => void }> {
  const parent = spawn(process.execPath, [PROGRAM], {
    env: environment,
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void parent.kill("SIGKILL"));
  const [line] = (await once(createInterface({ input: parent.stdout }), "line")) as [string];
  return { ...(JSON.parse(line) as Started), kill: () => void parent.kill("SIGKILL") };
}

// Concurrent tests don't disturb each other, because they mostly wait.
describe.runIf(support.supported)("a control plane with everything", () => {
  let cluster: ControlPlane;

  beforeAll(async () => {
    cluster = await startControlPlane({
      components: ["controller-manager", "scheduler", "kwok"],
      audit: true,
    });
  });
  afterAll(() => cluster.close());

  test("has nodes that become Ready, and pods that run where the scheduler puts them", async () => {
    const nodes = await cluster.addNodes(4, (i) => ({
      zone: `z${i % 2}`,
      region: "here",
      cpu: "2",
      extendedResources: { "network.aware.com/bandwidth": i === 3 ? "1000" : "0" },
    }));
    expect(nodes.map(({ metadata }) => metadata.labels?.["topology.kubernetes.io/zone"])).toEqual([
      "z0",
      "z1",
      "z0",
      "z1",
    ]);
    await cluster.createWorkload("web", { replicas: 6, requests: { cpu: "1" } });
    await cluster.createWorkload("heavy", {
      kind: "StatefulSet",
      limits: { "network.aware.com/bandwidth": "700" },
      requests: { "network.aware.com/bandwidth": "700" },
    });
    const pods = await cluster.waitFor("pods", (all) => all.length === 7 && all.every(isRunning) && all);
    const places = pods.map(nodeNameOf);
    // Nodes have two CPUs. The only node with bandwidth gets the pod that requests it.
    expect(places.filter((name) => name === "node-0").length).toBeLessThanOrEqual(2);
    expect(pods.filter(({ metadata }) => metadata.name === "heavy-0").map(nodeNameOf)).toEqual(["node-3"]);

    await cluster.remove({ apiVersion: "v1", kind: "Pod", namespace: "default", name: "heavy-0" });
    await cluster.remove({
      apiVersion: "apps/v1",
      kind: "Deployment",
      namespace: "default",
      name: "web",
    });
    await cluster.waitFor("pods", (all) => all.length === 1 && all.every(isRunning));
  });

  test("goes on with another configuration of the scheduler", async () => {
    const config = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: "@KUBECONFIG@"}
leaderElection: {leaderElect: false}
profiles: [{schedulerName: default-scheduler}, {schedulerName: second}]
`;
    await cluster.createPods(["waiting"], { schedulerName: "second" });
    await cluster.restartScheduler(config);
    await cluster.waitFor("pods", (all) =>
      all.some((pod) => pod.metadata.name === "waiting" && isRunning(pod)),
    );
    expect(await cluster.metrics("scheduler")).toMatch(/^scheduler_schedule_attempts_total/m);
    expect(cluster.usage("scheduler").residentBytes).toBeGreaterThan(10_000_000);
  });

  test.concurrent("lets a service account do what it was granted, and keeps what it was refused", async () => {
    const identity = { serviceAccount: { namespace: "limited", name: "reader" } };
    await cluster.grant(identity, [{ apiGroups: [""], resources: ["nodes"], verbs: ["list"] }]);
    const file = await cluster.kubeconfigOf(identity);
    expect(await cluster.kubectl(`--kubeconfig=${file}`, "get", "nodes", "-o", "name")).toContain("node/");
    await expect(
      cluster.kubectl(`--kubeconfig=${file}`, "delete", "node", "node-0", "--wait=false"),
    ).rejects.toThrow(/cannot delete resource "nodes"/);

    const name = "system:serviceaccount:limited:reader";
    const events = await cluster.auditEvents(({ user, resource }) => user === name && resource === "nodes");
    expect(events.map(({ verb, name, code, decision }) => ({ verb, name, code, decision }))).toEqual([
      { verb: "list", name: "", code: 200, decision: "allow" },
      { verb: "delete", name: "node-0", code: 403, decision: "forbid" },
    ]);
  });

  test.concurrent("knows whose a token is, and knows it no more when it is revoked", async () => {
    const account = { namespace: "limited", name: "caller" };
    const { token, revoke } = await cluster.serviceAccountToken(account, { audiences: ["isochrone"] });
    const review = async (audiences: string[]): Promise<{ authenticated: unknown; user: unknown }> => {
      const { status } = await cluster.request("POST", "/apis/authentication.k8s.io/v1/tokenreviews", {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenReview",
        spec: { token, audiences },
      });
      return { authenticated: status?.["authenticated"], user: status?.["user"] };
    };
    const caller = { username: "system:serviceaccount:limited:caller" };
    expect(await review(["isochrone"])).toMatchObject({ authenticated: true, user: caller });
    expect(await review(["another"])).toMatchObject({ authenticated: undefined });
    await revoke();
    await until(async () => (await review(["isochrone"])).authenticated === undefined);
  });

  test.concurrent("refuses an expired certificate, and a stranger's", async () => {
    const codes: number[] = [];
    for (const validForMs of [60_000, -60_000]) {
      const client = await cluster.clientOf({ user: "a", groups: ["system:masters"], validForMs });
      codes.push(await codeOf(client, "/api/v1/nodes"));
    }
    expect(codes).toEqual([200, 401]);
    const stranger = new CertificateAuthority("Isochrone test authority");
    const forged = stranger.issue({ commonName: "a", organizations: ["system:masters"] });
    expect(await codeOf(new ApiClient(cluster.url, cluster.ca, forged), "/api/v1/nodes")).toBe(401);
    const short = await cluster.clientOf({ user: "b", groups: ["system:masters"], validForMs: 4000 });
    expect(await codeOf(short, "/api/v1/nodes")).toBe(200);
    await until(async () => (await codeOf(short, "/api/v1/nodes")) === 401);
  });

  test.concurrent("tells who owns the fields of what is applied", async () => {
    const apply = (manager: string, value: string): Promise<unknown> =>
      cluster.request(
        "PATCH",
        `/api/v1/namespaces/default/configmaps/shared?fieldManager=${manager}`,
        { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "shared" }, data: { value } },
        "application/apply-patch+yaml",
      );
    await apply("first", "1");
    await expect(apply("second", "2")).rejects.toThrow(/409.*conflict with "first"/);
  });

  test.concurrent("answers 429 to one and serves the others", async () => {
    const one = { serviceAccount: { namespace: "limited", name: "hurried" } };
    const client = await cluster.clientOf(one);
    const release = await cluster.throttle(one);
    const answers = await Promise.all(Array.from({ length: 20 }, () => client.answer("GET", "/api")));
    expect(new Set(answers.map(({ code }) => code))).toEqual(new Set([429]));
    expect(answers[0]?.headers["retry-after"]).toBe("1");
    expect((await cluster.list("nodes")).length).toBe(4);
    await release();
    expect(await codeOf(client, "/api")).toBe(200);
  });

  test.concurrent("has definitions of one's own at once", async () => {
    const [, made] = await cluster.createYaml(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.test.isochrone.dev}
spec:
  group: test.isochrone.dev
  names: {kind: Thing, plural: things, singular: thing, listKind: ThingList}
  scope: Namespaced
  versions:
    - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
---
apiVersion: test.isochrone.dev/v1
kind: Thing
metadata: {name: one}
spec: {size: 1}
`);
    const kind = { apiVersion: "test.isochrone.dev/v1", kind: "Thing" };
    expect(await cluster.list(kind)).toEqual([made]);
    expect(await cluster.get({ ...kind, namespace: "default", name: "two" })).toBe(null);
  });

  test("says what it saw last when a wait is in vain", async () => {
    await expect(
      cluster.waitFor("pods", (all) => all.every((pod) => nodeNameOf(pod) === "nowhere"), {
        timeoutMs: 300,
      }),
    ).rejects.toThrow(/waited 300 ms for \/api\/v1\/pods.*heavy-0 Running node-3/);
  });
});

describe.runIf(support.supported)("an API server and its etcd", () => {
  let cluster: ControlPlane;

  beforeAll(async () => {
    cluster = await startControlPlane();
  });
  afterAll(() => cluster.close());

  test("place pods by hand", async () => {
    await cluster.addNodes(1);
    await cluster.createPods(["a", "b"]);
    await cluster.bindAndRun({ name: "a" }, "node-0");
    const pods = await cluster.list("pods");
    expect(pods.map((pod) => [nodeNameOf(pod), isRunning(pod)])).toEqual([
      ["node-0", true],
      [null, false],
    ]);
  });

  test("keep their data, their port and their clients through a stop, a kill and a pause", async () => {
    const [before] = await cluster.list("nodes");
    const waiting = cluster.waitFor("pods", (all) => all.some(({ metadata }) => metadata.name === "late"), {
      timeoutMs: 100_000,
    });
    await cluster.stopApiServer();
    expect(cluster.pid("api-server")).toBe(null);
    await expect(cluster.list("nodes")).rejects.toThrow("ECONNREFUSED");
    await cluster.startApiServer();
    expect(await cluster.list("nodes")).toEqual([before]);
    await cluster.kill("api-server");
    await cluster.startApiServer();
    expect(await cluster.list("nodes")).toEqual([before]);

    await cluster.pause("api-server");
    onTestFinished(() => cluster.resume("api-server"));
    const answer = cluster.list("nodes").then(({ length }) => length);
    expect(await Promise.race([answer, sleep(500, "silent")])).toBe("silent");
    cluster.resume("api-server");
    expect(await answer).toBe(1);
    await cluster.createPods(["late"]);
    await waiting;
  });

  test("forget old versions when told", async () => {
    const page = await cluster.request<{ metadata: { continue: string; resourceVersion: string } }>(
      "GET",
      `${PODS}?limit=1`,
    );
    const next = `${PODS}?limit=1&continue=${page.metadata.continue}`;
    const client = await cluster.clientOf({ user: "watcher", groups: ["system:masters"] });
    const watch = `${PODS}?watch=1&resourceVersion=${page.metadata.resourceVersion}`;
    const firstEvent = async (): Promise<unknown> => {
      const { value } = await client.lines(watch, AbortSignal.timeout(5000)).next();
      return JSON.parse(value as string);
    };
    await cluster.createPods(["c"]);
    expect(await cluster.request("GET", next)).toMatchObject({ kind: "PodList" });
    expect(await firstEvent()).toMatchObject({ type: "ADDED", object: { metadata: { name: "c" } } });
    await cluster.compact();
    await expect(cluster.request("GET", next)).rejects.toThrow(/answered 410/);
    expect(await firstEvent()).toMatchObject({ type: "ERROR", object: { code: 410 } });
  });

  test("are reached over a bad network", async () => {
    const proxy = await cluster.startCutProxy({ delayMs: 150 });
    onTestFinished(() => proxy.close());
    const client = await cluster.clientOf({ user: "far", groups: ["system:masters"] }, proxy.url);
    const started = performance.now();
    expect(await codeOf(client, "/version")).toBe(200);
    expect(performance.now() - started).toBeGreaterThan(300);

    proxy.delayMs = 0;
    proxy.cutEvery(200);
    const begun = performance.now();
    const lines = client.lines(`${PODS}?watch=1&resourceVersion=0`, AbortSignal.timeout(10_000));
    await expect(Array.fromAsync(lines)).rejects.toThrow(/aborted|ECONNRESET|hang up/);
    expect(performance.now() - begun).toBeLessThan(2000);
    proxy.cutEvery(null);

    proxy.refusing = true;
    await expect(codeOf(client, "/version")).rejects.toThrow(/ECONNRESET|hang up|disconnected/);
    proxy.refusing = false;
    expect(await codeOf(client, "/version")).toBe(200);

    proxy.freeze();
    const late = codeOf(client, "/version");
    expect(await Promise.race([late, sleep(400, "silent")])).toBe("silent");
    proxy.thaw();
    expect(await late).toBe(200);
  });
});

// Concurrently, because the test is about two control planes.
describe.runIf(support.supported)("control planes", { concurrent: true }, () => {
  const two = (options: ControlPlaneOptions): Promise<ControlPlane[]> =>
    Promise.all([startControlPlane(options), startControlPlane(options)]);

  test("start side by side, and close fast and without a trace", async () => {
    const clusters = await two({});
    const pids = clusters.flatMap((cluster) => [cluster.pid("etcd")!, cluster.pid("api-server")!]);
    await clusters[0]!.addNodes(2);
    expect((await clusters[1]!.list("nodes")).length).toBe(0);
    const started = performance.now();
    await Promise.all(clusters.map((cluster) => cluster.close()));
    expect(performance.now() - started).toBeLessThan(4000);
    expect(pids.filter(isAlive)).toEqual([]);
    expect(clusters.filter(({ folder }) => existsSync(folder))).toEqual([]);
  });

  test("are those of KUBEBUILDER_ASSETS, for which nothing is built, and end with the process that started them", async (context) => {
    const assets = await mkdtemp(join(tmpdir(), "isochrone-assets-"));
    context.onTestFinished(() => rm(assets, { recursive: true }));
    for (const name of ["etcd", "kube-apiserver", "kubectl"])
      await symlink(join(kubernetesFolder, name), join(assets, name));
    const withoutGo = (process.env["PATH"] ?? "")
      .split(delimiter)
      .filter((folder) => !existsSync(join(folder, "go")));
    const { pids, folder, kill } = await startElsewhere(context, {
      ...process.env,
      KUBEBUILDER_ASSETS: assets,
      XDG_CACHE_HOME: join(assets, "empty"),
      PATH: withoutGo.join(delimiter),
    });
    expect(pids.filter(isAlive)).toEqual(pids);
    expect(existsSync(join(assets, "empty"))).toBe(false);
    kill();
    await until(() => !pids.some(isAlive) && !existsSync(folder));
  });

  test("that can't start say why", async () => {
    await expect(startControlPlane({ apiServerFlags: ["--no-such-flag"] })).rejects.toThrow(
      /api-server ended while it started:[^]*unknown flag: --no-such-flag/,
    );
  });
});

test("a minor of Kubernetes stands for a version of it, and a wrong one is named", () => {
  expect(kubernetesVersion("1.34")).toMatch(/^1\.34\.\d+$/);
  expect(kubernetesVersion("1.35.4")).toBe("1.35.4");
  expect(() => kubernetesVersion("newest")).toThrow(/ISOCHRONE_TEST_KUBERNETES must be.*got "newest"/);
});
