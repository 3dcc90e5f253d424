// What the network manager leaves alone, keeps and takes back, in a real kernel and as a real process.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { systemClock } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import { cleanUp, createIprouteKernel, Reconciler, toolRunner } from "@isochrone/network-manager/testing";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { createMesh, type Mesh } from "../harness/flow-mesh/mesh.ts";
import { flowOnTheWay, planOf } from "../harness/flow-mesh/plans.ts";
import { flowMeshSupport } from "../harness/flow-mesh/support.ts";

type Mode = ConstructorParameters<typeof Reconciler>[0]["mode"];

const MAIN = fileURLToPath(import.meta.resolve("@isochrone/network-manager/main"));
const PLAN_SERVER = fileURLToPath(new URL("../harness/flow-mesh/plan-server-process.ts", import.meta.url));
const CAPACITIES = { b: 10e6, r: 10e6 };
const RELAYED = ["a", "r", "b"] as const;

const planA = (): ReturnType<typeof planOf> =>
  planOf("a", [flowOnTheWay("a", ["a", "b"], 5001, 2e6), flowOnTheWay("a", RELAYED, 5002, 3e6)], CAPACITIES);

describe.skipIf(!flowMeshSupport().supported)("a network manager", () => {
  let mesh: Mesh;
  let before: string;

  beforeEach(() => {
    mesh = createMesh();
    before = mesh.rules("a");
  });
  afterEach(() => mesh.remove());

  function managerOf(mode: Mode, prefix = mesh.prefix("a")): Reconciler {
    return new Reconciler({
      mode,
      retryMs: 60_000,
      kernel: createIprouteKernel(toolRunner(prefix)),
      lock: { hold: async () => true, release: async () => undefined },
      clock: systemClock,
      logger: new MemoryLogger(),
    });
  }

  test("finds nothing to do the second time, and leaves nothing when the plan ends", async () => {
    const plan = planA();
    const first = await managerOf("route").run(plan);
    expect(first).toMatchObject({ mode: "route", reason: null, pending: 0, complaints: [] });
    expect(first.flows.map(({ unmet }) => unmet)).toEqual([null, null]);
    const set = mesh.rules("a");
    expect(set).toContain("isochrone-flows");
    expect(set).toContain("ipproto tcp dport 5002");

    const restarted = await managerOf("route").run(plan);
    expect(restarted).toMatchObject({ changes: 0, pending: 0 });
    expect(restarted.flows).toEqual(first.flows);
    expect(mesh.rules("a")).toBe(set);

    await managerOf("route").run(null);
    expect(mesh.rules("a")).toBe(before);
  });

  test("observes: it changes nothing and says how much guarantee would", async () => {
    const report = await managerOf("observe").run(
      planOf("a", [flowOnTheWay("a", ["a", "b"], 5001, 2e6)], CAPACITIES),
    );
    expect(report.mode).toBe("observe");
    expect(report.pending).toBeGreaterThan(3);
    expect(mesh.rules("a")).toBe(before);
  });

  test("goes from one mode to another without leaving anything of the first", async () => {
    const plan = planA();
    await managerOf("route").run(plan);
    const shaped = await managerOf("shape").run(plan);
    expect(shaped.flows.map(({ unmet }) => unmet?.reason ?? null)).toEqual([null, "not_routed"]);
    expect(mesh.rules("a")).not.toContain("ipproto tcp");
    await managerOf("observe").run(plan);
    expect(mesh.rules("a")).toBe(before);
  });

  test("never touches a root qdisc that somebody has set, and says which one", async () => {
    mesh.inside("a", "tc", "qdisc", "add", "dev", "ab", "root", "handle", "7:", "tbf", ...TBF);
    const foreign = mesh.inside("a", "tc", "qdisc", "show", "dev", "ab");
    const report = await managerOf("route").run(planA());
    expect(report.flows[0]!.unmet).toEqual({
      reason: "foreign_qdisc",
      text: "ab has the root qdisc tbf 7:, which stays",
    });
    expect(report.flows[1]!.unmet).toBeNull();
    expect(mesh.inside("a", "tc", "qdisc", "show", "dev", "ab")).toBe(foreign);
    await managerOf("route").run(null);
    expect(mesh.inside("a", "tc", "qdisc", "show", "dev", "ab")).toBe(foreign);
  });

  test("keeps rules, routes and tables of others, also at its own preferences", async () => {
    mesh.inside("a", "ip", "rule", "add", "from", "10.9.9.9", "lookup", "77", "pref", "451");
    mesh.inside("a", "ip", "route", "add", "10.9.0.0/16", "via", "10.1.0.2", "table", "15000001");
    mesh.inside("a", "nft", "add", "table", "inet", "somebody");
    const theirs = mesh.rules("a");
    await managerOf("route").run(planA());
    await managerOf("route").run(null);
    expect(mesh.rules("a")).toBe(theirs);
  });

  test("puts right what somebody has changed of its own", async () => {
    const plan = planA();
    await managerOf("route").run(plan);
    const set = mesh.rules("a");
    mesh.inside("a", "nft", "delete", "table", "inet", "isochrone-flows");
    mesh.inside("a", "tc", "qdisc", "del", "dev", "ar", "root");
    mesh.inside("a", "ip", "rule", "del", "pref", "451");
    const report = await managerOf("route").run(plan);
    expect(report).toMatchObject({ pending: 0, complaints: [] });
    expect(unnumbered(mesh.rules("a"))).toBe(unnumbered(set));
    mesh.inside("a", "nft", "flush", "chain", "inet", "isochrone-flows", "out");
    expect((await managerOf("route").run(plan)).pending).toBe(0);
    expect(unnumbered(mesh.rules("a"))).toBe(unnumbered(set));
  });

  test("can be taken out by hand, as its page says", async () => {
    const page = readFileSync(new URL("../../docs/network-manager.md", import.meta.url), "utf8");
    const [, script = ""] = /```sh\n(nft delete table[^`]*)```/.exec(page) ?? [];
    await managerOf("route").run(planA());
    mesh.inside("a", "sh", "-c", script);
    expect(mesh.rules("a")).toBe(before);
  });

  test("says what a relay can't do: it doesn't forward, or is behind a router", async () => {
    mesh.inside("r", "sh", "-c", "echo 0 > /proc/sys/net/ipv4/ip_forward");
    const plan = planOf("r", [flowOnTheWay("r", RELAYED, 5002, 3e6)], { b: 10e6 });
    const relay = await managerOf("route", mesh.prefix("r")).run({
      ...plan,
      neighbours: [...plan.neighbours, ...A],
    });
    expect(relay.flows[0]!.unmet?.reason).toBe("not_forwarding");

    const far = { node: "r", address: "10.3.0.3", capacityBitsPerSecond: 10e6 };
    mesh.inside("a", "ip", "route", "add", "10.3.0.0/24", "via", "10.2.0.3");
    const behind = await managerOf("route").run({
      ...planA(),
      neighbours: [...planA().neighbours.slice(0, 1), far],
    });
    expect(behind.flows[1]!.unmet).toEqual({
      reason: "no_shared_link",
      text: "r (10.3.0.3) is behind the router 10.2.0.3",
    });
  });

  test("observes where a tool is missing, and says which", async () => {
    const report = await managerOf("shape", ["isochrone-no-such-tool"]).run(planA());
    expect(report.mode).toBe("observe");
    expect(report.reason).toContain("isochrone-no-such-tool must be installed on the node");
  });

  test("observes where it has no right to change the kernel, and says so", async () => {
    const run = toolRunner(mesh.prefix("a"));
    const plain = toolRunner([
      ...mesh.prefix("a"),
      "setpriv",
      "--bounding-set",
      "-all",
      "--inh-caps",
      "-all",
    ]);
    // Reading needs no right, but nft's listing does.
    const kernel = createIprouteKernel((tool, args, input) =>
      args.includes("-batch") && input?.includes("qdisc") === true
        ? plain(tool, args, input)
        : run(tool, args, input),
    );
    const lock = { hold: async () => true, release: async () => undefined };
    const logger = new MemoryLogger();
    const manager = new Reconciler({
      mode: "shape",
      retryMs: 60_000,
      kernel,
      lock,
      clock: systemClock,
      logger,
    });
    const report = await manager.run(planA());
    expect(report.mode).toBe("observe");
    expect(report.reason).toMatch(/the right to use it, is missing: tc: .*Operation not permitted/);
    expect(mesh.rules("a")).toBe(before);
  });

  describe("as a process", () => {
    let folder: string;
    let planFile: string;
    /** By the stand-in of the aggregator. */
    let said: string;

    beforeEach(async () => {
      folder = mkdtempSync(join(tmpdir(), "isochrone-flows-"));
      planFile = join(folder, "plan.json");
      const server = start(PLAN_SERVER, ["8081", planFile]);
      said = "";
      server.stdout!.on("data", (chunk: Buffer) => (said += chunk.toString()));
      await vi.waitUntil(() => said.includes("listening"));
      onTestFinished(() => rmSync(folder, { recursive: true }));
    });

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

    const startManager = (): ChildProcess =>
      start(MAIN, [], {
        ISOCHRONE_FLOWS_NODE: "a",
        ISOCHRONE_FLOWS_MODE: "route",
        ISOCHRONE_FLOWS_HOLD_MS: "5s",
        ISOCHRONE_FLOWS_AGGREGATOR_URL: "http://127.0.0.1:8081",
        ISOCHRONE_FLOWS_PLAN_CACHE_PATH: join(folder, "cache.json"),
        ISOCHRONE_FLOWS_HTTP_PORT: "8082",
      });

    const publish = (plan: ReturnType<typeof planA>): void => {
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
      const published = planA();
      publish(published);
      const first = startManager();
      await expect.poll(() => mesh.rules("a")).toContain("ipproto tcp dport 5002");
      await expect
        .poll(() => flowsIn(flows()))
        .toMatchObject([{ device: "ab" }, { device: "ar", routed: true }]);
      const { epoch, generation } = published;
      await expect.poll(() => said).toContain(`standing ${epoch}/${generation}\n`);
      const set = mesh.rules("a");
      first.kill("SIGKILL");
      await once(first, "exit");
      const second = startManager();
      await expect.poll(() => safely(flows)).toContain('"mode":"route"');
      expect(mesh.rules("a")).toBe(set);

      rmSync(planFile);
      await expect.poll(() => mesh.rules("a")).toBe(before);
      second.kill("SIGTERM");
      expect((await once(second, "exit"))[0]).toBe(0);
    });

    test("keeps its cached plan at a start without aggregator only for holdMs", async () => {
      publish(planA());
      const first = startManager();
      await expect.poll(() => safely(flows)).toContain('"generation"');
      await expect.poll(() => mesh.rules("a")).toContain("ipproto tcp dport 5002");
      const set = mesh.rules("a");
      first.kill("SIGTERM");
      await once(first, "exit");
      expect(mesh.rules("a")).toBe(set);
      rmSync(planFile);
      startManager();
      await expect.poll(() => safely(flows)).toContain('"mode":"route"');
      await expect.poll(() => mesh.rules("a")).toBe(before);
    });

    test("leaves a node to the manager that is there already", async () => {
      publish(planA());
      startManager();
      await expect.poll(() => mesh.rules("a")).toContain("ipproto tcp dport 5002");
      const set = mesh.rules("a");
      const second = start(MAIN, [], {
        ISOCHRONE_FLOWS_NODE: "a",
        ISOCHRONE_FLOWS_MODE: "observe",
        ISOCHRONE_FLOWS_AGGREGATOR_URL: "http://127.0.0.1:8081",
        ISOCHRONE_FLOWS_HTTP_PORT: "0",
      });
      let log = "";
      second.stdout!.on("data", (chunk: Buffer) => (log += chunk.toString()));
      await expect.poll(() => log).toContain("another network manager runs on this node");
      expect(mesh.rules("a")).toBe(set);
    });

    test("takes everything out with --cleanup", async () => {
      await managerOf("route").run(planA());
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
});

const TBF = ["rate", "5mbit", "burst", "10kb", "latency", "50ms"];
const A = [{ node: "a", address: "10.2.0.1", capacityBitsPerSecond: null }];

/** Queues get new handles when they are made again, and flows whose mark was lost get new classes. */
function unnumbered(rules: string): string {
  const plain = rules.replaceAll(/qdisc bfifo \w+:/g, "qdisc bfifo").replaceAll(/15c0:2\w{3}/g, "15c0:flow");
  return plain.split("\n").toSorted().join("\n");
}

function flowsIn(page: string): unknown {
  return (JSON.parse(page) as { flows: unknown }).flows;
}

/** The page of a process that may not listen yet. */
function safely(read: () => string): string {
  try {
    return read();
  } catch {
    return "";
  }
}
