// Resources that the network manager leaves alone, keeps and removes in a real kernel.
import { readFileSync } from "node:fs";
import { createIprouteKernel, toolRunner, type Reconciler } from "@isochrone/network-manager/testing";
import type { FlowPlan, PlannedFlow } from "@isochrone/topology";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { receivedBy, sendDatagrams } from "../harness/flow-mesh/datagrams.ts";
import { managerWith } from "../harness/flow-mesh/manager.ts";
import { ADDRESS, createMesh, unnumbered, type Mesh, type NodeName } from "../harness/flow-mesh/mesh.ts";
import { flowOnTheWay, planOf, planOfTwo, RELAYED } from "../harness/flow-mesh/plans.ts";
import { flowMeshSupport } from "../harness/flow-mesh/support.ts";

type Mode = Parameters<typeof managerWith>[0];

describe.skipIf(!flowMeshSupport().supported)("a network manager", () => {
  let mesh: Mesh;
  let before: string;

  beforeEach(() => {
    mesh = createMesh();
    before = mesh.rules("a");
  });
  afterEach(() => mesh.remove());

  const managerOf = (mode: Mode, prefix = mesh.prefix("a")): Reconciler => managerWith(mode, prefix);

  test("finds nothing to do the second time, and leaves nothing when the plan ends", async () => {
    const plan = planOfTwo();
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

  test("sets flows of IPv6, and of any ports, and reads them back as it set them", async () => {
    mesh.inside("a", "ip", "-6", "addr", "add", "fd01::1/64", "dev", "ab", "nodad");
    const onlyIpv6 = mesh.rules("a");
    const six = (name: string, source: number | null, target: number | null): PlannedFlow => ({
      ...flowOnTheWay("a", RELAYED, 1, 1e6),
      id: name,
      protocol: "udp",
      next: "b",
      source: { node: "a", address: "FD00:0:0::1", port: source },
      target: { node: "c", address: "fd00:0::2", port: target },
    });
    const flows = [
      six("both", 7, 8),
      six("source", 7, null),
      six("target", null, 8),
      six("none", null, null),
    ];
    const four = flows.map((each) => ({
      ...each,
      id: `${each.id}4`,
      routed: false,
      source: { ...each.source, address: "10.0.0.1" },
      target: { ...each.target, address: "10.0.0.2" },
    }));
    const neighbours = [{ node: "b", address: "fd01:0::2", capacityBitsPerSecond: 1e9 }];
    const plan = { ...planOf("a", [...flows, ...four], {}), neighbours };
    const report = await managerOf("route").run(plan);
    expect(report).toMatchObject({ pending: 0, complaints: [] });
    expect(report.flows.filter(({ place }) => place === null)).toEqual([]);
    expect(mesh.inside("a", "ip", "-6", "rule", "show")).toContain(
      "450:\tfrom fd00::1 to fd00::2 ipproto udp sport 7 dport 8 lookup 1500",
    );
    expect(await managerOf("route").run(plan)).toMatchObject({ changes: 0, pending: 0 });
    await managerOf("route").run(null);
    expect(mesh.rules("a")).toBe(onlyIpv6);
  });

  test("observes: it changes nothing and says how much guarantee would", async () => {
    const report = await managerOf("observe").run(
      planOf("a", [flowOnTheWay("a", ["a", "b"], 5001, 2e6)], { b: 10e6, r: 10e6 }),
    );
    expect(report.mode).toBe("observe");
    expect(report.pending).toBeGreaterThan(3);
    expect(mesh.rules("a")).toBe(before);
  });

  test("goes from one mode to another without leaving anything of the first", async () => {
    const plan = planOfTwo();
    await managerOf("route").run(plan);
    const shaped = await managerOf("shape").run(plan);
    expect(shaped.flows.map(({ unmet }) => unmet?.reason ?? null)).toEqual([null, "not_routed"]);
    expect(mesh.rules("a")).not.toContain("ipproto tcp");
    await managerOf("observe").run(plan);
    expect(mesh.rules("a")).toBe(before);
  });

  test("sends what waits on the old path of a flow before that goes", async () => {
    const manager = managerOf("route");
    const planBy = (way: readonly NodeName[]): FlowPlan => {
      // Twenty packets take two seconds.
      const flow = { ...flowOnTheWay("a", way, 5001, 8e4), protocol: "udp" } as const;
      return planOf("a", [flow], { b: 10e6, r: 10e6 });
    };
    await manager.run(planBy(["a", "b"]));
    const { texts } = await receivedBy(mesh, "b", ADDRESS.b, 5001);
    const sent = Array.from({ length: 20 }, (_, index) => `${index}`);
    sendDatagrams(
      mesh.prefix("a"),
      ADDRESS.b,
      5001,
      sent.map((text) => Buffer.from(text.padEnd(1_000))),
    );
    const moved = await manager.run(planBy(RELAYED));
    expect(moved).toMatchObject({ pending: 0, complaints: [], isLeaving: true });
    expect(moved.flows[0]!.place!.device).toBe("ar");
    await expect.poll(() => texts.map((text) => text.trim())).toEqual(sent);
    await expect.poll(() => manager.run(planBy(RELAYED))).toMatchObject({ isLeaving: false });
    expect(mesh.inside("a", "tc", "qdisc", "show", "dev", "ab")).not.toContain("htb");
  });

  test("never touches a root qdisc that somebody has set, and says which one", async () => {
    mesh.inside("a", "tc", "qdisc", "add", "dev", "ab", "root", "handle", "7:", "tbf", ...TBF);
    const foreign = mesh.inside("a", "tc", "qdisc", "show", "dev", "ab");
    const report = await managerOf("route").run(planOfTwo());
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
    await managerOf("route").run(planOfTwo());
    await managerOf("route").run(null);
    expect(mesh.rules("a")).toBe(theirs);
  });

  test("puts right what somebody has changed of its own", async () => {
    const plan = planOfTwo();
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
    mesh.inside("a", "ip", "route", "add", "10.3.0.0/24", "via", "10.2.0.3");
    const routed = mesh.rules("a");
    const [own] = planOfTwo().neighbours;
    await managerOf("route").run({ ...planOfTwo(), neighbours: [own!, FAR] });
    expect(mesh.rules("a")).toContain("isochrone-vx");
    mesh.inside("a", "sh", "-c", script);
    expect(mesh.rules("a")).toBe(routed);
  });

  test("says what a relay can't do: it doesn't forward, or its filter drops what comes by the tunnel", async () => {
    mesh.inside("r", "sh", "-c", "echo 0 > /proc/sys/net/ipv4/ip_forward");
    const plan = planOf("r", [flowOnTheWay("r", RELAYED, 5002, 3e6)], { b: 10e6 });
    const relay = await managerOf("route", mesh.prefix("r")).run({
      ...plan,
      neighbours: [...plan.neighbours, ...A],
    });
    expect(relay.flows[0]!.unmet?.reason).toBe("not_forwarding");

    // Packets to a neighbour behind a router use the tunnel.
    mesh.inside("a", "ip", "route", "add", "10.3.0.0/24", "via", "10.2.0.3");
    const behind = await managerOf("route").run({
      ...planOfTwo(),
      neighbours: [...planOfTwo().neighbours.slice(0, 1), FAR],
    });
    expect(behind.flows[1]!.unmet).toBeNull();
    expect(mesh.rules("a")).toContain("isochrone-vx");
    mesh.inside("a", "sh", "-c", "echo 1 > /proc/sys/net/ipv4/conf/all/rp_filter");
    const ends = {
      ...flowOnTheWay("b", RELAYED, 5003, 3e6),
      target: { node: "a", address: "10.0.0.1", port: 1 },
    };
    const strict = await managerOf("route").run({
      ...planOf("a", [{ ...ends, source: { ...ends.source, node: "z", address: "10.0.0.7" } }], {}),
      neighbours: [FAR],
    });
    expect(strict.flows[0]!.unmet?.reason).toBe("reverse_path_filter");
  });

  test("keeps a device of somebody else that has the tunnel's name, and says so", async () => {
    mesh.inside("a", "ip", "link", "add", "isochrone-vx", "type", "veth", "peer", "name", "other");
    const theirs = mesh.rules("a");
    mesh.inside("a", "ip", "route", "add", "10.3.0.0/24", "via", "10.2.0.3");
    const plan = planOf("a", [flowOnTheWay("a", RELAYED, 5002, 3e6)], {});
    const report = await managerOf("route").run({ ...plan, neighbours: [FAR] });
    expect(report.flows[0]!.unmet?.reason).toBe("foreign_device");
    expect(report).toMatchObject({ changes: 0, complaints: [] });
    mesh.inside("a", "ip", "route", "del", "10.3.0.0/24");
    expect(mesh.rules("a")).toBe(theirs);
  });

  test("tunnels IPv6, and reads it back as it set it", async () => {
    mesh.inside("a", "ip", "-6", "addr", "add", "fd01::1/64", "dev", "ab", "nodad");
    mesh.inside("a", "ip", "-6", "route", "add", "fd02::/64", "via", "fd01::2");
    const before6 = mesh.rules("a");
    const flow = {
      ...flowOnTheWay("a", RELAYED, 5002, 3e6),
      source: { node: "a", address: "fd00::1", port: null },
      target: { node: "b", address: "fd00::2", port: 5002 },
    };
    const neighbours = [{ node: "r", address: "fd02::3", capacityBitsPerSecond: null }];
    const plan = { ...planOf("a", [flow], {}), neighbours };
    expect(await managerOf("route").run(plan)).toMatchObject({
      pending: 0,
      complaints: [],
      flows: [{ unmet: null }],
    });
    expect(await managerOf("route").run(plan)).toMatchObject({
      changes: 0,
      kernel: { tunnel: { mtu: 1444 } },
    });
    await managerOf("route").run(null);
    expect(mesh.rules("a")).toBe(before6);
  });

  test("observes where a tool is missing, and says which", async () => {
    const report = await managerOf("shape", ["isochrone-no-such-tool"]).run(planOfTwo());
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
    // Reading needs no permission, except for nft's listing.
    const kernel = createIprouteKernel((tool, args, input) =>
      args.includes("-batch") && input?.includes("qdisc") === true
        ? plain(tool, args, input)
        : run(tool, args, input),
    );
    const manager = managerWith("shape", [], { kernel });
    const report = await manager.run(planOfTwo());
    expect(report.mode).toBe("observe");
    expect(report.reason).toMatch(/the right to use it, is missing: tc: .*Operation not permitted/);
    expect(mesh.rules("a")).toBe(before);
  });
});

/** The relay's address on the far link, behind a router. */
const FAR = { node: "r", address: "10.3.0.3", capacityBitsPerSecond: 10e6 };
const TBF = ["rate", "5mbit", "burst", "10kb", "latency", "50ms"];
const A = [{ node: "a", address: "10.2.0.1", capacityBitsPerSecond: null }];
