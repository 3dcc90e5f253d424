// Kills each component on a StreamJob's tunnelled path in turn.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { gatesOf } from "@isochrone/kubernetes";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { freePort } from "../harness/common/free-port.ts";
import { controlPlaneSupport, type ControlPlane } from "../harness/control-plane/index.ts";
import { ADDRESS, createRoutedMesh, type Mesh, type NodeName } from "../harness/flow-mesh/mesh.ts";
import { flowMeshSupport } from "../harness/flow-mesh/support.ts";
import { streamJob, streamTask } from "../harness/streams.ts";
import { STREAM_COMPONENTS, streamsTestbed } from "../harness/streams-testbed.ts";

const support = controlPlaneSupport(STREAM_COMPONENTS);
if (!support.supported) console.warn(`kills under streams are not tested: ${support.reason}`);

const MANAGER = fileURLToPath(import.meta.resolve("@isochrone/network-manager/main"));
const AGGREGATOR = fileURLToPath(new URL("../../aggregator/src/main.ts", import.meta.url));
const RELAY = fileURLToPath(new URL("../harness/flow-mesh/tcp-relay-process.ts", import.meta.url));
const ROUTE = ["a", "r", "b"] as const satisfies readonly NodeName[];
const NODES = ROUTE.map((name) => ({
  name,
  labels: { device: name === "b" ? "server" : "other" },
}));
const MBIT = 1e6;
/** Capacity of the narrowest link, which a single job gets in full. */
const CAPACITY = 4 * MBIT;
const NAMESPACE = "kills";
/** Long enough for a component to return on a busy machine. */
const HOLD = "15s";
/** Downtime of a component while packets flow. */
const AWAY_MS = 1_500;
/** No flow may exceed its plan for longer than this. */
const WINDOW_MS = 2_000;
/** Share of the plan. A queue that drains at once exceeds it briefly. */
const MOST = 1.05;
const WITHIN = { timeout: 60_000, interval: 200 };

describe.runIf(support.supported && flowMeshSupport().supported)("kills under a stream", () => {
  const testbed = streamsTestbed(NODES, [
    { source: "a", target: "r", capacity: "6M" },
    { source: "r", target: "b", capacity: "4M" },
  ]);
  const { submit, remove, phase, podsOf, statusOf } = testbed;
  let cluster: ControlPlane;
  beforeAll(async () => {
    ({ cluster } = testbed);
    for (const name of ROUTE) {
      const addresses = [{ type: "InternalIP", address: ADDRESS[name] }];
      await cluster.patch({ apiVersion: "v1", kind: "Node", name }, { status: { addresses } }, "status");
    }
  });

  test("cost no flow its rules, give none more than its plan, and leave no gate and nothing of a dead plan", async () => {
    const mesh = createRoutedMesh();
    onTestFinished(() => mesh.remove());
    for (const node of ROUTE) {
      mesh.inside(node, "ip", "rule", "add", "from", "10.9.9.9", "lookup", "77", "pref", "451");
      mesh.inside(node, "nft", "add", "table", "inet", "somebody");
    }
    const before = ROUTE.map((node) => mesh.rules(node));
    const parts = await startParts(mesh, testbed.startProcess, cluster.kubeconfig);
    await cluster.createNamespace(NAMESPACE);
    const start = async (name: string, port: number): Promise<void> => {
      await submit(remoteJob(name, port));
      await expect.poll(() => phase(NAMESPACE, name), WITHIN).toBe("Running");
    };
    await start("first", 5001);
    const { flows = [] } = await statusOf(NAMESPACE, "first");
    expect(flows.map(({ route }) => route)).toEqual([ROUTE]);
    const stream = await mesh.stream(5001);
    await sleep(WINDOW_MS);
    stream.fastest(WINDOW_MS);
    const set = ROUTE.map((node) => mesh.rules(node));

    for (const name of ["a", "r"] as const) await parts.restart(name, AWAY_MS);
    await parts.restart("aggregator", AWAY_MS);
    await cluster.kill("api-server");
    await sleep(AWAY_MS);
    await cluster.startApiServer();
    expect(ROUTE.map((node) => mesh.rules(node))).toEqual(set);
    // The next leader gives the same plan, and a new job halves the rate.
    await parts.restart("controller", AWAY_MS);
    const fastest = stream.fastest(WINDOW_MS);
    expect(fastest).toBeLessThan(CAPACITY * MOST);
    expect(fastest).toBeGreaterThan(CAPACITY * 0.85);
    await start("second", 5002);
    await sleep(WINDOW_MS);
    stream.fastest(WINDOW_MS);
    await sleep(2 * WINDOW_MS);
    expect(stream.fastest(WINDOW_MS)).toBeLessThan((CAPACITY / 2) * MOST);
    expect((await podsOf(NAMESPACE)).flatMap(gatesOf)).toEqual([]);

    // A flow that ends while its manager is away.
    await parts.kill("a");
    await remove(NAMESPACE, "second");
    parts.start("a");
    await expect.poll(() => mesh.rules("a"), WITHIN).not.toContain("dport 5002");
    expect(mesh.rules("a")).toContain("dport 5001");

    await parts.kill("controller");
    stream.stop();
    await expect.poll(() => ROUTE.map((node) => mesh.rules(node)), WITHIN).toEqual(before);
  });
});

/** A job from a to b on its own port in the host network. */
function remoteJob(name: string, port: number): ReturnType<typeof streamJob> {
  const profile = [{ nodeLabels: { device: "server" }, secondsPerFrame: 0.01 }];
  const containers = [{ name: "stage", image: "example.com/stage:1" }];
  const template = { spec: { hostNetwork: true, terminationGracePeriodSeconds: 0, containers } };
  return streamJob(NAMESPACE, name, {
    source: { node: "a", bytesPerFrame: 250_000, port },
    tasks: [streamTask("work", { profile, template })],
  });
}

type PartName = "a" | "aggregator" | "b" | "controller" | "r";

interface Parts {
  start(name: PartName): void;
  kill(name: PartName): Promise<void>;
  restart(name: PartName, awayMs: number): Promise<void>;
}

async function startParts(
  mesh: Mesh,
  startController: (environment: Readonly<Record<string, string>>) => ChildProcess,
  kubeconfig: string,
): Promise<Parts> {
  const folder = mkdtempSync(join(tmpdir(), "isochrone-kills-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const taken = new Set<number>();
  const ports = [await freePort("127.0.0.1", taken), await freePort("127.0.0.1", taken)] as const;
  const [controllerPort, aggregatorPort] = ports;
  const door = join(folder, "aggregator.sock");
  const server = createServer((near) => {
    const far = connect(aggregatorPort, "127.0.0.1");
    for (const socket of [near, far]) socket.on("error", () => (near.destroy(), far.destroy()));
    near.pipe(far).pipe(near);
  }).listen(door);
  onTestFinished(() => void server.close());
  const run = (prefix: readonly string[], file: string, args: string[], env: object): ChildProcess => {
    const [program = "", ...rest] = [...prefix, process.execPath, file, ...args];
    const child = spawn(program, rest, {
      env: { PATH: process.env["PATH"], ...env },
      stdio: ["ignore", "ignore", "inherit"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    return child;
  };
  const manager = (node: NodeName): ChildProcess =>
    run(mesh.prefix(node), MANAGER, [], {
      ISOCHRONE_FLOWS_NODE: node,
      ISOCHRONE_FLOWS_MODE: "route",
      ISOCHRONE_FLOWS_HOLD_MS: HOLD,
      ISOCHRONE_FLOWS_AGGREGATOR_URL: `http://127.0.0.1:${aggregatorPort}`,
      ISOCHRONE_FLOWS_PLAN_CACHE_PATH: join(folder, `${node}.json`),
      ISOCHRONE_FLOWS_HTTP_PORT: "0",
    });
  const starts: Readonly<Record<PartName, () => ChildProcess>> = {
    a: () => manager("a"),
    r: () => manager("r"),
    b: () => manager("b"),
    controller: () => startController({ ISOCHRONE_SCHEDULER_PORT: String(controllerPort) }),
    aggregator: () =>
      run([], AGGREGATOR, [], {
        ISOCHRONE_KUBERNETES_KUBECONFIG: kubeconfig,
        ISOCHRONE_AGGREGATOR_HOST: "127.0.0.1",
        ISOCHRONE_AGGREGATOR_PORT: String(aggregatorPort),
        ISOCHRONE_AGGREGATOR_DECISIONS_URL: `http://127.0.0.1:${controllerPort}`,
      }),
  };
  const running = new Map<PartName, ChildProcess>();
  const start = (name: PartName): void => void running.set(name, starts[name]());
  const kill = async (name: PartName): Promise<void> => {
    const child = running.get(name)!;
    child.kill("SIGKILL");
    await once(child, "exit");
  };
  for (const node of ROUTE) run(mesh.prefix(node), RELAY, [String(aggregatorPort), door], {});
  for (const name of ["controller", "aggregator", ...ROUTE] as const) start(name);
  return {
    start,
    kill,
    async restart(name, awayMs) {
      await kill(name);
      await sleep(awayMs);
      start(name);
      await sleep(awayMs);
    },
  };
}
