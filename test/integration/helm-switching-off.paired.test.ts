// Rollback, upgrade to the defaults, and removal, each with gated, pending and running pods. No kubelet runs:
// programs run here under the release's accounts.
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { freePort } from "../harness/common/free-port.ts";
import {
  gatesOf,
  hasOurGate,
  KINDS,
  PLACEMENT_GATE,
  PLACEMENT_LABEL,
  PLANNER_LEASE,
  WEBHOOK_ANSWER,
} from "@isochrone/kubernetes";
import type { KubernetesObject } from "@isochrone/kubernetes";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { COMMAND } from "../harness/extender.ts";
import {
  controlPlaneSupport,
  nodeNameOf,
  startControlPlane,
  type ControlPlane,
} from "../harness/control-plane/index.ts";
import {
  CHART,
  Helm,
  helmSupport,
  inventory,
  runHook,
  runHookWithRights,
  Services,
  type ChartValues,
} from "../harness/helm/index.ts";

const COMPONENTS = ["controller-manager", "scheduler", "kwok"] as const;
const supports = [helmSupport(), controlPlaneSupport(COMPONENTS)];
const missing = supports.flatMap((support) => (support.supported ? [] : [support.reason]));
if (missing.length > 0) console.warn(`switching off is not tested: ${missing.join("; ")}`);

const NAMESPACE = "isochrone";
const SHOP = "shop";
const OTHERS_GATE = "quota.example.com/admission";
const WITHIN = { timeout: 150_000, interval: 500 };
const WEBHOOK_PORT = await freePort("127.0.0.1", new Set());
const ON: ChartValues = {
  settings: {
    webhook: { enabled: true, url: `https://127.0.0.1:${WEBHOOK_PORT}` },
    planner: { enabled: true },
  },
};
/** Disables the gate opener, so that only the hooks open gates. */
const NO_OPENER: ChartValues = { settings: { gates: { enabled: false } } };
/** Shorter than the defaults, because killed processes keep their Leases. */
const LEASE_TIMES = { leaseDurationMs: 4_000, leaseRenewDeadlineMs: 3_000, leaseRetryPeriodMs: 500 };
/** Shorter than the default: gates without a planner open after this time. */
const SHORT_DEADLINE = { deadlineMs: 8_000 };
const REGISTRATION = { ...KINDS.mutatingWebhookConfiguration, name: "isochrone-placement" };
const OPERATIONS = readFileSync(join(import.meta.dirname, "../../docs/operations.md"), "utf8");

describe.runIf(missing.length === 0)("switching off with the chart", { timeout: 400_000 }, () => {
  let helm: Helm;
  let cluster: ControlPlane;
  let services: Services;
  let before: string[];
  let count = 0;

  beforeAll(async () => {
    helm = await Helm.open();
    cluster = await startControlPlane({ components: COMPONENTS });
    await cluster.createNamespace(NAMESPACE);
    await cluster.addNodes(2);
    await cluster.createNamespace(SHOP, { [PLACEMENT_LABEL]: "enabled" });
    before = await inventory(cluster, NAMESPACE);
  }, 900_000);
  afterAll(async () => {
    await cluster?.close();
    await helm?.close();
  });

  beforeEach(() => {
    services = new Services(cluster);
  });
  afterEach(() => services.close());

  async function run(verb: string, ...args: readonly string[]): Promise<void> {
    const flags = ["--namespace", NAMESPACE, "--timeout", "90s"];
    const { code, stdout, stderr } = await helm.run([verb, NAMESPACE, ...args, ...flags], cluster.kubeconfig);
    expect(`${code}: ${code === 0 ? "" : stderr + stdout}`).toBe("0: ");
  }
  const upgrade = (values: ChartValues): Promise<void> =>
    run("upgrade", CHART, "--install", "--reset-values", "--values", helm.valuesFile(values));

  async function startServices(values: ChartValues): Promise<void> {
    const objects = await helm.template(values);
    const aggregator = await services.start("aggregator", objects, {
      aggregator: LEASE_TIMES,
      ...(values === ON ? {} : { gates: SHORT_DEADLINE }),
    });
    const webhook = { webhook: { port: WEBHOOK_PORT } };
    await services.start("scheduler-plugin", objects, {
      scheduler: { graphUrl: aggregator.url, ...LEASE_TIMES },
      ...(values === ON ? webhook : {}),
    });
  }

  async function create(cpu: string, gates: readonly string[] = []): Promise<string> {
    const name = `pod-${count++}`;
    const spec = {
      containers: [{ name: "main", image: "none", resources: { requests: { cpu } } }],
      schedulingGates: gates.map((gate) => ({ name: gate })),
      terminationGracePeriodSeconds: 0,
    };
    await cluster.create({ ...KINDS.pod, metadata: { namespace: SHOP, name }, spec });
    return name;
  }
  const pod = async (name: string): Promise<KubernetesObject> =>
    (await cluster.get({ ...KINDS.pod, namespace: SHOP, name }))!;
  const isPlaced = async (name: string): Promise<boolean> => nodeNameOf(await pod(name)) !== null;
  const isAnswered = async (name: string): Promise<boolean> =>
    (await pod(name)).metadata.annotations?.[WEBHOOK_ANSWER] === "gated";

  interface Waiting {
    readonly gated: string;
    readonly pending: string;
    readonly running: string;
  }

  async function waitingPods(): Promise<Waiting> {
    let running = "";
    await expect
      .poll(async () => {
        running = await create("10m");
        return isAnswered(running);
      }, WITHIN)
      .toBe(true);
    const pending = await create("500");
    const gated = await create("10m", [OTHERS_GATE]);
    expect(gatesOf(await pod(gated))).toEqual([OTHERS_GATE, PLACEMENT_GATE]);
    await expect.poll(() => isPlaced(running), WITHIN).toBe(true);
    await expect.poll(async () => gatesOf(await pod(pending)), WITHIN).toEqual([]);
    return { gated, pending, running };
  }

  /** Now it waits only for our gate, and its planner is gone. */
  async function loseOthersGate(name: string): Promise<void> {
    const patch = [
      { op: "test", path: "/spec/schedulingGates/0/name", value: OTHERS_GATE },
      { op: "remove", path: "/spec/schedulingGates/0" },
    ];
    const path = `/api/v1/namespaces/${SHOP}/pods/${name}`;
    await cluster.request("PATCH", path, patch, "application/json-patch+json");
  }

  async function expectNothingHeld({ gated, pending, running }: Waiting): Promise<void> {
    const gatedPods = async (): Promise<string[]> =>
      (await cluster.list("pods")).filter(hasOurGate).map(({ metadata }) => metadata.name);
    await expect.poll(gatedPods, WITHIN).toEqual([]);
    await expect.poll(() => cluster.get(REGISTRATION), WITHIN).toBeNull();
    await expect.poll(() => isPlaced(gated), WITHIN).toBe(true);
    await expect.poll(async () => (await pod(running)).status?.["phase"], WITHIN).toBe("Running");
    // With room it gets scheduled, so nothing of ours holds it.
    const large = `large-${count++}`;
    await cluster.addNodes([{ name: large, cpu: "1000" }]);
    await expect.poll(() => isPlaced(pending), WITHIN).toBe(true);
    const fresh = await create("10m");
    await expect.poll(() => isPlaced(fresh), WITHIN).toBe(true);
    expect((await pod(fresh)).metadata.annotations?.[WEBHOOK_ANSWER]).toBeUndefined();
    await cluster.remove({ ...KINDS.pod, namespace: SHOP, name: pending });
    await cluster.remove({ ...KINDS.node, name: large });
  }

  const left = async (): Promise<string[]> =>
    (await inventory(cluster, NAMESPACE)).filter(
      (name) => !before.includes(name) && !/^CustomResourceDefinition | sh\.helm\.release\./.test(name),
    );

  /** Leftovers that the documentation does not mention: unreleased objects and annotations. */
  async function untold(values: ChartValues | null): Promise<string[]> {
    const ofRelease = values === null ? [] : await helm.template(values);
    const released = new Set(ofRelease.map(({ kind, metadata }) => `${kind} ${metadata.name}`));
    const pods = await cluster.list("pods");
    const annotations = pods.flatMap(({ metadata }) => Object.keys(metadata.annotations ?? {}));
    const names = new Set([
      ...(await left())
        .filter((name) => !released.has(name) && !name.startsWith("Pod "))
        .map((name) => name.split(" ")[1]!),
      ...annotations.filter((name) => name.startsWith("isochrone.dev/")),
    ]);
    return [...names].filter((name) => !OPERATIONS.includes(`\`${name}\``));
  }

  const revision = async (): Promise<string> => {
    const { stdout } = await helm.run(
      ["history", NAMESPACE, "--namespace", NAMESPACE, "-o", "json"],
      cluster.kubeconfig,
    );
    return String(Math.max(...(JSON.parse(stdout) as { revision: number }[]).map((one) => one.revision)));
  };

  async function cleanUp(): Promise<void> {
    const { code, stderr } = await runHookWithRights(cluster, await helm.template(ON), "isochrone-clean-up");
    expect(`${code}: ${stderr}`).toBe("0: ");
  }

  async function openGates(values: ChartValues): Promise<void> {
    const { code, stderr } = await runHook(cluster, await helm.template(values), "isochrone-uninstall");
    expect(`${code}: ${stderr}`).toBe("0: ");
  }

  async function switchOn(): Promise<Waiting> {
    await upgrade(ON);
    await startServices(ON);
    const waiting = await waitingPods();
    await services.kill();
    await loseOthersGate(waiting.gated);
    return waiting;
  }

  test("a rollback to the defaults leaves no pod waiting, and no registration", async () => {
    await upgrade({});
    const defaults = await revision();
    const waiting = await switchOn();
    await run("rollback", defaults);
    await startServices({});
    await expectNothingHeld(waiting);
    expect(await untold({})).toEqual([]);
  });

  test("nor does an upgrade to the defaults", async () => {
    const waiting = await switchOn();
    await upgrade({});
    await startServices({});
    await expectNothingHeld(waiting);
    expect(await untold({})).toEqual([]);
  });

  test("nor a rollback to values without the opener, for which a hook opens gates", async () => {
    await upgrade(NO_OPENER);
    const noOpener = await revision();
    const waiting = await switchOn();
    await run("rollback", noOpener);
    await openGates(NO_OPENER);
    await expectNothingHeld(waiting);
    expect(await untold(NO_OPENER)).toEqual([]);
    // In this Lease the hook disables the webhook for ten minutes.
    await cluster.remove({ ...KINDS.lease, namespace: NAMESPACE, name: PLANNER_LEASE });
  });

  test("nor does removing the release, after which no object of ours but definitions stays", async () => {
    const waiting = await switchOn();
    await openGates(ON);
    await run("uninstall");
    await cleanUp();
    await expectNothingHeld(waiting);
    await expect.poll(left, WITHIN).toEqual([]);
    expect(await untold(null)).toEqual([]);
  });

  test("nor removing it without its hooks, once gates are opened by hand; the registration goes by itself", async () => {
    const waiting = await switchOn();
    await run("uninstall", "--no-hooks");
    await expect.poll(() => cluster.get(REGISTRATION), WITHIN).toBeNull();
    const args = [COMMAND, "gates", "open", "--all", "--kubeconfig", cluster.kubeconfig];
    await promisify(execFile)(process.execPath, args, { timeout: 60_000 });
    await expectNothingHeld(waiting);
    expect(await untold(null)).toEqual([]);
  });
});
