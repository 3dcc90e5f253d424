// Pauses the leader for longer than its Lease. Its pending writes must have no effect.
import { randomUUID } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { KINDS } from "@isochrone/kubernetes";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { appGroup, APP_GROUP_RULES, indicesOf, LEASE_RULES, OUR_CRDS } from "../harness/appgroups.ts";
import { RestartableProcess } from "../harness/common/restartable-process.ts";
import { controlPlaneSupport, startControlPlane, type ControlPlane } from "../harness/control-plane/index.ts";
import { TUNED, tunedEnvironment } from "../harness/components/tuned.ts";

const ROOT = join(import.meta.dirname, "../..");
const A1 = { P1: "P2", P2: "P3", P3: "" };
const GROUPS = 20;
const LEASE_NAMESPACE = "isochrone";

const support = controlPlaneSupport([]);
if (!support.supported) console.warn(`failover of the AppGroup controller skipped: ${support.reason}`);

describe.runIf(support.supported)("two processes of the scheduler-plugin", () => {
  const folder = mkdtempSync(join(tmpdir(), "isochrone-test-"));
  const processes: RestartableProcess[] = [];
  let cluster: ControlPlane;

  beforeAll(async () => {
    cluster = await startControlPlane({ audit: true });
    for (const file of OUR_CRDS) await cluster.createYaml(readFileSync(file, "utf8"));
  }, 900_000);
  afterAll(async () => {
    await Promise.all(processes.map((each) => each.kill()));
    await cluster?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  async function replica(name: string): Promise<RestartableProcess> {
    const identity = { serviceAccount: { namespace: LEASE_NAMESPACE, name } };
    const kubeconfig = await cluster.kubeconfigOf(identity);
    await cluster.grant(identity, APP_GROUP_RULES);
    await cluster.grant(identity, LEASE_RULES, LEASE_NAMESPACE);
    const replicaProcess = new RestartableProcess({
      name,
      command: process.execPath,
      args: [...TUNED, join(ROOT, "scheduler-plugin/src/main.ts")],
      cwd: ROOT,
      environment: {
        ISOCHRONE_KUBERNETES_KUBECONFIG: kubeconfig,
        ISOCHRONE_SCHEDULER_PORT: "0",
        ISOCHRONE_SCHEDULER_GRAPH_URL: "http://127.0.0.1:9",
        ISOCHRONE_SCHEDULER_POD_EVENTS: "false",
        ISOCHRONE_SCHEDULER_REPLICA_NAME: name,
        ...tunedEnvironment({
          scheduler: { leaseDurationMs: 3_000, leaseRenewDeadlineMs: 2_000, leaseRetryPeriodMs: 500 },
        }),
      },
      logPath: join(folder, `${name}.log`),
      isReady: (log) => log().includes("extender listening"),
      startWithinMs: 30_000,
    });
    processes.push(replicaProcess);
    await replicaProcess.start();
    return replicaProcess;
  }

  const leads = async (name: string): Promise<unknown> =>
    await cluster.waitFor(
      KINDS.lease,
      (leases) => leases.some(({ spec }) => String(spec?.["holderIdentity"]).startsWith(`${name}_`)),
      { namespace: LEASE_NAMESPACE },
    );
  const allOrdered = async (namespace: string, expected: Record<string, number>): Promise<unknown> =>
    await cluster.waitFor(
      KINDS.appGroup,
      (groups) => {
        expect(groups.map(indicesOf)).toEqual(Array.from({ length: GROUPS }, () => expected));
        return true;
      },
      { namespace },
    );

  test("a leader that stood still writes nothing when it wakes up, and lives on", async () => {
    const namespace = `shop-${randomUUID().slice(0, 8)}`;
    const [first, second] = [`first-${namespace}`, `second-${namespace}`];
    await cluster.createNamespace(namespace);
    const sleeper = await replica(first);
    await leads(first);
    await replica(second);
    await Promise.all(
      Array.from({ length: GROUPS }, (_, index) => cluster.create(appGroup(namespace, `g${index}`, A1))),
    );
    // In the middle of its work.
    await sleep(1_000);
    await sleeper.pause();
    await leads(second);
    await allOrdered(namespace, { P1: 1, P2: 2, P3: 3 });
    for (let index = 0; index < GROUPS; index++)
      await cluster.patch(
        { ...KINDS.appGroup, namespace, name: `g${index}` },
        { spec: { topologySortingAlgorithm: "ReverseKahn" } },
      );
    await allOrdered(namespace, { P1: 3, P2: 2, P3: 1 });

    const wokenMs = Date.now();
    sleeper.resume();
    await sleep(4_000);
    const user = `system:serviceaccount:${LEASE_NAMESPACE}:${first}`;
    const writes = await cluster.auditEvents(
      ({ user: by, resource, verb }) =>
        by === user && ["appgroups", "events"].includes(resource) && ["create", "patch"].includes(verb),
    );
    expect(new Set(writes.map(({ resource }) => resource))).toEqual(new Set(["appgroups", "events"]));
    const late = writes.filter(({ receivedMs, code }) => receivedMs >= wokenMs && code < 300);
    expect(late).toEqual([]);
    expect(sleeper.pid).not.toBe(null);
    await leads(second);
    await allOrdered(namespace, { P1: 3, P2: 2, P3: 1 });
  });
});
