// Faults of the network manager's process on a node: killed, without its aggregator, run twice, and removed.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { cleanUp, createIprouteKernel, toolRunner } from "@isochrone/network-manager/testing";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { managerWith } from "../harness/flow-mesh/manager.ts";
import { createMesh, unnumbered, type Mesh } from "../harness/flow-mesh/mesh.ts";
import { planOfTwo } from "../harness/flow-mesh/plans.ts";
import { flowMeshSupport } from "../harness/flow-mesh/support.ts";

const MAIN = fileURLToPath(import.meta.resolve("@isochrone/network-manager/main"));
const AGGREGATOR = fileURLToPath(new URL("../../aggregator/src/main.ts", import.meta.url));
const PLAN_SERVER = fileURLToPath(new URL("../harness/flow-mesh/plan-server-process.ts", import.meta.url));

/** Services start in seconds, or a minute on a busy machine. Each poll runs programs, so polls are rare. */
const eventually = <T>(read: () => T): ReturnType<typeof expect.poll<T>> =>
  expect.poll(read, { timeout: 110_000, interval: 250 });

describe.skipIf(!flowMeshSupport().supported)("a network manager's process", { timeout: 360_000 }, () => {
  let mesh: Mesh;
  let before: string;
  let folder: string;
  let planFile: string;
  let said: string;

  beforeEach(async () => {
    mesh = createMesh();
    before = mesh.rules("a");
    folder = mkdtempSync(join(tmpdir(), "isochrone-flows-"));
    planFile = join(folder, "plan.json");
    const server = start(PLAN_SERVER, ["8081", planFile]);
    said = "";
    server.stdout!.on("data", (chunk: Buffer) => (said += chunk.toString()));
    await vi.waitUntil(() => said.includes("listening"), { timeout: 110_000 });
    onTestFinished(() => rmSync(folder, { recursive: true }));
  });
  afterEach(() => mesh.remove());

  function start(
    file: string,
    args: readonly string[],
    env: Readonly<Record<string, string>> = {},
  ): ChildProcess {
    const [program = "", ...prefix] = mesh.prefix("a");
    const child = spawn(program, [...prefix, process.execPath, file, ...args], {
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "inherit"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    return child;
  }

  const startManager = (aggregatorUrl = "http://127.0.0.1:8081"): ChildProcess =>
    start(MAIN, [], {
      ISOCHRONE_FLOWS_NODE: "a",
      ISOCHRONE_FLOWS_MODE: "route",
      ISOCHRONE_FLOWS_HOLD_MS: "8s",
      ISOCHRONE_FLOWS_AGGREGATOR_URL: aggregatorUrl,
      ISOCHRONE_FLOWS_PLAN_CACHE_PATH: join(folder, "cache.json"),
      ISOCHRONE_FLOWS_HTTP_PORT: "8082",
    });

  const publish = (plan: ReturnType<typeof planOfTwo>): void => {
    writeFileSync(`${planFile}.tmp`, JSON.stringify(plan));
    renameSync(`${planFile}.tmp`, planFile);
  };
  const flows = (): string =>
    mesh.inside(
      "a",
      process.execPath,
      "-e",
      'fetch("http://127.0.0.1:8082/api/v1/flows").then(async (r) => console.log(await r.text()))',
    );

  test("keeps its rules through SIGKILL, and takes them back when nobody confirms the plan", async () => {
    const published = planOfTwo();
    publish(published);
    const first = startManager();
    await eventually(() => mesh.rules("a")).toContain("ipproto tcp dport 5002");
    await eventually(() => flowsIn(flows())).toMatchObject([
      { device: "ab" },
      { device: "ar", routed: true },
    ]);
    const { epoch, generation } = published;
    await eventually(() => said).toContain(`standing ${epoch}/${generation}\n`);
    const set = mesh.rules("a");
    first.kill("SIGKILL");
    await once(first, "exit");
    const second = startManager();
    await eventually(() => safely(flows)).toContain('"mode":"route"');
    expect(mesh.rules("a")).toBe(set);

    rmSync(planFile);
    await eventually(() => mesh.rules("a")).toBe(before);
    second.kill("SIGTERM");
    expect((await once(second, "exit"))[0]).toBe(0);
  });

  test("keeps its cached plan at a start without aggregator only for holdMs", async () => {
    publish(planOfTwo());
    const first = startManager();
    await eventually(() => safely(flows)).toContain('"generation"');
    await eventually(() => mesh.rules("a")).toContain("ipproto tcp dport 5002");
    const set = mesh.rules("a");
    first.kill("SIGTERM");
    await once(first, "exit");
    expect(mesh.rules("a")).toBe(set);
    rmSync(planFile);
    startManager();
    await eventually(() => safely(flows)).toContain('"mode":"route"');
    await eventually(() => mesh.rules("a")).toBe(before);
  });

  test("leaves a node to the manager that is there already", async () => {
    publish(planOfTwo());
    startManager();
    await eventually(() => mesh.rules("a")).toContain("ipproto tcp dport 5002");
    const set = mesh.rules("a");
    const second = start(MAIN, [], {
      ISOCHRONE_FLOWS_NODE: "a",
      ISOCHRONE_FLOWS_MODE: "observe",
      ISOCHRONE_FLOWS_AGGREGATOR_URL: "http://127.0.0.1:8081",
      ISOCHRONE_FLOWS_HTTP_PORT: "0",
    });
    let log = "";
    second.stdout!.on("data", (chunk: Buffer) => (log += chunk.toString()));
    await eventually(() => log).toContain("another network manager runs on this node");
    expect(mesh.rules("a")).toBe(set);
  });

  test("has its plan by way of an aggregator, which says what stands, and outlives it no longer than holdMs", async () => {
    const kubeconfig = join(folder, "kubeconfig");
    writeFileSync(kubeconfig, JSON.stringify(NO_CLUSTER));
    const startAggregator = (): ChildProcess =>
      start(AGGREGATOR, [], {
        ISOCHRONE_KUBERNETES_KUBECONFIG: kubeconfig,
        ISOCHRONE_AGGREGATOR_HOST: "127.0.0.1",
        ISOCHRONE_AGGREGATOR_PORT: "8083",
        ISOCHRONE_AGGREGATOR_DECISIONS_URL: "http://127.0.0.1:8081",
      });
    const published = planOfTwo();
    publish(published);
    const aggregator = startAggregator();
    startManager("http://127.0.0.1:8083");
    await eventually(() => mesh.rules("a")).toContain("ipproto tcp dport 5002");
    const { epoch, generation } = published;
    await eventually(() => said).toContain(JSON.stringify([{ node: "a", epoch, generation }]));
    const set = mesh.rules("a");
    aggregator.kill("SIGKILL");
    await eventually(() => mesh.rules("a")).toBe(before);
    startAggregator();
    await eventually(() => unnumbered(mesh.rules("a"))).toBe(unnumbered(set));
  });

  test("takes everything out with --cleanup", async () => {
    await managerWith("route", mesh.prefix("a")).run(planOfTwo());
    const child = start(MAIN, ["--cleanup"]);
    let told = "";
    child.stdout!.on("data", (chunk: Buffer) => (told += chunk.toString()));
    expect((await once(child, "exit"))[0]).toBe(0);
    expect(told).toContain("nothing is left");
    expect(mesh.rules("a")).toBe(before);
    const again = await cleanUp(createIprouteKernel(toolRunner(mesh.prefix("a"))));
    expect(again).toEqual({ isClean: true, text: "nothing of the network manager was there" });
  });
});

/** An aggregator without a cluster forwards plans as well. */
const NO_CLUSTER = {
  apiVersion: "v1",
  kind: "Config",
  "current-context": "none",
  clusters: [{ name: "none", cluster: { server: "https://127.0.0.1:1" } }],
  contexts: [{ name: "none", context: { cluster: "none", user: "none" } }],
  users: [{ name: "none", user: { token: "none" } }],
};

function flowsIn(page: string): unknown {
  return (JSON.parse(page) as { flows: unknown }).flows;
}

function safely(read: () => string): string {
  try {
    return read();
  } catch {
    return "";
  }
}
